#include "plan/meeting_blocks.hpp"

#include <algorithm>

namespace weir::plan {
namespace {

// Returns the region of a block in its message, where its elements are packed: it has blocks of the
// same lengths and counts.
array::UniformRegion packed(const array::UniformRegion& uniform) {
  array::UniformRegion dense;
  for (const array::UniformBlocks& blocks : uniform) {
    dense.push_back({0, blocks.length, blocks.length, blocks.count});
  }
  return dense;
}

// Returns true if the bounding boxes have nothing in common, or one of them is empty.
bool apart(const array::Region& a, const array::Region& b) {
  for (int d = 0; d < a.dimensions(); ++d) {
    const std::int64_t upper = std::min(a.along(d).upper(), b.along(d).upper());
    if (std::max(a.along(d).lower(), b.along(d).lower()) >= upper) return true;
  }
  return false;
}

array::Layout message_layout(const MeetingBlock& block, std::int64_t element_bytes,
                             array::Order order) {
  array::Indices extents;
  for (const array::UniformBlocks& blocks : block.in_slab) {
    extents.push_back(blocks.length * blocks.count);
  }
  // The layout fits, since it has at most the bytes of a piece.
  return array::Layout::packed(extents, element_bytes, order, block.message_offset).value();
}

}  // namespace

MeetingBlocks::MeetingBlocks(const Plan& plan, const Piece& piece, std::int64_t rank)
    : plan_(plan), piece_(piece), rank_(rank), common_(array::Region(), array::Region()) {}

bool MeetingBlocks::next_pair() {
  for (; slab_ < piece_.slabs.size(); ++slab_, next_part_ = 0) {
    const Slab& slab = piece_.slabs[slab_];
    if (next_part_ == 0) slab_region_ = array::Region(slab.section);
    while (next_part_ < plan_.parts(slab.array, rank_)) {
      part_ = plan_.part(slab.array, rank_, next_part_++);
      if (apart(part_, slab_region_)) continue;
      common_ = array::CommonRegions(part_, slab_region_);
      return true;
    }
  }
  return false;
}

bool MeetingBlocks::next(MeetingBlock& block) {
  array::UniformRegion uniform;
  while (!uniforms_.next(uniform)) {
    array::Region common;
    if (started_ && common_.next(common)) {
      uniforms_ = array::UniformRegions(common);
      continue;
    }
    started_ = next_pair();
    if (!started_) return false;
  }
  const Slab& slab = piece_.slabs[slab_];
  block.slab = slab_;
  block.part = next_part_ - 1;
  block.in_part = array::localized(uniform, part_);
  block.in_slab = array::localized(uniform, slab_region_);
  block.message_offset = message_bytes_;
  block.bytes = slab.in_buffer.element_bytes();
  for (const array::UniformBlocks& blocks : uniform) block.bytes *= blocks.length * blocks.count;
  message_bytes_ += block.bytes;
  return true;
}

array::StridedCopy memory_to_message(const MeetingBlock& block, const array::Layout& memory,
                                     array::Order order) {
  return array::StridedCopy::between(block.in_part, memory, packed(block.in_slab),
                                     message_layout(block, memory.element_bytes(), order));
}

array::StridedCopy message_to_buffer(const MeetingBlock& block, const Slab& slab,
                                     array::Order order) {
  return array::StridedCopy::between(packed(block.in_slab),
                                     message_layout(block, slab.in_buffer.element_bytes(), order),
                                     block.in_slab, slab.in_buffer);
}

array::StridedCopy memory_to_buffer(const MeetingBlock& block, const array::Layout& memory,
                                    const Slab& slab) {
  return array::StridedCopy::between(block.in_part, memory, block.in_slab, slab.in_buffer);
}

array::StridedCopy memory_to_file(const MeetingBlock& block, const array::Layout& memory,
                                  const Slab& slab) {
  return array::StridedCopy::between(block.in_part, memory, block.in_slab, slab.in_file);
}

array::StridedCopy buffer_to_message(const MeetingBlock& block, const Slab& slab,
                                     array::Order order) {
  return array::StridedCopy::between(block.in_slab, slab.in_buffer, packed(block.in_slab),
                                     message_layout(block, slab.in_buffer.element_bytes(), order));
}

array::StridedCopy message_to_memory(const MeetingBlock& block, const array::Layout& memory,
                                     array::Order order) {
  return array::StridedCopy::between(packed(block.in_slab),
                                     message_layout(block, memory.element_bytes(), order),
                                     block.in_part, memory);
}

array::StridedCopy buffer_to_memory(const MeetingBlock& block, const array::Layout& memory,
                                    const Slab& slab) {
  return array::StridedCopy::between(block.in_slab, slab.in_buffer, block.in_part, memory);
}

array::StridedCopy buffer_to_file(const MeetingBlock& block, const Slab& slab) {
  return array::StridedCopy::between(block.in_slab, slab.in_buffer, block.in_slab, slab.in_file);
}

array::StridedCopy buffer_to_file(const Slab& slab) {
  const array::UniformRegion all =
      array::uniform_box({array::Indices(slab.section.dimensions()), slab.section.count});
  return array::StridedCopy::between(all, slab.in_buffer, all, slab.in_file);
}

}  // namespace weir::plan
