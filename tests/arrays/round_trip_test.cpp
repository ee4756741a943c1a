// What is written under one distribution, memory layout and file layout is in the file where it
// belongs, and is read back under another. Every element's value is its number.
#include <algorithm>
#include <complex>
#include <filesystem>
#include <numeric>

#include "parallel.hpp"

namespace weir::test {
namespace {

using RoundTrip = OnRanks;

// Numbers 1 to n: what the file of a row-major array must hold.
template <typename Element>
std::vector<Element> all_numbers(const Extents& shape) {
  std::vector<Element> numbers;
  for (std::int64_t k = 1; k <= elements_of(shape); ++k) {
    numbers.push_back(static_cast<Element>(k));
  }
  return numbers;
}

TEST_F(RoundTrip, EveryPairOfDistributions) {
  const Extents shape = {13, 11};
  Session session(MPI_COMM_WORLD);
  std::vector<Distribution> distributions;
  for (const char* formats : {"BLOCK, *", "*, CYCLIC", "BLOCK, BLOCK", "CYCLIC(2), CYCLIC(3)"}) {
    distributions.push_back(session.distribution(shape, formats));
  }
  auto array = session.create<std::int64_t>(path("a"), shape);
  for (const auto& written : distributions) {
    for (const auto& read : distributions) {
      array.write(written, numbered_part<std::int64_t>(written, shape));
      std::vector<std::int64_t> part(read.elements());
      array.read(read, part);
      EXPECT_EQ(part, numbered_part<std::int64_t>(read, shape));
    }
  }
  array.close();
  EXPECT_EQ(content_of<std::int64_t>(path("a")), all_numbers<std::int64_t>(shape));
}

TEST_F(RoundTrip, OneAndSixteenDimensions) {
  Session session(MPI_COMM_WORLD);
  Extents sixteen(16, 1);
  sixteen[2] = 3;
  sixteen[9] = 2;
  sixteen[15] = 5;
  std::string formats = "*";
  for (std::size_t d = 1; d < 16; ++d) formats += d == 9 || d == 15 ? ", BLOCK" : ", *";
  for (const auto& [shape, words] :
       {std::pair{Extents{29}, std::string("CYCLIC(3)")}, std::pair{sixteen, formats}}) {
    const auto distributed = session.distribution(shape, words);
    auto array = session.create<float>(path("a"), shape);
    array.write(distributed, numbered_part<float>(distributed, shape));
    std::vector<float> part(distributed.elements());
    array.read(distributed, part);
    EXPECT_EQ(part, numbered_part<float>(distributed, shape));
    array.close();
    EXPECT_EQ(content_of<float>(path("a")), all_numbers<float>(shape));
  }
}

struct Particle {
  float place[3];
  std::int32_t kind;

  friend bool operator==(const Particle&, const Particle&) = default;
};

TEST_F(RoundTrip, BoolComplexAndRecords) {
  const Extents shape = {7, 5};
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution(shape, "*, BLOCK");
  const auto numbers = numbered_part<std::int64_t>(distributed, shape);

  const auto flags = std::make_unique<bool[]>(numbers.size());
  std::vector<std::complex<double>> waves;
  std::vector<Particle> particles;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    flags[k] = numbers[k] % 3 == 0;
    waves.emplace_back(static_cast<double>(numbers[k]), -1.0);
    particles.push_back({{1, 2, static_cast<float>(numbers[k])}, 9});
  }
  const std::span given(flags.get(), numbers.size());
  auto booleans = session.create<bool>(path("bool"), shape);
  auto complexes = session.create<std::complex<double>>(path("complex"), shape);
  auto records = session.create<Particle>(path("record"), shape);
  EXPECT_EQ(records.element_type(), "record[16]");
  session.write_many({Outgoing(booleans, distributed, given),
                      Outgoing(complexes, distributed, waves),
                      Outgoing(records, distributed, particles)});

  const auto read_flags = std::make_unique<bool[]>(numbers.size());
  const std::span taken(read_flags.get(), numbers.size());
  std::vector<std::complex<double>> read_waves(numbers.size());
  std::vector<Particle> read_particles(numbers.size());
  session.read_many({Incoming(booleans, distributed, taken),
                     Incoming(complexes, distributed, read_waves),
                     Incoming(records, distributed, read_particles)});
  EXPECT_TRUE(std::equal(given.begin(), given.end(), taken.begin()));
  EXPECT_EQ(read_waves, waves);
  EXPECT_EQ(read_particles, particles);
}

TEST_F(RoundTrip, GhostCellsAreNeitherWrittenNorChanged) {
  const Extents shape = {9, 8};
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution(shape, "BLOCK, BLOCK");
  const Extents own = distributed.shape();
  const Extents padded = {own[0] + 3, own[1] + 1};
  const Memory memory{.ghost_lower = {1, 1}, .ghost_upper = {2, 0}};
  const bool holds = distributed.elements() > 0;
  std::vector<double> part(static_cast<std::size_t>(elements_of(padded)), -1);
  const auto at = [&](std::int64_t i, std::int64_t j) -> double& {
    return part[static_cast<std::size_t>((i + 1) * padded[1] + j + 1)];
  };
  for (std::int64_t i = 0; i < own[0]; ++i) {
    for (std::int64_t j = 0; j < own[1]; ++j) {
      at(i, j) = static_cast<double>(number_of(distributed.global_index({i, j}), shape) + 1);
    }
  }
  auto array = session.create<double>(path("a"), shape);
  array.write(distributed, part, memory);
  const std::vector<double> before = part;
  for (double& value : part) value = value > 0 ? 0 : value;
  array.read(distributed, part, memory);
  EXPECT_EQ(part, before);
  EXPECT_TRUE(!holds || part.front() == -1);
  array.close();
  EXPECT_EQ(content_of<double>(path("a")), all_numbers<double>(shape));
}

TEST_F(RoundTrip, ColumnMajorMemoryAndFile) {
  const Extents shape = {6, 7};
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution(shape, "*, CYCLIC(2)");
  const Extents own = distributed.shape();
  std::vector<std::int32_t> part(distributed.elements());
  for (std::int64_t i = 0; i < own[0]; ++i) {
    for (std::int64_t j = 0; j < own[1]; ++j) {
      part[static_cast<std::size_t>(j * own[0] + i)] =
          static_cast<std::int32_t>(number_of(distributed.global_index({i, j}), shape) + 1);
    }
  }
  weir_array_options options = {};
  options.order = WEIR_COLUMN_MAJOR;
  auto array = session.create<std::int32_t>(path("a"), shape, options);
  array.write(distributed, part, {.order = WEIR_COLUMN_MAJOR});
  std::vector<std::int32_t> rows(distributed.elements());
  array.read(distributed, rows);
  EXPECT_EQ(rows, numbered_part<std::int32_t>(distributed, shape));
  array.close();
  const auto file = content_of<std::int32_t>(path("a"));
  ASSERT_EQ(file.size(), 42U);
  EXPECT_EQ(file[0], 1);
  EXPECT_EQ(file[1], 8);  // one row down
  EXPECT_EQ(file[6], 2);  // one column to the right
  EXPECT_EQ(file[41], 42);
}

TEST_F(RoundTrip, StridedMemoryBackwards) {
  const Extents shape = {12};
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution(shape, "BLOCK");
  const std::size_t own = distributed.elements();
  // Every third element, from the last to the first.
  std::vector<std::int16_t> room(3 * own + 1, -5);
  const auto numbers = numbered_part<std::int16_t>(distributed, shape);
  for (std::size_t k = 0; k < own; ++k) room[3 * (own - 1 - k)] = numbers[k];
  const std::int64_t stride = -6;
  weir_memory memory = {};
  memory.strides = &stride;
  auto array = session.create<std::int16_t>(path("a"), shape);
  weir_transfer transfer = {};
  transfer.array = array.get();
  transfer.distribution = distributed.get();
  transfer.memory = &memory;
  transfer.data = own > 0 ? &room[3 * (own - 1)] : nullptr;
  ASSERT_EQ(weir_write_many(session.get(), 1, &transfer), 0) << weir_last_error();
  const auto before = room;
  for (std::size_t k = 0; k < own; ++k) room[3 * k] = 0;
  ASSERT_EQ(weir_read_many(session.get(), 1, &transfer), 0) << weir_last_error();
  EXPECT_EQ(room, before);
  array.close();
  EXPECT_EQ(content_of<std::int16_t>(path("a")), all_numbers<std::int16_t>(shape));
}

TEST_F(RoundTrip, SectionsWithStrides) {
  const Extents shape = {10, 9};
  const Section section{.start = {1, 2}, .count = {4, 3}, .stride = {2, 3}};
  const auto is_in = [&](const Extents& at) {
    return at[0] % 2 == 1 && at[0] <= 7 && at[1] >= 2 && at[1] % 3 == 2;
  };
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution(shape, "CYCLIC, BLOCK");
  auto array = session.create<double>(path("a"), shape);
  array.write(distributed, std::vector<double>(distributed.elements(), -1));
  array.write(distributed, numbered_part<double>(distributed, shape), {}, section);
  std::vector<double> part(distributed.elements(), 7);
  array.read(distributed, part, {}, section);
  const auto numbers = numbered_part<double>(distributed, shape);
  const Extents own = distributed.shape();
  for (std::size_t k = 0; k < part.size(); ++k) {
    const Extents at = distributed.global_index(index_of(static_cast<std::int64_t>(k), own));
    EXPECT_EQ(part[k], is_in(at) ? numbers[k] : 7);
  }
  array.close();
  const auto file = content_of<double>(path("a"));
  ASSERT_EQ(file.size(), 90U);
  for (std::int64_t k = 0; k < 90; ++k) {
    EXPECT_EQ(file[static_cast<std::size_t>(k)],
              is_in(index_of(k, shape)) ? static_cast<double>(k + 1) : -1);
  }
}

TEST_F(RoundTrip, BoxesUnequalEmptyAndMissing) {
  // Rank r has a column box and, when odd, a second one of no element; the last column is nobody's.
  const int ranks = size_of_world();
  const int rank = rank_of_world();
  const Extents shape = {5, 2 * ranks + 1};
  std::vector<Box> boxes = {{{0, 2 * rank}, {5, 2}}};
  if (rank % 2 == 1) boxes.push_back({{3, 0}, {0, 4}});
  Session session(MPI_COMM_WORLD);
  const auto held = session.distribution_from_boxes(shape, boxes);
  EXPECT_EQ(held.pieces(), 1 + rank % 2);
  EXPECT_EQ(held.elements(), 10U);
  auto array = session.create<std::int32_t>(path("a"), shape);
  array.write(held, numbered_part<std::int32_t>(held, shape));
  const auto rows = session.distribution(shape, "BLOCK, *");
  std::vector<std::int32_t> part(rows.elements(), -1);
  array.read(rows, part);
  auto expected = numbered_part<std::int32_t>(rows, shape);
  for (std::int32_t& value : expected) value = value % shape[1] == 0 ? 0 : value;
  EXPECT_EQ(part, expected);
}

TEST_F(RoundTrip, ChunksInOneFileAndInSeveral) {
  const Extents shape = {10, 13};
  const Extents chunks = {4, 5};
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape, "BLOCK, *");
  const auto columns = session.distribution(shape, "*, BLOCK");
  for (const int files : {WEIR_SHARED_FILE, WEIR_FILE_PER_AGGREGATOR, WEIR_FILE_PER_RANK}) {
    for (const int kind : {0, 1, 2}) {
      weir_array_options options = {};
      options.files = files;
      if (kind == 0) options.chunks = chunks.data();
      if (kind == 1) options.natural_chunks = rows.get();
      if (kind == 2) {
        options.typical_request = chunks.data();
        options.chunk_buffer_bytes = 100;
        options.chunk_block_bytes = 16;
      }
      auto array = session.create<float>(path("a"), shape, options);
      array.write(rows, numbered_part<float>(rows, shape));
      array.close();
      auto again = session.open(path("a"), {.read_only = 1, .reserved_flags = 0, .reserved = {}});
      EXPECT_EQ(again.shape(), shape);
      EXPECT_EQ(again.element_type(), "float32");
      EXPECT_EQ(again.dimensions(), shape.size());
      EXPECT_EQ(again.element_bytes(), 4);
      std::vector<float> part(columns.elements());
      again.read(columns, part);
      EXPECT_EQ(part, numbered_part<float>(columns, shape));
    }
  }
}

// There are as many files as aggregators, whose number does not depend on the I/O groups.
TEST_F(RoundTrip, AFilePerAggregatorOfAllIoGroups) {
  const Extents shape = {24, 13};
  const Extents chunks = {1, 5};
  weir_session_options by_nodes = {};
  by_nodes.ranks_per_node = 1;
  by_nodes.strategy = "two-phase";
  for (const char* const groups : {"", "1", "2"}) {
    SCOPED_TRACE(groups);
    by_nodes.io_groups = groups;
    Session session(MPI_COMM_WORLD, by_nodes);
    const auto rows = session.distribution(shape, "BLOCK, *");
    const auto columns = session.distribution(shape, "*, BLOCK");
    weir_array_options options = {};
    options.files = WEIR_FILE_PER_AGGREGATOR;
    options.chunks = chunks.data();
    const std::string name = path(std::string("grouped") + groups);
    auto array = session.create<float>(name, shape, options);
    array.write(rows, numbered_part<float>(rows, shape));
    std::vector<float> part(columns.elements());
    array.read(columns, part);
    EXPECT_EQ(part, numbered_part<float>(columns, shape));
    const std::string last = name + "." + std::to_string(size_of_world() - 1);
    EXPECT_TRUE(std::filesystem::exists(last)) << last;
    array.close();
  }
}

TEST_F(RoundTrip, FilesInSeveralDirectories) {
  const Extents shape = {10, 13};
  const Extents chunks = {4, 5};
  const std::string far = path("far");
  if (rank_of_world() == 0) {
    std::filesystem::create_directory(far);
    std::filesystem::create_directory(path("near"));
  }
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape, "BLOCK, *");
  const auto columns = session.distribution(shape, "*, BLOCK");
  const std::vector<const char*> directories = {far.c_str(), "near"};
  weir_array_options options = {};
  options.files = WEIR_FILE_PER_RANK;
  options.chunks = chunks.data();
  options.directories = directories.data();
  options.directory_count = 2;
  auto array = session.create<float>(path("a"), shape, options);
  array.write(rows, numbered_part<float>(rows, shape));
  array.close();
  for (int file = 0; file < size_of_world(); ++file) {
    const std::string folder = file % 2 == 0 ? far : path("near");
    EXPECT_TRUE(std::filesystem::exists(folder + "/a." + std::to_string(file)));
  }
  auto again = session.open(path("a"));
  std::vector<float> part(columns.elements());
  again.read(columns, part);
  EXPECT_EQ(part, numbered_part<float>(columns, shape));
}

TEST_F(RoundTrip, ExtentZero) {
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution({0, 4}, "BLOCK, *");
  auto array = session.create<double>(path("a"), {0, 4});
  std::vector<double> none;
  array.write(distributed, none);
  array.read(distributed, none);
  array.sync();
  EXPECT_EQ(distributed.elements(), 0U);
}

}  // namespace
}  // namespace weir::test
