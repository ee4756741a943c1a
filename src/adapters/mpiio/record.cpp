#include "adapters/mpiio/record.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "adapters/mpiio/passed_on.hpp"
#include "adapters/mpiio/stopwatch.hpp"
#include "adapters/preloaded/clock_source.hpp"
#include "adapters/preloaded/record_file.hpp"

namespace weir::mpiio {
namespace {

struct Record {
  std::atomic<int> process{0};  // 0: no function of MPI was called that is counted
  std::atomic<bool> ended{false};
  std::int64_t begin_ns = 0;
  TickRate rate;
};
constinit Record record;
constinit preloaded::RecordFile file_of_record;

bool has_calls(const FileCounts& file) {
  return std::any_of(file.of.begin(), file.of.end(),
                     [](const CallCounts& one) { return one.calls.load(relaxed) > 0; });
}

// Returns the estimated time of the calls without Weir; -1 if it is not known.
std::int64_t ns_without(const CallCounts& one) {
  const std::int64_t more = one.without_ns.load(relaxed);
  if (more < 0) return -1;
  return record.rate.ns_of(one.ticks.load(relaxed) - one.replaced_ticks.load(relaxed)) + more;
}

void add_calls(const FileCounts& file) {
  for (std::size_t i = 0; i < functions; ++i) {
    const CallCounts& one = file.of[i];
    if (one.calls.load(relaxed) == 0) continue;
    file_of_record.add_words("call", function_names[i], one.calls.load(relaxed),
                             one.failed.load(relaxed), one.bytes.load(relaxed),
                             record.rate.ns_of(one.ticks.load(relaxed)), one.taken.load(relaxed),
                             one.staged.load(relaxed), ns_without(one));
    file_of_record.add('\n');
  }
  for (std::size_t i = 0; i < reasons; ++i) {
    if (file.passed[i].load(relaxed) == 0) continue;
    file_of_record.add_words("passed", file.passed[i].load(relaxed), reason_texts[i]);
    file_of_record.add('\n');
  }
}

void add_file(const FileCounts& file) {
  if (!has_calls(file)) return;
  file_of_record.add("file\t");
  file_of_record.add_path(file.path.load(std::memory_order_acquire));
  file_of_record.add('\n');
  add_calls(file);
}

void add_sum(std::string_view name, const FileCounts& sum) {
  if (!has_calls(sum)) return;
  file_of_record.add(name);
  file_of_record.add('\n');
  add_calls(sum);
}

__attribute__((constructor)) void on_load() {
  const char* const folder = ::getenv("WEIR_MPIIO_FOLDER");
  record.begin_ns = preloaded::now_ns();
  const char* const order = ::getenv("WEIR_MPIIO_ORDER_FOLDER");
  const bool is_ordered = order != nullptr && *order != '\0';
  const bool is_asked = is_ordered || (folder != nullptr && *folder != '\0');
  counts_ticks = is_asked && !is_ordered && preloaded::is_clock_of_processor();
  record.rate.begin();
  counting.store(is_asked, relaxed);
}

__attribute__((destructor)) void on_exit() { end_record(); }

}  // namespace

void take_record() {
  int none = 0;
  if (record.process.load(relaxed) == 0 &&
      record.process.compare_exchange_strong(none, preloaded::own_process(), relaxed)) {
    begin_ordering();
  }
}

void end_record() {
  if (!counting.load(relaxed) || record.process.load(relaxed) != preloaded::own_process() ||
      record.ended.exchange(true)) {
    return;
  }
  calls::end_order();
  const char* const folder = ::getenv("WEIR_MPIIO_FOLDER");
  if (folder == nullptr || *folder == '\0' || !file_of_record.make(folder, "mpiio")) return;
  record.rate.end();
  file_of_record.add_beginning("weir-mpiio 3");
  counts().for_each_file(add_file);
  add_sum("further-files", counts().further_files());
  add_sum("no-file", counts().no_file());
  file_of_record.add_words("end", preloaded::now_ns() - record.begin_ns);
  file_of_record.add('\n');
  file_of_record.close();
}

}  // namespace weir::mpiio
