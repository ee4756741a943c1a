#include "aggregation/block_copy.hpp"

#include "array/copy.hpp"

namespace weir::aggregation {
namespace {

array::Indices extents_of(const array::UniformRegion& uniform) {
  array::Indices extents;
  for (const array::UniformBlocks& blocks : uniform)
    extents.push_back(blocks.count * blocks.length);
  return extents;
}

// The blocks moved together: what is strided in the array is dense in a message.
array::UniformRegion moved_together(const array::UniformRegion& uniform) {
  array::UniformRegion dense;
  for (const array::UniformBlocks& blocks : uniform) {
    dense.push_back({0, blocks.length, blocks.length, blocks.count});
  }
  return dense;
}

}  // namespace

std::int64_t copy_blocks(const array::Region& held, const array::Region& section,
                         const array::Box& box, std::int64_t element_bytes, const Side& from,
                         const Side& to) {
  std::int64_t copied = 0;
  array::CommonRegions regions(held.clipped(box), section);
  for (array::Region common; regions.next(common);) {
    array::UniformRegions uniforms(common);
    for (array::UniformRegion uniform; uniforms.next(uniform);) {
      const array::Indices extents = extents_of(uniform);
      // Elements of a region that lies inside an array: their bytes fit, as those of the buffer do.
      const auto dense =
          array::Layout::packed(extents, element_bytes, array::Order::row_major).value();
      const auto region_on = [&](const Side& side) {
        switch (side.kind) {
          case Side::Kind::memory:
            return array::localized(uniform, held);
          case Side::Kind::buffer:
            return array::relative_to(uniform, box);
          case Side::Kind::message:
            break;
        }
        return moved_together(uniform);
      };
      const auto data_of = [&](const Side& side) {
        return side.kind == Side::Kind::message ? side.data + copied * element_bytes : side.data;
      };
      array::StridedCopy::between(
          region_on(from), from.kind == Side::Kind::message ? dense : *from.layout, region_on(to),
          to.kind == Side::Kind::message ? dense : *to.layout)
          .run(data_of(from), data_of(to));
      copied += array::Box{extents, extents}.elements();
    }
  }
  return copied;
}

}  // namespace weir::aggregation
