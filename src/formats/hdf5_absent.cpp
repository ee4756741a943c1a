#include "formats/hdf5/hdf5_format.hpp"

namespace weir::storage {

const Format* hdf5_format() { return nullptr; }

}  // namespace weir::storage
