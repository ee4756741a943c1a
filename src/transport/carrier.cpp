#include "transport/carrier.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "array/copy_kernels.hpp"

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
  Status bring(std::int64_t /*block*/, const BlockWriter& /*filled*/) override {
    array::end_streaming();
    return {};
  }

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
  Status bring(std::int64_t block, const BlockWriter& filled) override {
    const std::span<const std::byte> data = filled.data();
    for (std::size_t at = 0; at < data.size(); at += piece_bytes) {
      const auto piece = data.subspan(at, std::min(piece_bytes, data.size() - at));
      if (Status sent = send(block, false, piece); !sent.ok()) return sent;
    }
    for (std::span<const std::byte> table = filled.table(); !table.empty();) {
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

// Pieces go on their way together; how many bytes the stager then has is told over the connection.
class UcxCarrier final : public Carrier {
 public:
  UcxCarrier(const Welcome& stager, const Nonce& token, std::unique_ptr<UcxSender> sender,
             WaitBeside wait)
      : block_(static_cast<std::size_t>(stager.block_bytes)),
        token_(token),
        sender_(std::move(sender)),
        wait_(std::move(wait)) {}

  std::span<std::byte> begin(std::int64_t /*block*/) override { return block_; }

  Status bring(std::int64_t block, const BlockWriter& filled) override {
    const std::span<const std::byte> data = filled.data();
    const std::span<const std::byte> table = filled.table();
    const std::int64_t total = std::ssize(data) + std::ssize(table);
    UcxPiece piece{.token = token_, .block = block, .total = total};
    for (; piece.before < std::ssize(data); piece.before += ucx_piece_bytes) {
      const std::int64_t bytes = std::min(ucx_piece_bytes, std::ssize(data) - piece.before);
      Status sent = send(piece, data.subspan(static_cast<std::size_t>(piece.before),
                                             static_cast<std::size_t>(bytes)));
      if (!sent.ok()) return sent;
    }
    piece.at_end = true;
    for (piece.before = 0; piece.before < std::ssize(table); piece.before += ucx_piece_bytes) {
      const std::int64_t bytes = std::min(ucx_piece_bytes, std::ssize(table) - piece.before);
      const std::int64_t at = std::ssize(table) - piece.before - bytes;
      Status sent =
          send(piece, table.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes)));
      if (!sent.ok()) return sent;
    }
    return wait_until_brought(block, total);
  }

 private:
  // UCX does not always tell when a full queue has room again.
  static constexpr std::int64_t unarmed_nap_ns = 50'000;
  static constexpr std::int64_t armed_nap_ns = 5'000'000;

  Status send(UcxPiece piece, std::span<const std::byte> bytes) {
    piece.checksum = checksum_of(piece, bytes);
    return sender_->send(piece, bytes);
  }

  Status wait_until_brought(std::int64_t block, std::int64_t total) {
    for (std::size_t unsent = sender_->unsent();;) {
      if (Status moved = sender_->progress(); !moved.ok()) return moved;
      const std::size_t before = std::exchange(unsent, sender_->unsent());
      const bool is_armed = sender_->arm();
      const auto there = wait_(block, is_armed ? sender_->descriptor() : -1,
                               is_armed ? armed_nap_ns : unarmed_nap_ns, unsent < before);
      if (!there) return there.error();
      if (there.value() && *there.value() != total) {
        return Error(ErrorCode::corrupt, "the stager has other bytes than were sent");
      }
      if (there.value() && sender_->unsent() == 0) return {};
    }
  }

  std::vector<std::byte> block_;  // UCX reads it until the sender has ended
  Nonce token_;
  std::unique_ptr<UcxSender> sender_;
  WaitBeside wait_;
};

}  // namespace

std::unique_ptr<Carrier> make_ucx_carrier(const Welcome& stager, const Nonce& token,
                                          std::unique_ptr<UcxSender> sender, WaitBeside wait) {
  return std::make_unique<UcxCarrier>(stager, token, std::move(sender), std::move(wait));
}

std::unique_ptr<Carrier> make_shared_memory_carrier(storage::SharedMemory memory,
                                                    const Welcome& stager) {
  return std::make_unique<SharedMemoryCarrier>(std::move(memory), stager);
}

std::unique_ptr<Carrier> make_message_carrier(const Welcome& stager,
                                              std::function<Status(const Message&)> send) {
  return std::make_unique<MessageCarrier>(stager, std::move(send));
}

}  // namespace weir::transport
