#include "measurement/failure_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

constexpr int report_tag = 99;

struct Report {
  Error error;
  std::string host;
  ordered_json details;
};

void send_report(const Job& job, const KnownFailure& failure) {
  const Error& error = failure.error;
  const ordered_json message = {{"code", static_cast<int>(error.code)},
                                {"message", error.message},
                                {"operation", error.operation},
                                {"file", error.file},
                                {"offset", error.offset},
                                {"system_error", error.system_error},
                                {"host", job.host},
                                {"details", failure.details}};
  // A file name may hold any bytes; the text of a message may not.
  const std::string text = message.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, report_tag, job.world);
}

Report receive_report(const Job& job, int failed_rank) {
  MPI_Status status;
  int length = 0;
  MPI_Probe(failed_rank, report_tag, job.world, &status);
  MPI_Get_count(&status, MPI_CHAR, &length);
  std::string text(static_cast<std::size_t>(length), '\0');
  MPI_Recv(text.data(), length, MPI_CHAR, failed_rank, report_tag, job.world, MPI_STATUS_IGNORE);
  const auto message = ordered_json::parse(text);
  Report report;
  report.error.code = static_cast<ErrorCode>(message["code"].get<int>());
  report.error.message = message["message"];
  report.error.operation = message["operation"];
  report.error.file = message["file"];
  report.error.offset = message["offset"];
  report.error.system_error = message["system_error"];
  report.error.rank = failed_rank;
  report.host = message["host"];
  report.details = message["details"];
  return report;
}

void complain_unless_ok(const Status& status) {
  if (!status) fmt::print(stderr, "weir-bench: {}\n", status.error().text());
}

}  // namespace

int end_after_failure(const Job& job, FailureGuard& guard, const KnownFailure& failure,
                      const std::function<Status(const ordered_json&)>& save) {
  if (failure.error.code == ErrorCode::deadline || failure.failed_rank == none_failed) {
    guard.record("failed", failure.error, job.host);
    complain_unless_ok(guard.remove_test_files());
    _exit(exit_failed);
  }
  guard.entering("reporting the failure", nullptr, -1);
  if (job.rank == failure.failed_rank && job.rank != 0) send_report(job, failure);
  if (job.rank == 0) {
    const Report report = failure.failed_rank == 0
                              ? Report{failure.error, job.host, failure.details}
                              : receive_report(job, failure.failed_rank);
    if (save) complain_unless_ok(save(report.details));
    guard.record("failed", report.error, report.host);
  }
  complain_unless_ok(guard.remove_test_files());
  guard.left();
  return exit_failed;
}

}  // namespace weir::bench
