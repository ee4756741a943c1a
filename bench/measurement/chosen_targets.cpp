#include "measurement/chosen_targets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "system/lfs_setstripe.hpp"
#include "system/lustre_layout.hpp"

namespace weir::bench {
namespace {

// LOV_MAX_STRIPE_COUNT of lustre_user.h; all bits of a 16-bit index mean any target.
constexpr std::size_t most_chosen_targets = 2000;
constexpr std::int32_t largest_target_index = 65534;

std::optional<std::int32_t> index_of(std::string_view text) {
  std::int32_t index = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || stop != text.data() + text.size() || index < 0 ||
      index > largest_target_index) {
    return std::nullopt;
  }
  return index;
}

}  // namespace

std::string ChosenTargets::list() const { return fmt::format("{}", fmt::join(indices, ",")); }

Result<std::vector<std::int32_t>> parse_targets(const std::string& text) {
  const Error malformed = invalid_argument(fmt::format(
      "is no list of indices of targets, 0 to {}, such as 0,1 or 0-3,8", largest_target_index));
  std::vector<std::int32_t> indices;
  std::unordered_set<std::int32_t> known;
  if (text.empty() || text.back() == ',') return malformed;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const auto first = index_of(std::string_view(part).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : index_of(std::string_view(part).substr(dash + 1));
    if (!first || !last || *last < *first) return malformed;
    for (std::int32_t index = *first; index <= *last; ++index) {
      if (!known.insert(index).second) {
        return invalid_argument(fmt::format("has target {} twice", index));
      }
      if (indices.size() == most_chosen_targets) {
        return invalid_argument(
            fmt::format("has more than {} targets, the most of a file", most_chosen_targets));
      }
      indices.push_back(index);
    }
  }
  return indices;
}

Status check_targets_can_be_chosen(const std::string& folder, const std::string& mounts) {
  const auto mount = storage::mount_of(folder.empty() ? "." : folder, mounts);
  if (mount && mount->type == "lustre") return {};
  return Error(ErrorCode::unsupported,
               fmt::format("on {} programs cannot choose the targets of a file (on Lustre they "
                           "can): leave it out",
                           mount ? mount->type : "an unknown file system"),
               folder);
}

Status put_folder_on_targets(const std::string& path, const ChosenTargets& chosen,
                             const std::string& mounts) {
  if (chosen.empty()) return {};
  if (Status possible = check_targets_can_be_chosen(path, mounts); !possible.ok()) return possible;
  std::vector<std::string> options = {"-o", chosen.list()};
  if (chosen.stripe_bytes > 0) {
    options.insert(options.end(), {"-S", std::to_string(chosen.stripe_bytes)});
  }
  return storage::lfs_setstripe(std::move(options), path);
}

Status compare_targets(std::span<const std::byte> attribute, const ChosenTargets& chosen,
                       const std::string& path) {
  const auto found = storage::parse_lustre_objects(attribute);
  if (found &&
      std::equal(found->begin(), found->end(), chosen.indices.begin(), chosen.indices.end())) {
    return {};
  }
  constexpr std::size_t longest_list = 200;
  const std::string is =
      !found           ? "has a layout that does not name its targets"
      : found->empty() ? "has no targets"
                       : fmt::format("is on {}", fmt::join(*found, ",")).substr(0, longest_list);
  return Error(ErrorCode::io,
               fmt::format("the file {}, and should be on targets {}: the file system placed it "
                           "elsewhere; `lfs osts` shows the targets that can be used",
                           is, chosen.list().substr(0, longest_list)),
               path);
}

Status check_file_is_on_targets(const std::string& path, const ChosenTargets& chosen) {
  if (chosen.empty()) return {};
  return compare_targets(storage::lustre_attribute_of(path), chosen, path);
}

}  // namespace weir::bench
