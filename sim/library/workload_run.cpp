#include "library/workload_run.hpp"

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

// Each is defined in the file of its name in bench/workloads.
int run_array(const std::vector<std::string>& arguments);
int run_sink(const std::vector<std::string>& arguments);

}  // namespace weir::bench

namespace weir::sim {
namespace {

namespace fs = std::filesystem;

// Each rank reads settings, opens a session and describes itself, in a time that grows with the
// ranks, so that more ranks take many minutes.
constexpr std::int64_t most_bench_ranks = 4096;

// A folder for the results and the test files of the job, which is removed with all its content.
class Folder {
 public:
  static Result<Folder> create() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error) return Error(ErrorCode::io, "there is no folder for temporary files: set TMPDIR");
    std::string path = (parent / "weir-sim-XXXXXX").string();
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

using Words = std::vector<std::string>;

void add(Words& words, const char* option, std::string value) {
  words.insert(words.end(), {option, std::move(value)});
}

Words words_of_array(const Description& asked) {
  const std::string steps = std::to_string(asked.steps);
  Words words{asked.read ? "--read" : "--write", "--repetitions", steps, "--max-repetitions",
              steps};
  add(words, "--shape", asked.array.shape);
  add(words, "--type", asked.array.type);
  add(words, "--distribution", asked.array.distribution);
  if (!asked.array.grid.empty()) add(words, "--grid", asked.array.grid);
  return words;
}

// Returns the sum over the repetitions, each from the first rank's start to the last rank's end.
double seconds_of_array(const Description& /*asked*/, const nlohmann::json& run) {
  double seconds = 0;
  for (const nlohmann::json& repetition : run["repetitions"]) {
    const nlohmann::json& phase = repetition["phases"][0];
    seconds += phase["bytes"].get<double>() / phase["rate_span_bytes_per_second"].get<double>();
  }
  return seconds;
}

Words words_of_sink(const Description& asked) {
  Words words{"--no-verify", "--repetitions", "1", "--max-repetitions", "1", "--rank-bytes", "0"};
  add(words, "--iterations", std::to_string(asked.steps));
  const auto array = array_of(asked);
  add(words, "--message-bytes", std::to_string(array.value().held.shape().extents()[1]));
  return words;
}

double seconds_of_sink(const Description& asked, const nlohmann::json& run) {
  return run["sink"]["message"]["median_seconds"].get<double>() * static_cast<double>(asked.steps);
}

// A workload of weir-bench, as simulated ranks run it.
struct Program {
  const char* name;
  int (*run)(const Words& arguments);
  Words (*words)(const Description& asked);
  double (*seconds)(const Description& asked, const nlohmann::json& run);
  bool keeps_bytes;  // the simulated storage does, so that they are compared
};

constexpr Program array_program{.name = "array",
                                .run = bench::run_array,
                                .words = words_of_array,
                                .seconds = seconds_of_array,
                                .keeps_bytes = true};
constexpr Program sink_program{.name = "sink",
                               .run = bench::run_sink,
                               .words = words_of_sink,
                               .seconds = seconds_of_sink,
                               .keeps_bytes = false};

const Program& program_of(const Description& asked) {
  return asked.workload == Workload::array ? array_program : sink_program;
}

Words words_of(const Program& program, const Description& asked, const Planned& planned,
               const Folder& folder) {
  Words words = program.words(asked);
  add(words, "--warmups", "0");
  add(words, "--seed", "1");
  add(words, "--directory", folder.path().string());
  add(words, "--output", (folder.path() / "results").string());
  if (asked.posix_calls) {
    add(words, "--api", "posix");
    return words;
  }
  add(words, "--api", "weir");
  // An engine that drops bytes would be refused where they are compared.
  if (program.keeps_bytes) add(words, "--engine", "posix");
  add(words, "--strategy", std::string(plan::name_of(planned.parameters.strategy)));
  add(words, "--aggregators", std::to_string(planned.aggregators_per_node));
  add(words, "--placement", std::string(topology::name_of(asked.placement)));
  if (asked.nodes_per_group > 0) add(words, "--io-groups", std::to_string(asked.nodes_per_group));
  return words;
}

// The folder must have room for what the simulated storage keeps.
Status check_room(const Planned& planned, const Folder& folder) {
  std::error_code error;
  const fs::space_info space = fs::space(folder.path(), error);
  const auto bytes = static_cast<std::uintmax_t>(planned.flows.bytes);
  if (error || bytes <= space.available) return {};
  return invalid_argument(
      fmt::format("the array has {} bytes, which the simulated storage keeps in {}, where {} are "
                  "free: give a smaller array, or another folder by TMPDIR",
                  bytes, folder.path().parent_path().string(), space.available));
}

// Returns the record of the only configuration.
Result<nlohmann::json> record_in(const fs::path& results, const Program& program) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(results, error)) {
    std::ifstream file(entry.path() / "run.json");
    auto run = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (run.is_object()) return run;
  }
  return Error(ErrorCode::io, fmt::format("weir-bench {} left no results", program.name),
               results.string());
}

}  // namespace

Result<Outcome> run_workload(const Description& asked, const Planned& planned) {
  const Program& program = program_of(asked);
  if (asked.ranks() > most_bench_ranks) {
    return invalid_argument(
        fmt::format("{} ranks: weir-bench {} is simulated on at most {}; give fewer, or simulate "
                    "its plan: weir sim {}",
                    asked.ranks(), program.name, most_bench_ranks,
                    asked.workload == Workload::array ? "array --level plan" : "messages"));
  }
  const auto folder = Folder::create();
  if (!folder) return folder.error();
  if (Status fits = program.keeps_bytes ? check_room(planned, folder.value()) : Status(); !fits) {
    return fits.error();
  }
  set_variables(asked);
  const Words words = words_of(program, asked, planned, folder.value());
  auto outcome = [&] {
    const NoOutput quiet;
    return run_job(
        asked, planned,
        [&](std::int64_t /*rank*/) -> Status {
          const int status = program.run(words);
          if (status == 0) return {};
          return Error(ErrorCode::io,
                       fmt::format("weir-bench {} ended with status {}", program.name, status));
        },
        program.keeps_bytes ? Storage::keeps_bytes : Storage::drops_bytes);
  }();
  if (!outcome) return outcome;
  const auto run = record_in(folder.value().path() / "results", program);
  if (!run) return run.error();
  put_seconds(outcome.value(), program.seconds(asked, run.value()));
  if (run.value().contains("sink")) {
    outcome.value().accounted = run.value()["sink"]["accounted"].get<bool>();
  }
  if (program.keeps_bytes) {
    outcome.value().bytes_compared =
        run.value()["verification"]["bytes_verified"].get<std::int64_t>();
  }
  return outcome;
}

}  // namespace weir::sim
