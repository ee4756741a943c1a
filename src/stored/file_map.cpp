#include "stored/file_map.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::storage {

const StoredArray* FileMap::find(std::string_view name) const {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const StoredArray& one) {
    return one.description.name == name;
  });
  return found == arrays.end() ? nullptr : &*found;
}

Result<const StoredArray*> FileMap::get(std::string_view name) const {
  if (const StoredArray* found = find(name)) return found;
  const auto unsupported = [&](std::string_view reason) {
    return Error(ErrorCode::unsupported,
                 fmt::format("array \"{}\" cannot be read: {}", name, reason));
  };
  for (const RefusedArray& one : refused) {
    if (one.name == name) return unsupported(one.reason);
  }
  for (const StoredTexts& one : texts) {
    if (one.array.description.name == name) {
      return unsupported(
          "its texts have variable length: read them with weir/files.h or with weir.open() of "
          "Python");
    }
  }
  return invalid_argument(
      fmt::format("the file has no array \"{}\"", printable(std::string(name))));
}

std::optional<std::int64_t> FileMap::steps() const {
  std::optional<std::int64_t> least;
  for (const StoredArray& one : arrays) {
    if (!one.description.grows) continue;
    const std::int64_t steps = one.map.shape.extent(0);
    least = std::min(steps, least.value_or(steps));
  }
  return least;
}

}  // namespace weir::storage
