#include "measurement/run_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>

#include "common/clock.hpp"
#include "measurement/failure.hpp"
#include "system/striping.hpp"

namespace weir::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Converts "2026-11-21T02:43:07Z" to "20261121T024307Z".
std::string compact(const std::string& utc) {
  std::string text;
  for (const char c : utc) {
    if (c != '-' && c != ':') text += c;
  }
  return text;
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return system_failure("mkdir", path.string(), -1, error.value());
  return {};
}

Status make_root(const fs::path& root) {
  std::error_code error;
  if (fs::exists(root, error) && !fs::is_empty(root, error)) {
    return invalid_argument(
        fmt::format("--output {}: the folder exists and is not empty; results are never "
                    "overwritten, give a new folder",
                    root.string()));
  }
  return make_folder(root);
}

Status make_folders(const JobFolders& folders, const std::vector<std::string>& slugs,
                    const CoreSettings& core) {
  const fs::path root = folders.root;
  if (Status status = make_root(root); !status) return status;
  for (const std::string& slug : slugs) {
    if (Status status = make_folder(root / slug); !status) return status;
  }
  // The directories are recorded before they are created, so that they can be found whatever
  // happens next.
  std::vector<std::string> made = {folders.test_directory};
  made.insert(made.end(), folders.further_test_directories.begin(),
              folders.further_test_directories.end());
  const ordered_json files =
      made.size() > 1 ? ordered_json(made) : ordered_json{{"directory", folders.test_directory}};
  if (Status status = write_file_atomically((root / "files.json").string(), files.dump(2) + "\n");
      !status) {
    return status;
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::string& directory = made[i];
    if (mkdir(directory.c_str(), 0755) != 0) return system_failure("mkdir", directory, -1, errno);
    // Every file in the folder gets this layout, whatever interface creates it.
    if (Status laid_out = lay_out_folder(directory, i, core.targets, core.striping); !laid_out) {
      for (std::size_t k = 0; k <= i; ++k) rmdir(made[k].c_str());
      return laid_out;
    }
  }
  return {};
}

std::string test_directory_in(const std::string& directory, const std::string& id) {
  std::error_code error;
  return (fs::absolute(directory, error) / ("weir-" + id)).lexically_normal().string();
}

std::string first_test_directory(const CoreSettings& core, const std::string& id) {
  return test_directory_in(core.directory, id) + core.targets.folder_ending(0);
}

std::vector<std::string> further_test_directories(const CoreSettings& core, const std::string& id) {
  std::vector<std::string> directories;
  directories.reserve(core.further_directories.size() + core.targets.folders() - 1);
  for (std::size_t i = 1; i < core.targets.folders(); ++i) {
    directories.push_back(test_directory_in(core.directory, id) + core.targets.folder_ending(i));
  }
  for (const std::string& one : core.further_directories) {
    directories.push_back(test_directory_in(one, id));
  }
  return directories;
}

}  // namespace

Result<JobFolders> create_job_folders(const Job& job, const CoreSettings& core,
                                      const std::string& workload,
                                      const std::vector<std::string>& slugs) {
  struct Message {
    std::array<char, 64> id;
    std::array<char, 32> started;
    std::array<char, 4096> root;
    std::array<char, 4096> directory;
    std::array<char, 2048> error;
    std::uint64_t seed;
    int code;
  } message{};
  static_assert(std::is_trivially_copyable_v<Message>);
  if (job.rank == 0) {
    std::random_device random;
    JobFolders folders;
    folders.started_utc = utc_now();
    // The seed has 63 bits, which --seed accepts, so that every run can be repeated.
    constexpr std::uint64_t largest_seed = std::numeric_limits<std::int64_t>::max();
    const std::uint64_t drawn = (static_cast<std::uint64_t>(random()) << 32) | random();
    folders.seed = core.seed.value_or(drawn & largest_seed);
    folders.id = fmt::format("{}-{}-{:08x}", compact(folders.started_utc), workload, random());
    std::error_code error;
    const fs::path root =
        core.output.empty() ? fs::path("weir-results") / folders.id : fs::path(core.output);
    folders.root = fs::absolute(root, error).lexically_normal().string();
    folders.test_directory = first_test_directory(core, folders.id);
    folders.further_test_directories = further_test_directories(core, folders.id);
    Status status;
    if (folders.root.size() >= message.root.size() ||
        folders.test_directory.size() >= message.directory.size()) {
      status = invalid_argument("--output or --directory: the path is too long");
    } else {
      status = make_folders(folders, slugs, core);
    }
    if (status) {
      folders.id.copy(message.id.data(), message.id.size() - 1);
      folders.started_utc.copy(message.started.data(), message.started.size() - 1);
      folders.root.copy(message.root.data(), message.root.size() - 1);
      folders.test_directory.copy(message.directory.data(), message.directory.size() - 1);
      message.seed = folders.seed;
    } else {
      status.error().text().copy(message.error.data(), message.error.size() - 1);
      message.code = static_cast<int>(status.error().code);
    }
  }
  MPI_Bcast(&message, sizeof message, MPI_BYTE, 0, job.world);
  if (message.error[0] != '\0') {
    Error error;
    error.code = static_cast<ErrorCode>(message.code);
    error.message = message.error.data();
    return error;
  }
  return JobFolders{message.id.data(),        message.root.data(),
                    message.directory.data(), further_test_directories(core, message.id.data()),
                    message.started.data(),   message.seed};
}

ordered_json new_run(const JobFolders& folders, const RunHead& head, const CoreSettings& core) {
  ordered_json run;
  run["format"] = "weir-run";
  run["format_version"] = 1;
  run["id"] = fmt::format("{}-{}", folders.id, head.slug);
  run["workload"] = head.workload;
  run["label"] = head.label;
  run["status"] = "running";
  run["failure"] = nullptr;
  run["started_utc"] = folders.started_utc;
  run["finished_utc"] = nullptr;
  run["command"] = head.command;
  run["parameters"] = head.parameters;
  run["plan"] = head.plan;
  run["expectation"] = head.expectation;
  run["verdict"] = nullptr;
  for (const char* list : {"repetitions", "rates", "effective", "histograms", "nodes"}) {
    run[list] = ordered_json::array();
  }
  run["verification"] = {
      {"performed", core.verify},
      {"how", core.verify ? "every byte that is read is compared with the payload, a function of "
                            "seed, file, generation and position"
                          : "switched off by --no-verify"},
      {"seed", fmt::format("{:016x}", folders.seed)},
      {"compressible_percent", core.compressible_percent},
      {"bytes_verified", 0},
      {"errors", ordered_json::array()}};
  run["clocks"] = nullptr;
  run["environment"] = nullptr;
  run["opened_hints"] = ordered_json::array();
  run["warnings"] = ordered_json::array();
  return run;
}

Result<ordered_json> read_expectations(const std::string& path) {
  if (path.empty()) return ordered_json::object();
  std::ifstream file(path);
  if (!file) {
    return invalid_argument(fmt::format("--expectation {}: the file cannot be read", path));
  }
  auto expectations = ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!expectations.is_object()) {
    return invalid_argument(fmt::format(
        "--expectation {}: the file is not a JSON object as `weir predict` writes it", path));
  }
  return expectations;
}

}  // namespace weir::bench
