// Creates additional memory for the ranks of a node while their session runs, in steps that never
// block:
//
//   the first rank   creates it, passes it to each other rank through the sockets for passing files
//                    (node_descriptors.hpp), and writes the outcome to the board
//   the others       check the board, then map the memory that they received
//
// The memory's pages are reserved, so that none can be missing later. The memory is zeroed, and
// remains as long as any rank has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "aggregation/node_descriptors.hpp"
#include "common/status.hpp"
#include "system/shared_memory.hpp"

namespace weir::aggregation {

class MemorySharing {
 public:
  // The way in which pages are reserved. `each`: every rank reserves an equal part, near its
  // processor, so no rank may touch another rank's part before the ranks have agreed that all
  // succeeded. `first`: the first rank reserves all pages before the others get them.
  enum class ReservedBy : std::uint8_t { each, first };

  // All ranks of the node create these objects in the same order, and finish one before they create
  // the next. `descriptors`: null for a rank that is alone on its node; not owned.
  MemorySharing(NodeDescriptors* descriptors, std::int64_t bytes, ReservedBy reserved_by);

  // Makes progress without waiting. Returns true if the sharing has ended on this rank.
  [[nodiscard]] bool step();
  // Returns the memory after the sharing has ended. If this rank gets an error, others may have got
  // the memory.
  [[nodiscard]] Result<std::shared_ptr<storage::SharedMemory>> take();

 private:
  [[nodiscard]] bool is_first() const {
    return descriptors_ == nullptr || descriptors_->own_place() == 0;
  }
  void make();
  [[nodiscard]] Status reserve(const storage::SharedMemory& memory) const;
  // Returns true if all ranks have received the memory, or one cannot be reached.
  [[nodiscard]] bool pass();
  void map();

  NodeDescriptors* descriptors_;
  std::int64_t bytes_;
  ReservedBy reserved_by_;
  std::uint64_t number_ = 0;
  std::int64_t passed_ = 1;  // places that have it so far, including this rank's own
  bool ended_ = false;
  Status status_;
  std::optional<storage::SharedMemory> memory_;
};

}  // namespace weir::aggregation
