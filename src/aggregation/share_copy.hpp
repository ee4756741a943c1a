// Copies one rank's share of a piece between its memory, the buffer that holds the piece, and a
// message. A write goes from left to right:
//
//     memory ──► buffer                 on the aggregator's node
//     memory ──► message ──► buffer     between nodes
//
// A read goes from right to left; the plan's request gives the direction. plan/meeting_blocks.hpp
// describes the contents of a message. Messages and buffers hold numbers in the file's
// representation: the bytes of a number are reversed, `swapped` bytes together
// (OpenArray::swapped_together()), when it leaves the memory or arrives there. Each function
// returns the number of bytes copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "aggregation/requested_part.hpp"
#include "array/copy.hpp"
#include "plan/cached_pieces.hpp"
#include "plan/plan.hpp"

namespace weir::aggregation {

// Returns how many bytes of a piece `rank` holds.
[[nodiscard]] std::int64_t bytes_of_share(const plan::Plan& plan, const plan::Piece& piece,
                                          std::int64_t rank);

// `parts` are those of `rank`, in the order of the plan's arrays. `target`: how to store into the
// destination, which is the buffer or the memory.
std::int64_t copy_memory_and_buffer(const plan::Plan& plan, const plan::Piece& piece,
                                    std::int64_t rank, std::span<const RequestedPart> parts,
                                    std::byte* buffer, array::StridedCopy::Target target);
// Does the same by copies that are known.
std::int64_t copy_as_known(const plan::CachedPieces::Copies& copies, bool to_buffer,
                           std::span<const RequestedPart> parts, std::byte* buffer,
                           array::StridedCopy::Target target);
std::int64_t copy_memory_and_message(const plan::Plan& plan, const plan::Piece& piece,
                                     std::int64_t rank, std::span<const RequestedPart> parts,
                                     std::byte* message);
std::int64_t copy_message_and_buffer(const plan::Plan& plan, const plan::Piece& piece,
                                     std::int64_t rank, std::byte* message, std::byte* buffer);

}  // namespace weir::aggregation
