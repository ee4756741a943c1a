// What a rank and a piece have in common, block by block, and the copies this calls for.
//
//     the rank's memory  ──memory_to_message──►  message  ──message_to_buffer──►  buffer ──► file
//            └───────────────── memory_to_buffer (shared memory) ────────────────►┘
//            └───────────────── memory_to_file (direct) ────────────────────────────────────►┘
//
// Reading is the same from right to left. A message is the rank's blocks one after the other, each
// packed in the order of the file; sender and receiver work out the same blocks, so it has no
// header. Copies are values (array/copy.hpp) made once and run on memory that the caller has.
#pragma once

#include <cstdint>
#include <vector>

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "array/region.hpp"
#include "plan/plan.hpp"

namespace weir::plan {

struct MeetingBlock {
  std::size_t slab = 0;   // of the piece
  std::int64_t part = 0;  // of the rank: its memory is that of Plan::part(slab.array, rank, part)
  array::UniformRegion in_part;     // by the index of the dense array of the rank's part
  array::UniformRegion in_slab;     // by the slab's index
  std::int64_t message_offset = 0;  // bytes from the start of the rank's message for this piece
  std::int64_t bytes = 0;
};

// In the order of the message: by slab, then part. As many as there are uniform regions, never as
// many as rows.
class MeetingBlocks {
 public:
  // `plan` and `piece` outlive this.
  MeetingBlocks(const Plan& plan, const Piece& piece, std::int64_t rank);
  // False when there is none left.
  bool next(MeetingBlock& block);

 private:
  // Goes to the next part that meets a slab.
  bool next_pair();

  const Plan& plan_;
  const Piece& piece_;
  std::int64_t rank_;
  std::size_t slab_ = 0;
  std::int64_t next_part_ = 0;
  array::Region part_;  // the current one
  array::Region slab_region_;
  array::CommonRegions common_;
  array::UniformRegions uniforms_;
  bool started_ = false;
  std::int64_t message_bytes_ = 0;
};

// `memory` is the layout of the dense array of the block's part; `slab` is the block's; `order`
// that of the image. Offsets count from the start of the memory, the message, the buffer, the file.
[[nodiscard]] array::StridedCopy memory_to_message(const MeetingBlock& block,
                                                   const array::Layout& memory, array::Order order);
[[nodiscard]] array::StridedCopy message_to_buffer(const MeetingBlock& block, const Slab& slab,
                                                   array::Order order);
[[nodiscard]] array::StridedCopy memory_to_buffer(const MeetingBlock& block,
                                                  const array::Layout& memory, const Slab& slab);
[[nodiscard]] array::StridedCopy memory_to_file(const MeetingBlock& block,
                                                const array::Layout& memory, const Slab& slab);
// Reading.
[[nodiscard]] array::StridedCopy buffer_to_message(const MeetingBlock& block, const Slab& slab,
                                                   array::Order order);
[[nodiscard]] array::StridedCopy message_to_memory(const MeetingBlock& block,
                                                   const array::Layout& memory, array::Order order);
[[nodiscard]] array::StridedCopy buffer_to_memory(const MeetingBlock& block,
                                                  const array::Layout& memory, const Slab& slab);
// From buffer to file, of a block alone: where holders leave holes. The runs ascend in the file.
[[nodiscard]] array::StridedCopy buffer_to_file(const MeetingBlock& block, const Slab& slab);
// From buffer to file, of a whole slab.
[[nodiscard]] array::StridedCopy buffer_to_file(const Slab& slab);

}  // namespace weir::plan
