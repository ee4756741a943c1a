#include "capi/memory_argument.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "array/layout.hpp"
#include "capi/extents_argument.hpp"
#include "capi/session.hpp"
#include "common/checked.hpp"

namespace weir::capi {
namespace {

Outcome check(const weir_memory& memory, std::int64_t pieces) {
  auto outcome = check_reserved("weir_memory", std::data(memory.reserved),
                                std::size(memory.reserved), memory.reserved_flags);
  if (!outcome.ok()) return outcome;
  if (memory.order != WEIR_ROW_MAJOR && memory.order != WEIR_COLUMN_MAJOR) {
    return bad_argument(fmt::format(
        "memory.order is {}: give WEIR_ROW_MAJOR (0) or WEIR_COLUMN_MAJOR (1)", memory.order));
  }
  if (memory.strides == nullptr) return {};
  if (memory.ghost_lower != nullptr || memory.ghost_upper != nullptr) {
    return bad_argument(
        "memory.strides are given, and ghost cells too; let data point at the "
        "first element that is none");
  }
  if (pieces > 1) {
    return bad_argument(
        fmt::format("memory.strides are given, but this rank has {} boxes; several boxes are "
                    "packed",
                    pieces));
  }
  return {};
}

Outcome read_ghosts(const char* name, const std::int64_t* numbers, int dimensions,
                    array::Indices& ghosts) {
  ghosts = array::Indices(dimensions);
  if (numbers == nullptr) return {};
  for (int d = 0; d < dimensions; ++d) {
    if (numbers[d] < 0 || numbers[d] > array::max_elements) {
      return bad_argument(fmt::format("memory.{}[{}] is {}: give 0 or more", name, d, numbers[d]));
    }
    ghosts[d] = numbers[d];
  }
  return {};
}

// Returns the bytes of a piece with its ghost cells; nothing on overflow.
std::optional<std::int64_t> bytes_of(const array::Indices& extents, const array::GhostCells& ghosts,
                                     std::int64_t element_bytes) {
  std::optional<std::int64_t> bytes = element_bytes;
  for (int d = 0; d < extents.size() && bytes; ++d) {
    const auto with_lower = checked_add(extents[d], ghosts.lower[d]);
    const auto with_upper = with_lower ? checked_add(*with_lower, ghosts.upper[d]) : std::nullopt;
    bytes = with_upper ? checked_multiply(*bytes, *with_upper) : std::nullopt;
  }
  return bytes;
}

// Checks the data_shape that the program gave. `extents` are those of the rank's single piece.
Outcome check_shape(const weir_transfer& transfer, const array::Indices& extents,
                    const array::GhostCells& ghosts) {
  for (int d = 0; d < extents.size(); ++d) {
    const std::int64_t expected = extents[d] + ghosts.lower[d] + ghosts.upper[d];
    if (transfer.data_shape[d] != expected) {
      return bad_argument(fmt::format(
          "data_shape[{}] is {}: this rank's part has extent {} there{}", d, transfer.data_shape[d],
          expected, transfer.memory == nullptr ? "" : ", ghost cells included"));
    }
  }
  return {};
}

// Finds the address of a piece. `offset` is the piece's offset if all pieces are in one buffer.
Outcome find_piece(const weir_transfer& transfer, std::int64_t piece, std::int64_t offset,
                   bool is_empty, std::byte*& data) {
  if (transfer.piece_data != nullptr) {
    data = static_cast<std::byte*>(transfer.piece_data[piece]);
    if (data != nullptr || is_empty) return {};
    return bad_argument(fmt::format("piece_data[{}] is null, but the piece is not empty", piece));
  }
  data = static_cast<std::byte*>(transfer.data);
  if (data == nullptr && !is_empty) {
    return bad_argument("data is null, but this rank has elements of the array");
  }
  if (data != nullptr) data += offset;
  return {};
}

}  // namespace

Outcome read_memory(const weir_transfer& transfer, bool is_read_into,
                    const array::Distribution& distribution, int rank,
                    const array::ElementType& type, std::deque<array::Layout>& layouts,
                    std::vector<aggregation::MemoryPiece>& pieces) {
  if (rank >= distribution.ranks()) return {};
  const weir_memory memory = transfer.memory == nullptr ? weir_memory{} : *transfer.memory;
  const int dimensions = distribution.shape().dimensions();
  const std::int64_t count = distribution.pieces(rank);
  if (auto checked = check(memory, count); !checked.ok()) return checked;
  array::GhostCells ghosts;
  auto outcome = read_ghosts("ghost_lower", memory.ghost_lower, dimensions, ghosts.lower);
  if (outcome.ok()) {
    outcome = read_ghosts("ghost_upper", memory.ghost_upper, dimensions, ghosts.upper);
  }
  if (outcome.ok() && transfer.data != nullptr && transfer.piece_data != nullptr) {
    outcome = bad_argument("data and piece_data are both given; give one");
  }
  if (outcome.ok() && transfer.data_shape != nullptr && count == 1) {
    outcome = check_shape(transfer, distribution.piece(rank, 0).local_extents(), ghosts);
  }
  if (!outcome.ok()) return outcome;
  const auto order =
      memory.order == WEIR_ROW_MAJOR ? array::Order::row_major : array::Order::column_major;
  std::int64_t offset = 0;
  for (std::int64_t piece = 0; piece < count; ++piece) {
    const array::Region part = distribution.piece(rank, piece);
    const array::Indices extents = part.local_extents();
    auto layout =
        memory.strides != nullptr
            ? array::Layout::strided(extents, type.bytes(), numbers_at(memory.strides, dimensions))
            : array::Layout::with_ghosts(extents, type.bytes(), order, ghosts);
    if (!layout) return outcome_of(layout.error(), "memory");
    if (is_read_into && memory.strides != nullptr && !layout.value().elements_are_apart()) {
      return bad_argument(fmt::format(
          "memory.strides are {} bytes: elements share memory, so they cannot be read into it",
          array::extents_text(array::Indices(numbers_at(memory.strides, dimensions)))));
    }
    std::byte* data = nullptr;
    auto found = find_piece(transfer, piece, offset, part.empty(), data);
    if (!found.ok()) return found;
    layouts.push_back(std::move(layout).value());
    pieces.push_back({&layouts.back(), data});
    const auto bytes = bytes_of(extents, ghosts, type.bytes());
    const auto next = bytes ? checked_add(offset, *bytes) : std::nullopt;
    if (!next) return bad_argument("memory of more than 2^63 bytes");
    offset = *next;
  }
  const bool is_one_buffer = memory.strides == nullptr && transfer.piece_data == nullptr;
  if (is_one_buffer && transfer.data_bytes != 0 && transfer.data_bytes < offset) {
    return bad_argument(fmt::format("data_bytes is {}: this rank's part takes {} bytes of memory",
                                    transfer.data_bytes, offset));
  }
  return {};
}

}  // namespace weir::capi
