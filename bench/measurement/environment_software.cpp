#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <hwloc.h>
#include <mpi.h>
#include <sys/utsname.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "common/settings.hpp"
#include "measurement/build_info.hpp"
#include "measurement/environment.hpp"
#include "measurement/mpi_control_variables.hpp"
#include "measurement/system_text.hpp"

namespace weir::bench {
namespace {

std::string without_quotes(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

nlohmann::json describe_distribution() {
  const std::string release = read_text("/etc/os-release").value_or("");
  const std::optional<std::string> name = value_of(release, "PRETTY_NAME", '=');
  return name ? nlohmann::json(without_quotes(*name)) : nlohmann::json("unknown");
}

std::string mpi_io_implementation(const std::string& library,
                                  const MpiControlVariables& variables) {
  if (!library.starts_with("Open MPI")) {
    return library.starts_with("MPICH") || library.find("MVAPICH") != std::string::npos ||
                   library.find("Intel") != std::string::npos
               ? "ROMIO"
               : "unknown";
  }
  const std::string component = variables.value("io").value_or("");
  // An empty selection leaves the choice to Open MPI: OMPIO, except on Lustre.
  return component.empty() ? "not selected by the user: OMPIO is the default, ROMIO on Lustre"
                           : component;
}

// Users can tell an MPI library these about its transport and MPI-IO.
constexpr std::array mpi_parameters{"pml",
                                    "btl",
                                    "osc",
                                    "io",
                                    "fs",
                                    "fbtl",
                                    "fcoll",
                                    "sharedfp",
                                    "io_ompio_num_aggregators",
                                    "io_ompio_bytes_per_agg",
                                    "io_ompio_cycle_buffer_size",
                                    "io_ompio_grouping_option",
                                    "io_ompio_max_aggregators_ratio",
                                    "fs_lustre_stripe_size",
                                    "fs_lustre_stripe_width"};

nlohmann::json describe_mpi_parameters(const MpiControlVariables& variables) {
  nlohmann::json told = nlohmann::json::object();
  for (const char* const name : mpi_parameters) {
    const std::string value = variables.value(name).value_or("");
    if (!value.empty()) told[name] = value;
  }
  return told;
}

nlohmann::json describe_kernel() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return fmt::format("{} {} {}", names.sysname, names.release, names.version);
}

std::string hwloc_version() {
  const unsigned version = hwloc_get_api_version();
  return fmt::format("{}.{}.{}", version >> 16, (version >> 8) & 0xFF, version & 0xFF);
}

}  // namespace

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return std::string(trimmed({text.data(), static_cast<std::size_t>(length)}));
}

nlohmann::json describe_write_back(const std::string& folder) {
  nlohmann::json limits;
  for (const std::string which : {"dirty", "dirty_background"}) {
    const auto bytes = read_integer(fmt::format("{}/{}_bytes", folder, which));
    if (bytes.value_or(0) != 0) {
      limits[which + "_bytes"] = *bytes;
    } else {
      limits[which + "_ratio_percent"] =
          or_unknown(read_integer(fmt::format("{}/{}_ratio", folder, which)));
    }
  }
  for (const char* const name :
       {"dirty_expire_centisecs", "dirty_writeback_centisecs", "vfs_cache_pressure"}) {
    limits[name] = or_unknown(read_integer(fmt::format("{}/{}", folder, name)));
  }
  return limits;
}

nlohmann::json describe_system_software() {
  const std::string library = mpi_library();
  const MpiControlVariables variables;
  return {{"kernel", describe_kernel()},
          {"distribution", describe_distribution()},
          {"mpi", library},
          {"mpi_io", mpi_io_implementation(library, variables)},
          {"mpi_parameters", describe_mpi_parameters(variables)},
          {"compiler", build_info::compiler},
          {"c_library", fmt::format("glibc {}", gnu_get_libc_version())},
          {"hwloc", hwloc_version()},
          {"libraries", describe_libraries(read_text("/proc/self/maps").value_or(""))},
          {"scheduler", describe_scheduler(process_environment)},
          {"write_back", describe_write_back("/proc/sys/vm")}};
}

nlohmann::json describe_test_application(const std::vector<std::string>& command) {
  return {{"name", "weir-bench"},
          {"version", build_info::version},
          {"revision", build_info::revision},
          {"build_type", build_info::build_type},
          {"compiler_flags", build_info::compiler_flags},
          {"command", command}};
}

nlohmann::json describe_node(const std::string& directory) {
  nlohmann::json hardware = describe_hardware(directory);
  hardware["network"] = describe_network("/sys/class");
  return {{"hardware", std::move(hardware)},
          {"system_software", describe_system_software()},
          {"file_system", describe_file_system(directory)}};
}

nlohmann::json describe_environment(nlohmann::json nodes, const std::vector<std::string>& command,
                                    nlohmann::json quiet) {
  nodes["test_application"] = describe_test_application(command);
  nodes["quiet"] = std::move(quiet);
  return nodes;
}

}  // namespace weir::bench
