#include "library/sink_run.hpp"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "library/simulated_job.hpp"
#include "plan/parameters.hpp"
#include "topology/aggregator_placement.hpp"

namespace weir::bench {

int run_sink(const std::vector<std::string>& arguments);  // bench/workloads/sink.cpp

}  // namespace weir::bench

namespace weir::sim {
namespace {

namespace fs = std::filesystem;

// Each rank has a message, and its copy, in memory of its own; larger jobs take minutes.
constexpr std::int64_t most_ranks_of_sink = 256;

// A folder for the results and the test files of the job, which is removed with all its content.
class Folder {
 public:
  static Result<Folder> create() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "weir-sim-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) return system_failure("mkdtemp", path, -1, errno);
    return Folder(path);
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  explicit Folder(fs::path path) : path_(std::move(path)) {}

  fs::path path_;
};

// What is printed meanwhile goes to standard error, since the program prints the outcome and
// nothing besides.
class NoOutput {
 public:
  NoOutput() : kept_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  NoOutput(const NoOutput&) = delete;
  NoOutput& operator=(const NoOutput&) = delete;
  ~NoOutput() {
    std::fflush(stdout);
    ::dup2(kept_, STDOUT_FILENO);
    ::close(kept_);
  }

 private:
  int kept_;
};

// Gives the library what weir-bench has no option for, as a user would.
void set_variables(const Description& asked) {
  const topology::FileTargets targets = targets_of(asked);
  const std::array<std::pair<const char*, std::int64_t>, 4> numbers{{
      {"WEIR_BUFFER_BYTES", asked.buffer_bytes},
      {"WEIR_TARGETS", targets.count},
      {"WEIR_STRIPE_BYTES", targets.stripe_bytes},
      {"WEIR_LOCK_BYTES", targets.lock_bytes},
  }};
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread
  for (const auto& [name, value] : numbers) ::setenv(name, std::to_string(value).c_str(), 1);
  if (asked.network) ::setenv("WEIR_NETWORK", asked.network->shape.text().c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

std::vector<std::string> words_of(const Description& asked, const Planned& planned,
                                  std::int64_t message_bytes, const Folder& folder) {
  std::vector<std::string> words{"--iterations",
                                 std::to_string(asked.steps),
                                 "--rank-bytes",
                                 "0",
                                 "--message-bytes",
                                 std::to_string(message_bytes),
                                 "--no-verify",
                                 "--warmups",
                                 "0",
                                 "--repetitions",
                                 "1",
                                 "--max-repetitions",
                                 "1",
                                 "--seed",
                                 "1",
                                 "--directory",
                                 folder.path().string(),
                                 "--output",
                                 (folder.path() / "results").string()};
  const auto add = [&](const char* option, std::string value) {
    words.insert(words.end(), {option, std::move(value)});
  };
  if (asked.workload == Workload::sink_posix) {
    add("--api", "posix");
    return words;
  }
  add("--strategy", std::string(plan::name_of(planned.parameters.strategy)));
  add("--aggregators", std::to_string(planned.aggregators_per_node));
  add("--placement", std::string(topology::name_of(asked.placement)));
  if (asked.nodes_per_group > 0) add("--io-groups", std::to_string(asked.nodes_per_group));
  return words;
}

// Returns the record of the only configuration.
Result<nlohmann::json> record_in(const fs::path& results) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(results, error)) {
    std::ifstream file(entry.path() / "run.json");
    auto run = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (run.is_object()) return run;
  }
  return Error(ErrorCode::io, "weir-bench sink left no results", results.string());
}

}  // namespace

Result<Outcome> run_sink(const Description& asked, const Planned& planned) {
  if (asked.ranks() > most_ranks_of_sink) {
    return invalid_argument(
        fmt::format("{} ranks: weir-bench sink is simulated on at most {}; give fewer, or simulate "
                    "weir sim messages",
                    asked.ranks(), most_ranks_of_sink));
  }
  const auto array = array_of(asked);
  if (!array) return array.error();
  const auto folder = Folder::create();
  if (!folder) return folder.error();
  set_variables(asked);
  const std::int64_t message_bytes = array.value().held.shape().extents()[1];
  const auto words = words_of(asked, planned, message_bytes, folder.value());
  auto outcome = [&] {
    const NoOutput quiet;
    return run_job(asked, planned, [&](std::int64_t /*rank*/) -> Status {
      const int status = bench::run_sink(words);
      if (status == 0) return {};
      return Error(ErrorCode::io, fmt::format("weir-bench sink ended with status {}", status));
    });
  }();
  if (!outcome) return outcome;
  const auto run = record_in(folder.value().path() / "results");
  if (!run) return run.error();
  const auto& sink = run.value()["sink"];
  const double message_seconds = sink["message"]["median_seconds"];
  put_seconds(outcome.value(), message_seconds * static_cast<double>(asked.steps));
  outcome.value().accounted = sink["accounted"].get<bool>();
  return outcome;
}

}  // namespace weir::sim
