#include "storage/encoded/encoded_section.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "storage/encoded/encoded_array.hpp"
#include "storage/moved_all.hpp"
#include "storage/serial/chunk_sections.hpp"
#include "storage/serial/spans.hpp"

namespace weir::storage {
namespace {

// Decoded chunks, one after the other in the same memory.
class ChunkMemory {
 public:
  explicit ChunkMemory(const EncodedArray& array)
      : bytes_(static_cast<std::size_t>(array.chunk_bytes())),
        data_(new (std::nothrow) std::byte[bytes_]) {}

  [[nodiscard]] Status status() const {
    if (data_) return {};
    Error error = invalid_argument(fmt::format("no memory for a chunk of {} bytes", bytes_));
    error.code = ErrorCode::insufficient;
    return error;
  }
  [[nodiscard]] std::span<std::byte> elements() const { return {data_.get(), bytes_}; }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> data_;
};

Result<array::Layout> layout_in_memory(const ExtentMap& map) {
  return array::Layout::packed(map.encoded()->stored_extents, map.type.bytes(), map.order);
}

bool covers(const array::Section& part, const array::Box& box) {
  for (int d = 0; d < part.dimensions(); ++d) {
    if (part.count[d] != box.extent[d]) return false;
  }
  return true;
}

// Elements that have no chunk in the grid went nowhere.
Status moved_all_elements(const ExtentMap& map, const array::Section& section, std::int64_t moved) {
  const std::int64_t bytes = map.type.bytes();
  return moved_all(section.elements() * bytes, moved * bytes, map.files.path(0));
}

}  // namespace

Status read_encoded_section(const StoredArray& array, const array::Section& section,
                            std::byte* data, const array::Layout& memory, DataFileCache& files) {
  auto encoded = EncodedArray::create(array, files);
  if (!encoded) return encoded.error();
  const auto layout = layout_in_memory(array.map);
  if (!layout) return layout.error();
  const ChunkMemory chunk_memory(encoded.value());
  if (Status status = chunk_memory.status(); !status.ok()) return status;
  const array::ChunkGrid& grid = array.map.encoded()->grid;
  array::ChunksMeeting meeting(grid, array::Region(section));
  std::int64_t elements_given = 0;
  for (std::int64_t chunk = 0; meeting.next(chunk);) {
    const StoredPart part = part_in_box(section, grid.box(chunk));
    elements_given += part.section.elements();
    bool there = false;
    Status status = encoded.value().read(chunk, chunk_memory.elements(), there);
    if (!status.ok()) return status;
    const auto copy = copy_to_memory(part.section, layout.value(), part.memory_at, memory);
    if (there) {
      copy.run(chunk_memory.elements().data(), data);
      continue;
    }
    const std::vector<std::byte>& fill = encoded.value().fill_element();
    const auto size = static_cast<std::int64_t>(fill.size());
    for_each_target_run(copy, [&](std::int64_t offset, std::int64_t bytes) {
      for (std::int64_t at = 0; at < bytes; at += size) {
        std::memcpy(data + offset + at, fill.data(), fill.size());
      }
    });
  }
  return moved_all_elements(array.map, section, elements_given);
}

Status write_encoded_section(const StoredArray& array, const array::Section& section,
                             const std::byte* data, const array::Layout& memory,
                             DataFileCache& files) {
  DataFileCache reading(DataFileCache::Use::reading, files.mover());
  EncodedWriter writer(array.map, files, false);
  return write_encoded_section(array, section, data, memory, reading, writer);
}

Status write_encoded_section(const StoredArray& array, const array::Section& section,
                             const std::byte* data, const array::Layout& memory,
                             DataFileCache& files, EncodedWriter& writer) {
  const EncodedChunks& chunks = *array.map.encoded();
  auto encoded = EncodedArray::create(array, files);
  if (!encoded) return encoded.error();
  const auto layout = layout_in_memory(array.map);
  if (!layout) return layout.error();
  const ChunkMemory chunk_memory(encoded.value());
  if (Status status = chunk_memory.status(); !status.ok()) return status;
  array::ChunksMeeting meeting(chunks.grid, array::Region(section));
  std::int64_t elements_put = 0;
  for (std::int64_t chunk = 0; meeting.next(chunk);) {
    const array::Box box = chunks.grid.box(chunk);
    const StoredPart part = part_in_box(section, box);
    elements_put += part.section.elements();
    const std::span<std::byte> elements = chunk_memory.elements();
    bool there = false;
    if (!covers(part.section, box)) {
      Status status = encoded.value().read(chunk, elements, there);
      if (!status.ok()) return status;
    }
    // At upper edges with elements outside the array.
    if (!there && part.section.count != chunks.stored_extents) encoded.value().fill(elements);
    copy_from_memory(part.section, layout.value(), part.memory_at, memory)
        .run(data, elements.data());
    const auto bytes = encoded.value().encode(elements);
    if (!bytes) return bytes.error();
    if (Status put = writer.put(chunk, bytes.value()); !put.ok()) return put;
  }
  if (Status all = moved_all_elements(array.map, section, elements_put); !all.ok()) return all;
  return writer.finish();
}

}  // namespace weir::storage
