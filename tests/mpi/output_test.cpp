// Every interface that writes files of several arrays writes the same files of flash and of s3d:
// the run itself reads each of them back and knows every element by its file, variable and global
// index. Blocks and boxes have a few odd cells, so that the elements of a rank end within words;
// s3d reads on fewer ranks than it wrote. Staging, which needs the stager, is tested in
// tests/python/test_flash.py and test_s3d.py.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "workload.hpp"
#include "workloads/flash/content.hpp"
#include "workloads/output/execute.hpp"
#include "workloads/s3d/content.hpp"

namespace weir::bench::output {
namespace {

using test::is_ok_on_all_ranks;

using MakeContent = std::unique_ptr<Content> (*)(std::int64_t ranks);

std::unique_ptr<Content> flash_content(std::int64_t ranks) {
  flash::Options options;
  options.blocks = 2.6;
  options.block_seed = 1;
  options.nxb = 5;
  options.nyb = 3;
  options.nzb = 7;
  options.variables = 4;
  options.plot_variables = {1, 3};
  options.checkpoints = 2;
  options.plots = 3;
  return std::make_unique<flash::FlashContent>(options, ranks);
}

std::unique_ptr<Content> s3d_content(std::int64_t ranks, const array::Indices& domain,
                                     const array::Indices& grid) {
  s3d::Options options;
  options.nx = domain[0];
  options.ny = domain[1];
  options.nz = domain[2];
  options.strong = true;
  options.grid = grid;
  options.species = 3;
  options.steps = 2;
  return std::make_unique<s3d::S3dContent>(options,
                                           s3d::decomposition_of(options, ranks, {}).value());
}

// No extent can be divided by a number of ranks that is tested.
std::unique_ptr<Content> s3d_odd(std::int64_t ranks) {
  return ranks == 4 ? s3d_content(ranks, {7, 11, 3}, {2, 1, 2})
                    : s3d_content(ranks, {7, 11, 3}, {1, ranks, 1});
}

// With more than three ranks some have no cells.
std::unique_ptr<Content> s3d_small(std::int64_t ranks) {
  return s3d_content(ranks, {3, 1, 2}, {ranks, 1, 1});
}

class OutputTest
    : public WorkloadTest,
      public ::testing::WithParamInterface<std::tuple<const char*, MakeContent, const char*>> {
 protected:
  void SetUp() override {
    WorkloadTest::SetUp();
    if (variant().api->open == nullptr) {
      GTEST_SKIP() << variant().api->name << " is not in this build";
    }
    content_ = std::get<1>(GetParam())(job().size);
    options_.work_seconds = 0.001;
  }
  [[nodiscard]] static Variant variant() {
    return {.api = interface_named(std::get<2>(GetParam()))};
  }
  [[nodiscard]] Configuration configuration() const {
    return {.variant = variant(), .folder = path("files"), .payload_seed = 7};
  }
  // Returns the number of files in all, and their bytes.
  [[nodiscard]] std::pair<int, std::int64_t> expected() const {
    std::pair<int, std::int64_t> all;
    const std::vector<Kind> kinds = content_->kinds();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      all.first += static_cast<int>(kinds[i].files);
      all.second += kinds[i].files * bytes_of_file(*content_, i, variant().api->can.netcdf);
    }
    return all;
  }

  const CoreSettings core_ = not_durable();
  Options options_;
  std::unique_ptr<Content> content_;
};

std::int64_t sum_over_ranks(std::int64_t mine) {
  std::int64_t sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

TEST_P(OutputTest, WritesAllFilesAndReadsThemBack) {
  Executor executor(job(), guard(), core_, options_, *content_);
  ASSERT_TRUE(is_ok_on_all_ranks(executor.begin()));
  const auto [files, bytes_of_all] = expected();
  // Twice: with other elements, in place of the files that are there.
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto record = executor.run(configuration(), repetition);
    ASSERT_TRUE(is_ok_on_all_ranks(record));
    std::map<int, std::int64_t> found;
    std::int64_t bytes = 0;
    for (const Event& event : record.value().events) {
      ++found[event.function];
      bytes += event.bytes;
      EXPECT_GT(event.foreground_ns, 0);
      EXPECT_LE(event.foreground_ns, event.end_ns - event.start_ns);
    }
    for (const Kind& kind : content_->kinds()) EXPECT_EQ(found[kind.function], kind.files);
    EXPECT_EQ(sum_over_ranks(bytes), bytes_of_all);
    EXPECT_EQ(sum_over_ranks(record.value().bytes_verified), bytes_of_all);
    EXPECT_GT(record.value().work_ns, 0);
  }
  if (job().rank == 0) {
    const auto found = std::filesystem::directory_iterator(configuration().folder);
    EXPECT_EQ(std::distance(std::filesystem::begin(found), std::filesystem::end(found)), files);
  }
  EXPECT_TRUE(is_ok_on_all_ranks(executor.remove_files(configuration())));
  EXPECT_TRUE(is_ok_on_all_ranks(executor.close()));
}

TEST_P(OutputTest, AFolderThatIsMissingFailsOnAllRanks) {
  Executor executor(job(), guard(), core_, options_, *content_);
  ASSERT_TRUE(is_ok_on_all_ranks(executor.begin()));
  Configuration nowhere = configuration();
  nowhere.folder = path("missing/files");
  const auto record = executor.run(nowhere, 0);
  EXPECT_FALSE(record.ok());
  EXPECT_EQ(executor.failed_rank(), 0);
}

constexpr const char* interfaces[] = {"weir-hdf5", "weir-cdf5", "hdf5", "pnetcdf", "mpiio"};

std::vector<std::tuple<const char*, MakeContent, const char*>> all() {
  std::vector<std::tuple<const char*, MakeContent, const char*>> all;
  for (const char* const api : interfaces) {
    all.emplace_back("flash", flash_content, api);
    all.emplace_back("s3d_odd", s3d_odd, api);
    all.emplace_back("s3d_small", s3d_small, api);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Workloads, OutputTest, ::testing::ValuesIn(all()), [](const auto& one) {
  std::string name = std::string(std::get<0>(one.param)) + "_" + std::get<2>(one.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace weir::bench::output
