#include "capi/transfer_argument.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "array/box_list.hpp"
#include "array/copy.hpp"
#include "array/explicit_distribution.hpp"
#include "array/layout.hpp"
#include "capi/device_memory.hpp"
#include "capi/extents_argument.hpp"
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
        "memory.strides and ghost cells are both given: with strides, pass no ghost cells and let "
        "data point at the first element of the part");
  }
  if (pieces > 1) {
    return bad_argument(
        fmt::format("memory.strides are given, but this rank has {} boxes: memory of several boxes "
                    "is packed, so leave the strides out",
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
      return bad_argument(
          fmt::format("data_shape[{}] is {}, but this rank's part has extent {} there{}", d,
                      transfer.data_shape[d], expected,
                      transfer.memory == nullptr ? "" : ", ghost cells included"));
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
    return bad_argument(fmt::format("piece_data[{}] is null, but the piece has elements", piece));
  }
  data = static_cast<std::byte*>(transfer.data);
  if (data == nullptr && !is_empty) {
    return bad_argument("data is null, but this rank has elements of the array");
  }
  if (data != nullptr) data += offset;
  return {};
}

// Appends one entry to `pieces` for each piece of `rank`, and the layouts of the pieces to
// `layouts`. Appends nothing for ranks beyond the distribution.
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
    outcome = bad_argument("data and piece_data are both given: give one of them");
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
      return bad_argument(
          fmt::format("memory.strides are {} bytes, so that elements overlap in memory: give "
                      "strides without overlap to read",
                      array::extents_text(array::Indices(numbers_at(memory.strides, dimensions)))));
    }
    std::byte* data = nullptr;
    auto found = find_piece(transfer, piece, offset, part.empty(), data);
    if (!found.ok()) return found;
    layouts.push_back(std::move(layout).value());
    pieces.push_back({&layouts.back(), data});
    const auto bytes = bytes_of(extents, ghosts, type.bytes());
    const auto next = bytes ? checked_add(offset, *bytes) : std::nullopt;
    if (!next) return bad_argument("the memory has more than 2^63 bytes");
    offset = *next;
  }
  const bool is_one_buffer = memory.strides == nullptr && transfer.piece_data == nullptr;
  if (is_one_buffer && transfer.data_bytes != 0 && transfer.data_bytes < offset) {
    return bad_argument(
        fmt::format("data_bytes is {}, but this rank's part takes {} bytes of memory",
                    transfer.data_bytes, offset));
  }
  return {};
}

Outcome read_section(const weir_section* section, const array::Shape& shape, Content& content,
                     aggregation::ArrayPart& part) {
  if (section == nullptr) return {};
  if (section->start == nullptr) return bad_argument("section.start is null");
  if (section->count == nullptr) return bad_argument("section.count is null");
  const int dimensions = shape.dimensions();
  const array::Indices ones(dimensions, 1);
  auto made = array::Section::create(
      shape, numbers_at(section->start, dimensions), numbers_at(section->count, dimensions),
      numbers_at(section->stride == nullptr ? ones.begin() : section->stride, dimensions));
  if (!made) return outcome_of(made.error(), "section");
  if (content.sections.empty() || !(content.sections.back() == made.value())) {
    content.sections.push_back(made.value());
  }
  part.section = &content.sections.back();
  return {};
}

bool has_reserved(const weir_transfer& transfer) {
  std::uint64_t any = static_cast<std::uint32_t>(transfer.reserved_flags);
  for (const std::uint64_t one : transfer.reserved) any |= one;
  return any != 0;
}

}  // namespace

Outcome read_asked(const weir_session& session, const weir_transfer& transfer, Direction direction,
                   Content& content, aggregation::ArrayPart& part) {
  if (has_reserved(transfer)) {
    return check_reserved("weir_transfer", std::data(transfer.reserved),
                          std::size(transfer.reserved), transfer.reserved_flags);
  }
  if (transfer.array == nullptr) return bad_argument("array is null");
  if (!session.holds(transfer.array, content.last_array)) {
    return bad_argument("array is not open in this session");
  }
  content.last_array = transfer.array;
  const bool is_new = transfer.distribution != content.last_distribution;
  if (transfer.distribution == nullptr) return bad_argument("distribution is null");
  if (is_new && !session.holds(transfer.distribution)) {
    return bad_argument("distribution does not belong to this session");
  }
  if (transfer.array->file == nullptr) return not_laid_out("", *transfer.array);
  const array::Shape& shape = transfer.array->shape;
  const array::Distribution& distribution = transfer.distribution->held();
  if (!(distribution.shape() == shape)) {
    return bad_argument(
        fmt::format("distribution has the shape {}, which is not that of {}: give a distribution "
                    "of the array's shape",
                    distribution.shape().text(), transfer.array->text));
  }
  if (direction == Direction::write && !transfer.array->file->writable()) {
    return bad_argument(
        fmt::format("{} is open read-only: open it for writing", transfer.array->text));
  }
  if (transfer.dimensions != 0 && transfer.dimensions != shape.dimensions()) {
    return bad_argument(fmt::format("dimensions is {}: {} has {}", transfer.dimensions,
                                    transfer.array->text, shape.dimensions()));
  }
  part.file = transfer.array->file;
  if (is_new) {
    content.distributions.push_back(transfer.distribution->shared);
    content.last_distribution = transfer.distribution;
  }
  part.memory = &content.distributions.back();
  return read_section(transfer.section, shape, content, part);
}

namespace {

// Returns the memory if it is packed and without ghost cells. Returns nothing for all other memory
// and for memory that has yet to be checked.
std::optional<PackedMemory> packed_memory(const weir_transfer& transfer) {
  const weir_memory* const memory = transfer.memory;
  if (transfer.piece_data != nullptr || transfer.data_shape != nullptr ||
      transfer.data == nullptr) {
    return std::nullopt;
  }
  PackedMemory packed{transfer.distribution, transfer.data_type, transfer.array->type,
                      transfer.data_bytes};
  if (memory == nullptr) return packed;
  std::uint64_t others = static_cast<std::uint32_t>(memory->reserved_flags);
  for (const std::uint64_t one : memory->reserved) others |= one;
  if (memory->ghost_lower != nullptr || memory->ghost_upper != nullptr ||
      memory->strides != nullptr || others != 0) {
    return std::nullopt;
  }
  packed.order = memory->order;
  return packed;
}

Outcome read_transfer(const weir_session& session, const weir_transfer& transfer,
                      Direction direction, Content& content) {
  aggregation::ArrayPart part;
  auto outcome = read_asked(session, transfer, direction, content, part);
  if (!outcome.ok()) return outcome;
  const std::size_t first = content.pieces.size();
  auto packed = packed_memory(transfer);
  if (packed && packed == content.last_memory) {
    content.pieces.push_back(
        {content.pieces.back().layout, static_cast<std::byte*>(transfer.data)});
  } else {
    if (transfer.data_type != nullptr && transfer.data_type != transfer.array->type_name) {
      return bad_argument(fmt::format("data_type is '{}': the elements of {} are {}",
                                      transfer.data_type, transfer.array->text,
                                      transfer.array->type_name));
    }
    outcome = read_memory(transfer, direction == Direction::read, transfer.distribution->held(),
                          session.rank(), transfer.array->type, content.layouts, content.pieces);
    if (!outcome.ok()) return outcome;
    if (content.pieces.size() != first + 1) packed.reset();
    content.last_memory = packed;
  }
  content.first_pieces.push_back(first);
  content.parts.push_back(part);
  return {};
}

}  // namespace

Outcome read_transfers(weir_session& session, const GivenTransfers& given, Content& content) {
  if (given.count > 0) {
    content.parts.reserve(static_cast<std::size_t>(given.count));
    content.pieces.reserve(static_cast<std::size_t>(given.count));
    content.first_pieces.reserve(static_cast<std::size_t>(given.count));
  }
  const DeviceMemory devices(session.driver_search);
  auto outcome = read_each(given, [&](const weir_transfer& transfer) {
    const std::size_t first = content.pieces.size();
    auto read = read_transfer(session, transfer, given.direction, content);
    return read.ok() ? devices.refuse(std::span(content.pieces).subspan(first)) : read;
  });
  if (outcome.ok()) content.give_pieces();
  return outcome;
}

Outcome Content::leave_callers_memory(Direction direction) {
  std::vector<aggregation::MemoryPiece> own = pieces;
  for (aggregation::MemoryPiece& piece : own) {
    if (piece.data == nullptr || piece.layout == nullptr) continue;
    const array::Layout& layout = *piece.layout;
    const array::Layout::Bounds bounds = layout.bounds();
    if (bounds.upper <= bounds.lower) continue;
    const auto bytes = static_cast<std::size_t>(bounds.upper - bounds.lower);
    own_memory.push_back(
        std::make_unique_for_overwrite<std::byte[]>(bytes));  // NOLINT(modernize-avoid-c-arrays)
    std::byte* const data = own_memory.back().get() - bounds.lower;
    if (direction == Direction::write) {
      const array::Indices origin(layout.dimensions());
      array::copy_box(layout.extents(), piece.data, layout, origin, data, layout, origin);
    }
    piece.data = data;
  }
  // The elements are copied in place because the parts refer to them.
  std::copy(own.begin(), own.end(), pieces.begin());
  return {};
}

namespace {

// Converts the fields that describe the rank's memory into those of a transfer.
weir_transfer memory_of(const weir_region& given) {
  weir_transfer transfer = {};
  transfer.data = given.data;
  transfer.memory = given.memory;
  transfer.data_bytes = given.data_bytes;
  transfer.data_shape = given.data_shape;
  return transfer;
}

Outcome read_numbers(const weir_array& array, const weir_region& given, array::Section& region) {
  const int dimensions = array.shape.dimensions();
  if (given.dimensions != 0 && given.dimensions != dimensions) {
    return bad_argument(fmt::format("region.dimensions is {}: {} has {}", given.dimensions,
                                    array.text, dimensions));
  }
  if (given.lower == nullptr) return bad_argument("region.lower is null");
  if (given.extent == nullptr) return bad_argument("region.extent is null");
  const array::Indices ones(dimensions, 1);
  const auto made = array::Section::create(
      array.shape, numbers_at(given.lower, dimensions), numbers_at(given.extent, dimensions),
      numbers_at(given.stride == nullptr ? ones.begin() : given.stride, dimensions));
  if (!made) return outcome_of(made.error(), "region");
  region = made.value();
  return {};
}

}  // namespace

Outcome read_region(const weir_array& array, const weir_region* given, Direction direction,
                    Content& content, array::Section& region) {
  if (array.file == nullptr) return not_laid_out("", array);
  if (direction == Direction::write && !array.file->writable()) {
    return bad_argument(fmt::format("{} is open read-only: open it for writing", array.text));
  }
  const int dimensions = array.shape.dimensions();
  region = {array::Indices(dimensions), array::Indices(dimensions), array::Indices(dimensions, 1)};
  const weir_region nothing = {};
  if (given != nullptr) {
    auto outcome = check_reserved("weir_region", std::data(given->reserved),
                                  std::size(given->reserved), given->reserved_flags);
    if (outcome.ok()) outcome = read_numbers(array, *given, region);
    if (!outcome.ok()) return outcome;
    if (given->data_type != nullptr && given->data_type != array.type_name) {
      return bad_argument(fmt::format("region.data_type is '{}': the elements of {} are {}",
                                      given->data_type, array.text, array.type_name));
    }
  }
  // The memory is that of one piece with the region's extents; the region's place does not matter.
  array::BoxList box(dimensions);
  box.push_back({array::Indices(dimensions), region.count});
  const std::int64_t one = 1;
  auto piece = array::ExplicitDistribution::create(array.shape, {&one, 1}, box);
  if (!piece) return outcome_of(piece.error(), "region");
  auto outcome =
      read_memory(memory_of(given == nullptr ? nothing : *given), direction == Direction::read,
                  array::Distribution(std::move(piece).value()), 0, array.type, content.layouts,
                  content.pieces);
  if (!outcome.ok()) return outcome;
  return DeviceMemory(array.session->driver_search).refuse(content.pieces);
}

}  // namespace weir::capi
