#include "sections/encoded_section.hpp"

#include <fmt/format.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "array/fill.hpp"
#include "sections/chunk_sections.hpp"
#include "sections/encoded_array.hpp"
#include "system/moved_all.hpp"

namespace weir::storage {
namespace {

Result<array::Layout> layout_in_memory(const ExtentMap& map) {
  return array::Layout::packed(map.encoded()->stored_extents, map.type.bytes(), map.order);
}

bool covers(const array::Section& part, const array::Box& box) {
  for (int d = 0; d < part.dimensions(); ++d) {
    if (part.count[d] != box.extent[d]) return false;
  }
  return true;
}

// Reads the chunks of a section one after the other. Chunks of which the section contains only a
// part are read through the cache, the others into one buffer.
class ChunkReader {
 public:
  ChunkReader(EncodedArray& array, DecodedChunks* kept)
      : array_(array),
        kept_(kept != nullptr && kept->takes(array.chunk_bytes()) ? kept : nullptr) {}

  // Returns the elements of a chunk, which are valid until the next call, or null if it is in no
  // file.
  Result<const std::byte*> read(std::int64_t chunk, bool whole) {
    if (kept_ != nullptr && !whole) {
      auto found = array_.read_kept(chunk, *kept_);
      if (!found) return found.error();
      shared_ = std::move(found).value();
      return shared_ != nullptr ? shared_->elements().data() : nullptr;
    }
    if (own_ == nullptr) {
      auto made = DecodedChunk::make(array_.chunk_bytes());
      if (!made) return made.error();
      own_ = std::move(made).value();
    }
    bool there = false;
    Status status = array_.read(chunk, own_->elements(), there);
    if (!status.ok()) return status.error();
    return there ? static_cast<const std::byte*>(own_->elements().data()) : nullptr;
  }

 private:
  EncodedArray& array_;
  DecodedChunks* kept_;
  std::shared_ptr<DecodedChunk> own_;
  std::shared_ptr<const DecodedChunk> shared_;
};

// Fails if not all elements were moved, because some have no chunk in the grid.
Status moved_all_elements(const ExtentMap& map, const array::Section& section, std::int64_t moved) {
  const std::int64_t bytes = map.type.bytes();
  return moved_all(section.elements() * bytes, moved * bytes, map.files.path(0));
}

}  // namespace

Status read_encoded_section(const StoredArray& array, const array::Section& section,
                            std::byte* data, const array::Layout& memory, DataFileCache& files,
                            DecodedChunks* kept) {
  auto encoded = EncodedArray::create(array, files);
  if (!encoded) return encoded.error();
  const auto layout = layout_in_memory(array.map);
  if (!layout) return layout.error();
  ChunkReader reader(encoded.value(), kept);
  const array::ChunkGrid& grid = array.map.encoded()->grid;
  array::ChunksMeeting meeting(grid, array::Region(section));
  std::int64_t elements_given = 0;
  for (std::int64_t chunk = 0; meeting.next(chunk);) {
    const array::Box box = grid.box(chunk);
    const StoredPart part = part_in_box(section, box);
    elements_given += part.section.elements();
    const auto elements = reader.read(chunk, covers(part.section, box));
    if (!elements) return elements.error();
    const auto copy = copy_to_memory(part.section, layout.value(), part.memory_at, memory);
    if (elements.value() != nullptr) {
      copy.run(elements.value(), data);
      continue;
    }
    array::fill_target(copy, data, encoded.value().fill_element());
  }
  return moved_all_elements(array.map, section, elements_given);
}

Status write_encoded_section(const StoredArray& array, const array::Section& section,
                             const std::byte* data, const array::Layout& memory,
                             DataFileCache& files) {
  DataFileCache reading(DataFileCache::Use::reading, files.mover());
  EncodedWriter writer(array.map, files);
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
  const auto chunk_memory = DecodedChunk::make(encoded.value().chunk_bytes());
  if (!chunk_memory) return chunk_memory.error();
  array::ChunksMeeting meeting(chunks.grid, array::Region(section));
  std::int64_t elements_put = 0;
  for (std::int64_t chunk = 0; meeting.next(chunk);) {
    const array::Box box = chunks.grid.box(chunk);
    const StoredPart part = part_in_box(section, box);
    elements_put += part.section.elements();
    const std::span<std::byte> elements = chunk_memory.value()->elements();
    bool there = false;
    if (!covers(part.section, box)) {
      Status status = encoded.value().read(chunk, elements, there);
      if (!status.ok()) return status;
    }
    // A chunk at an upper edge also has elements outside the array.
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
