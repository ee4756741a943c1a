#include "aggregation/share_copy.hpp"

#include "plan/meeting_blocks.hpp"

namespace weir::aggregation {
namespace {

bool writing(const plan::Plan& plan) { return plan.request().direction == plan::Direction::write; }

array::Order order_of(const plan::Plan& plan, const plan::Piece& piece) {
  return plan.request().arrays[static_cast<std::size_t>(piece.id.array)].image.order();
}

template <typename Copy>
std::int64_t copy_blocks(const plan::Plan& plan, const plan::Piece& piece, std::int64_t rank,
                         Copy copy) {
  std::int64_t bytes = 0;
  plan::MeetingBlocks blocks(plan, piece, rank);
  for (plan::MeetingBlock block; blocks.next(block);) {
    copy(block, piece.slabs[block.slab]);
    bytes += block.bytes;
  }
  return bytes;
}

}  // namespace

std::int64_t bytes_of_share(const plan::Plan& plan, const plan::Piece& piece, std::int64_t rank) {
  std::int64_t bytes = 0;
  for (const plan::Slab& slab : piece.slabs) {
    const array::Region wanted(slab.section);
    for (std::int64_t number = 0; number < plan.parts(slab.array, rank); ++number) {
      bytes += array::common_elements(plan.part(slab.array, rank, number), wanted) *
               slab.in_buffer.element_bytes();
    }
  }
  return bytes;
}

std::int64_t copy_memory_and_buffer(const plan::Plan& plan, const plan::Piece& piece,
                                    std::int64_t rank, std::span<const MemoryPiece> memory,
                                    std::byte* buffer, array::StridedCopy::Target target,
                                    std::int64_t swapped) {
  const bool to_buffer = writing(plan);
  return copy_blocks(plan, piece, rank, [&](const auto& block, const plan::Slab& slab) {
    const MemoryPiece& own = memory[static_cast<std::size_t>(block.part)];
    if (to_buffer) {
      plan::memory_to_buffer(block, own.layout, slab).run(own.data, buffer, target, swapped);
    } else {
      plan::buffer_to_memory(block, own.layout, slab).run(buffer, own.data, target, swapped);
    }
  });
}

std::int64_t copy_memory_and_message(const plan::Plan& plan, const plan::Piece& piece,
                                     std::int64_t rank, std::span<const MemoryPiece> memory,
                                     std::byte* message, std::int64_t swapped) {
  using Target = array::StridedCopy::Target;
  const bool to_message = writing(plan);
  const array::Order order = order_of(plan, piece);
  return copy_blocks(plan, piece, rank, [&](const auto& block, const plan::Slab&) {
    const MemoryPiece& own = memory[static_cast<std::size_t>(block.part)];
    if (to_message) {
      plan::memory_to_message(block, own.layout, order)
          .run(own.data, message, Target::cached, swapped);
    } else {
      plan::message_to_memory(block, own.layout, order)
          .run(message, own.data, Target::cached, swapped);
    }
  });
}

std::int64_t copy_message_and_buffer(const plan::Plan& plan, const plan::Piece& piece,
                                     std::int64_t rank, std::byte* message, std::byte* buffer) {
  const bool to_buffer = writing(plan);
  const array::Order order = order_of(plan, piece);
  return copy_blocks(plan, piece, rank, [&](const auto& block, const plan::Slab& slab) {
    if (to_buffer) {
      plan::message_to_buffer(block, slab, order).run(message, buffer);
    } else {
      plan::buffer_to_message(block, slab, order).run(buffer, message);
    }
  });
}

}  // namespace weir::aggregation
