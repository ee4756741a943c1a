#include "system/lustre_layout.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/numbers_in_bytes.hpp"
#include "system/mounts.hpp"

namespace weir::storage {
namespace {

constexpr std::uint32_t magic_v1 = 0x0BD10BD0;
constexpr std::uint32_t magic_v3 = 0x0BD30BD0;
constexpr std::uint32_t magic_composite = 0x0BD60BD0;
constexpr std::size_t plain_bytes = 32;
constexpr std::size_t pool_bytes = 16;
constexpr std::size_t composite_bytes = 32;
constexpr std::size_t entry_bytes = 48;
constexpr std::uint32_t instantiated_flag = 0x10;    // LCME_FL_INIT
constexpr std::uint32_t released_flag = 0x80000000;  // in the pattern: the data is in an archive
// lov_user_ost_data_v1: 16 bytes name the object, 4 are a generation, 4 the index of its target.
constexpr std::size_t object_bytes = 24;
constexpr std::size_t target_at = 20;

// All bits set mean "all" or "any".
template <typename T>
std::int64_t signed_field(std::span<const std::byte> value, std::size_t at) {
  const T raw = number_at<T>(value, at);
  return raw == static_cast<T>(-1) ? -1 : static_cast<std::int64_t>(raw);
}

std::optional<LustreStripes> parse_plain(std::span<const std::byte> value) {
  if (value.size() < plain_bytes) return std::nullopt;
  const auto magic = number_at<std::uint32_t>(value, 0);
  if (magic != magic_v1 && magic != magic_v3) return std::nullopt;
  LustreStripes stripes{.stripe_bytes = number_at<std::uint32_t>(value, 24),
                        .stripe_count = signed_field<std::uint16_t>(value, 28),
                        .first_target = signed_field<std::uint16_t>(value, 30),
                        .pool = ""};
  if (magic == magic_v3) {
    if (value.size() < plain_bytes + pool_bytes) return std::nullopt;
    std::array<char, pool_bytes + 1> pool{};
    std::memcpy(pool.data(), value.data() + plain_bytes, pool_bytes);
    stripes.pool = pool.data();
  }
  return stripes;
}

// Adds the targets of a plain layout's objects.
bool add_objects(std::span<const std::byte> value, std::vector<std::int64_t>* targets) {
  if (!parse_plain(value)) return false;
  const bool has_pool = number_at<std::uint32_t>(value, 0) == magic_v3;
  const std::size_t begin = plain_bytes + (has_pool ? pool_bytes : 0);
  const std::int64_t stripes = signed_field<std::uint16_t>(value, 28);
  const bool released = (number_at<std::uint32_t>(value, 4) & released_flag) != 0;
  // The layout of a folder has a number of stripes, but no objects.
  if (stripes <= 0 || released || value.size() == begin) return true;
  const auto count = static_cast<std::size_t>(stripes);
  if (value.size() < begin + count * object_bytes) return false;
  for (std::size_t i = 0; i < count; ++i) {
    targets->push_back(number_at<std::uint32_t>(value, begin + i * object_bytes + target_at));
  }
  return true;
}

// The part of a composite layout that describes a component.
struct ComponentPart {
  std::span<const std::byte> entry;
  std::span<const std::byte> layout;
};

std::optional<std::vector<ComponentPart>> components_of(std::span<const std::byte> value) {
  if (value.size() < composite_bytes) return std::nullopt;
  const std::size_t entries = number_at<std::uint16_t>(value, 14);
  if (value.size() < composite_bytes + entries * entry_bytes) return std::nullopt;
  std::vector<ComponentPart> parts;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::span<const std::byte> entry = value.subspan(composite_bytes + i * entry_bytes);
    const std::size_t offset = number_at<std::uint32_t>(entry, 24);
    const std::size_t size = number_at<std::uint32_t>(entry, 28);
    if (offset > value.size() || size > value.size() - offset) return std::nullopt;
    parts.push_back({entry, value.subspan(offset, size)});
  }
  return parts;
}

std::optional<LustreLayout> parse_composite(std::span<const std::byte> value) {
  const auto parts = components_of(value);
  if (!parts) return std::nullopt;
  LustreLayout layout{.is_composite = true, .components = {}};
  for (const auto& [entry, bytes] : *parts) {
    auto stripes = parse_plain(bytes);
    if (!stripes) return std::nullopt;
    layout.components.push_back(
        {.stripes = std::move(*stripes),
         .from_byte = static_cast<std::int64_t>(number_at<std::uint64_t>(entry, 8)),
         .to_byte = signed_field<std::uint64_t>(entry, 16),
         .instantiated = (number_at<std::uint32_t>(entry, 4) & instantiated_flag) != 0});
  }
  return layout;
}

}  // namespace

std::optional<LustreLayout> parse_lustre_layout(std::span<const std::byte> value) {
  if (value.size() < sizeof(std::uint32_t)) return std::nullopt;
  if (number_at<std::uint32_t>(value, 0) == magic_composite) return parse_composite(value);
  auto stripes = parse_plain(value);
  if (!stripes) return std::nullopt;
  LustreLayout layout;
  layout.components.push_back({.stripes = std::move(*stripes)});
  return layout;
}

std::optional<std::vector<std::int64_t>> parse_lustre_objects(std::span<const std::byte> value) {
  std::vector<std::int64_t> targets;
  if (value.size() < sizeof(std::uint32_t)) return std::nullopt;
  if (number_at<std::uint32_t>(value, 0) != magic_composite) {
    return add_objects(value, &targets) ? std::optional(targets) : std::nullopt;
  }
  const auto parts = components_of(value);
  if (!parts) return std::nullopt;
  for (const auto& [entry, layout] : *parts) {
    const bool instantiated = (number_at<std::uint32_t>(entry, 4) & instantiated_flag) != 0;
    if (!instantiated || !add_objects(layout, &targets)) return std::nullopt;
  }
  return targets;
}

// The first call gets the attribute's size, which may change before the second call.
std::vector<std::byte> lustre_attribute_of(const std::string& path) {
  const ssize_t size = getxattr(path.c_str(), "lustre.lov", nullptr, 0);
  if (size <= 0) return {};
  std::vector<std::byte> value(static_cast<std::size_t>(size));
  const ssize_t got = getxattr(path.c_str(), "lustre.lov", value.data(), value.size());
  value.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return value;
}

std::optional<LustreLayout> lustre_layout_of(const std::string& path) {
  return parse_lustre_layout(lustre_attribute_of(path));
}

namespace {

// Returns how many of a file's bytes lie in a component; the result is 0 or less if the component
// begins at or beyond the file's end.
std::int64_t bytes_in(const LustreComponent& component, std::int64_t file_bytes) {
  const std::int64_t to = component.to_byte;
  return std::min(to < 0 ? file_bytes : to, file_bytes) - component.from_byte;
}

// Returns the component that lustre_targets() describes. There is at least one.
const LustreComponent& main_component(const LustreLayout& layout, std::int64_t file_bytes) {
  const LustreComponent* found = &layout.components.back();
  for (const LustreComponent& one : layout.components) {
    if (file_bytes > 0 && bytes_in(one, file_bytes) > bytes_in(*found, file_bytes)) found = &one;
  }
  return *found;
}

}  // namespace

topology::FileTargets lustre_targets(const LustreLayout& layout, std::int64_t file_bytes,
                                     std::int64_t all_targets) {
  const LustreStripes stripes =
      layout.components.empty() ? LustreStripes() : main_component(layout, file_bytes).stripes;
  topology::FileTargets targets;
  targets.stripe_bytes = stripes.stripe_bytes;
  const std::int64_t count = stripes.stripe_count;
  targets.count = std::max<std::int64_t>(1, count < 0 ? all_targets : count);
  // A component whose objects do not exist yet may specify more targets than there are.
  if (all_targets > 0) targets.count = std::min(targets.count, all_targets);
  return targets;
}

std::int64_t lustre_target_count(const std::string& path, const std::string& mounts,
                                 const std::string& statistics) {
  const auto mount = mount_of(path, mounts);
  if (!mount || mount->type != "lustre") return 0;
  // The name in "10.0.0.1@tcp:10.0.0.2@tcp:/scratch/folder" follows ":/".
  const std::size_t at = mount->source.rfind(":/");
  if (at == std::string::npos) return 0;
  const std::string after = mount->source.substr(at + 2);
  const std::string name = after.substr(0, after.find('/'));
  if (name.empty()) return 0;
  std::error_code failed;
  std::int64_t count = 0;
  std::filesystem::directory_iterator entries(statistics + "/lov", failed);
  if (failed) return 0;
  for (const auto& entry : entries) {
    if (!entry.path().filename().string().starts_with(name + "-clilov")) continue;
    std::ifstream number(entry.path() / "activeobd");
    if (!(number >> count)) count = 0;
  }
  return count;
}

}  // namespace weir::storage
