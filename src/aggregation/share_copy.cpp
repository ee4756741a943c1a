#include "aggregation/share_copy.hpp"

#include "aggregation/payload_copy.hpp"
#include "plan/meeting_blocks.hpp"

namespace weir::aggregation {
namespace {

bool writing(const plan::Plan& plan) { return plan.request().direction == Direction::write; }

array::Order order_of(const plan::Plan& plan, const plan::Slab& slab) {
  return plan.request().arrays[static_cast<std::size_t>(slab.array)].image.order();
}

std::int64_t swapped_in(std::span<const RequestedPart> parts, int array) {
  return parts[static_cast<std::size_t>(array)].swapped;
}

const MemoryPiece& memory_of(std::span<const RequestedPart> parts, const plan::MeetingBlock& block,
                             const plan::Slab& slab) {
  return parts[static_cast<std::size_t>(slab.array)]
      .part->pieces[static_cast<std::size_t>(block.part)];
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
                                    std::int64_t rank, std::span<const RequestedPart> parts,
                                    std::byte* buffer, array::StridedCopy::Target target) {
  const bool to_buffer = writing(plan);
  return copy_blocks(plan, piece, rank, [&](const auto& block, const plan::Slab& slab) {
    const MemoryPiece& own = memory_of(parts, block, slab);
    const std::int64_t swapped = swapped_in(parts, slab.array);
    if (to_buffer) {
      copy_payload(plan::memory_to_buffer(block, *own.layout, slab), own.data, buffer, target,
                   swapped);
    } else {
      copy_payload(plan::buffer_to_memory(block, *own.layout, slab), buffer, own.data, target,
                   swapped);
    }
  });
}

std::int64_t copy_as_known(const plan::CachedPieces::Copies& copies, bool to_buffer,
                           std::span<const RequestedPart> parts, std::byte* buffer,
                           array::StridedCopy::Target target) {
  const auto memory = [&](const auto& one) {
    return parts[static_cast<std::size_t>(one.array)]
        .part->pieces[static_cast<std::size_t>(one.part)]
        .data;
  };
  using Target = array::StridedCopy::Target;
  for (const plan::CachedPieces::Run& one : copies.runs) {
    std::byte* const own = memory(one) + one.in_memory;
    std::byte* const shared = buffer + one.in_buffer;
    const std::byte* const from = to_buffer ? own : shared;
    std::byte* const to = to_buffer ? shared : own;
    if (target == Target::cached) {
      copy_payload(from, to, one.bytes, swapped_in(parts, one.array));
    } else {
      array::StridedCopy run;
      run.bytes = one.bytes;
      copy_payload(run, from, to, target, swapped_in(parts, one.array));
    }
  }
  for (const plan::CachedPieces::Other& one : copies.others) {
    std::byte* const own = memory(one);
    copy_payload(one.copy, to_buffer ? own : buffer, to_buffer ? buffer : own, target,
                 swapped_in(parts, one.array));
  }
  return copies.bytes;
}

std::int64_t copy_memory_and_message(const plan::Plan& plan, const plan::Piece& piece,
                                     std::int64_t rank, std::span<const RequestedPart> parts,
                                     std::byte* message) {
  using Target = array::StridedCopy::Target;
  const bool to_message = writing(plan);
  return copy_blocks(plan, piece, rank, [&](const auto& block, const plan::Slab& slab) {
    const array::Order order = order_of(plan, slab);
    const MemoryPiece& own = memory_of(parts, block, slab);
    const std::int64_t swapped = swapped_in(parts, slab.array);
    if (to_message) {
      copy_payload(plan::memory_to_message(block, *own.layout, order), own.data, message,
                   Target::cached, swapped);
    } else {
      copy_payload(plan::message_to_memory(block, *own.layout, order), message, own.data,
                   Target::cached, swapped);
    }
  });
}

std::int64_t copy_message_and_buffer(const plan::Plan& plan, const plan::Piece& piece,
                                     std::int64_t rank, std::byte* message, std::byte* buffer) {
  const bool to_buffer = writing(plan);
  return copy_blocks(plan, piece, rank, [&](const auto& block, const plan::Slab& slab) {
    const array::Order order = order_of(plan, slab);
    if (to_buffer) {
      copy_payload(plan::message_to_buffer(block, slab, order), message, buffer);
    } else {
      copy_payload(plan::buffer_to_message(block, slab, order), buffer, message);
    }
  });
}

}  // namespace weir::aggregation
