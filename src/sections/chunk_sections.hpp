// Divides a section of an array into parts, each of which lies in one dense place: the whole array
// if it is dense, or one chunk.
#pragma once

#include <optional>

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "array/per_dimension.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "stored/extent_map.hpp"

namespace weir::storage {

struct StoredPart {
  array::Section section;    // in the indices of the part's layout
  array::Indices memory_at;  // index of its first element in the caller's memory
  std::int64_t file = 0;
  // Empty if the part is in no file.
  std::optional<array::Layout> layout;
};

// Calls visit(StoredPart), which returns a Status, for each part. Stops at the first failure.
template <typename Visit>
Status for_each_part(const ExtentMap& map, const array::Section& section, const Visit& visit);

// Return the layout of a map without chunks, and of a chunk whose place is known.
[[nodiscard]] Result<array::Layout> layout_without_chunks(const ExtentMap& map);
[[nodiscard]] Result<array::Layout> layout_of_chunk(const ExtentMap& map, std::int64_t chunk,
                                                    const ExtentPlace& place);
// Returns the part of the section that lies in a box, in the box's indices, and its place in
// memory.
[[nodiscard]] StoredPart part_in_box(const array::Section& section, const array::Box& box);

// Return the copy of a section, whose indices are those of `stored`, to memory, where its first
// element is at index `memory_at`, and the opposite copy. The section is not empty.
[[nodiscard]] array::StridedCopy copy_to_memory(const array::Section& section,
                                                const array::Layout& stored,
                                                const array::Indices& memory_at,
                                                const array::Layout& memory);
[[nodiscard]] array::StridedCopy copy_from_memory(const array::Section& section,
                                                  const array::Layout& stored,
                                                  const array::Indices& memory_at,
                                                  const array::Layout& memory);

template <typename Visit>
Status for_each_part(const ExtentMap& map, const array::Section& section, const Visit& visit) {
  const ChunkExtents* const chunks = map.chunks();
  if (chunks == nullptr) {
    auto layout = layout_without_chunks(map);
    if (!layout) return layout.error();
    return visit(
        StoredPart{section, array::Indices(section.dimensions()), 0, std::move(layout).value()});
  }
  array::ChunksMeeting meeting(chunks->grid, array::Region(section));
  for (std::int64_t chunk = 0; meeting.next(chunk);) {
    StoredPart part = part_in_box(section, chunks->grid.box(chunk));
    if (const auto place = chunks->place_of(chunk)) {
      auto layout = layout_of_chunk(map, chunk, *place);
      if (!layout) return layout.error();
      part.file = place->file;
      part.layout = std::move(layout).value();
    }
    if (Status status = visit(part); !status.ok()) return status;
  }
  return {};
}

}  // namespace weir::storage
