// Several runs and programs that have one file: one adds to it at a time, and whoever has an older
// file open is told.
#include <filesystem>

#include "files.hpp"

namespace weir::test {
namespace {

// Another program put a file in its place that does not have all arrays.
TEST_F(Files, AStepDoesNotBeginWhereAnArrayIsMissing) {
  if (size_of_world() > 4) GTEST_SKIP() << "more ranks find out no more";
  const std::string name = path("file.h5");
  const std::string other = path("other.h5");
  Session session(MPI_COMM_WORLD);
  const auto blocks = session.distribution(plane, "BLOCK, *");
  const auto part = part_of_step<std::int32_t>(blocks, plane, 1, 0);
  weir_define_options options{};
  options.steps = 1;
  options.codec = "fletcher32";
  const auto create = [&](const std::string& at, const char* array) {
    File file = session.create_file(at, as("hdf5"));
    Array written = file.define<std::int32_t>(array, plane, options);
    file.begin_step();
    written.write(blocks, part);
    file.end_step();
    return file;
  };
  File file = create(name, "first");
  create(other, "second").close();
  if (rank_of_world() == 0) std::filesystem::rename(other, name);
  meet();
  try {
    file.begin_step();
    ADD_FAILURE() << "the step began";
  } catch (const Failure& error) {
    EXPECT_NE(std::string(error.what()).find("open it again"), std::string::npos) << error.what();
  }
  EXPECT_EQ(file.steps(), 1);
  file.close();
}

// The text of the error that a call fails with on this rank, "" where it succeeds.
template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

#define EXPECT_REFUSED(call, words)                                     \
  do {                                                                  \
    const std::string told = error_of(call);                            \
    EXPECT_NE(told.find(words), std::string::npos) << "told: " << told; \
  } while (false)

TEST_F(Files, AreMadeByOneRunAtATime) {
  if (size_of_world() > 4) GTEST_SKIP() << "more ranks find out no more";
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(plane, "BLOCK, *");
  const auto right = part_of_step<std::int32_t>(rows, plane, 0, 0);
  const auto wrong = part_of_step<std::int32_t>(rows, plane, 0, 7);
  for (const std::string format : formats) {
    SCOPED_TRACE(format);
    File first = session.create_file(file_of(format), as(format.c_str()));
    Array grid = first.define<std::int32_t>("grid", plane);
    first.begin_step();
    grid.write(rows, right);
    {
      File second = session.create_file(file_of(format), as(format.c_str()));
      static_cast<void>(second.define<std::int32_t>("grid", plane));
      EXPECT_REFUSED([&] { second.begin_step(); }, "this program already has it open for writing");
    }
    first.end_step();
    first.close();
    File file = session.open_file(file_of(format));
    std::vector<std::int32_t> part(rows.elements());
    file.array("grid").read(rows, part);
    EXPECT_EQ(part, right);
    file.close();
    EXPECT_FALSE(std::filesystem::exists(file_of(format) + ".weir_lock"));
  }
  // Arrays in files of their own, as well.
  auto array = session.create<std::int32_t>(path("array"), plane);
  EXPECT_REFUSED([&] { static_cast<void>(session.create<std::int32_t>(path("array"), plane)); },
                 "this program already has it open for writing");
  array.close();
  session.create<std::int32_t>(path("array"), plane).close();
}

TEST_F(Files, GetStepsFromOneRunAtATime) {
  if (size_of_world() > 4) GTEST_SKIP() << "more ranks find out no more";
  Session session(MPI_COMM_WORLD);
  const auto blocks = session.distribution(cube, "BLOCK, *, *");
  for (const std::string format : formats) {
    SCOPED_TRACE(format);
    {
      File file = session.create_file(file_of(format), as(format.c_str()));
      Written arrays = define(file, false);
      file.begin_step();
      arrays.density.write(blocks, part_of_step<double>(blocks, cube, 1, 0));
      file.end_step();
      file.close();
    }
    File first = session.open_file(file_of(format));
    File second = session.open_file(file_of(format));
    const auto add = [&](File& file, int step) {
      file.begin_step();
      file.array("density").write(blocks, part_of_step<double>(blocks, cube, 1, step));
      file.end_step();
    };
    first.begin_step();
    EXPECT_REFUSED([&] { second.begin_step(); }, "this program already has it open for writing");
    first.array("density").write(blocks, part_of_step<double>(blocks, cube, 1, 1));
    first.end_step();
    add(first, 2);
    EXPECT_EQ(first.steps(), 3);
    EXPECT_EQ(second.steps(), 1);
    first.close();
    // What it knows of the file is no longer so.
    EXPECT_REFUSED([&] { second.begin_step(); }, "open it again");
    second.close();
    File third = session.open_file(file_of(format));
    add(third, 3);
    EXPECT_EQ(third.steps(), 4);
    for (int step = 0; step < 4; ++step) {
      third.select_step(step);
      std::vector<double> part(blocks.elements());
      third.array("density").read(blocks, part);
      EXPECT_EQ(part, part_of_step<double>(blocks, cube, 1, step)) << "step " << step;
    }
    third.close();
  }
}

// Whoever reads a file that a restarted run replaces gets its bytes, or is told.
TEST_F(Files, ThatWereReplacedAreNotReadByTheOldMap) {
  if (size_of_world() > 4) GTEST_SKIP() << "more ranks find out no more";
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(plane, "BLOCK, *");
  const auto make = [&](const std::string& format, const std::vector<const char*>& names) {
    File file = session.create_file(file_of(format), as(format.c_str()));
    std::vector<Array> arrays;
    arrays.reserve(names.size());
    for (const char* const name : names) arrays.push_back(file.define<std::int32_t>(name, plane));
    file.begin_step();
    for (std::size_t i = 0; i < names.size(); ++i) {
      arrays[i].write(rows, part_of_step<std::int32_t>(rows, plane, names[i][0], 0));
    }
    file.end_step();
    file.close();
  };
  for (const std::string format : formats) {
    SCOPED_TRACE(format);
    make(format, {"a", "b"});
    File old = session.open_file(file_of(format));
    if (format == "zarr") {
      if (rank_of_world() == 0) {
        std::filesystem::rename(file_of(format), path("old." + format));
      }
      meet();
    }
    make(format, {"q", "b", "a"});
    std::vector<std::int32_t> part(rows.elements());
    EXPECT_REFUSED([&] { old.array("a").read(rows, part); }, "open it again");
    old.close();
    File now = session.open_file(file_of(format));
    now.array("a").read(rows, part);
    EXPECT_EQ(part, part_of_step<std::int32_t>(rows, plane, 'a', 0));
    // While it is open, and its data files are.
    if (format != "zarr") {
      make(format, {"b", "a"});
      File newest = session.open_file(file_of(format));
      newest.array("b").read(rows, part);
      EXPECT_EQ(part, part_of_step<std::int32_t>(rows, plane, 'b', 0));
      newest.close();
    }
    now.close();
  }
}

}  // namespace
}  // namespace weir::test
