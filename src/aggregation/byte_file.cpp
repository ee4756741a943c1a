#include "aggregation/byte_file.hpp"

#include <utility>

namespace weir::aggregation {

OpenArray& ByteFile::array(const array::Shape& shape, std::int64_t offset) {
  const storage::DenseExtents extents{offset};
  if (array_ != nullptr && array_->shape() == shape && *array_->map().dense() == extents) {
    return *array_;
  }
  array_ = std::make_unique<OpenArray>(ArrayOrigin{.number = ++state_.arrays,
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
  return *array_;
}

Status ByteFile::close() {
  array_.reset();
  Status closed = state_.engines->close(path_);
  forget_descriptors(state_, number_);
  return closed;
}

}  // namespace weir::aggregation
