#include "aggregation/byte_file.hpp"

#include <utility>

namespace weir::aggregation {

OpenArray& ByteFile::array(std::size_t number, const array::Shape& shape, std::int64_t offset) {
  if (number >= arrays_.size()) arrays_.resize(number + 1);
  std::unique_ptr<OpenArray>& array = arrays_[number];
  const storage::DenseExtents extents{offset};
  if (array != nullptr && array->shape() == shape && *array->map().dense() == extents) {
    return *array;
  }
  array = std::make_unique<OpenArray>(ArrayOrigin{.number = ++state_.arrays,
                                                  .writable = writable_,
                                                  .has_other_writers = true,
                                                  .targets = targets_,
                                                  .path = path_,
                                                  .file_number = number_,
                                                  .descriptors = state_.group->descriptors()},
                                      storage::ExtentMap{.shape = shape,
                                                         .type = array::ElementKind::uint8,
                                                         .files = storage::DataFiles::one(path_),
                                                         .extents = extents},
                                      state_.engines);
  return *array;
}

Status ByteFile::close() {
  arrays_.clear();
  Status closed = state_.engines->close(path_);
  forget_descriptors(state_, number_);
  return closed;
}

}  // namespace weir::aggregation
