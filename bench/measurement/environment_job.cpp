// Describes what a run finds on its node: libraries, network cards, and the scheduler's job.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "measurement/environment.hpp"
#include "measurement/system_text.hpp"

namespace weir::bench {
namespace {

namespace fs = std::filesystem;

// Libraries of MPI, of networks, of file formats, and of codecs begin with these.
constexpr std::array recorded_libraries = {
    "hdf5", "pnetcdf", "netcdf", "uring",     "zstd",  "lz4",    "zfp",   "blosc",  "z",
    "sz",   "aec",     "mpi",    "open-pal",  "pmix",  "prrte",  "ucp",   "fabric", "psm2",
    "efa",  "ibverbs", "hwloc",  "lustreapi", "rados", "cephfs", "gfapi", "munge"};

// Returns whether a library's name is one of these, alone or before a hyphen or underscore:
// "hdf5_openmpi" is, "zzip" is not.
bool is_recorded(std::string_view name) {
  for (const std::string_view known : recorded_libraries) {
    if (!name.starts_with(known)) continue;
    if (name.size() == known.size() || name[known.size()] == '_' || name[known.size()] == '-') {
      return true;
    }
  }
  return false;
}

struct Variable {
  const char* name;
  const char* variable;
};
struct Scheduler {
  const char* name;
  std::array<Variable, 5> variables;
};
// The first variable is set in every job of the scheduler.
constexpr std::array schedulers = {Scheduler{"Slurm",
                                             {{{"job_id", "SLURM_JOB_ID"},
                                               {"queue", "SLURM_JOB_PARTITION"},
                                               {"nodes", "SLURM_JOB_NODELIST"},
                                               {"tasks_per_node", "SLURM_TASKS_PER_NODE"},
                                               {"processor_binding", "SLURM_CPU_BIND"}}}},
                                   Scheduler{"PBS",
                                             {{{"job_id", "PBS_JOBID"},
                                               {"queue", "PBS_QUEUE"},
                                               {"nodes", "PBS_NUM_NODES"},
                                               {"tasks_per_node", "PBS_NUM_PPN"},
                                               {"processor_binding", ""}}}},
                                   Scheduler{"LSF",
                                             {{{"job_id", "LSB_JOBID"},
                                               {"queue", "LSB_QUEUE"},
                                               {"nodes", "LSB_HOSTS"},
                                               {"tasks_per_node", "LSB_SUB_RES_REQ"},
                                               {"processor_binding", "LSB_BIND_CPU_LIST"}}}},
                                   Scheduler{"Flux",
                                             {{{"job_id", "FLUX_JOB_ID"},
                                               {"queue", ""},
                                               {"nodes", "FLUX_JOB_NNODES"},
                                               {"tasks_per_node", ""},
                                               {"processor_binding", ""}}}}};

nlohmann::json describe_card(const fs::path& card) {
  std::error_code error;
  const fs::path driver = fs::read_symlink(card / "device/driver", error);
  nlohmann::json told = {
      {"driver", error ? nlohmann::json("unknown") : nlohmann::json(driver.filename().string())},
      {"state", or_unknown(read_line(card / "operstate"))},
      {"mtu_bytes", or_unknown(read_integer(card / "mtu"))}};
  // A card without a cable says -1 or nothing.
  const auto speed = read_integer(card / "speed");
  told["megabits_per_second"] =
      speed.value_or(-1) > 0 ? nlohmann::json(*speed) : nlohmann::json("unknown");
  return told;
}

nlohmann::json describe_adapter(const fs::path& adapter) {
  nlohmann::json told = {{"firmware", or_unknown(read_line(adapter / "fw_ver"))},
                         {"model", or_unknown(read_line(adapter / "hca_type"))}};
  std::error_code error;
  for (const auto& port : fs::directory_iterator(adapter / "ports", error)) {
    told["port_" + port.path().filename().string()] = {
        {"rate", or_unknown(read_line(port.path() / "rate"))},
        {"state", or_unknown(read_line(port.path() / "state"))}};
  }
  return told;
}

}  // namespace

nlohmann::json describe_libraries(const std::string& maps) {
  nlohmann::json libraries = nlohmann::json::object();
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.rfind('/');
    if (begin == std::string::npos || line.compare(begin + 1, 3, "lib") != 0) continue;
    const std::string file = line.substr(begin + 4);
    const std::size_t end = file.find(".so");
    if (end == std::string::npos || !is_recorded(std::string_view(file).substr(0, end))) continue;
    const std::string version = file.size() > end + 4 ? file.substr(end + 4) : "unknown";
    libraries["lib" + file.substr(0, end)] = version;
  }
  return libraries;
}

nlohmann::json describe_network(const std::string& classes) {
  nlohmann::json cards = nlohmann::json::object();
  std::error_code error;
  for (const auto& card : fs::directory_iterator(classes + "/net", error)) {
    if (!fs::exists(card.path() / "device", error)) continue;  // a bridge, or the loopback
    cards[card.path().filename().string()] = describe_card(card.path());
  }
  for (const auto& adapter : fs::directory_iterator(classes + "/infiniband", error)) {
    cards[adapter.path().filename().string()] = describe_adapter(adapter.path());
  }
  return cards;
}

nlohmann::json describe_scheduler(const EnvironmentLookup& variable) {
  for (const Scheduler& scheduler : schedulers) {
    if (!variable(scheduler.variables.front().variable)) continue;
    nlohmann::json told = {{"name", scheduler.name}};
    for (const Variable& one : scheduler.variables) {
      if (*one.variable == '\0') continue;
      if (const auto value = variable(one.variable)) told[one.name] = *value;
    }
    return told;
  }
  return {{"name", "none"}};
}

}  // namespace weir::bench
