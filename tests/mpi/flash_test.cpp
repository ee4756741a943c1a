// Every interface that writes files of several arrays writes the same checkpoints and plot files:
// the run itself reads each of them back and knows every element by its file, variable and global
// index. Blocks have a few odd cells, so that the elements of a rank end within words. Staging,
// which needs the stager, is tested in tests/python/test_flash.py.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>

#include "workload.hpp"
#include "workloads/flash/execute.hpp"

namespace weir::bench::flash {
namespace {

using test::is_ok_on_all_ranks;

Options small() {
  Options options;
  options.blocks = 2.6;
  options.block_seed = 1;
  options.nxb = 5;
  options.nyb = 3;
  options.nzb = 7;
  options.variables = 4;
  options.plot_variables = {1, 3};
  options.checkpoints = 2;
  options.plots = 3;
  options.work_seconds = 0.001;
  return options;
}

class Flash : public WorkloadTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    WorkloadTest::SetUp();
    if (variant().api->open == nullptr) GTEST_SKIP() << GetParam() << " is not in this build";
  }
  [[nodiscard]] static Variant variant() { return {.api = interface_named(GetParam())}; }
  [[nodiscard]] Configuration configuration() const {
    return {.variant = variant(), .folder = path("files"), .payload_seed = 7};
  }

  const CoreSettings core_ = not_durable();
};

std::int64_t sum_over_ranks(std::int64_t mine) {
  std::int64_t sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

TEST_P(Flash, WritesAllFilesAndReadsThemBack) {
  const Options options = small();
  Executor executor(job(), guard(), core_, options);
  ASSERT_TRUE(is_ok_on_all_ranks(executor.begin()));
  std::int64_t expected = 0;
  for (const Stream stream : all_streams) {
    expected += files_of(stream, options) *
                bytes_of_file(stream, options, executor.deal().blocks(), variant().api->can.netcdf);
  }
  // Twice: with other elements, in place of the files that are there.
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto record = executor.run(configuration(), repetition);
    ASSERT_TRUE(is_ok_on_all_ranks(record));
    std::map<int, int> files;
    std::int64_t bytes = 0;
    for (const Event& event : record.value().events) {
      ++files[event.function];
      bytes += event.bytes;
      EXPECT_GT(event.foreground_ns, 0);
      EXPECT_LE(event.foreground_ns, event.end_ns - event.start_ns);
    }
    EXPECT_EQ(files, (std::map<int, int>{{function_checkpoint, 2}, {function_plot, 3}}));
    EXPECT_EQ(sum_over_ranks(bytes), expected);
    EXPECT_EQ(sum_over_ranks(record.value().bytes_verified), expected);
    EXPECT_GT(record.value().work_ns, 0);
  }
  if (job().rank == 0) {
    const auto found = std::filesystem::directory_iterator(configuration().folder);
    EXPECT_EQ(std::distance(std::filesystem::begin(found), std::filesystem::end(found)), 5);
  }
  EXPECT_TRUE(is_ok_on_all_ranks(executor.remove_files(configuration())));
  EXPECT_TRUE(is_ok_on_all_ranks(executor.close()));
}

TEST_P(Flash, AFolderThatIsMissingFailsOnAllRanks) {
  const Options options = small();
  Executor executor(job(), guard(), core_, options);
  ASSERT_TRUE(is_ok_on_all_ranks(executor.begin()));
  Configuration nowhere = configuration();
  nowhere.folder = path("missing/files");
  const auto record = executor.run(nowhere, 0);
  EXPECT_FALSE(record.ok());
  EXPECT_EQ(executor.failed_rank(), 0);
}

INSTANTIATE_TEST_SUITE_P(Interfaces, Flash,
                         ::testing::Values("weir-hdf5", "weir-cdf5", "hdf5", "pnetcdf"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace weir::bench::flash
