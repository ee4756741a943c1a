#include "aggregation/array_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

namespace weir::aggregation {

storage::ArrayChange change_to(const storage::StoredArray& ours, storage::ExtentMap theirs,
                               std::int64_t kept) {
  if (!ours.description.grows) theirs.shape = ours.map.shape;
  theirs.order = ours.map.order;
  return storage::change_of(ours.map, theirs, ours.description.grows, kept);
}

Result<ArrayChanges> changes_to(const storage::FileMap& ours, const storage::FileMap& theirs,
                                std::int64_t kept, const std::string& path) {
  std::unordered_map<std::string_view, const storage::StoredArray*> by_name;
  for (const storage::StoredArray& one : theirs.arrays) by_name[one.description.name] = &one;
  ArrayChanges changes;
  changes.reserve(ours.arrays.size());
  for (const storage::StoredArray& one : ours.arrays) {
    const auto found = by_name.find(one.description.name);
    if (found == by_name.end()) {
      Error error = theirs.get(one.description.name).error();
      error.message = fmt::format("step {} cannot begin: {}", kept, error.message);
      error.file = path;
      return error;
    }
    changes.push_back(change_to(one, found->second->map, kept));
  }
  return changes;
}

bool are_only_longer(const ArrayChanges& changes, std::int64_t steps) {
  return std::all_of(changes.begin(), changes.end(), [&](const storage::ArrayChange& one) {
    if (std::holds_alternative<storage::ArrayKept>(one)) return true;
    const auto* const grown = std::get_if<storage::ArrayGrown>(&one);
    return grown != nullptr && grown->chunk_extents.empty() && grown->steps == steps;
  });
}

}  // namespace weir::aggregation
