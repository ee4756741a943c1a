#include "transport/carrier.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace weir::transport {
namespace {

class SharedMemoryCarrier final : public Carrier {
 public:
  SharedMemoryCarrier(storage::SharedMemory memory, const Welcome& stager)
      : memory_(std::move(memory)),
        block_bytes_(stager.block_bytes),
        touched_(static_cast<std::size_t>(stager.blocks), false) {}

  std::span<std::byte> begin(std::int64_t block) override {
    if (!touched_[static_cast<std::size_t>(block)]) {
      touched_[static_cast<std::size_t>(block)] = true;
      memory_.map_pages(block * block_bytes_, block_bytes_);
    }
    return {memory_.data() + block * block_bytes_, static_cast<std::size_t>(block_bytes_)};
  }
  Status bring(std::int64_t /*block*/, const ParcelWriter& /*parcel*/) override { return {}; }

 private:
  storage::SharedMemory memory_;
  std::int64_t block_bytes_;
  std::vector<bool> touched_;  // blocks whose pages this process has mapped
};

class MessageCarrier final : public Carrier {
 public:
  MessageCarrier(const Welcome& stager, std::function<Status(const Message&)> send)
      : block_(static_cast<std::size_t>(stager.block_bytes)), send_(std::move(send)) {}

  std::span<std::byte> begin(std::int64_t /*block*/) override { return block_; }

  // The extents at the end of the block go from its end on, as they would be added.
  Status bring(std::int64_t block, const ParcelWriter& parcel) override {
    const std::span<const std::byte> data = parcel.data();
    for (std::size_t at = 0; at < data.size(); at += piece_bytes) {
      const auto piece = data.subspan(at, std::min(piece_bytes, data.size() - at));
      if (Status sent = send(block, false, piece); !sent.ok()) return sent;
    }
    for (std::span<const std::byte> table = parcel.table(); !table.empty();) {
      const auto piece = table.last(std::min(piece_bytes, table.size()));
      if (Status sent = send(block, true, piece); !sent.ok()) return sent;
      table = table.first(table.size() - piece.size());
    }
    return {};
  }

 private:
  // A piece is small enough to stay in the caches of both sides' processors.
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10;

  Status send(std::int64_t block, bool at_end, std::span<const std::byte> piece) {
    return send_(BlockBytes{block, at_end, {piece.begin(), piece.end()}});
  }

  std::vector<std::byte> block_;
  std::function<Status(const Message&)> send_;
};

}  // namespace

std::unique_ptr<Carrier> make_shared_memory_carrier(storage::SharedMemory memory,
                                                    const Welcome& stager) {
  return std::make_unique<SharedMemoryCarrier>(std::move(memory), stager);
}

std::unique_ptr<Carrier> make_message_carrier(const Welcome& stager,
                                              std::function<Status(const Message&)> send) {
  return std::make_unique<MessageCarrier>(stager, std::move(send));
}

}  // namespace weir::transport
