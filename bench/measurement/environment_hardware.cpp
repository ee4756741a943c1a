#include <fmt/format.h>
#include <hwloc.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "measurement/environment.hpp"
#include "measurement/system_text.hpp"
#include "system/mounts.hpp"

namespace weir::bench {
namespace {

constexpr std::int64_t sector_bytes = 512;  // the unit of /sys/block/*/size on every device

nlohmann::json read_choice(const std::string& path) {
  const std::optional<std::string> line = read_line(path);
  return line ? nlohmann::json(chosen(*line)) : nlohmann::json("unknown");
}

nlohmann::json describe_processor() {
  nlohmann::json processor = {{"sockets", "unknown"},
                              {"cores", "unknown"},
                              {"hardware_threads", "unknown"},
                              {"numa_nodes", "unknown"}};
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) == 0) {
    const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(
        raw, &hwloc_topology_destroy);
    if (hwloc_topology_load(raw) == 0) {
      const auto count = [raw](hwloc_obj_type_t type) -> nlohmann::json {
        const int objects = hwloc_get_nbobjs_by_type(raw, type);
        return objects > 0 ? nlohmann::json(objects) : nlohmann::json("unknown");
      };
      processor["sockets"] = count(HWLOC_OBJ_PACKAGE);
      processor["cores"] = count(HWLOC_OBJ_CORE);
      processor["hardware_threads"] = count(HWLOC_OBJ_PU);
      processor["numa_nodes"] = count(HWLOC_OBJ_NUMANODE);
    }
  }
  const std::string description = read_text("/proc/cpuinfo").value_or("");
  std::optional<std::string> model = value_of(description, "model name", ':');
  if (!model) model = value_of(description, "CPU part", ':');  // ARM has no model name
  processor["model"] = or_unknown(model);
  processor["frequency_governor"] =
      or_unknown(read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  processor["virtual_machine"] =
      value_of(description, "flags", ':').value_or("").find("hypervisor") != std::string::npos;
  utsname names{};
  processor["architecture"] =
      uname(&names) == 0 ? nlohmann::json(names.machine) : nlohmann::json("unknown");
  return processor;
}

nlohmann::json describe_memory() {
  const std::optional<std::string> total =
      value_of(read_text("/proc/meminfo").value_or(""), "MemTotal", ':');
  std::optional<std::int64_t> bytes;
  if (total) {
    if (const auto kib = parse_integer(total->substr(0, total->find(' ')))) bytes = *kib * 1024;
  }
  return {{"bytes", or_unknown(bytes)},
          {"page_bytes", sysconf(_SC_PAGESIZE)},
          {"transparent_huge_pages", read_choice("/sys/kernel/mm/transparent_hugepage/enabled")}};
}

// Returns the device's folder in /sys or, for a partition, that of the whole disk, which has the
// queue.
std::filesystem::path disk_of(const std::filesystem::path& device) {
  return std::filesystem::exists(device / "partition") ? device.parent_path() : device;
}

nlohmann::json describe_block_device(const std::filesystem::path& device, int depth);

// Describes the devices that make up a mapped, striped or mirrored device.
nlohmann::json describe_parts(const std::filesystem::path& disk, int depth) {
  constexpr int deepest = 4;  // for example a file system on a volume on a RAID on a partition
  nlohmann::json parts = nlohmann::json::array();
  std::error_code error;
  for (const auto& part : std::filesystem::directory_iterator(disk / "slaves", error)) {
    const std::filesystem::path target = std::filesystem::canonical(part.path(), error);
    if (!error && depth < deepest) parts.push_back(describe_block_device(target, depth + 1));
  }
  return parts;
}

nlohmann::json describe_block_device(const std::filesystem::path& device, int depth) {
  const std::filesystem::path disk = disk_of(device);
  const auto scaled = [](std::optional<std::int64_t> value, std::int64_t unit) {
    return value ? nlohmann::json(*value * unit) : nlohmann::json("unknown");
  };
  const std::optional<std::int64_t> rotational = read_integer(disk / "queue/rotational");
  nlohmann::json description = {
      {"name", device.filename().string()},
      {"model", or_unknown(read_line(disk / "device/model"))},
      {"size_bytes", scaled(read_integer(device / "size"), sector_bytes)},
      {"rotational", rotational ? nlohmann::json(*rotational != 0) : nlohmann::json("unknown")},
      {"scheduler", read_choice(disk / "queue/scheduler")},
      {"logical_block_bytes", or_unknown(read_integer(disk / "queue/logical_block_size"))},
      {"physical_block_bytes", or_unknown(read_integer(disk / "queue/physical_block_size"))},
      {"largest_request_bytes", scaled(read_integer(disk / "queue/max_sectors_kb"), 1024)},
      {"read_ahead_bytes", scaled(read_integer(disk / "queue/read_ahead_kb"), 1024)},
      {"queue_depth", or_unknown(read_integer(disk / "queue/nr_requests"))},
      {"write_cache", or_unknown(read_line(disk / "queue/write_cache"))}};
  if (const auto backing = read_line(disk / "loop/backing_file"))
    description["backing_file"] = *backing;
  if (nlohmann::json parts = describe_parts(disk, depth); !parts.empty())
    description["made_of"] = std::move(parts);
  return description;
}

// Returns the device of the file system, or that of its source if /sys does not know the former
// (btrfs, overlay).
std::optional<std::filesystem::path> block_device_under(const std::string& directory) {
  const auto known = [](dev_t number) -> std::optional<std::filesystem::path> {
    std::error_code error;
    std::filesystem::path device = std::filesystem::canonical(
        fmt::format("/sys/dev/block/{}:{}", major(number), minor(number)), error);
    if (error) return std::nullopt;
    return device;
  };
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) return std::nullopt;
  if (auto device = known(status.st_dev)) return device;
  const auto mount = storage::mount_of(directory);
  if (!mount || !mount->source.starts_with("/dev/")) return std::nullopt;
  if (stat(mount->source.c_str(), &status) != 0) return std::nullopt;
  return known(status.st_rdev);
}

}  // namespace

nlohmann::json describe_hardware(const std::string& directory) {
  nlohmann::json hardware = {{"processor", describe_processor()},
                             {"memory", describe_memory()},
                             {"block_device", "unknown"}};
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (gethostname(host.data(), HOST_NAME_MAX) == 0) hardware["described_host"] = host.data();
  if (const auto device = block_device_under(directory))
    hardware["block_device"] = describe_block_device(*device, 0);
  return hardware;
}

}  // namespace weir::bench
