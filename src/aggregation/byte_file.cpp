#include "aggregation/byte_file.hpp"

#include <algorithm>
#include <utility>

namespace weir::aggregation {
namespace {

constexpr std::size_t most_chunked_arrays = 64;

}  // namespace

ByteFile::ByteFile(CollectiveState& state, std::string path, bool writable,
                   const topology::FileTargets& targets,
                   std::optional<storage::DataFiles> staged_as)
    : state_(state),
      path_(std::move(path)),
      writable_(writable),
      targets_(targets),
      number_(++state.arrays),
      staged_as_(std::move(staged_as)) {
  if (staged_as_ && writable_ && state.staging != nullptr) {
    const bool may_wait = state.settings.staging_close == StagingClose::handed_over;
    staged_ = state.staging->files_for({.at_once = true, .may_wait = may_wait});
  }
}

OpenArray& ByteFile::array(std::size_t number, const array::Shape& shape, std::int64_t offset) {
  if (number >= arrays_.size()) arrays_.resize(number + 1);
  std::unique_ptr<OpenArray>& array = arrays_[number];
  const storage::DenseExtents extents{offset};
  if (array != nullptr && array->shape() == shape && *array->map().dense() == extents) {
    return in_order(*array);
  }
  array = made({.shape = shape,
                .type = array::ElementKind::uint8,
                .files = storage::DataFiles::one(path_),
                .extents = extents});
  return in_order(*array);
}

OpenArray& ByteFile::in_order(OpenArray& array) const {
  array.set_unordered(is_staged() && !keeps_order_);
  return array;
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
                                                 .staged = staged_,
                                                 .staged_as = staged_as_,
                                                 .at_once = true,
                                                 .targets = targets_,
                                                 .path = path_,
                                                 .file_number = number_,
                                                 .descriptors = state_.group->descriptors()},
                                     std::move(map), state_.engines);
}

Status ByteFile::hand_over(std::int64_t offset, std::byte* data, std::int64_t bytes) {
  if (state_.staging == nullptr) return array_is_lost(staged_as_->path(0));
  const ranks::LifeSigns::During storage(state_.group->life(), ranks::LifeSigns::What::storage);
  const auto file =
      staged_->get(staged_as_->path(0), {.write = true, .known = staged_as_->known()});
  if (!file) return file.error();
  const storage::Slice slice{data, bytes};
  const storage::FileRange range{file.value(), offset, {&slice, 1}};
  storage::FileTraffic traffic;
  Status written = staged_->engine().write({&range, 1}, traffic);
  if (!written.ok()) return written;
  transport::StagerClient& stager = state_.staging->stager();
  return keeps_order_ ? stager.hand_over() : stager.hand_over_unanswered();
}

Status ByteFile::store(storage::StepDurability durability) {
  if (state_.staging == nullptr) return array_is_lost(staged_as_->path(0));
  return state_.staging->sync_array(state_, staged_as_->path(0), durability,
                                    state_.settings.deadline_seconds);
}

Status ByteFile::leave_to_stager() {
  if (state_.staging == nullptr) return array_is_lost(staged_as_->path(0));
  return agree_on(state_, state_.staging->close_array(state_, staged_as_->path(0)));
}

void ByteFile::leave_stagers() {
  staged_ = nullptr;
  arrays_.clear();
  chunked_.clear();
}

Status ByteFile::close() {
  arrays_.clear();
  chunked_.clear();
  // A stager that is lost here is told by what needs it.
  if (std::exchange(staged_, nullptr) != nullptr && state_.staging != nullptr) {
    (void)state_.staging->stager().give_back();
  }
  Status closed = state_.engines->close(path_);
  forget_descriptors(state_, number_);
  return closed;
}

}  // namespace weir::aggregation
