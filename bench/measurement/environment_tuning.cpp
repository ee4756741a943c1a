// Describes which version of a file system this is, and how it is tuned, from what any user may
// read. Values are those of this node's client or driver.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "measurement/environment.hpp"
#include "measurement/system_text.hpp"

namespace weir::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Drivers that have a version of their own, and their modules' names.
struct Driver {
  std::string_view type;
  const char* module;
};
constexpr std::array drivers{Driver{"lustre", "lustre"},   Driver{"zfs", "zfs"},
                             Driver{"beegfs", "beegfs"},   Driver{"gpfs", "mmfs26"},
                             Driver{"wekafs", "wekafsio"}, Driver{"panfs", "panfs"}};
// Drivers that are parts of the kernel and have its version.
constexpr std::array<std::string_view, 15> of_the_kernel{
    "ext2",    "ext3", "ext4", "xfs",  "btrfs", "f2fs", "tmpfs", "ramfs",
    "overlay", "ceph", "nfs",  "nfs4", "9p",    "gfs2", "ocfs2"};

// Lustre's client tunes these for a mount, and for each target.
constexpr std::array lustre_of_mount{"max_read_ahead_mb",
                                     "max_read_ahead_per_file_mb",
                                     "max_read_ahead_whole_mb",
                                     "max_read_ahead_async_active",
                                     "read_ahead_range_kb",
                                     "checksums",
                                     "checksum_pages",
                                     "fast_read",
                                     "statahead_max",
                                     "xattr_cache",
                                     "hybrid_io",
                                     "file_heat"};
constexpr std::array lustre_of_target{"max_pages_per_rpc", "max_rpcs_in_flight", "max_dirty_mb",
                                      "checksums", "checksum_type"};
constexpr std::array nfs_of_node{"tcp_slot_table_entries", "tcp_max_slot_table_entries",
                                 "udp_slot_table_entries"};
constexpr std::array zfs_of_node{
    "zfs_arc_max",          "zfs_arc_min",        "zfs_dirty_data_max",        "zfs_txg_timeout",
    "zfs_prefetch_disable", "zfs_vdev_scheduler", "zfs_compressed_arc_enabled"};
constexpr std::array beegfs_of_mount{"tuneFileCacheType", "tuneFileCacheBufSize", "tuneRemoteFSync",
                                     "connMaxInternodeNum", "tunePreferredStorageFile"};
// Values in ext4's folder that the kernel changes by itself.
constexpr std::array<std::string_view, 2> states{"last_trim_minblks", "trigger_fs_error"};
constexpr std::size_t most_tunables = 128;
constexpr std::size_t longest_tunable = 256;

void put(json& tunables, const std::string& name, const std::string& path) {
  if (tunables.size() >= most_tunables) return;
  const std::optional<std::string> line = read_line(path);
  if (!line) return;
  const std::string text = chosen(*line).substr(0, longest_tunable);
  const std::optional<std::int64_t> number = parse_integer(text);
  tunables[name] = number ? json(*number) : json(text);
}

template <typename Names>
void put_all(json& tunables, const Names& names, const std::string& folder,
             const std::string& before = "") {
  for (const char* const name : names) put(tunables, before + name, folder + "/" + name);
}

// Returns the names in a folder, in their order.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& one : fs::directory_iterator(folder, error)) {
    names.push_back(one.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Puts what an administrator may set: the files that their owner may write and read.
void put_settable(json& tunables, const std::string& folder) {
  for (const std::string& name : names_in(folder)) {
    std::error_code error;
    const std::string path = fmt::format("{}/{}", folder, name);
    const fs::file_status status = fs::status(path, error);
    constexpr fs::perms both = fs::perms::owner_read | fs::perms::owner_write;
    const bool is_state = std::find(states.begin(), states.end(), name) != states.end();
    if (error || is_state || !fs::is_regular_file(status)) continue;
    if ((status.permissions() & both) == both) put(tunables, name, path);
  }
}

std::optional<std::string> option(const std::string& options, std::string_view name) {
  for (std::size_t begin = 0; begin <= options.size();) {
    const std::size_t end = std::min(options.find(',', begin), options.size());
    const std::string_view one = std::string_view(options).substr(begin, end - begin);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) {
      return std::string(one.substr(name.size() + 1));
    }
    begin = end + 1;
  }
  return std::nullopt;
}

// Returns the folders of a Lustre mount in `folder`: NAME-ADDRESS of a mount, and NAME-OST….
std::vector<std::string> of_lustre(const std::string& folder, const std::string& source) {
  // NAME follows ":/" in "10.0.0.1@tcp:10.0.0.2@tcp:/NAME/FOLDER"; a mount may be of a folder.
  const std::size_t begin = source.rfind(":/");
  if (begin == std::string::npos) return {};
  const std::string path = source.substr(begin + 2);
  const std::string name = path.substr(0, path.find('/')) + "-";
  std::vector<std::string> found;
  for (const std::string& one : names_in(folder)) {
    if (one.starts_with(name)) found.push_back(fmt::format("{}/{}", folder, one));
  }
  return found;
}

void put_lustre(json& tunables, const storage::Mount& mounted, const std::string& root) {
  for (const char* const parent : {"/sys/fs/lustre", "/proc/fs/lustre"}) {
    const auto mounts = of_lustre(fmt::format("{}{}/llite", root, parent), mounted.source);
    if (!mounts.empty()) {
      put_all(tunables, lustre_of_mount, mounts.front());
      // This file also has what is in use, with a name before each number.
      const auto cache = read_text(mounts.front() + "/max_cached_mb");
      const auto most = value_of(cache.value_or(""), "max_cached_mb", ':');
      const auto number = most ? parse_integer(*most) : std::nullopt;
      if (number) tunables["max_cached_mb"] = *number;
    }
    const auto targets = of_lustre(fmt::format("{}{}/osc", root, parent), mounted.source);
    if (!targets.empty()) put_all(tunables, lustre_of_target, targets.front(), "osc_");
  }
}

void put_beegfs(json& tunables, const std::string& root) {
  const std::string folder = root + "/proc/fs/beegfs";
  for (const std::string& one : names_in(folder)) {
    const std::string text = read_text(fmt::format("{}/{}/config", folder, one)).value_or("");
    for (const char* const name : beegfs_of_mount) {
      if (const auto value = value_of(text, name, '=')) {
        tunables[name] = value->substr(0, longest_tunable);
      }
    }
    if (!text.empty()) return;  // of the first mount, as is usual the only one
  }
}

json version_of(const storage::Mount& mounted, const std::string& root) {
  if (mounted.type == "lustre") {
    for (const char* const file : {"/sys/fs/lustre/version", "/proc/fs/lustre/version"}) {
      const std::optional<std::string> line = read_line(root + file);
      if (!line) continue;  // "lustre: 2.12.5", or the number alone
      return std::string(trimmed(std::string_view(*line).substr(line->find(':') + 1)));
    }
  }
  const auto driver = std::find_if(drivers.begin(), drivers.end(),
                                   [&](const Driver& one) { return one.type == mounted.type; });
  if (driver != drivers.end()) {
    return or_unknown(read_line(fmt::format("{}/sys/module/{}/version", root, driver->module)));
  }
  const std::optional<std::string> protocol = option(mounted.options, "vers");
  const std::string of_protocol = protocol ? fmt::format("protocol {}, ", *protocol) : "";
  if (mounted.type == "cifs" || mounted.type == "smb3") {
    const auto module = read_line(root + "/sys/module/cifs/version");
    return of_protocol + "driver " + module.value_or("unknown");
  }
  utsname names{};
  const bool in_kernel =
      std::find(of_the_kernel.begin(), of_the_kernel.end(), mounted.type) != of_the_kernel.end();
  if (!in_kernel || uname(&names) != 0) return "unknown";
  return fmt::format("{}kernel {}", of_protocol, names.release);
}

json tunables_of(const storage::Mount& mounted, const std::string& root) {
  json tunables = json::object();
  const std::string& type = mounted.type;
  const std::string disk = mounted.source.substr(mounted.source.rfind('/') + 1);
  // Every mounted file system has such a folder; what a network's client reads ahead is there.
  put_all(tunables, std::array{"read_ahead_kb", "min_ratio", "max_ratio"},
          fmt::format("{}/sys/class/bdi/{}", root, mounted.device));
  if (type.starts_with("ext")) put_settable(tunables, root + "/sys/fs/ext4/" + disk);
  if (type == "f2fs") put_settable(tunables, root + "/sys/fs/f2fs/" + disk);
  if (type == "xfs") put_settable(tunables, root + "/proc/sys/fs/xfs");
  if (type == "btrfs") {
    for (const std::string& one : names_in(root + "/sys/fs/btrfs")) {
      const std::string folder = fmt::format("{}/sys/fs/btrfs/{}", root, one);
      std::error_code error;
      if (!fs::exists(fmt::format("{}/devices/{}", folder, disk), error)) continue;
      put_settable(tunables, folder);
      put_all(tunables, std::array{"nodesize", "sectorsize", "checksum"}, folder);
    }
  }
  if (type == "zfs") put_all(tunables, zfs_of_node, root + "/sys/module/zfs/parameters");
  if (type == "lustre") put_lustre(tunables, mounted, root);
  if (type == "beegfs") put_beegfs(tunables, root);
  if (type == "nfs" || type == "nfs4") put_all(tunables, nfs_of_node, root + "/proc/sys/sunrpc");
  if (type.starts_with("fuse")) {
    const std::string minor = mounted.device.substr(mounted.device.find(':') + 1);
    put_all(tunables, std::array{"max_background", "congestion_threshold"},
            fmt::format("{}/sys/fs/fuse/connections/{}", root, minor));
  }
  return tunables;
}

}  // namespace

json describe_tuning(const storage::Mount& mounted, const std::string& root) {
  return {{"version", version_of(mounted, root)}, {"tunables", tunables_of(mounted, root)}};
}

}  // namespace weir::bench
