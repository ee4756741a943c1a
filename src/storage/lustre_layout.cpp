#include "storage/lustre_layout.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace weir::storage {
namespace {

constexpr std::uint32_t magic_v1 = 0x0BD10BD0;
constexpr std::uint32_t magic_v3 = 0x0BD30BD0;
constexpr std::uint32_t magic_composite = 0x0BD60BD0;
constexpr std::size_t plain_bytes = 32;
constexpr std::size_t pool_bytes = 16;
constexpr std::size_t composite_bytes = 32;
constexpr std::size_t entry_bytes = 48;

// The caller has checked that the field lies inside.
template <typename T>
T field(std::span<const std::byte> value, std::size_t at) {
  T result{};
  std::memcpy(&result, value.data() + at, sizeof result);
  return result;
}

// All bits set means "all" or "any".
template <typename T>
std::int64_t signed_field(std::span<const std::byte> value, std::size_t at) {
  const T raw = field<T>(value, at);
  return raw == static_cast<T>(-1) ? -1 : static_cast<std::int64_t>(raw);
}

std::optional<nlohmann::json> parse_plain(std::span<const std::byte> value) {
  if (value.size() < plain_bytes) return std::nullopt;
  const auto magic = field<std::uint32_t>(value, 0);
  if (magic != magic_v1 && magic != magic_v3) return std::nullopt;
  nlohmann::json layout = {{"stripe_bytes", field<std::uint32_t>(value, 24)},
                           {"stripe_count", signed_field<std::uint16_t>(value, 28)},
                           {"first_target", signed_field<std::uint16_t>(value, 30)},
                           {"pool", ""}};
  if (magic == magic_v3) {
    if (value.size() < plain_bytes + pool_bytes) return std::nullopt;
    std::array<char, pool_bytes + 1> pool{};
    std::memcpy(pool.data(), value.data() + plain_bytes, pool_bytes);
    layout["pool"] = std::string(pool.data());
  }
  return layout;
}

std::optional<nlohmann::json> parse_composite(std::span<const std::byte> value) {
  if (value.size() < composite_bytes) return std::nullopt;
  const std::size_t entries = field<std::uint16_t>(value, 14);
  if (value.size() < composite_bytes + entries * entry_bytes) return std::nullopt;
  nlohmann::json components = nlohmann::json::array();
  for (std::size_t i = 0; i < entries; ++i) {
    const std::span<const std::byte> entry = value.subspan(composite_bytes + i * entry_bytes);
    const std::size_t offset = field<std::uint32_t>(entry, 24);
    const std::size_t size = field<std::uint32_t>(entry, 28);
    if (offset > value.size() || size > value.size() - offset) return std::nullopt;
    std::optional<nlohmann::json> component = parse_plain(value.subspan(offset, size));
    if (!component) return std::nullopt;
    (*component)["from_byte"] = field<std::uint64_t>(entry, 8);
    (*component)["to_byte"] = signed_field<std::uint64_t>(entry, 16);
    components.push_back(std::move(*component));
  }
  return nlohmann::json{{"components", std::move(components)}};
}

}  // namespace

std::optional<nlohmann::json> parse_lustre_layout(std::span<const std::byte> value) {
  if (value.size() < sizeof(std::uint32_t)) return std::nullopt;
  return field<std::uint32_t>(value, 0) == magic_composite ? parse_composite(value)
                                                           : parse_plain(value);
}

// The attribute's size is not known beforehand and may change in between: asked twice.
std::optional<nlohmann::json> lustre_layout_of(const std::string& path) {
  const ssize_t size = getxattr(path.c_str(), "lustre.lov", nullptr, 0);
  if (size <= 0) return std::nullopt;
  std::vector<std::byte> value(static_cast<std::size_t>(size));
  const ssize_t got = getxattr(path.c_str(), "lustre.lov", value.data(), value.size());
  if (got <= 0) return std::nullopt;
  value.resize(static_cast<std::size_t>(got));
  return parse_lustre_layout(value);
}

topology::FileTargets lustre_targets(const nlohmann::json& layout) {
  const auto components = layout.find("components");
  const bool composite = components != layout.end() && !components->empty();
  const nlohmann::json& last = composite ? components->back() : layout;
  topology::FileTargets targets;
  targets.stripe_bytes = last.value("stripe_bytes", std::int64_t{0});
  targets.count = std::max<std::int64_t>(1, last.value("stripe_count", std::int64_t{1}));
  return targets;
}

}  // namespace weir::storage
