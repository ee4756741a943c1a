// Makes one dataset, and reads from the library where its bytes are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>

#include "formats/format.hpp"
#include "formats/hdf5/dimension_scales.hpp"
#include "formats/hdf5/library.hpp"
#include "formats/hdf5/types.hpp"
#include "formats/hdf5/write_driver.hpp"

namespace weir::storage {

// Makes the dataset, with its place in the file by early allocation. Nothing is written into it.
// Its group must exist.
Status make_hdf5_dataset(hid_t file, const ArrayDescription& array, const std::string& path);

// Maps of arrays, for their first steps, that the caller has read before. The maps must outlive
// this object.
class Hdf5Known {
 public:
  Hdf5Known() = default;  // nothing is known
  Hdf5Known(const FileMap& map, std::int64_t steps) : steps_(steps) {
    for (const StoredArray& one : map.arrays) by_name_.emplace(one.description.name, &one.map);
  }

  // Returns the map of an array; null if it is not known.
  [[nodiscard]] const ExtentMap* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  std::unordered_map<std::string, const ExtentMap*> by_name_;
  std::int64_t steps_ = 0;
};

struct Hdf5File {
  std::string path;
  std::int64_t bytes = 0;       // length of the file: no address may lie beyond it
  std::int64_t user_block = 0;  // bytes before HDF5's own
  unsigned superblock = 0;      // version of the superblock; 3 since HDF5 1.10
  bool wide = true;             // offsets and lengths have 8 bytes
  Hdf5Types types;
  Hdf5Writing* driver = nullptr;  // the driver through which the file is open
  // The steps that arrays had before they were given more while the file is open. Encoded chunks of
  // later steps are not in the file. Arrays without an entry were given no steps.
  std::map<std::string, std::int64_t> steps_before = {};
  Hdf5Known known = {};
  std::shared_ptr<Hdf5ScaleNames> scales = std::make_shared<Hdf5ScaleNames>();
};

// Returns a dataset that Weir can move, without its attributes, or the reason why it cannot.
[[nodiscard]] std::variant<StoredArray, StoredTexts, RefusedArray> read_hdf5_dataset(
    const Hdf5File& file, hid_t dataset, const std::string& name);

}  // namespace weir::storage
