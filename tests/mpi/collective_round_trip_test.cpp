// Collective writing and reading of random arrays by every strategy: distributions and memory
// layouts of all kinds, sections, tiny buffers. Each element of the files is compared with what it
// must be, so all strategies give the same bytes; each element read back, too, and memory around it
// is untouched.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "array/explicit_distribution.hpp"
#include "array/linear_range.hpp"
#include "array/test_random.hpp"
#include "collective.hpp"

namespace weir::test {
namespace {

constexpr std::int64_t untouched = -77;

std::int64_t value_of(const array::Shape& shape, const array::Indices& index, std::int64_t step) {
  return 1000000 * step + 1 + array::linear_number(shape, array::Order::row_major, index);
}

// A rank's part in memory of a random layout: packed in either order, with ghost cells, strided.
struct Memory {
  std::vector<std::vector<std::int64_t>> data;
  std::deque<array::Layout> layouts;
  std::vector<MemoryPiece> pieces;

  Memory(array::Random& random, const array::Distribution& distribution) {
    const std::int64_t kind = random.between(0, 2);
    const array::Order order = random.order();
    const int rank = rank_of_world();
    if (rank >= distribution.ranks()) return;
    for (std::int64_t number = 0; number < distribution.pieces(rank); ++number) {
      const array::Indices extents = distribution.piece(rank, number).local_extents();
      auto layout = array::Layout::packed(extents, element_bytes, order).value();
      if (kind == 1) {
        const array::GhostCells ghosts{array::Indices(extents.size(), 1),
                                       array::Indices(extents.size(), 2)};
        layout = array::Layout::with_ghosts(extents, element_bytes, order, ghosts).value();
      } else if (kind == 2) {  // every other element
        std::vector<std::int64_t> strides;
        strides.reserve(static_cast<std::size_t>(extents.size()));
        for (int d = 0; d < extents.size(); ++d) strides.push_back(2 * layout.stride(d));
        layout = array::Layout::strided(extents, element_bytes, strides, element_bytes).value();
      }
      std::int64_t elements = layout.bounds().upper / element_bytes;
      if (kind == 1) {
        elements = 1;
        for (const std::int64_t extent : extents) elements *= extent + 3;
      }
      data.emplace_back(static_cast<std::size_t>(elements), untouched);
      layouts.push_back(layout);
      pieces.push_back({&layouts.back(), reinterpret_cast<std::byte*>(data.back().data())});
    }
  }

  // Calls visit(global index, value) for each element of the rank's part.
  void visit(const array::Distribution& distribution,
             const std::function<void(const array::Indices&, std::int64_t&)>& visit) {
    for (std::size_t number = 0; number < pieces.size(); ++number) {
      const array::Region part =
          distribution.piece(rank_of_world(), static_cast<std::int64_t>(number));
      const auto extents = array::Shape::create(part.local_extents()).value();
      for (const array::Indices& local : array::all_elements(extents)) {
        const std::int64_t at = pieces[number].layout->offset_of(local) / element_bytes;
        visit(part.global_index(local), data[number][static_cast<std::size_t>(at)]);
      }
    }
  }
  [[nodiscard]] std::int64_t touched() const {
    std::int64_t count = 0;
    for (const auto& one : data) {
      for (const std::int64_t value : one) count += value == untouched ? 0 : 1;
    }
    return count;
  }
};

array::Distribution random_distribution(array::Random& random, const array::Shape& shape) {
  if (random.chance(25)) {
    // Some of the array's slabs along dimension 0, distributed to any ranks: holes, several boxes,
    // none.
    array::BoxList boxes(shape.dimensions());
    std::vector<std::vector<array::Box>> held(static_cast<std::size_t>(size_of_world()));
    for (std::int64_t at = 0; at < shape.extent(0);) {
      const std::int64_t thick = random.between(1, shape.extent(0) - at);
      array::Box box = shape.box();
      box.lower[0] = at;
      box.extent[0] = thick;
      const auto owner = static_cast<std::size_t>(random.between(0, size_of_world() - 1));
      if (random.chance(80)) held[owner].push_back(box);
      at += thick;
    }
    std::vector<std::int64_t> counts;
    for (const auto& of_rank : held) {
      counts.push_back(static_cast<std::int64_t>(of_rank.size()));
      for (const array::Box& box : of_rank) boxes.push_back(box);
    }
    return array::ExplicitDistribution::create(shape, counts, boxes).value();
  }
  for (int tries = 0; tries < 30; ++tries) {
    const auto regular = random.regular(shape);
    if (regular.ranks() <= size_of_world()) return regular;
  }
  const std::vector<array::DistributionFormat> formats(static_cast<std::size_t>(shape.dimensions()),
                                                       array::DistributionFormat::cyclic_of(2));
  return array::RegularDistribution::create(
             shape, formats, {array::Indices(shape.dimensions(), 1), array::Order::row_major})
      .value();
}

// An array, and the data files among which its chunks are divided.
struct Described {
  storage::ArrayDescription array;
  storage::Placement placement;

  // Returns the grid of chunks; one chunk if the array is dense.
  [[nodiscard]] array::ChunkGrid grid() const {
    return array::ChunkGrid::create(array.shape,
                                    array.chunk_extents.value_or(array.shape.extents()))
        .value();
  }
  [[nodiscard]] storage::DataFiles files(const std::string& path) const {
    return placement.layout == storage::FileLayout::shared
               ? storage::DataFiles::one(path)
               : storage::DataFiles::numbered(path, placement.files);
  }
};

Described random_array(array::Random& random, const array::Shape& shape) {
  Described described{
      {.name = "a", .shape = shape, .type = array::ElementKind::int64, .order = random.order()},
      {}};
  if (random.chance(50)) {
    array::Indices chunk = shape.extents();
    for (std::int64_t& extent : chunk) extent = random.between(1, extent + 1);
    described.array.chunk_extents = chunk;
    if (random.chance(50)) {
      described.placement.layout = storage::FileLayout::per_aggregator;
      described.placement.files = random.between(1, 3);
    }
  }
  return described;
}

std::int64_t element_in_files(const array::ChunkGrid& grid, const array::Declustering& spread,
                              array::Order order, const std::vector<std::vector<char>>& files,
                              const array::Indices& index) {
  const auto count = static_cast<std::int64_t>(files.size());
  const std::int64_t chunk = grid.chunk_of(index);
  const array::Box box = grid.box(chunk);
  std::int64_t slot = element_bytes;
  for (const std::int64_t extent : grid.chunk_extents()) slot *= extent;
  array::Indices inside = index;
  for (int d = 0; d < inside.size(); ++d) inside[d] -= box.lower[d];
  const auto extents = array::Shape::create(box.extent).value();
  const std::int64_t at =
      chunk / count * slot + element_bytes * array::linear_number(extents, order, inside);
  const std::vector<char>& file =
      files[count == 1 ? 0 : static_cast<std::size_t>(spread.holder(chunk))];
  std::int64_t value = -1;
  if (at + element_bytes <= static_cast<std::int64_t>(file.size())) {
    std::memcpy(&value, file.data() + at, element_bytes);
  }
  return value;
}

// One of the arrays of a round: on disk, and as it must be.
class Tested {
 public:
  Tested(array::Random& random, std::string path)
      : path_(std::move(path)), described_(random_array(random, shape_of(random))) {
    reference_.resize(static_cast<std::size_t>(shape().elements()));
  }

  [[nodiscard]] const array::Shape& shape() const { return described_.array.shape; }
  [[nodiscard]] const Described& described() const { return described_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t& at(const array::Indices& index) {
    const auto place = array::linear_number(shape(), array::Order::row_major, index);
    return reference_[static_cast<std::size_t>(place)];
  }

  std::unique_ptr<aggregation::StepFile> file;

 private:
  static array::Shape shape_of(array::Random& random) {
    array::Shape shape = random.shape();
    while (shape.elements() == 0) shape = random.shape();
    return shape;
  }

  std::string path_;
  Described described_;
  std::vector<std::int64_t> reference_;
};

// Says what this rank passes for one array.
struct Passed {
  SharedDistribution held;
  Memory memory;
  array::Section section;

  Passed(array::Random& random, const array::Shape& shape, bool whole)
      : held(random_distribution(random, shape)),
        memory(random, *held),
        section(whole ? array::Section::of(shape.box()) : random.section(shape)) {}
};

Status transfer(Collective& collective, Direction direction, std::vector<Tested>& arrays,
                std::vector<std::unique_ptr<Passed>>& passed) {
  std::vector<ArrayPart> parts;
  parts.reserve(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    parts.push_back({&arrays[i].file->array(0), &passed[i]->held, passed[i]->memory.pieces,
                     &passed[i]->section});
  }
  return direction == Direction::write ? collective.write(parts) : collective.read(parts);
}

void write_step(Collective& collective, array::Random& random, std::vector<Tested>& arrays,
                std::int64_t step) {
  std::vector<std::unique_ptr<Passed>> passed;
  for (Tested& one : arrays) {
    passed.push_back(std::make_unique<Passed>(random, one.shape(), step == 1));
    passed.back()->memory.visit(*passed.back()->held,
                                [&](const array::Indices& index, std::int64_t& value) {
                                  value = value_of(one.shape(), index, step);
                                });
  }
  const Status written = transfer(collective, Direction::write, arrays, passed);
  EXPECT_TRUE(is_ok(written));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const array::Distribution& held = *passed[i]->held;
    const array::Region section(passed[i]->section);
    for (std::int64_t owner = 0; owner < held.ranks(); ++owner) {
      for (std::int64_t number = 0; number < held.pieces(owner); ++number) {
        const array::Region region = held.piece(owner, number);
        if (region.empty()) continue;
        const auto extents = array::Shape::create(region.local_extents()).value();
        for (const array::Indices& local : array::all_elements(extents)) {
          const array::Indices index = region.global_index(local);
          if (section.contains(index)) {
            arrays[i].at(index) = value_of(arrays[i].shape(), index, step);
          }
        }
      }
    }
  }
}

void compare_files(Tested& tested) {
  const Described& described = tested.described();
  const storage::DataFiles paths = described.files(tested.path());
  std::vector<std::vector<char>> files;
  files.reserve(static_cast<std::size_t>(paths.files()));
  for (std::int64_t number = 0; number < paths.files(); ++number) {
    files.push_back(content_of<char>(paths.path(number)));
  }
  const auto grid = described.grid();
  const auto spread = array::Declustering::for_grid(grid, 1, paths.files());
  const array::Order order = described.array.order;
  std::int64_t wrong = 0;
  for (const array::Indices& index : array::all_elements(tested.shape())) {
    wrong += element_in_files(grid, spread, order, files, index) == tested.at(index) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << "elements of the files of " << tested.path();
}

void read_step(Collective& collective, array::Random& random, std::vector<Tested>& arrays) {
  std::vector<std::unique_ptr<Passed>> passed;
  passed.reserve(arrays.size());
  for (const Tested& one : arrays) {
    passed.push_back(std::make_unique<Passed>(random, one.shape(), random.chance(50)));
  }
  const Status read = transfer(collective, Direction::read, arrays, passed);
  EXPECT_TRUE(is_ok(read));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::int64_t expected = 0;
    std::int64_t wrong = 0;
    const array::Region section(passed[i]->section);
    passed[i]->memory.visit(*passed[i]->held,
                            [&](const array::Indices& index, std::int64_t& value) {
                              const bool asked = section.contains(index);
                              expected += asked ? 1 : 0;
                              wrong += value == (asked ? arrays[i].at(index) : untouched) ? 0 : 1;
                            });
    EXPECT_EQ(wrong, 0) << "elements read of array " << i;
    EXPECT_EQ(passed[i]->memory.touched(), expected) << "memory around a part of array " << i;
  }
}

// Two writes (the second of sections) and a read, each of one to three arrays, compared with arrays
// in memory.
void round_trip(Collective& collective, const std::string& path, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  array::Random random(seed);
  std::vector<Tested> arrays;
  for (std::int64_t count = random.between(1, 3); count > 0; --count) {
    arrays.emplace_back(random, fmt::format("{}-{}", path, count));
    const Described& described = arrays.back().described();
    auto created =
        collective.create_array(arrays.back().path(), described.array, described.placement);
    ASSERT_TRUE(is_ok_on_all_ranks(created));
    arrays.back().file = std::move(created).value();
  }
  for (std::int64_t step = 1; step <= 2; ++step) write_step(collective, random, arrays, step);
  for (Tested& one : arrays) {
    EXPECT_TRUE(is_ok(collective.sync(one.file->array(0))));
    EXPECT_TRUE(is_ok(collective.close_file(*one.file)));
    if (rank_of_world() == 0) compare_files(one);
    auto opened = collective.open_array(one.path(), false);
    ASSERT_TRUE(is_ok_on_all_ranks(opened));
    one.file = std::move(opened).value();
  }
  read_step(collective, random, arrays);
  for (const Tested& one : arrays) EXPECT_TRUE(is_ok(collective.close_file(*one.file)));
}

// Each number of ranks has requests of its own, so that two of a kind make many different ones.
std::uint64_t own_seed(int seed) {
  return std::uint64_t{10} * static_cast<std::uint64_t>(size_of_world()) +
         static_cast<std::uint64_t>(seed);
}

class RoundTrips : public EveryStrategy {
 protected:
  // Returns the place of the settings in the list of all.
  [[nodiscard]] static std::uint64_t kind() {
    const auto all = cases();
    std::uint64_t place = 0;
    while (all.at(place).name != GetParam().name) ++place;
    return place;
  }
};

INSTANTIATE_TEST_SUITE_P(Settings, RoundTrips, ::testing::ValuesIn(RoundTrips::cases()),
                         name_of_case);

TEST_P(RoundTrips, GiveBackWhatIsWrittenByTheSameRequestsForAllStrategies) {
  for (int seed = 1; seed <= array::rounds(2); ++seed) {
    round_trip(*collective_, path("weir-collective"), own_seed(seed));
    if (HasFatalFailure()) return;
  }
}

TEST_P(RoundTrips, GiveBackWhatIsWrittenByRequestsOfOneStrategyOnly) {
  for (int seed = 0; seed < array::rounds(2); ++seed) {
    round_trip(*collective_, path("weir-collective"), 1000 * (kind() + 1) + own_seed(seed));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace weir::test
