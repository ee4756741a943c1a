// Runs that a lock does not keep from each other, as the file system has none: what one of them
// commits the other one notices, and neither writes into what the other one has published. The
// missing lock comes from a preloaded library (tests/failure/faulty_io.c).
#include "parallel.hpp"

namespace weir::test {
namespace {

class LockFaults : public OnRanks {
 protected:
  // Makes the next call that would take a lock fail.
  [[nodiscard]] static Fault no_lock() {
    return Fault("rank=0,call=flock,nth=1,error=EIO,tree=.weir_lock");
  }
  template <typename Call>
  static std::string error_of(const Call& call) {
    try {
      call();
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }
  const Extents shape = {12};
  [[nodiscard]] static std::vector<double> all(const Distribution& distributed, double value) {
    return std::vector<double>(distributed.elements(), value);
  }
  static weir_define_options with_steps() {
    weir_define_options options{};
    options.steps = 1;
    return options;
  }
};

TEST_F(LockFaults, TwoMakersOfAFileAreNoticed) {
  Session session(MPI_COMM_WORLD);
  const auto blocks = session.distribution(shape, "BLOCK");
  for (const std::string name : {"a.h5", "a.nc", "a.raw", "a.zarr"}) {
    SCOPED_TRACE(name);
    File first = session.create_file(path(name));
    Array mine = first.define<double>("x", shape);
    {
      const Fault fault = no_lock();
      first.begin_step();
    }
    File second = session.create_file(path(name));
    Array theirs = second.define<double>("x", shape);
    {
      const Fault fault = no_lock();
      second.begin_step();
    }
    theirs.write(blocks, all(blocks, 2));
    const std::string written = error_of([&] { mine.write(blocks, all(blocks, 1)); });
    if (name != "a.zarr") {
      EXPECT_NE(written.find("it was replaced or removed"), std::string::npos) << written;
    }
    EXPECT_NE(error_of([&] { first.end_step(); }), "");
    second.end_step();
    EXPECT_NE(error_of([&] { first.begin_step(); }), "");
    second.close();
    static_cast<void>(error_of([&] { first.close(); }));
    if (name == "a.zarr") continue;  // both wrote under the temporary name
    File file = session.open_file(path(name));
    std::vector<double> part(blocks.elements());
    file.array("x").read(blocks, part);
    EXPECT_EQ(part, all(blocks, 2));
    file.close();
  }
}

// Rank 0 takes the locks. The session says it for the first of the files, and not again.
TEST_F(LockFaults, IsToldOnceInASession) {
  ::testing::internal::CaptureStderr();
  {
    Session session(MPI_COMM_WORLD);
    const auto blocks = session.distribution(shape, "BLOCK");
    for (const std::string name : {"a.h5", "b.h5"}) {
      File file = session.create_file(path(name));
      Array array = file.define<double>("x", shape);
      {
        const Fault fault = no_lock();
        file.begin_step();
      }
      array.write(blocks, all(blocks, 1));
      file.end_step();
      file.close();
    }
  }
  const std::string told = ::testing::internal::GetCapturedStderr();
  const std::string words = "has no locks";
  const auto at = told.find(words);
  if (rank_of_world() != 0) {
    EXPECT_EQ(at, std::string::npos) << told;
    return;
  }
  ASSERT_NE(at, std::string::npos) << told;
  EXPECT_NE(told.find("a.h5"), std::string::npos) << told;
  EXPECT_EQ(told.find(words, at + 1), std::string::npos) << told;
}

TEST_F(LockFaults, TwoThatAddStepsAreNoticed) {
  Session session(MPI_COMM_WORLD);
  const auto blocks = session.distribution(shape, "BLOCK");
  for (const std::string name : {"a.h5", "a.nc", "a.raw", "a.zarr"}) {
    SCOPED_TRACE(name);
    {
      File file = session.create_file(path(name));
      Array made = file.define<double>("x", shape, with_steps());
      file.begin_step();
      made.write(blocks, all(blocks, 0));
      file.end_step();
      file.close();
    }
    File first = session.open_file(path(name));
    File second = session.open_file(path(name));
    for (File* const file : {&first, &second}) {
      const Fault fault = no_lock();
      file->begin_step();
    }
    second.array("x").write(blocks, all(blocks, 100));
    first.array("x").write(blocks, all(blocks, 1));
    first.end_step();
    first.begin_step();
    first.array("x").write(blocks, all(blocks, 2));
    first.end_step();
    const std::string told = error_of([&] { second.end_step(); });
    EXPECT_NE(told.find("open it again"), std::string::npos) << told;
    EXPECT_EQ(first.steps(), 3);
    first.close();
    second.close();
    File file = session.open_file(path(name));
    EXPECT_EQ(file.steps(), 3);
    for (int step = 0; step < 3; ++step) {
      file.select_step(step);
      std::vector<double> part(blocks.elements());
      file.array("x").read(blocks, part);
      EXPECT_EQ(part, all(blocks, step)) << "step " << step;
    }
    file.close();
  }
}

}  // namespace
}  // namespace weir::test
