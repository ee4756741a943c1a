// A file map says what a file holds: its arrays and where their bytes lie, as any format gives it.
// Values: nothing is open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "stored/extent_map.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

struct StoredArray {
  ArrayDescription description;
  ExtentMap map;
};

// An array of texts of any length. Only src/sections/read_texts.hpp moves its bytes, in one
// process; collective calls do not support it.
struct StoredTexts {
  // In HDF5 files the elements are references to the texts, records of `heap_reference_bytes`. In
  // Zarr the chunks are encoded, and decode to as many bytes as their texts take. The array has no
  // fill.
  StoredArray array;
  // NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
  std::string fill = {};  // value of elements that were never written
  // In HDF5 files, the offset from which references count.
  std::optional<std::int64_t> heap_base = {};
  // NOLINTEND(readability-redundant-member-init)
};
inline constexpr std::int64_t heap_reference_bytes = 16;

// An existing array that cannot be moved by extents, because it lies in several pieces or has
// compound elements.
struct RefusedArray {
  std::string name;
  std::string reason;
};

struct FileMap {
  std::vector<StoredArray> arrays;
  std::vector<StoredTexts> texts;        // arrays of texts of any length
  std::vector<GroupDescription> groups;  // groups that have attributes
  std::vector<RefusedArray> refused;
  std::vector<AttributeLeftOut> left_out;  // attributes of groups and of readable arrays

  // Returns the array of this name; null if there is none.
  [[nodiscard]] const StoredArray* find(std::string_view name) const;
  // Returns the array of this name. Fails with the reason for a refused array, and on unknown
  // names.
  [[nodiscard]] Result<const StoredArray*> get(std::string_view name) const;
  // Returns the number of steps that all growing arrays have, which is the least if one array is
  // ahead of others. Returns nothing if no array grows.
  [[nodiscard]] std::optional<std::int64_t> steps() const;
};

}  // namespace weir::storage
