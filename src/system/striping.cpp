#include "system/striping.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "system/lfs_setstripe.hpp"
#include "system/striped_system.hpp"
#include "system/unfollowed_file.hpp"

namespace weir::storage {
namespace {

enum class Kind : std::uint8_t { file, folder };

constexpr std::int64_t most_targets = 1 << 20;
constexpr std::int64_t most_stripe_bytes = std::int64_t{1} << 40;

Status stripe_lustre(const std::string& path, const Striping& striping) {
  std::vector<std::string> options;
  const auto add = [&](const char* option, const std::string& value) {
    options.insert(options.end(), {option, value});
  };
  if (striping.count != 0) add("-c", std::to_string(striping.count));
  if (striping.stripe_bytes > 0) add("-S", std::to_string(striping.stripe_bytes));
  if (striping.first_target > 0) add("-i", std::to_string(striping.first_target - 1));
  if (!striping.pool.empty()) add("-p", striping.pool);
  return lfs_setstripe(std::move(options), path);
}

// The fields of an attribute such as "stripe_unit=4194304 stripe_count=1 object_size=4194304
// pool=data".
struct CephLayout {
  std::int64_t stripe_unit = 0;
  std::int64_t stripe_count = 0;
  std::int64_t object_size = 0;
  std::string pool;
};

constexpr std::int64_t ceph_object_bytes = 4 << 20;

Status stripe_ceph(const std::string& path, const Striping& striping, Kind kind) {
  const char* const name = kind == Kind::file ? "ceph.file.layout" : "ceph.dir.layout";
  CephLayout layout{ceph_object_bytes, 1, ceph_object_bytes, ""};
  std::array<char, 512> text{};
  const ssize_t got = ::getxattr(path.c_str(), name, text.data(), text.size() - 1);
  // A folder whose layout was never set does not have this attribute.
  if (got < 0 && errno != ENODATA) return system_failure("getxattr", path, -1, errno);
  std::istringstream words(got < 0 ? "" : text.data());
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    std::istringstream value(word.substr(equals + 1));
    const std::string key = word.substr(0, equals);
    if (key == "stripe_unit") value >> layout.stripe_unit;
    if (key == "stripe_count") value >> layout.stripe_count;
    if (key == "object_size") value >> layout.object_size;
    if (key == "pool") value >> layout.pool;
  }
  if (striping.count > 0) layout.stripe_count = striping.count;
  if (striping.stripe_bytes > 0) layout.stripe_unit = striping.stripe_bytes;
  if (!striping.pool.empty()) layout.pool = striping.pool;
  // An object contains whole stripes.
  if (layout.object_size % layout.stripe_unit != 0) {
    layout.object_size =
        std::max<std::int64_t>(1, layout.object_size / layout.stripe_unit) * layout.stripe_unit;
  }
  std::string wanted = fmt::format("stripe_unit={} stripe_count={} object_size={}",
                                   layout.stripe_unit, layout.stripe_count, layout.object_size);
  if (!layout.pool.empty()) wanted += " pool=" + layout.pool;
  if (::setxattr(path.c_str(), name, wanted.data(), wanted.size(), 0) != 0) {
    const int reason = errno;
    Error error = system_failure("setxattr", path, -1, reason);
    error.message += fmt::format(" ({} {})", name, wanted);
    return error;
  }
  return {};
}

Status stripe(const std::string& path, const Striping& striping, Kind kind,
              const std::string& mounts) {
  if (striping.empty()) return {};
  const auto system =
      striped_system_of(std::filesystem::path(path).parent_path().string(), striping, mounts);
  if (!system) {
    Error error = system.error();
    if (error.code == ErrorCode::unsupported) {
      error.message = fmt::format("{}: {}", striping.text(), error.message);
    }
    error.file = path;
    return error;
  }
  if (system.value() == StripedSystem::lustre) return stripe_lustre(path, striping);
  if (kind == Kind::file) {
    auto file = make_unfollowed(path);
    if (!file) return file.error();
  }
  return stripe_ceph(path, striping, kind);
}

}  // namespace

std::string Striping::text() const {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  if (count != 0) add(fmt::format("stripe_count {}", count));
  if (stripe_bytes != 0) add(fmt::format("stripe_bytes {}", stripe_bytes));
  if (first_target != 0) add(fmt::format("first_target {}", first_target));
  if (!pool.empty()) add(fmt::format("pool '{}'", pool));
  return text;
}

Status Striping::check() const {
  if (count < all_targets || count > most_targets) {
    return invalid_argument(
        fmt::format("stripe_count is {}: give 1 to {}, -1 for all targets, or 0 for the folder's",
                    count, most_targets));
  }
  constexpr std::int64_t unit = 64 << 10;
  if (stripe_bytes < 0 || stripe_bytes > most_stripe_bytes || stripe_bytes % unit != 0) {
    return invalid_argument(
        fmt::format("stripe_bytes is {}: give a multiple of {} up to {}, or 0 for the folder's",
                    stripe_bytes, unit, most_stripe_bytes));
  }
  if (first_target < 0 || first_target > most_targets) {
    return invalid_argument(
        fmt::format("first_target is {}: give an index plus 1, up to {}, or 0 for any",
                    first_target, most_targets));
  }
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  constexpr std::size_t longest_pool = 255;
  if (pool.find_first_not_of(allowed) != std::string::npos || pool.starts_with('-') ||
      pool.size() > longest_pool) {
    return invalid_argument(fmt::format(
        "pool is '{}': give a name of letters, digits, '.', '_' and '-'", pool.substr(0, 80)));
  }
  return {};
}

Status make_striped_file(const std::string& path, const Striping& striping,
                         const std::string& mounts) {
  return stripe(path, striping, Kind::file, mounts);
}

Status stripe_folder(const std::string& path, const Striping& striping, const std::string& mounts) {
  return stripe(path, striping, Kind::folder, mounts);
}

}  // namespace weir::storage
