// Element types as HDF5 has them, in h5py's conventions: complex numbers are a compound of "r" and
// "i", truth values an enumeration of FALSE and TRUE, records opaque.
#pragma once

#include <optional>
#include <vector>

#include "array/element_type.hpp"
#include "storage/formats/extent_map.hpp"
#include "storage/formats/hdf5/library.hpp"

namespace weir::storage {

struct StoredType {
  array::ElementType type;
  ByteOrder byte_order = ByteOrder::little;
};

// The type in a file; invalid when the library refuses it.
[[nodiscard]] Hdf5Handle hdf5_type(const array::ElementType& type, ByteOrder byte_order);

// The types of a file as Weir's.
class Hdf5Types {
 public:
  Hdf5Types();
  // Nothing for what Weir has no type for: text, compounds, references, unusual numbers.
  [[nodiscard]] std::optional<StoredType> find(hid_t type) const;

 private:
  struct Known {
    StoredType stored;
    Hdf5Handle handle;
  };
  std::vector<Known> known_;
};

}  // namespace weir::storage
