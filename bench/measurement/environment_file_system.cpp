#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measurement/environment.hpp"
#include "measurement/system_text.hpp"
#include "system/lustre_layout.hpp"
#include "system/mounts.hpp"

namespace weir::bench {
namespace {

struct KnownFileSystem {
  std::uint32_t magic;  // f_type of statfs
  std::string_view name;
};

// The numbers are from linux/magic.h and, for file systems outside the kernel, from their clients'
// public headers. Where types share a number (ext2 to ext4, everything in FUSE) the mount table is
// more specific.
constexpr std::array known_file_systems{
    KnownFileSystem{0x0000EF53, "ext4"},  KnownFileSystem{0x58465342, "xfs"},
    KnownFileSystem{0x9123683E, "btrfs"}, KnownFileSystem{0x2FC12FC1, "zfs"},
    KnownFileSystem{0xF2F52010, "f2fs"},  KnownFileSystem{0x01021994, "tmpfs"},
    KnownFileSystem{0x858458F6, "ramfs"}, KnownFileSystem{0x794C7630, "overlay"},
    KnownFileSystem{0x00006969, "nfs"},   KnownFileSystem{0xFF534D42, "cifs"},
    KnownFileSystem{0xFE534D42, "smb2"},  KnownFileSystem{0x0BD00BD0, "lustre"},
    KnownFileSystem{0x47504653, "gpfs"},  KnownFileSystem{0x19830326, "beegfs"},
    KnownFileSystem{0x00C36400, "ceph"},  KnownFileSystem{0x20030528, "orangefs"},
    KnownFileSystem{0xAAD7AAEA, "panfs"}, KnownFileSystem{0x18031977, "wekafs"},
    KnownFileSystem{0x01161970, "gfs2"},  KnownFileSystem{0x7461636F, "ocfs2"},
    KnownFileSystem{0x5346414F, "afs"},   KnownFileSystem{0x01021997, "9p"},
    KnownFileSystem{0x65735546, "fuse"},
};

constexpr std::array<std::string_view, 2> in_memory{"tmpfs", "ramfs"};
constexpr std::array<std::string_view, 5> with_own_cache{"gpfs", "zfs", "beegfs", "9p", "virtiofs"};
constexpr std::array<std::string_view, 16> over_a_network{
    "nfs",  "nfs4",     "cifs",  "smb2",   "smb3", "lustre", "gpfs", "beegfs",
    "ceph", "orangefs", "panfs", "wekafs", "gfs2", "ocfs2",  "afs",  "9p"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string name_of_type(const std::optional<storage::Mount>& mount, std::uint32_t magic) {
  if (mount) return mount->type;
  const auto known =
      std::find_if(known_file_systems.begin(), known_file_systems.end(),
                   [magic](const KnownFileSystem& one) { return one.magic == magic; });
  return known == known_file_systems.end() ? "unknown" : std::string(known->name);
}

const char* reach_of(const std::string& type) {
  if (is_memory_file_system(type)) return "memory";
  if (contains(over_a_network, type)) return "network";
  // A FUSE file system may be anything; one that names a server is recognized by the mount's
  // source.
  if (type == "unknown" || type.starts_with("fuse") || type == "overlay") return "unknown";
  return "local";
}

// CephFS answers with a text: "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data".
std::optional<std::string> ceph_layout_of(const std::string& directory) {
  std::array<char, 512> text{};
  const ssize_t got = getxattr(directory.c_str(), "ceph.dir.layout", text.data(), text.size() - 1);
  if (got <= 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(got));
}

nlohmann::json stripes_json(const storage::LustreStripes& stripes) {
  return {{"stripe_bytes", stripes.stripe_bytes},
          {"stripe_count", stripes.stripe_count},
          {"first_target", stripes.first_target},
          {"pool", stripes.pool}};
}

nlohmann::json lustre_json(const storage::LustreLayout& layout) {
  if (!layout.is_composite) return stripes_json(layout.components.front().stripes);
  nlohmann::json components = nlohmann::json::array();
  for (const storage::LustreComponent& one : layout.components) {
    nlohmann::json component = stripes_json(one.stripes);
    component["from_byte"] = one.from_byte;
    component["to_byte"] = one.to_byte;
    component["instantiated"] = one.instantiated;
    components.push_back(std::move(component));
  }
  return {{"components", std::move(components)}};
}

nlohmann::json describe_layout(const std::string& directory) {
  if (const auto lustre = storage::lustre_layout_of(directory)) return lustre_json(*lustre);
  if (auto ceph = ceph_layout_of(directory)) return *ceph;
  return "unknown";
}

}  // namespace

bool is_memory_file_system(const std::string& type) { return contains(in_memory, type); }

bool has_cache_of_its_own(const std::string& type) {
  return contains(with_own_cache, type) || type.starts_with("fuse");
}

std::string file_system_type(const std::string& directory) {
  struct statfs status {};
  if (statfs(directory.c_str(), &status) != 0) return "unknown";
  return name_of_type(storage::mount_of(directory), static_cast<std::uint32_t>(status.f_type));
}

nlohmann::json describe_file_system(const std::string& directory) {
  nlohmann::json description = {
      {"directory", directory},       {"type", "unknown"},        {"magic", "unknown"},
      {"reach", "unknown"},           {"mount_point", "unknown"}, {"source", "unknown"},
      {"options", "unknown"},         {"block_bytes", "unknown"}, {"total_bytes", "unknown"},
      {"available_bytes", "unknown"}, {"layout", "unknown"},      {"version", "unknown"},
      {"tunables", "unknown"}};
  struct statfs status {};
  if (statfs(directory.c_str(), &status) != 0) return description;
  const std::optional<storage::Mount> mount = storage::mount_of(directory);
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  const std::string type = name_of_type(mount, magic);
  const auto block_bytes =
      static_cast<std::uint64_t>(status.f_frsize > 0 ? status.f_frsize : status.f_bsize);
  description["type"] = type;
  description["magic"] = fmt::format("0x{:08x}", magic);
  description["reach"] = reach_of(type);
  description["block_bytes"] = status.f_bsize;
  description["total_bytes"] = status.f_blocks * block_bytes;
  description["available_bytes"] = status.f_bavail * block_bytes;
  description["layout"] = describe_layout(directory);
  if (mount) {
    description["mount_point"] = mount->point;
    description["source"] = mount->source;
    description["options"] = mount->options;
    description.update(describe_tuning(*mount, ""));
  }
  return description;
}

}  // namespace weir::bench
