// Random requests, topologies and parameters for property tests of plans, and files in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

#include "array/number_theory.hpp"
#include "array/test_random.hpp"
#include "plan/plan.hpp"
#include "topology/network.hpp"

namespace weir::plan {

class RandomRequests : public array::Random {
 public:
  using Random::Random;

  // Returns boxes of any size that do not overlap: cells of a coarse grid, some left out, assigned
  // to random ranks.
  array::ExplicitDistribution boxes(const array::Shape& shape) {
    array::Indices cell;
    for (const std::int64_t extent : shape.extents()) cell.push_back(between(1, extent + 1));
    const auto grid = array::ChunkGrid::create(shape, cell).value();
    const std::int64_t ranks = between(1, 9);
    std::vector<std::vector<array::Box>> of_rank(static_cast<std::size_t>(ranks));
    for (std::int64_t number = 0; number < grid.chunks(); ++number) {
      if (chance(20)) continue;
      of_rank[static_cast<std::size_t>(between(0, ranks - 1))].push_back(grid.box(number));
    }
    array::BoxList list(shape.dimensions());
    std::vector<std::int64_t> counts;
    for (const auto& held : of_rank) {
      counts.push_back(static_cast<std::int64_t>(held.size()));
      for (const array::Box& box : held) list.push_back(box);
    }
    return array::ExplicitDistribution::create(shape, counts, list).value();
  }
  array::Distribution distribution(const array::Shape& shape) {
    if (chance(30)) return boxes(shape);
    return regular(shape);
  }
  // Returns an image with chunks in a table or in shards, like those of other libraries' formats.
  Image chunks_stored_whole(const array::Shape& shape, const array::Indices& extents,
                            const array::ElementType& type) {
    const auto grid = array::ChunkGrid::create(shape, extents).value();
    std::int64_t bytes = type.bytes();
    for (const std::int64_t extent : extents) bytes *= extent;
    if (chance(40)) {
      array::ShardSlots shards{{}, {}, between(0, 9), bytes + between(0, 5)};
      std::int64_t files = 1;
      for (int d = 0; d < shape.dimensions(); ++d) {
        shards.chunks_per_shard.push_back(between(1, 3));
        shards.shards.push_back(array::divide_up(grid.counts()[d], shards.chunks_per_shard[d]));
        files *= shards.shards[d];
      }
      return ChunkedImage::at(grid, type, order(), shards, files, extents).value();
    }
    array::ChunkTable table;
    std::vector<std::int64_t> slots(static_cast<std::size_t>(grid.chunks()));
    std::iota(slots.begin(), slots.end(), std::int64_t{0});
    for (std::int64_t last = grid.chunks() - 1; last > 0 && chance(95); --last) {
      std::swap(slots[static_cast<std::size_t>(last)],
                slots[static_cast<std::size_t>(between(0, last))]);
    }
    for (std::int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
      table.add(chunk, {chunk % 2, 5 + slots[static_cast<std::size_t>(chunk)] * (bytes + 3)});
    }
    return ChunkedImage::at(grid, type, order(), table, 2, extents).value();
  }
  Image image(const array::Shape& shape, const array::ElementType& type) {
    if (chance(50)) {
      return FileImage::create(shape, type, order(), between(0, 50)).value();
    }
    array::Indices extents;
    for (int d = 0; d < shape.dimensions(); ++d) extents.push_back(between(1, 9));
    if (chance(40)) return chunks_stored_whole(shape, extents, type);
    return ChunkedImage::create(array::ChunkGrid::create(shape, extents).value(), type, order(),
                                {between(0, 20), between(1, 30), between(1, 4), chance(30)})
        .value();
  }
  topology::Topology topology(std::int64_t at_least) {
    const std::int64_t ranks = at_least + between(0, 3);
    const auto nodes = chance(50)
                           ? topology::Topology::filled(ranks, between(1, ranks)).value()
                           : topology::Topology::round_robin(ranks, between(1, ranks)).value();
    auto grouped = nodes.with_io_groups(between(1, nodes.nodes())).value();
    const char* const networks[] = {"32x32", "mesh:2x9x60", "switches:2"};
    if (chance(40)) return grouped;
    const auto network = topology::Network::parse(networks[between(0, 2)]).value();
    return grouped.with_network(network).value();
  }
  Parameters parameters(std::int64_t element_bytes) {
    return {all_strategies.at(static_cast<std::size_t>(between(0, 3))),
            between(1, 5),
            chance(80) ? between(element_bytes, 400) : 1 << 20,
            between(1, 100),
            chance(50) ? DomainAssignment::contiguous : DomainAssignment::striped,
            between(0, 3),
            between(1, 4),
            topology::all_placement_rules.at(static_cast<std::size_t>(between(0, 3))),
            between(0, 3)};
  }
  // Elements are 8-byte numbers. Arrays have separate files, except for a few that share one.
  Request request(Direction direction) {
    Request made{direction, {}};
    std::int64_t files = 0;
    for (std::int64_t arrays = between(1, 3); arrays > 0; --arrays) {
      const array::Shape shape = this->shape();
      const Image in_files = image(shape, array::ElementKind::int64);
      made.arrays.push_back({in_files, distribution(shape),
                             chance(50) ? section(shape) : array::Section::of(shape.box()), files});
      files += in_files.files();
    }
    // Adds several arrays in one file, like the variables of a step.
    std::int64_t offset = chance(50) ? 0 : between(0, 20);  // 0 is a multiple of any alignment
    for (std::int64_t arrays = chance(20) ? between(2, 9) : 0; arrays > 0; --arrays) {
      const array::Shape shape = this->shape();
      const Image in_file =
          FileImage::create(shape, array::ElementKind::int64, order(), offset).value();
      offset += shape.elements() * 8 + between(0, 1) * between(1, 30);
      made.arrays.insert(made.arrays.begin() + between(0, std::ssize(made.arrays)),
                         {in_file, distribution(shape),
                          chance(30) ? section(shape) : array::Section::of(shape.box()), files});
    }
    return made;
  }
};

// Returns the place of an element, from the definition of an image.
inline ChunkedImage::Place place_of(const Image& image, const array::Indices& index) {
  if (image.dense() != nullptr) return {0, image.dense()->layout().offset_of(index)};
  const ChunkedImage& chunked = *image.chunked();
  const std::int64_t chunk = chunked.grid().chunk_of(index);
  const array::Box box = chunked.grid().box(chunk);
  array::Indices inside;
  for (int d = 0; d < box.dimensions(); ++d) inside.push_back(index[d] - box.lower[d]);
  ChunkedImage::Place place = chunked.place_of(chunk).value();
  place.offset += chunked.element_bytes() *
                  array::linear_number(array::Shape::create(chunked.stored_extents(box)).value(),
                                       image.order(), inside);
  return place;
}

// A file in memory that counts how often each byte was written.
struct MemoryFile {
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> times;

  void grow(std::int64_t size) {
    if (static_cast<std::size_t>(size) <= bytes.size()) return;
    bytes.resize(static_cast<std::size_t>(size));
    times.resize(static_cast<std::size_t>(size));
  }
  void write(std::int64_t offset, const std::byte* from, std::int64_t count) {
    grow(offset + count);
    std::copy_n(from, count, bytes.begin() + offset);
    for (std::int64_t i = offset; i < offset + count; ++i) ++times[static_cast<std::size_t>(i)];
  }
};
using MemoryFiles = std::map<std::int64_t, MemoryFile>;

// Returns the value of an element, which differs for all elements.
inline std::int64_t value_of(int array, const array::Shape& shape, const array::Indices& index) {
  return (std::int64_t{array} << 32) + 1 +
         array::linear_number(shape, array::Order::row_major, index);
}

}  // namespace weir::plan
