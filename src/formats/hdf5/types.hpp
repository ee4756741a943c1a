// Element types in HDF5, by h5py's conventions: complex numbers are a compound of "r" and "i",
// truth values are an enumeration of FALSE and TRUE, records are opaque, or a compound where their
// members have names.
#pragma once

#include <optional>
#include <vector>

#include "array/element_type.hpp"
#include "array/record_members.hpp"
#include "formats/hdf5/library.hpp"
#include "stored/extent_map.hpp"

namespace weir::storage {

struct StoredType {
  array::ElementType type;
  ByteOrder byte_order = ByteOrder::little;
};

// Returns the type in a file; the handle is invalid if the library refuses the type.
[[nodiscard]] Hdf5Handle hdf5_type(const array::ElementType& type, ByteOrder byte_order);
// Returns the type of records with these members, in so many bytes.
[[nodiscard]] Hdf5Handle hdf5_compound(const std::vector<array::RecordMember>& members,
                                       std::int64_t bytes);

// Converts the types of a file to Weir's.
class Hdf5Types {
 public:
  Hdf5Types();
  // Returns nothing for types that Weir does not have: text of variable length, other compounds,
  // references, unusual numbers.
  [[nodiscard]] std::optional<StoredType> find(hid_t type) const;

 private:
  struct Known {
    StoredType stored;
    Hdf5Handle handle;
  };
  std::vector<Known> known_;
};

}  // namespace weir::storage
