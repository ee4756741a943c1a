// More memory for the ranks of a node, made while their session runs, in steps none of which waits:
//
//   the first rank   makes it, passes it to each other rank through the sockets by which they pass
//                    each other files (node_descriptors.hpp), and writes on the board how it went
//   the others       look at the board, then map what has come
//
// The memory's pages are reserved, so that none can be missing later. The memory is zeros, and
// stays for as long as any rank has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "aggregation/node_descriptors.hpp"
#include "common/status.hpp"
#include "storage/engines/shared_memory.hpp"

namespace weir::aggregation {

class MemorySharing {
 public:
  // How pages are reserved. `each`: each rank reserves as many as the others, near its processor,
  // so nobody may touch those of another rank before the ranks have agreed that all went well.
  // `first`: the first rank reserves all of them, before the others have them.
  enum class ReservedBy : std::uint8_t { each, first };

  // All ranks of the node make these in the same order and end one before they make the next.
  // `descriptors`: null for a rank that is alone on its node; not owned.
  MemorySharing(NodeDescriptors* descriptors, std::int64_t bytes, ReservedBy reserved_by);

  // Goes on without waiting. True when it has ended on this rank.
  [[nodiscard]] bool step();
  // When ended: the memory. An error of this rank: others may have got theirs.
  [[nodiscard]] Result<std::shared_ptr<storage::SharedMemory>> take();

 private:
  [[nodiscard]] bool is_first() const {
    return descriptors_ == nullptr || descriptors_->own_place() == 0;
  }
  void make();
  [[nodiscard]] Status reserve(const storage::SharedMemory& memory) const;
  // Whether all have been reached, or one cannot be.
  [[nodiscard]] bool pass();
  void map();

  NodeDescriptors* descriptors_;
  std::int64_t bytes_;
  ReservedBy reserved_by_;
  std::uint64_t number_ = 0;
  std::int64_t passed_ = 1;  // places so far, this rank's own among them
  bool ended_ = false;
  Status status_;
  std::optional<storage::SharedMemory> memory_;
};

}  // namespace weir::aggregation
