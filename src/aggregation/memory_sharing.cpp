#include "aggregation/memory_sharing.hpp"

#include <algorithm>
#include <utility>

#include "aggregation/node_memory.hpp"
#include "common/page.hpp"

namespace weir::aggregation {
namespace {}  // namespace

MemorySharing::MemorySharing(NodeDescriptors* descriptors, std::int64_t bytes,
                             ReservedBy reserved_by)
    : descriptors_(descriptors), bytes_(bytes), reserved_by_(reserved_by) {
  if (descriptors_ != nullptr) number_ = descriptors_->next_memory();
}

bool MemorySharing::step() {
  if (ended_) return true;
  if (!is_first()) {
    map();
    return ended_;
  }
  if (!memory_ && status_.ok()) make();
  if (status_.ok() && !pass()) return false;
  ended_ = true;
  if (descriptors_ != nullptr) descriptors_->tell_of_memory(number_, status_.ok());
  return true;
}

void MemorySharing::make() {
  auto made = make_shared_memory(bytes_);
  status_ = made ? reserve(made.value()) : Status(made.error());
  if (status_.ok()) memory_ = std::move(made).value();
}

Status MemorySharing::reserve(const storage::SharedMemory& memory) const {
  const std::int64_t places = descriptors_ != nullptr ? descriptors_->places() : 1;
  if (places == 1 || reserved_by_ == ReservedBy::first) {
    return is_first() ? memory.reserve(0, bytes_) : Status();
  }
  const std::int64_t share = (bytes_ / places / page_bytes + 1) * page_bytes;
  const std::int64_t offset = std::min(bytes_, descriptors_->own_place() * share);
  const std::int64_t own = std::min(bytes_ - offset, share);
  return own > 0 ? memory.reserve(offset, own) : Status();
}

bool MemorySharing::pass() {
  if (descriptors_ == nullptr) return true;
  for (; passed_ < descriptors_->places(); ++passed_) {
    const auto sent = descriptors_->pass_memory(number_, memory_->file(), passed_);
    if (sent == storage::DescriptorSocket::Sent::no_room) return false;  // there will be room soon
    if (sent == storage::DescriptorSocket::Sent::yes) continue;
    status_ = memory_cannot_be_passed(passed_);
    return true;
  }
  return true;
}

void MemorySharing::map() {
  const auto told = descriptors_->memory_told(number_);
  if (!told) {
    descriptors_->collect();  // makes room in the socket
    return;
  }
  ended_ = true;
  if (!*told) {
    status_ = failed_at_first("make the memory that it shares");
    return;
  }
  auto come = descriptors_->take_memory(number_);
  if (!come) {
    status_ = memory_has_not_come();
    return;
  }
  auto mapped = storage::SharedMemory::map(std::move(*come), bytes_);
  status_ = mapped ? reserve(mapped.value()) : Status(mapped.error());
  if (status_.ok()) memory_ = std::move(mapped).value();
}

Result<std::shared_ptr<storage::SharedMemory>> MemorySharing::take() {
  if (!status_.ok()) return status_.error();
  memory_->close_file();
  return std::make_shared<storage::SharedMemory>(std::move(*memory_));
}

}  // namespace weir::aggregation
