#include "aggregation/byte_file.hpp"

#include <algorithm>
#include <utility>

namespace weir::aggregation {
namespace {

constexpr std::size_t most_chunked_arrays = 64;

}  // namespace

OpenArray& ByteFile::array(std::size_t number, const array::Shape& shape, std::int64_t offset) {
  if (number >= arrays_.size()) arrays_.resize(number + 1);
  std::unique_ptr<OpenArray>& array = arrays_[number];
  const storage::DenseExtents extents{offset};
  if (array != nullptr && array->shape() == shape && *array->map().dense() == extents) {
    return *array;
  }
  array = made({.shape = shape,
                .type = array::ElementKind::uint8,
                .files = storage::DataFiles::one(path_),
                .extents = extents});
  return *array;
}

OpenArray& ByteFile::chunked(std::uint64_t fingerprint, const array::ElementType& type,
                             const storage::ChunkExtents& extents) {
  const auto known = std::ranges::find(chunked_, fingerprint, &Chunked::fingerprint);
  if (known != chunked_.end()) {
    Chunked last = std::move(*known);
    chunked_.erase(known);
    const storage::ExtentMap& map = last.array->map();
    if (map.type == type && *map.chunks() == extents) {
      chunked_.push_front(std::move(last));
      return *chunked_.front().array;
    }
  }
  if (chunked_.size() == most_chunked_arrays) chunked_.pop_back();
  chunked_.push_front({fingerprint, made({.shape = extents.grid.shape(),
                                          .type = type,
                                          .files = storage::DataFiles::one(path_),
                                          .extents = extents})});
  return *chunked_.front().array;
}

std::unique_ptr<OpenArray> ByteFile::made(storage::ExtentMap map) {
  return std::make_unique<OpenArray>(ArrayOrigin{.number = ++state_.arrays,
                                                 .writable = writable_,
                                                 .has_other_writers = true,
                                                 .targets = targets_,
                                                 .path = path_,
                                                 .file_number = number_,
                                                 .descriptors = state_.group->descriptors()},
                                     std::move(map), state_.engines);
}

Status ByteFile::close() {
  arrays_.clear();
  chunked_.clear();
  Status closed = state_.engines->close(path_);
  forget_descriptors(state_, number_);
  return closed;
}

}  // namespace weir::aggregation
