// Copies what one rank has of a piece: between its memory, the buffer that holds the piece, and a
// message. Writing, from left to right:
//
//     memory ──► buffer            on the aggregator's node
//     memory ──► message ──► buffer    between nodes
//
// Reading, from right to left; the plan's request tells which. plan/meeting_blocks.hpp has what a
// message looks like. Messages and buffers hold numbers as the file does: their bytes are reversed,
// `swapped` together (OpenArray::swapped_together()), where they leave the memory or arrive there.
// Each function returns how many bytes were copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "aggregation/requested_part.hpp"
#include "array/copy.hpp"
#include "plan/cached_bundles.hpp"
#include "plan/plan.hpp"

namespace weir::aggregation {

// How many bytes `rank` has of a piece.
[[nodiscard]] std::int64_t bytes_of_share(const plan::Plan& plan, const plan::Piece& piece,
                                          std::int64_t rank);

// `parts` are those of `rank`, in the order of the plan's arrays. `target`: how what is written to
// is stored, the buffer or the memory.
std::int64_t copy_memory_and_buffer(const plan::Plan& plan, const plan::Piece& piece,
                                    std::int64_t rank, std::span<const RequestedPart> parts,
                                    std::byte* buffer, array::StridedCopy::Target target);
// Copies between memory and the buffer of a bundle's piece.
std::int64_t copy_bundle(const plan::CachedBundles::Copies& copies, bool to_buffer,
                         std::span<const RequestedPart> parts, std::byte* buffer);
std::int64_t copy_memory_and_message(const plan::Plan& plan, const plan::Piece& piece,
                                     std::int64_t rank, std::span<const RequestedPart> parts,
                                     std::byte* message);
std::int64_t copy_message_and_buffer(const plan::Plan& plan, const plan::Piece& piece,
                                     std::int64_t rank, std::byte* message, std::byte* buffer);

}  // namespace weir::aggregation
