// Files of every format through the interface that programs see: arrays that are written once and
// arrays with steps, dense and in chunks, written by one distribution and read by others; what
// happens when a step is not ended, or is not written well.
#include <algorithm>

#include "files.hpp"

namespace weir::test {
namespace {

// Returns the text of the error, "" if there is none.
template <typename Call>
std::string fails(const Call& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST_F(Files, EncodedChunksHoldWhatAnyDistributionWrote) {
  static const std::array<std::int64_t, 2> plane_chunks = {3, 4};
  static const std::array<std::int64_t, 2> plane_shards = {6, 4};
  static const std::array<std::int64_t, 3> cube_chunks = {2, 6, 3};
  int number = 0;
  for (const std::string format :
       {"zarr", "zarr", "zarr", "zarr", "hdf5", "hdf5", "hdf5", "hdf5"}) {
    const char* const strategy = strategies.at(static_cast<std::size_t>(number % 4));
    SCOPED_TRACE(format + " " + strategy);
    const std::string name = path("encoded" + std::to_string(number) + "." + format);
    const bool hdf5 = format == "hdf5";
    const bool shards = number++ % 2 == 0 && !hdf5;
    {
      Session session(MPI_COMM_WORLD, by(strategy));
      File file = session.create_file(name, as(format.c_str()));
      weir_define_options once{};
      once.chunks = plane_chunks.data();
      if (shards) once.shards = plane_shards.data();
      once.codec = hdf5 ? "shuffle,deflate:1" : "gzip:1,crc32c";
      weir_define_options stepped{};
      stepped.chunks = cube_chunks.data();
      stepped.steps = 1;
      stepped.codec = hdf5 ? "fletcher32" : "crc32c";
      Array grid = file.define<std::int32_t>("grid", plane, once);
      Array density = file.define<double>("density", cube, stepped);
      const auto rows = session.distribution(plane, "BLOCK, *");
      const auto blocks = session.distribution(cube, "BLOCK, CYCLIC(2), *");
      for (int step = 0; step < 2; ++step) {
        file.begin_step();
        if (step == 0) {
          // Twice: then a part of each chunk again, which has to keep the others.
          std::vector<std::int32_t> wrong(rows.elements(), -1);
          grid.write(rows, wrong);
          // Shards are distributed to all of them.
          if (size_of_world() > 2) {
            EXPECT_GT(session.figures().aggregators, 1);
          }
          const auto right = numbered_part<std::int32_t>(rows, plane);
          for (const std::int64_t first : {0, 1}) {
            const Section lines{{0, first}, {7, 5}, {1, 2}};
            session.write_many({Outgoing(grid, rows, right, {}, lines)});
          }
        }
        density.write(blocks, part_of_step<double>(blocks, cube, 1, step));
        file.end_step();
      }
      file.close();
    }
    Session session(MPI_COMM_WORLD, by(strategy));
    File file = session.open_file(name);
    const auto columns = session.distribution(plane, "*, CYCLIC(3)");
    std::vector<std::int32_t> grid(columns.elements());
    file.array("grid").read(columns, grid);
    EXPECT_EQ(grid, numbered_part<std::int32_t>(columns, plane));
    const auto slabs = session.distribution(cube, "*, *, BLOCK");
    for (const int step : {1, 0}) {
      file.select_step(step);
      std::vector<double> part(slabs.elements());
      file.array("density").read(slabs, part);
      EXPECT_EQ(part, part_of_step<double>(slabs, cube, 1, step)) << "step " << step;
    }
    file.close();
  }
}

// Chunks of a step in numbers at a limit that reading the index of an HDF5 file once had, and one
// past it. The array is the file's only one: nothing else shows that one of its steps is missing.
TEST_F(Files, NoStepOfManyChunksIsLost) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers need many kinds of cases, not large ones";
#endif
  if (size_of_world() > 4) GTEST_SKIP() << "more ranks find out no more";
  static const std::array<std::int64_t, 1> one_element = {1};
  constexpr int steps = 2;
  for (const std::int64_t chunks : {8192, 8193}) {
    for (const std::string codec : {"", "fletcher32"}) {
      SCOPED_TRACE(std::to_string(chunks) + " chunks " + codec);
      const Extents shape = {chunks};
      const std::string name = path(std::to_string(chunks) + codec + ".h5");
      Session session(MPI_COMM_WORLD);
      const auto blocks = session.distribution(shape, "BLOCK");
      File file = session.create_file(name, as("hdf5"));
      weir_define_options options{};
      options.steps = 1;
      options.chunks = one_element.data();
      if (!codec.empty()) options.codec = codec.c_str();
      Array written = file.define<std::int32_t>("x", shape, options);
      for (int step = 0; step < steps; ++step) {
        file.begin_step();
        written.write(blocks, part_of_step<std::int32_t>(blocks, shape, 1, step));
        file.end_step();
      }
      file.close();
      File again = session.open_file(name);
      ASSERT_EQ(again.steps(), steps);
      std::vector<std::int32_t> part(blocks.elements());
      for (int step = 0; step < steps; ++step) {
        again.select_step(step);
        again.array("x").read(blocks, part);
        EXPECT_EQ(part, part_of_step<std::int32_t>(blocks, shape, 1, step)) << "step " << step;
      }
      again.close();
    }
  }
}

// Chunks that no step writes add up from step to step.
TEST_F(Files, StepsThatWriteFewOfTheirChunksAreAllThere) {
  if (size_of_world() > 4) GTEST_SKIP() << "more ranks find out no more";
  static const std::array<std::int64_t, 1> one_element = {1};
  constexpr std::int64_t chunks = 1024;
  constexpr int steps = 12;
  const Extents shape = {chunks};
  const std::string name = path("sparse.h5");
  Session session(MPI_COMM_WORLD);
  const auto blocks = session.distribution(shape, "BLOCK");
  const auto expected = [&](int step) {
    auto part = numbered_part<std::int32_t>(blocks, shape);
    for (std::int32_t& one : part) one = one == step + 1 ? 1000 + step : 0;
    return part;
  };
  {
    File file = session.create_file(name, as("hdf5"));
    weir_define_options options{};
    options.steps = 1;
    options.chunks = one_element.data();
    options.codec = "fletcher32";
    Array written = file.define<std::int32_t>("x", shape, options);
    for (int step = 0; step < steps; ++step) {
      file.begin_step();
      const Section chunk{{step}, {1}, {1}};
      session.write_many({Outgoing(written, blocks, expected(step), {}, chunk)});
      file.end_step();
    }
    file.close();
  }
  File again = session.open_file(name);
  ASSERT_EQ(again.steps(), steps);
  std::vector<std::int32_t> part(blocks.elements());
  for (int step = 0; step < steps; ++step) {
    again.select_step(step);
    again.array("x").read(blocks, part);
    EXPECT_EQ(part, expected(step)) << "step " << step;
  }
  again.close();
}

// The chunk is long enough for several aggregators, and one of them has to write it.
TEST_F(Files, AnArrayOfOneEncodedChunkIsWhole) {
  if (size_of_world() != 4) GTEST_SKIP() << "more ranks find out no more";
  const Extents large = {640, 512};
  static const std::array<std::int64_t, 2> half = {320, 512};
  static const std::array<std::int64_t, 2> all = {640, 512};
  std::array<std::vector<double>, 2> parts;  // this rank's of each array, in every format
  for (const std::string format : {"zarr", "hdf5"}) {
    for (const bool shards : {false, true}) {
      if (shards && format == "hdf5") continue;
      SCOPED_TRACE(format + (shards ? " one shard" : " one chunk"));
      const std::string name = path(shards ? "shard." + format : "chunk." + format);
      weir_session_options options{};
      options.aggregators = 2;
      Session session(MPI_COMM_WORLD, options);
      const auto rows = session.distribution(large, "BLOCK, *");
      if (parts.back().empty()) {
        parts = {part_of_step<double>(rows, large, 0, 0), part_of_step<double>(rows, large, 1, 0)};
      }
      File file = session.create_file(name, as(format.c_str()));
      weir_define_options once{};
      once.codec = format == "hdf5" ? "deflate:1" : "gzip:1";
      weir_define_options stepped = once;
      stepped.steps = 1;
      if (shards) {
        once.chunks = half.data();
        once.shards = all.data();
      }
      Array fixed = file.define<double>("fixed", large, once);
      Array growing = file.define<double>("growing", large, stepped);
      file.begin_step();
      auto given = parts.front();
      fixed.write(rows, given);
      given = parts.back();
      growing.write(rows, given);
      file.end_step();
      file.close();
      File again = session.open_file(name);
      std::vector<double> part(rows.elements());
      again.array("fixed").read(rows, part);
      EXPECT_TRUE(part == parts.front());
      again.array("growing").read(rows, part);
      EXPECT_TRUE(part == parts.back());
      again.close();
    }
  }
}

TEST_F(Files, EveryFormatHoldsArraysAndStepsForAnyDistribution) {
  int number = 0;
  for (const std::string format : formats) {
    for (const bool chunked : {false, true}) {
      if (chunked && !has_chunks(format)) continue;
      SCOPED_TRACE(format + (chunked ? " in chunks" : ""));
      const std::string name = file_of(format) + (chunked ? "c" : "");
      {
        Session session(MPI_COMM_WORLD, by(strategies.at(static_cast<std::size_t>(number++ % 4))));
        File file = session.create_file(name, as(format.c_str()));
        Written arrays = define(file, chunked);
        const auto rows = session.distribution(plane, "BLOCK, *");
        const auto blocks = session.distribution(cube, "BLOCK, CYCLIC(2), *");
        const auto one = session.distribution({1}, "*");
        for (int step = 0; step < 3; ++step) {
          file.begin_step();
          if (step == 0) arrays.fixed.write(rows, numbered_part<std::int32_t>(rows, plane));
          arrays.density.write(blocks, part_of_step<double>(blocks, cube, 1, step));
          // One rank writes what all ranks hold alike.
          std::vector<float> now(one.elements(), static_cast<float>(step) / 4);
          arrays.time.write(one, now);
          file.end_step();
          EXPECT_EQ(file.steps(), step + 1);
        }
        file.close();
      }
      Session session(MPI_COMM_WORLD, by(strategies.at(static_cast<std::size_t>(number % 4))));
      File file = session.open_file(name);
      auto names = file.names();
      std::sort(names.begin(), names.end());  // some formats order them
      EXPECT_EQ(names, (std::vector<std::string>{"density", "grid", "time"}));
      EXPECT_EQ(file.steps(), 3);
      const char* units = nullptr;
      ASSERT_EQ(weir_file_get_text(file.get(), "density", "units", &units), WEIR_OK)
          << weir_last_error();
      EXPECT_STREQ(units, "kg m-3");
      EXPECT_EQ(file.attributes("density").at("units"), AttributeValue("kg m-3"));
      EXPECT_EQ(file.attributes("").at("run"), AttributeValue(std::vector<std::int64_t>{1, 2}));
      const auto columns = session.distribution(plane, "*, CYCLIC(3)");
      std::vector<std::int32_t> grid(columns.elements());
      file.array("grid").read(columns, grid);
      EXPECT_EQ(grid, numbered_part<std::int32_t>(columns, plane));
      const auto slabs = session.distribution(cube, "*, *, BLOCK");
      const auto one = session.distribution({1}, "*");
      Array density = file.array("density");
      EXPECT_TRUE(density.has_steps());
      EXPECT_EQ(density.shape(), cube);
      EXPECT_EQ(density.dimension_names(), (std::vector<std::string>{"z", "y", "x"}));
      for (const int step : {2, 0, 1}) {
        file.select_step(step);
        std::vector<double> part(slabs.elements());
        density.read(slabs, part);
        EXPECT_EQ(part, part_of_step<double>(slabs, cube, 1, step)) << "step " << step;
        std::vector<float> now(one.elements());
        file.array("time").read(one, now);
        EXPECT_EQ(now, std::vector<float>(one.elements(), static_cast<float>(step) / 4));
      }
      // A section with strides, in many arrays under one plan.
      const Section section{{1, 0, 1}, {2, 3, 2}, {2, 2, 2}};
      std::vector<double> part(slabs.elements(), -1);
      session.read_many({Incoming(density, slabs, part, {}, section)});
      const auto expected = part_of_step<double>(slabs, cube, 1, 1);
      const Extents local = slabs.shape();
      for (std::size_t k = 0; k < part.size(); ++k) {
        const Extents at = slabs.global_index(index_of(static_cast<std::int64_t>(k), local));
        const bool asked =
            at[0] % 2 == 1 && at[0] < 5 && at[1] % 2 == 0 && at[1] < 6 && at[2] % 2 == 1;
        EXPECT_EQ(part[k], asked ? expected[k] : -1) << k;
      }
      file.close();
    }
  }
}

TEST_F(Files, WhatNobodyWritesHasTheFillValue) {
  const std::array<std::int64_t, 3> chunks = {2, 6, 3};
  const std::array<std::int64_t, 3> shards = {4, 6, 6};
  const double fill = -999;
  const std::int32_t other = -7;
  for (const std::string kind :
       {"hdf5", "hdf5 chunks", "cdf5", "zarr", "zarr chunks", "zarr shards", "raw", "raw chunks"}) {
    SCOPED_TRACE(kind);
    const std::string format = kind.substr(0, kind.find(' '));
    const std::string name = path("file." + std::string(kind).replace(format.size(), 1, "_"));
    weir_define_options options{};
    options.steps = 1;
    options.fill = &fill;
    if (kind != format) options.chunks = chunks.data();
    if (kind == "zarr shards") options.shards = shards.data();
    weir_define_options fixed{};
    fixed.fill = &other;
    Session session(MPI_COMM_WORLD, by("two-phase"));
    const auto blocks = session.distribution(cube, "BLOCK, CYCLIC(2), *");
    const Section part{{1, 0, 1}, {3, 6, 2}, {1, 1, 1}};
    {
      File file = session.create_file(name, as(format.c_str()));
      Array density = file.define<double>("density", cube, options);
      Array nothing = file.define<double>("nothing", cube, options);
      Array grid = file.define<std::int32_t>("grid", plane, fixed);
      for (int step = 0; step < 2; ++step) {
        file.begin_step();
        density.write(blocks, part_of_step<double>(blocks, cube, 1, step), {}, part);
        file.end_step();
      }
      file.close();
    }
    File file = session.open_file(name);
    for (int step = 0; step < 2; ++step) {
      file.select_step(step);
      std::vector<double> found(blocks.elements());
      file.array("nothing").read(blocks, found);
      EXPECT_EQ(found, std::vector<double>(blocks.elements(), fill));
      file.array("density").read(blocks, found);
      auto expected = part_of_step<double>(blocks, cube, 1, step);
      const Extents local = blocks.shape();
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const Extents at = blocks.global_index(index_of(static_cast<std::int64_t>(k), local));
        const bool written = at[0] >= 1 && at[0] < 4 && at[2] >= 1 && at[2] < 3;
        if (!written) expected[k] = fill;
      }
      EXPECT_EQ(found, expected) << "step " << step;
    }
    const auto rows = session.distribution(plane, "BLOCK, *");
    std::vector<std::int32_t> grid(rows.elements());
    file.array("grid").read(rows, grid);
    EXPECT_EQ(grid, std::vector<std::int32_t>(rows.elements(), other));
    file.close();
  }
}

TEST_F(Files, StepsAreAddedToAFileThatIsThere) {
  for (const std::string format : formats) {
    SCOPED_TRACE(format);
    Session session(MPI_COMM_WORLD);
    const auto blocks = session.distribution(cube, "BLOCK, *, *");
    {
      File file = session.create_file(file_of(format), as(format.c_str()));
      Written arrays = define(file, false);
      file.begin_step();
      arrays.density.write(blocks, part_of_step<double>(blocks, cube, 1, 0));
      file.end_step();
      file.close();
    }
    {
      File file = session.open_file(file_of(format));
      Array density = file.array("density");
      file.begin_step();
      density.write(blocks, part_of_step<double>(blocks, cube, 1, 1));
      // Not ended: it is not in the file.
      EXPECT_THROW(file.close(), Failure);
    }
    File file = session.open_file(file_of(format));
    EXPECT_EQ(file.steps(), 1);
    Array density = file.array("density");
    file.begin_step();
    density.write(blocks, part_of_step<double>(blocks, cube, 1, 5));
    file.end_step();
    for (const auto& [step, value] : {std::pair{0, 0}, std::pair{1, 5}}) {
      file.select_step(step);
      std::vector<double> part(blocks.elements());
      density.read(blocks, part);
      EXPECT_EQ(part, part_of_step<double>(blocks, cube, 1, value)) << "step " << step;
    }
    file.close();
  }
}

TEST_F(Files, ChunksThatNobodyGaveFitTheBlocksOfTheRanks) {
  struct Wanted {
    const char* format;
    const char* codec;
    const char* by;
  };
  const Extents large = {std::int64_t{64} * size_of_world(), 256, 256};  // 32 MiB for each rank
  for (const Wanted& wanted : {Wanted{"zarr", nullptr, "the format zarr needs chunks"},
                               {"zarr", "crc32c", "a codec needs chunks"},
                               {"hdf5", "fletcher32", "a codec needs chunks"},
                               {"hdf5", nullptr, nullptr}}) {
    SCOPED_TRACE(wanted.format);
    Session session(MPI_COMM_WORLD);
    const auto blocks = session.distribution(large, "BLOCK, *, *");
    File file = session.create_file(file_of(wanted.format), as(wanted.format));
    weir_define_options options{};
    options.codec = wanted.codec;
    for (const bool has_steps : {false, true}) {
      options.steps = has_steps ? 1 : 0;
      static_cast<void>(file.define<double>(has_steps ? "stepped" : "once", large, options));
    }
    file.begin_step();
    for (const char* const name : {"once", "stepped"}) {
      const Array array = file.array(name);
      weir_transfer transfer{};
      transfer.array = array.get();
      transfer.distribution = blocks.get();
      const char* text = nullptr;
      ASSERT_EQ(weir_session_explain(session.get(), WEIR_WRITE, 1, &transfer, &text), WEIR_OK)
          << weir_last_error();
      const std::string told = text;
      if (wanted.by == nullptr) {
        EXPECT_EQ(told.find("which Weir chose because none were given"), std::string::npos) << told;
        continue;
      }
      for (const std::string part :
           {"chunks of 32 x 256 x 256 (16384 KiB)", wanted.by,
            "a rank's block of 64 x 256 x 256 is a whole number of them"}) {
        EXPECT_NE(told.find(part), std::string::npos) << told;
      }
    }
    file.abort_step();
    file.close();
  }
}

TEST_F(Files, AnOldFileStaysUntilTheFirstStepHasEnded) {
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(plane, "BLOCK, *");
  for (const std::string format : {"hdf5", "cdf5", "raw"}) {
    SCOPED_TRACE(format);
    for (const int round : {0, 1}) {
      File file = session.create_file(file_of(format), as(format.c_str()));
      Array grid = file.define<std::int32_t>("grid", plane);
      file.begin_step();
      grid.write(rows, part_of_step<std::int32_t>(rows, plane, 0, round));
      if (round == 1) {
        File old = session.open_file(file_of(format));
        std::vector<std::int32_t> part(rows.elements());
        old.array("grid").read(rows, part);
        EXPECT_EQ(part, part_of_step<std::int32_t>(rows, plane, 0, 0));
        old.close();
      }
      file.end_step();
      file.close();
    }
    File file = session.open_file(file_of(format));
    std::vector<std::int32_t> part(rows.elements());
    file.array("grid").read(rows, part);
    EXPECT_EQ(part, part_of_step<std::int32_t>(rows, plane, 0, 1));
    file.close();
  }
}

TEST_F(Files, RefuseWhatCannotBe) {
  Session session(MPI_COMM_WORLD);
  EXPECT_NE(fails([&] { static_cast<void>(session.create_file(path("a"))); }), "");
  EXPECT_NE(fails([&] { static_cast<void>(session.create_file(path("a"), as("grib"))); }), "");
  EXPECT_NE(fails([&] { static_cast<void>(session.open_file(path("none.nc"))); }), "");
  File file = session.create_file(path("a.nc"));
  Array grid = file.define<std::int32_t>("grid", plane);
  EXPECT_NE(fails([&] { static_cast<void>(file.define<std::int32_t>("a/b", plane)); }), "");
  EXPECT_NE(fails([&] { static_cast<void>(file.define("x", plane, "float128")); }), "");
  const auto rows = session.distribution(plane, "BLOCK, *");
  const auto part = numbered_part<std::int32_t>(rows, plane);
  EXPECT_NE(fails([&] { grid.write(rows, part); }), "");
  EXPECT_NE(fails([&] { file.end_step(); }), "");
  file.begin_step();
  EXPECT_NE(fails([&] { static_cast<void>(file.define<std::int32_t>("later", plane)); }), "");
  EXPECT_NE(fails([&] { file.begin_step(); }), "");
  grid.write(rows, part);
  EXPECT_NE(fails([&] { grid.close(); }), "");
  file.end_step();
  // What is committed is not changed.
  EXPECT_NE(fails([&] { grid.write(rows, part); }), "");
  EXPECT_NE(fails([&] { file.begin_step(); }), "");
  EXPECT_NE(fails([&] { file.select_step(0); }), "");
  file.close();
  weir_file_open_options reading{};
  reading.read_only = 1;
  File again = session.open_file(path("a.nc"), reading);
  EXPECT_NE(fails([&] { static_cast<void>(again.array("none")); }), "");
  EXPECT_NE(fails([&] { again.begin_step(); }), "");
  again.close();
}

// An array that is opened by itself is the only one of a file of any format.
TEST_F(Files, OfOneArrayAreOpenedAsArraysAndWrittenInPlace) {
  for (const std::string format : formats) {
    SCOPED_TRACE(format);
    const std::string name = path("one." + format);
    Session session(MPI_COMM_WORLD);
    const auto rows = session.distribution(plane, "BLOCK, *");
    const auto part = numbered_part<std::int32_t>(rows, plane);
    File file = session.create_file(name, as(format.c_str()));
    Array grid = file.define<std::int32_t>("grid", plane);
    file.begin_step();
    grid.write(rows, part);
    file.end_step();
    file.close();
    Array array = session.open(name);
    std::vector<std::int32_t> read(rows.elements());
    array.read(rows, read);
    EXPECT_EQ(read, part);
    const auto changed = part_of_step<std::int32_t>(rows, plane, 1, 1);
    array.write(rows, changed);
    array.sync();
    array.close();
    weir_open_options reading{};
    reading.read_only = 1;
    Array again = session.open(name, reading);
    again.read(rows, read);
    EXPECT_EQ(read, changed);
    EXPECT_NE(fails([&] { again.write(rows, part); }), "");
    again.close();
  }
}

TEST_F(Files, OfSeveralArraysOrWithStepsAreNotOpenedAsArrays) {
  Session session(MPI_COMM_WORLD);
  for (const bool grows : {false, true}) {
    const std::string name = path(grows ? "steps.raw" : "two.raw");
    File file = session.create_file(name);
    weir_define_options options{};
    options.steps = grows ? 1 : 0;
    static_cast<void>(file.define<std::int32_t>("a", plane, options));
    if (!grows) static_cast<void>(file.define<std::int32_t>("b", plane));
    file.begin_step();
    file.end_step();
    file.close();
    const std::string told = fails([&] { static_cast<void>(session.open(name)); });
    EXPECT_NE(told.find("open it with weir_file_open"), std::string::npos) << told;
    EXPECT_NE(told.find(grows ? "with steps" : "2 arrays"), std::string::npos) << told;
    session.open_file(name).close();
  }
}

}  // namespace
}  // namespace weir::test
