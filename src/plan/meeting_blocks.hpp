// Computes the intersection of a rank's part and a piece, block by block, and the copies that it
// needs.
//
//     the rank's memory  ──memory_to_message──►  message  ──message_to_buffer──►  buffer ──► file
//            └───────────────── memory_to_buffer (shared memory) ────────────────►┘
//            └───────────────── memory_to_file (direct) ────────────────────────────────────►┘
//
// A read is the same from right to left. A message consists of the rank's blocks one after the
// other, each packed in the order of the file. Sender and receiver compute the same blocks, so a
// message has no header. Copies are values (array/copy.hpp) that are made once and applied to the
// caller's memory.
#pragma once

#include <cstdint>
#include <vector>

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "array/region.hpp"
#include "plan/plan.hpp"

namespace weir::plan {

struct MeetingBlock {
  std::size_t slab = 0;   // index into the piece's slabs
  std::int64_t part = 0;  // of the rank; its memory is that of Plan::part(slab.array, rank, part)
  array::UniformRegion in_part;     // by the index of the dense array of the rank's part
  array::UniformRegion in_slab;     // by the slab's index
  std::int64_t message_offset = 0;  // bytes from the start of the rank's message for this piece
  std::int64_t bytes = 0;
};

// Generates blocks in the order of the message: by slab, then by part. There are as many blocks as
// uniform regions, which are fewer than the rows.
class MeetingBlocks {
 public:
  // `plan` and `piece` must outlive the object.
  MeetingBlocks(const Plan& plan, const Piece& piece, std::int64_t rank);
  // Returns false if no block is left.
  bool next(MeetingBlock& block);

 private:
  // Advances to the next part that intersects a slab.
  bool next_pair();

  const Plan& plan_;
  const Piece& piece_;
  std::int64_t rank_;
  std::size_t slab_ = 0;
  std::int64_t next_part_ = 0;
  array::Region part_;  // the current part
  array::Region slab_region_;
  array::CommonRegions common_;
  array::UniformRegions uniforms_;
  bool started_ = false;
  std::int64_t message_bytes_ = 0;
};

// Copies of a block for a write. `memory` is the layout of the dense array of the block's part,
// `slab` the block's slab, and `order` the order of the image. Offsets count from the start of the
// memory, the message, the buffer or the file.
[[nodiscard]] array::StridedCopy memory_to_message(const MeetingBlock& block,
                                                   const array::Layout& memory, array::Order order);
[[nodiscard]] array::StridedCopy message_to_buffer(const MeetingBlock& block, const Slab& slab,
                                                   array::Order order);
[[nodiscard]] array::StridedCopy memory_to_buffer(const MeetingBlock& block,
                                                  const array::Layout& memory, const Slab& slab);
[[nodiscard]] array::StridedCopy memory_to_file(const MeetingBlock& block,
                                                const array::Layout& memory, const Slab& slab);
// Copies of a block for a read.
[[nodiscard]] array::StridedCopy buffer_to_message(const MeetingBlock& block, const Slab& slab,
                                                   array::Order order);
[[nodiscard]] array::StridedCopy message_to_memory(const MeetingBlock& block,
                                                   const array::Layout& memory, array::Order order);
[[nodiscard]] array::StridedCopy buffer_to_memory(const MeetingBlock& block,
                                                  const array::Layout& memory, const Slab& slab);
// Copies only one block from buffer to file, for pieces with holes. The runs ascend in the file.
[[nodiscard]] array::StridedCopy buffer_to_file(const MeetingBlock& block, const Slab& slab);
// Copies a whole slab from buffer to file.
[[nodiscard]] array::StridedCopy buffer_to_file(const Slab& slab);

}  // namespace weir::plan
