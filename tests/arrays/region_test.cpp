// Regions that each rank names in the call: together and alone, with and without strides, against
// an array in memory; what overlaps or ends outside; in files of every format.
#include <algorithm>
#include <fstream>
#include <random>
#include <string>

#include "parallel.hpp"

namespace weir::test {
namespace {

// Says what an array is expected to hold, on every rank.
struct Expected {
  Extents shape;
  std::vector<double> elements;

  explicit Expected(Extents given)
      : shape(std::move(given)), elements(static_cast<std::size_t>(elements_of(shape))) {}
  double& at(const Region& region, std::int64_t number) {
    Extents index = index_of(number, region.extent);
    for (std::size_t d = 0; d < index.size(); ++d) {
      index[d] = region.lower[d] + index[d] * (region.stride.empty() ? 1 : region.stride[d]);
    }
    return elements[static_cast<std::size_t>(number_of(index, shape))];
  }
  void write(const Region& region, double first) {
    for (std::int64_t k = 0; k < elements_of(region.extent); ++k) {
      at(region, k) = first + static_cast<double>(k);
    }
  }
  std::vector<double> read(const Region& region) {
    std::vector<double> part(static_cast<std::size_t>(elements_of(region.extent)));
    for (std::size_t k = 0; k < part.size(); ++k) {
      part[k] = at(region, static_cast<std::int64_t>(k));
    }
    return part;
  }
};

std::vector<double> counted_from(double first, const Region& region) {
  std::vector<double> part(static_cast<std::size_t>(elements_of(region.extent)));
  for (std::size_t k = 0; k < part.size(); ++k) part[k] = first + static_cast<double>(k);
  return part;
}

// Regions that do not overlap, the same draw on every rank: the first dimension is cut into one
// slab per rank; in a slab any region, with strides or without, perhaps empty. With `interleaved`
// ranks take every n-th index of the last dimension in place of slabs.
std::vector<Region> random_regions(std::mt19937& random, const Extents& shape, bool strided,
                                   bool interleaved) {
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const std::int64_t ranks = size_of_world();
  std::vector<Region> regions;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Region region;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t from = 0;
      std::int64_t to = shape[d];
      if (d == 0 && !interleaved) {
        from = shape[d] * rank / ranks;
        to = shape[d] * (rank + 1) / ranks;
      }
      const std::int64_t lower = between(from, to);
      std::int64_t stride = strided ? between(1, 4) : 1;
      std::int64_t extent = between(0, (to - lower + stride - 1) / stride);
      region.lower.push_back(lower);
      region.extent.push_back(extent);
      region.stride.push_back(stride);
    }
    if (interleaved) {
      const std::size_t last = shape.size() - 1;
      region.lower[last] = std::min(rank, shape[last]);
      region.extent[last] = std::max<std::int64_t>(0, (shape[last] - rank + ranks - 1) / ranks);
      region.stride[last] = ranks;
    }
    regions.push_back(region);
  }
  return regions;
}

using Regions = OnRanks;

TEST_F(Regions, AreWrittenAndReadByAllTogether) {
  std::mt19937 random(7);
  const std::size_t me = static_cast<std::size_t>(rank_of_world());
  const Extents chunks = {3, 4, 5};
  for (const char* strategy : {"automatic", "direct", "node", "two-phase", "server-directed"}) {
    weir_session_options options = {};
    options.strategy = strategy;
    options.ranks_per_node = 2;
    options.buffer_bytes = 512;
    Session session(MPI_COMM_WORLD, options);
    for (const bool chunked : {false, true}) {
      SCOPED_TRACE(std::string(strategy) + (chunked ? " chunked" : ""));
      weir_array_options array_options = {};
      if (chunked) array_options.chunks = chunks.data();
      Expected expected({13, 9, 8});
      auto array = session.create<double>(path("a"), expected.shape, array_options);
      for (int turn = 0; turn < 6; ++turn) {
        const bool strided = turn % 3 == 1;
        const bool interleaved = turn % 3 == 2;
        const auto written = random_regions(random, expected.shape, strided, interleaved);
        for (std::size_t r = 0; r < written.size(); ++r) {
          expected.write(written[r],
                         static_cast<double>(1000 * turn + 100000 * static_cast<int>(r)));
        }
        array.write_region(
            written[me],
            counted_from(static_cast<double>(1000 * turn + 100000 * rank_of_world()), written[me]));
        // Reading, regions may overlap.
        auto read = random_regions(random, expected.shape, !strided, !interleaved);
        const Region& own = read[(me + 1) % read.size()];
        std::vector<double> part(static_cast<std::size_t>(elements_of(own.extent)), -1);
        array.read_region(own, part);
        EXPECT_EQ(part, expected.read(own));
        std::fill(part.begin(), part.end(), -1);
        array.read_region_independent(own, part);
        EXPECT_EQ(part, expected.read(own));
        meet();
      }
    }
  }
}

TEST_F(Regions, AreMovedByOneRankAlone) {
  // Ranks come at different times, and most not at all.
  Session session(MPI_COMM_WORLD);
  const Extents shape = {12, 40};
  auto array = session.create<double>(path("a"), shape);
  Expected expected(shape);
  const Region all{{0, 0}, shape};
  array.write_region(rank_of_world() == 0 ? all : Region(), expected.elements);
  for (int writer = 0; writer < size_of_world(); ++writer) {
    const Region region{{writer % 3, writer}, {4, 9}, {2, 3}};
    expected.write(region, 100.0 * writer);
    if (rank_of_world() == writer) {
      array.write_region_independent(region, counted_from(100.0 * writer, region));
      auto memory = expected.read(all);
      // Transposed, with a stride in memory.
      std::vector<double> turned(memory.size(), -1);
      Memory strides;
      strides.strides = {8, 8 * shape[0]};
      array.read_region_independent(all, turned, strides);
      for (std::int64_t i = 0; i < shape[0]; ++i) {
        for (std::int64_t j = 0; j < shape[1]; ++j) {
          ASSERT_EQ(turned[static_cast<std::size_t>(j * shape[0] + i)],
                    memory[static_cast<std::size_t>(i * shape[1] + j)]);
        }
      }
    }
    meet();
  }
  array.sync();
  array.close();
  EXPECT_EQ(content_of<double>(path("a")), expected.elements);
}

TEST_F(Regions, ThatComeAgainArePlannedOnce) {
  Session session(MPI_COMM_WORLD);
  const Extents shape = {8, 16};
  auto array = session.create<double>(path("a"), shape);
  auto other = session.create<double>(path("b"), shape);
  const Region own{{0, rank_of_world()}, {8, 1}};
  const Region all{{0, 0}, shape};
  std::vector<double> part(8, rank_of_world());
  std::vector<double> whole(128);
  array.write_region(own, part);
  EXPECT_EQ(session.figures().plan_reused, 0);
  array.read_region(all, whole);
  array.write_region(own, part);
  EXPECT_EQ(session.figures().plan_reused, 1);
  other.write_region(own, part);
  EXPECT_EQ(session.figures().plan_reused, 1);
  // Known on some ranks only: another region on the last one.
  const bool last = rank_of_world() == size_of_world() - 1;
  const Region moved = last ? Region{{0, 15}, {8, 1}} : own;
  array.write_region(moved, part);
  for (int more = 0; more < 6; ++more) {  // more than are kept
    const Region one{{more, rank_of_world()}, {1, 1}};
    array.write_region(one, std::vector<double>{0.5});
  }
  array.write_region(own, part);
  array.read_region(all, whole);
  for (std::size_t r = 0; r < static_cast<std::size_t>(size_of_world()); ++r) {
    EXPECT_EQ(whole[r], r);
  }
  EXPECT_EQ(whole[15], size_of_world() - 1);
}

TEST_F(Regions, MayBeBegun) {
  Session session(MPI_COMM_WORLD);
  const Extents shape = {6, 32};
  auto array = session.create<double>(path("a"), shape);
  Expected expected(shape);
  const std::int64_t me = rank_of_world();
  const std::int64_t ranks = size_of_world();
  for (std::int64_t r = 0; r < ranks; ++r) {
    expected.write({{0, r}, {3, 32 / ranks}, {1, ranks}}, 1.0 + static_cast<double>(r));
    expected.write({{3, 32 * r / ranks}, {3, 32 * (r + 1) / ranks - 32 * r / ranks}},
                   50.0 * static_cast<double>(r));
  }
  const Region strided{{0, me}, {3, 32 / ranks}, {1, ranks}};
  const Region box{{3, 32 * me / ranks}, {3, 32 * (me + 1) / ranks - 32 * me / ranks}};
  auto first_part = counted_from(1.0 + static_cast<double>(me), strided);
  const auto second_part = counted_from(50.0 * static_cast<double>(me), box);
  std::vector<double> whole(192);
  auto first = array.write_region_begin(strided, first_part);
  auto second = array.write_region_begin(box, second_part);
  auto reading = array.read_region_begin({{0, 0}, shape}, whole);
  for (int asked = 0; asked < me; ++asked) static_cast<void>(reading.test());
  first.detach();
  std::fill(first_part.begin(), first_part.end(), -5);
  while (!reading.test()) {
  }
  second.wait();
  // Columns that no strided region has stay 0.
  EXPECT_EQ(whole, expected.elements);
}

TEST_F(Regions, AreRefusedOnAllRanks) {
  Session session(MPI_COMM_WORLD);
  const Extents shape = {8, 6};
  auto array = session.create<double>(path("a"), shape);
  const std::int64_t me = rank_of_world();
  const bool last = me == size_of_world() - 1;
  const Region good{{me, 0}, {1, 6}};
  const std::vector<double> part(48, 1);
  const auto refused = [&](const Region& bad, const std::string& text, std::size_t given = 48) {
    SCOPED_TRACE(text);
    for (const bool everywhere : {false, true}) {
      const bool spoils = everywhere || last;
      const std::span own(part.data(), spoils ? given : 48);
      try {
        array.write_region(spoils ? bad : good, own);
        ADD_FAILURE() << "not refused";
      } catch (const Failure& failure) {
        EXPECT_EQ(failure.code(), WEIR_E_ARGUMENT) << failure.what();
        EXPECT_NE(std::string(failure.what()).find(text), std::string::npos) << failure.what();
      }
    }
  };
  refused({{7, 0}, {2, 6}}, "ends outside");
  refused({{9, 0}, {0, 6}}, "starts outside");
  refused({{-1, 0}, {1, 6}}, "starts outside");
  refused({{0, 0}, {-1, 6}}, "give a count of at least 0");
  refused({{0, 0}, {1, 4}, {1, 2}}, "ends outside");
  refused({{0, 0}, {1, 1}, {1, 0}}, "give a stride of at least 1");
  refused({{0}, {1}}, "region.dimensions is 1");
  refused({{0, 0}, {1}}, "region.dimensions is -1");
  refused({{0, 0}, {}}, "region.extent is null");
  refused({{0, 0}, {8, 6}}, "data_bytes is 376", 47);
  refused({{0, 0}, {8, 6}}, "data is null", 0);
  // At the edge.
  array.write_region({last ? Extents{8, 6} : Extents{me, 0}, last ? Extents{0, 0} : Extents{1, 6}},
                     part);
  array.write_region({{me, 0}, {1, 3}, {1, 2}}, part);
  if (size_of_world() > 1) {
    // In a write, that is: without and with strides, where bounding boxes overlap too.
    const auto overlaps = [&](const Region& own, const std::string& text) {
      weir_region region = {};
      region.lower = own.lower.data();
      region.extent = own.extent.data();
      region.stride = own.stride.empty() ? nullptr : own.stride.data();
      std::vector<double> memory(48, 2);
      region.data = memory.data();
      EXPECT_EQ(weir_write_region(array.get(), &region), WEIR_E_ARGUMENT);
      EXPECT_NE(std::string(weir_last_error()).find(text), std::string::npos) << weir_last_error();
      EXPECT_EQ(weir_read_region(array.get(), &region), WEIR_OK) << weir_last_error();
    };
    overlaps({{me, 0}, {2, 6}}, "have elements in common");
    overlaps({{0, 0}, {3, 2}, {2, 3}},
             "the region of rank 0, (0, 0) + (3 x 2) in strides of (2, 3), and");
    array.write_region({{0, me % 2}, {me < 2 ? 8 : 0, 3}, {1, 2}}, part);
  }
  std::vector<float> floats(6);
  EXPECT_THROW(array.read_region(good, floats), Failure);
  EXPECT_THROW(array.write_region_independent(Region(), part), Failure);
  EXPECT_THROW(array.write_region_independent({{8, 0}, {1, 6}}, part), Failure);
  EXPECT_EQ(weir_write_region(nullptr, nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_read_region_independent(array.get(), nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_write_region_begin(array.get(), nullptr, nullptr), WEIR_E_ARGUMENT);
  // All went on together.
  array.write_region(good, std::span(part.data(), 6));
}

// Mappings of memory that processes share, of this process.
std::int64_t shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::int64_t found = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:") != std::string::npos) ++found;
  }
  return found;
}

// The regions of all ranks lie in memory of the node, which is taken again for others.
TEST_F(Regions, ThatChangeInEachCallTakeNoMoreMemory) {
  for (const int ranks_per_node : {0, 2}) {
    weir_session_options options = {};
    options.ranks_per_node = ranks_per_node;
    options.buffer_bytes = 4096;
    Session session(MPI_COMM_WORLD, options);
    const std::int64_t ranks = size_of_world();
    const std::int64_t me = rank_of_world();
    constexpr int calls = 80;
    auto array = session.create<std::int32_t>(path("a"), {ranks, calls});
    const std::int64_t before = shared_mappings();
    std::int64_t after_some = 0;
    for (int call = 0; call < calls; ++call) {
      const std::vector<std::int32_t> part(static_cast<std::size_t>(call / 2 + 1), call);
      array.write_region({{me, call % 2}, {1, call / 2 + 1 - call % 2}, {1, 2}},
                         std::span(part.data(), part.size() - static_cast<std::size_t>(call % 2)));
      if (call == calls / 4) after_some = shared_mappings();
    }
    EXPECT_EQ(shared_mappings(), after_some);
    // Tables of the 16 last different regions and of the one under way, four in each mapping.
    EXPECT_LE(after_some - before, 5);
    std::vector<std::int32_t> row(calls);
    array.read_region({{me, 0}, {1, calls}}, row);
    EXPECT_EQ(row[0], calls - 2);
    EXPECT_EQ(row[1], calls - 1);
  }
}

TEST_F(Regions, OfStepsInEveryFormat) {
  const Extents shape = {6, 10};
  const std::int64_t me = rank_of_world();
  const std::int64_t ranks = size_of_world();
  for (const char* name : {"plot.h5", "plot.nc", "plot.zarr", "plot.raw"}) {
    for (const bool chunked : {false, true}) {
      if (chunked && name == std::string("plot.nc")) continue;
      SCOPED_TRACE(std::string(name) + (chunked ? " chunked" : ""));
      Session session(MPI_COMM_WORLD);
      const std::string file_path = path(std::string(chunked ? "chunked_" : "") + name);
      auto file = session.create_file(file_path);
      weir_define_options stepped = {};
      const Extents chunks = {4, 4};
      stepped.steps = 1;
      if (chunked) stepped.chunks = chunks.data();
      auto array = file.define<double>("a", shape, stepped);
      stepped.chunks = nullptr;
      auto times = file.define<double>("time", {}, stepped);
      std::vector<Expected> steps(3, Expected(shape));
      for (int step = 0; step < 3; ++step) {
        Expected& expected = steps[static_cast<std::size_t>(step)];
        for (std::int64_t r = 0; r < ranks; ++r) {
          expected.write({{0, r}, {6, 10 / ranks}, {1, ranks}},
                         10.0 * step + static_cast<double>(r));
        }
        if (10 % ranks != 0) {
          expected.write({{0, 10 / ranks * ranks}, {6, 10 % ranks}}, 77 + step);
        }
        const Region own{{0, me}, {6, 10 / ranks}, {1, ranks}};
        const auto part = counted_from(10.0 * step + static_cast<double>(me), own);
        file.begin_step();
        if (step == 1) {
          array.write_region_independent(own, part);
        } else {
          array.write_region(own, part);
        }
        if (me == 0 && 10 % ranks != 0) {
          const Region rest{{0, 10 / ranks * ranks}, {6, 10 % ranks}};
          array.write_region_independent(rest, counted_from(77 + step, rest));
        }
        const std::vector<double> time = {0.25 * step};
        times.write_region(me == 0 ? Region{{0}, {1}} : Region(), time);
        file.end_step();
      }
      file.close();
      auto again = session.open_file(file_path);
      auto stored = again.array("a");
      auto stored_times = again.array("time");
      for (int step = 0; step < 3; ++step) {
        again.select_step(step);
        std::vector<double> whole(60);
        std::vector<double> time(1);
        stored.read_region_independent({{0, 0}, shape}, whole);
        EXPECT_EQ(whole, steps[static_cast<std::size_t>(step)].elements);
        stored_times.read_region_independent({{0}, {1}}, time);
        EXPECT_EQ(time[0], 0.25 * step);
        std::fill(whole.begin(), whole.end(), -1);
        stored.read_region({{0, 0}, shape}, whole);
        EXPECT_EQ(whole, steps[static_cast<std::size_t>(step)].elements);
      }
      again.close();
    }
  }
}

TEST_F(Regions, OfEncodedChunksAreWrittenTogetherOnly) {
  const Extents shape = {8, 8};
  const Extents chunks = {3, 3};
  const std::int64_t me = rank_of_world();
  Session session(MPI_COMM_WORLD);
  for (const char* name : {"plot.h5", "plot.zarr"}) {
    SCOPED_TRACE(name);
    auto file = session.create_file(path(name));
    weir_define_options options = {};
    options.chunks = chunks.data();
    options.codec = "zstd:1";
    auto array = file.define<double>("a", shape, options);
    file.begin_step();
    const std::vector<double> part(8, static_cast<double>(me));
    const auto code_of = [&](const auto& call) {
      try {
        call();
        return WEIR_OK + 0;
      } catch (const Failure& failure) {
        EXPECT_NE(std::string(failure.what()).find("encoded chunks"), std::string::npos)
            << failure.what();
        return failure.code();
      }
    };
    EXPECT_EQ(code_of([&] {
                array.write_region_independent({{me, 0}, {1, 8}}, part);
              }),
              WEIR_E_UNSUPPORTED);
    // Together they write every second element, then the others.
    array.write_region({{me, 0}, {1, 4}, {1, 2}}, std::span(part.data(), 4));
    array.write_region({{me, 1}, {1, 4}, {1, 2}}, std::span(part.data(), 4));
    file.end_step();
    std::vector<double> all(8, -1);
    array.read_region({{me, 0}, {1, 8}}, all);
    EXPECT_EQ(all, part);
    std::vector<double> row(4, -1);
    array.read_region_independent({{me, 1}, {1, 4}, {1, 2}}, row);
    EXPECT_EQ(row, std::vector<double>(4, static_cast<double>(me)));
    file.close();
  }
  // With checksums likewise; reading verifies.
  weir_file_options summed = {};
  summed.checksum = "crc32c";
  auto file = session.create_file(path("summed.nc"), summed);
  auto array = file.define<double>("a", shape);
  file.begin_step();
  const std::vector<double> part(8, static_cast<double>(me));
  EXPECT_THROW(array.write_region_independent({{me, 0}, {1, 8}}, part), Failure);
  array.write_region({{me, 0}, {1, 8}}, part);
  file.end_step();
  file.close();
  auto again = session.open_file(path("summed.nc"));
  auto stored = again.array("a");
  std::vector<double> whole(64);
  stored.read_region_independent({{0, 0}, shape}, whole);
  EXPECT_EQ(whole[8 * static_cast<std::size_t>(me)], static_cast<double>(me));
  again.close();
}

}  // namespace
}  // namespace weir::test
