#include "capi/transfer_argument.hpp"

#include <algorithm>

#include "array/copy.hpp"
#include "capi/device_memory.hpp"
#include "capi/extents_argument.hpp"
#include "capi/memory_argument.hpp"

namespace weir::capi {
namespace {

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
    return bad_argument("distribution is none of this session");
  }
  if (transfer.array->file == nullptr) return not_laid_out("", *transfer.array);
  const array::Shape& shape = transfer.array->shape;
  const array::Distribution& distribution = transfer.distribution->held();
  if (!(distribution.shape() == shape)) {
    return bad_argument(
        fmt::format("distribution is of shape {}, {}: give one of the array's shape",
                    distribution.shape().text(), transfer.array->text));
  }
  if (direction == Direction::write && !transfer.array->file->writable()) {
    return bad_argument(fmt::format("{} is open for reading only", transfer.array->text));
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

Outcome read_transfers(const weir_session& session, const GivenTransfers& given, Content& content) {
  if (given.count > 0) {
    content.parts.reserve(static_cast<std::size_t>(given.count));
    content.pieces.reserve(static_cast<std::size_t>(given.count));
    content.first_pieces.reserve(static_cast<std::size_t>(given.count));
  }
  const DeviceMemory devices;
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

}  // namespace weir::capi
