// File systems that are full, fail or are lost while a program writes to them: every rank gets the
// error, and what was committed before stays whole. The tests are skipped where no such file system
// was made for them (tests/failure/test_array_library.py).
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <tuple>

#include "parallel.hpp"

namespace weir::test {
namespace {

// Needs a file system that has room for one array and not for a second one.
TEST_F(OnRanks, AFullFileSystem) {
  struct statvfs space = {};
  ASSERT_EQ(statvfs(path("").c_str(), &space), 0);
  const auto free_bytes = static_cast<std::int64_t>(space.f_bavail * space.f_frsize);
  if (free_bytes > (16 << 20)) GTEST_SKIP() << "this file system has too much room";
  for (const auto& [strategy, aggregators, ranks_per_node] :
       {std::tuple("direct", 0, 0), std::tuple("node", 2, 0), std::tuple("two-phase", 1, 2)}) {
    weir_session_options options = {};
    options.strategy = strategy;
    options.aggregators = aggregators;
    options.ranks_per_node = ranks_per_node;
    options.buffer_bytes = 64 << 10;
    options.deadline_seconds = 60;
    Session session(MPI_COMM_WORLD, options);
    // Together more than there is, each three quarters of it.
    const Extents shape = {free_bytes / 4096 * 3 / 4, 512};
    const auto rows = session.distribution(shape, "BLOCK, *");
    auto first = session.create<double>(path("weir-first"), shape);
    auto second = session.create<double>(path("weir-second"), shape);
    const auto numbers = numbered_part<double>(rows, shape);
    ASSERT_EQ(weir_write(first.get(), rows.get(), numbers.data()), 0) << weir_last_error();
    EXPECT_EQ(weir_write(second.get(), rows.get(), numbers.data()), WEIR_E_IO);
    EXPECT_NE(std::string(weir_last_error()).find("No space left on device"), std::string::npos)
        << weir_last_error();
    EXPECT_NE(std::string(weir_last_error()).find(path("weir-second")), std::string::npos);
    std::vector<double> taken(numbers.size());
    EXPECT_EQ(weir_read(first.get(), rows.get(), taken.data()), 0) << weir_last_error();
    EXPECT_EQ(taken, numbers);
    first.close();
    second.close();
    meet();
    if (rank_of_world() == 0) {
      for (const char* const name : {"weir-first", "weir-second"}) {
        std::filesystem::remove(path(name));
      }
    }
    meet();
  }
}

// Steps of a file, by the engine that the environment names: the third does not fit, or its file
// system is lost meanwhile.
class BrokenSteps : public OnRanks {
 protected:
  void SetUp() override {
    OnRanks::SetUp();
    // NOLINTBEGIN(concurrency-mt-unsafe): the only thread
    const char* const place = std::getenv("WEIR_TEST_FILE_SYSTEM");
    const char* const engine = std::getenv("WEIR_TEST_ENGINE");
    const char* const below = std::getenv("WEIR_TEST_FILE_SYSTEM_BELOW");
    const char* const reason = std::getenv("WEIR_TEST_REASON");
    // NOLINTEND(concurrency-mt-unsafe)
    if (place == nullptr || engine == nullptr) GTEST_SKIP() << "no file system to break";
    place_ = place;
    engine_ = engine;
    shut_down_ = below != nullptr ? below : place;
    if (reason != nullptr) reason_ = reason;
  }
  [[nodiscard]] std::string name() const { return place_ + "/steps.nc"; }
  [[nodiscard]] weir_session_options options() const {
    weir_session_options options = {};
    options.engine = engine_.c_str();
    options.deadline_seconds = 60;
    options.buffer_bytes = 256 << 10;
    return options;
  }
  static std::vector<double> content_of_step(const Distribution& distributed, const Extents& shape,
                                             int step) {
    auto part = numbered_part<double>(distributed, shape);
    for (double& one : part) one += 0.25 * step;
    return part;
  }
  // Writes steps until one fails, with `before(step)` between; how many were committed.
  template <typename Before>
  int write_steps(const Before& before) {
    Session session(MPI_COMM_WORLD, options());
    weir_file_options as_cdf5 = {};
    as_cdf5.format = "cdf5";
    as_cdf5.durability = "step";
    File file = session.create_file(name(), as_cdf5);
    weir_define_options growing = {};
    growing.steps = 1;
    Array array = file.define<double>("a", shape_, growing);
    const auto columns = session.distribution(shape_, "*, BLOCK");
    for (int step = 0; step < 20; ++step) {
      file.begin_step();
      before(step);
      const auto part = content_of_step(columns, shape_, step);
      const int written = weir_write(array.get(), columns.get(), part.data());
      // What the system takes into memory fails when it is to be durable.
      const int ended = written == WEIR_OK ? weir_file_step_end(file.get()) : written;
      if (ended == WEIR_OK) continue;
      EXPECT_EQ(ended, WEIR_E_IO);
      expect_error_of_all(written != WEIR_OK);
      EXPECT_NE(weir_file_step_end(file.get()), WEIR_OK);
      try {
        file.close();
      } catch (const Failure& failure) {
        EXPECT_EQ(failure.code(), WEIR_E_IO);  // of a file system that is lost
      }
      return step;
    }
    ADD_FAILURE() << "nothing failed";
    return -1;
  }
  // Every rank has the same line, which names rank, file and, of bytes that were moved, offset.
  void expect_error_of_all(bool moving) const {
    const std::string mine = weir_last_error();
    for (const std::string& part :
         {std::string("rank "), name(), std::string(moving ? "offset " : ""), reason_}) {
      EXPECT_NE(mine.find(part), std::string::npos) << mine;
    }
    EXPECT_TRUE(is_same_on_all_ranks(mine));
  }
  void expect_steps(std::int64_t steps) const {
    Session session(MPI_COMM_WORLD, options());
    File file = session.open_file(name());
    ASSERT_EQ(file.steps(), steps);
    const auto rows = session.distribution(shape_, "BLOCK, *");
    for (int step = 0; step < steps; ++step) {
      file.select_step(step);
      std::vector<double> part(rows.elements());
      file.array("a").read(rows, part);
      EXPECT_EQ(part, content_of_step(rows, shape_, step)) << "step " << step;
    }
    file.close();
  }

  const Extents shape_ = {128, 1000};  // of about 1 MB
  // The file system itself, or the one that its device is a file of.
  std::string shut_down_;

 private:
  std::string place_;
  std::string engine_;
  std::string reason_;  // part of the error
};

TEST_F(BrokenSteps, AreNotInAFileForWhichThereIsNoRoom) {
  const int steps = write_steps([](int) {});
  ASSERT_GE(steps, 1);
  expect_steps(steps);
}

// Every call on a file system that was shut down fails, as on a server that is gone. One whose
// device fails takes what is written, and cannot make it durable.
TEST_F(BrokenSteps, AreNotInAFileWhoseFileSystemIsLost) {
  const int steps = write_steps([&](int step) {
    if (step != 2) return;
    meet();
    if (rank_of_world() == 0) {
      constexpr unsigned long shut_down = _IOR('X', 125, std::uint32_t);
      const std::uint32_t without_flushing = 2;
      const int folder = ::open(shut_down_.c_str(), O_RDONLY);
      EXPECT_EQ(::ioctl(folder, shut_down, &without_flushing), 0);
      ::close(folder);
    }
    meet();
  });
  EXPECT_EQ(steps, 2);
}

TEST_F(BrokenSteps, LeaveThoseBeforeThem) { expect_steps(2); }

}  // namespace
}  // namespace weir::test
