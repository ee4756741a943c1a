#include "sections/chunk_sections.hpp"

namespace weir::storage {
namespace {

using array::Indices;
using array::Layout;
using array::Section;
using array::StridedCopy;
using array::UniformRegion;

// These functions return the regions of the section's elements in the stored array and in memory.
// Both regions have the same counts and lengths along each dimension.
UniformRegion stored_region(const Section& section) {
  UniformRegion region;
  for (int d = 0; d < section.dimensions(); ++d) {
    if (section.stride[d] == 1) {
      region.push_back(
          {.start = section.start[d], .length = section.count[d], .stride = 0, .count = 1});
    } else {
      region.push_back({.start = section.start[d],
                        .length = 1,
                        .stride = section.stride[d],
                        .count = section.count[d]});
    }
  }
  return region;
}

UniformRegion memory_region(const Section& section, const Indices& at) {
  UniformRegion region;
  for (int d = 0; d < section.dimensions(); ++d) {
    if (section.stride[d] == 1) {
      region.push_back({.start = at[d], .length = section.count[d], .stride = 0, .count = 1});
    } else {
      region.push_back({.start = at[d], .length = 1, .stride = 1, .count = section.count[d]});
    }
  }
  return region;
}

}  // namespace

Result<array::Layout> layout_without_chunks(const ExtentMap& map) {
  const array::Indices& extents = map.shape.extents();
  if (const DenseExtents* const dense = map.dense()) {
    return array::Layout::packed(extents, map.type.bytes(), map.order, dense->offset);
  }
  if (map.records() == nullptr) return invalid_argument("encoded chunks have no layout");
  const RecordExtents& records = *map.records();
  array::Indices record = extents;
  record[0] = 1;
  const auto inside = array::Layout::packed(record, map.type.bytes(), map.order);
  if (!inside) return inside.error();
  array::Indices strides;
  for (int d = 0; d < extents.size(); ++d) {
    strides.push_back(d == 0 ? records.stride : inside.value().stride(d));
  }
  return array::Layout::strided(extents, map.type.bytes(),
                                std::span(strides.begin(), strides.end()), records.offset);
}

Result<array::Layout> layout_of_chunk(const ExtentMap& map, std::int64_t chunk,
                                      const ExtentPlace& place) {
  return array::Layout::packed(map.chunks()->extents_of(chunk), map.type.bytes(), map.order,
                               place.offset);
}

StoredPart part_in_box(const array::Section& section, const array::Box& box) {
  StoredPart part{array::intersect(section, box), array::Indices(section.dimensions()), 0, {}};
  for (int d = 0; d < section.dimensions(); ++d) {
    part.memory_at[d] = (part.section.start[d] - section.start[d]) / section.stride[d];
    part.section.start[d] -= box.lower[d];
    // A single index needs no stride, and a large stride would not fit into the box.
    if (part.section.count[d] == 1) part.section.stride[d] = 1;
  }
  return part;
}

StridedCopy copy_to_memory(const Section& section, const Layout& stored, const Indices& memory_at,
                           const Layout& memory) {
  return StridedCopy::between(stored_region(section), stored, memory_region(section, memory_at),
                              memory);
}

StridedCopy copy_from_memory(const Section& section, const Layout& stored, const Indices& memory_at,
                             const Layout& memory) {
  return StridedCopy::between(memory_region(section, memory_at), memory, stored_region(section),
                              stored);
}

}  // namespace weir::storage
