// Every interface stores the same array for the same elements: each combination of interface,
// distribution, section and element type is written, read under another distribution, and verified
// by the run itself, which knows every element by its global index. What interfaces without a
// header leave on disk is compared byte for byte. Arrays have a few thousand elements.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "workload.hpp"
#include "workloads/array/execute.hpp"

namespace weir::bench::array_io {
namespace {

using test::is_ok;
using test::is_ok_on_all_ranks;

constexpr std::uint64_t payload_seed = 7;

// Settings as on the command line, which name several interfaces.
struct Case {
  const char* name;
  std::vector<std::string> arguments;

  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

class Arrays : public WorkloadTest, public ::testing::WithParamInterface<Case> {
 protected:
  void run(const Geometry& geometry, const Options& options, const Variant& variant);

  const CoreSettings core_ = not_durable();

 private:
  void check_record(const ArrayRecord& record, const Geometry& geometry, const Options& options);
  // An array may have several files.
  void remove_all() const {
    MPI_Barrier(job().world);
    if (job().rank == 0) {
      for (const auto& entry : std::filesystem::directory_iterator(folder())) {
        std::filesystem::remove_all(entry.path());
      }
    }
    MPI_Barrier(job().world);
  }

  std::vector<char> reference_;  // what the first interface left
};

void Arrays::run(const Geometry& geometry, const Options& options, const Variant& variant) {
  const Configuration configuration{
      .variant = variant, .path = path("weir-" + variant.slug), .payload_seed = payload_seed};
  std::vector<std::string> directories = {folder()};
  for (std::size_t i = 1; i < options.directories.size(); ++i) {
    directories.push_back(path(fmt::format("further-{}", i)));
  }
  if (job().rank == 0) {
    for (const std::string& one : directories) std::filesystem::create_directories(one);
  }
  MPI_Barrier(job().world);
  Executor executor(job(), guard(), core_, geometry, options, directories);
  // Twice: the second time over the file that is there.
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto record = executor.run(configuration, repetition);
    ASSERT_TRUE(is_ok_on_all_ranks(record));
    check_record(record.value(), geometry, options);
  }
  EXPECT_TRUE(is_ok(executor.close()));
  const bool has_header =
      variant.api == interface_named("hdf5") || variant.api == interface_named("pnetcdf");
  const bool in_pieces = variant.contiguous || options.chunk.has_value() || options.column_major;
  if (job().rank == 0 && !has_header && !in_pieces) {
    const std::vector<char> bytes = test::content_of<char>(configuration.path);
    EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), geometry.array_bytes());
    if (reference_.empty()) reference_ = bytes;
    EXPECT_TRUE(bytes == reference_) << "other bytes on disk than the first";
  }
  remove_all();
}

void Arrays::check_record(const ArrayRecord& record, const Geometry& geometry,
                          const Options& options) {
  EXPECT_EQ(record.phases.size(), (options.write ? 1U : 0U) + (options.read ? 1U : 0U));
  for (const PhaseRecord& phase : record.repetition.phases) {
    std::int64_t bytes = 0;
    MPI_Allreduce(&phase.bytes, &bytes, 1, MPI_INT64_T, MPI_SUM, job().world);
    EXPECT_EQ(bytes, geometry.asked_bytes());
    EXPECT_GE(phase.end_ns, phase.start_ns);
  }
  std::int64_t verified = 0;
  MPI_Allreduce(&record.repetition.bytes_verified, &verified, 1, MPI_INT64_T, MPI_SUM, job().world);
  EXPECT_GE(verified, geometry.asked_bytes());
}

TEST_P(Arrays, EveryInterfaceStoresTheSameArray) {
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  const auto resolved = resolve_settings("test", "", declarations(), GetParam().arguments, none);
  ASSERT_TRUE(is_ok(resolved));
  const Settings& settings = resolved.value().settings;
  const auto geometry = geometry_of(settings, job().size);
  ASSERT_TRUE(is_ok(geometry));
  Options options = options_of(settings, geometry.value()).value();
  options.existing = true;  // the file stays, to be looked at
  const auto variants = variants_of(settings, options.peak).value();
  ASSERT_TRUE(is_ok(check_combination(geometry.value(), options, core_, variants)));
  int runs = 0;
  for (const Variant& variant : variants) {
    if (!check_available(*variant.api, variant.label)) continue;
    SCOPED_TRACE(variant.label);
    run(geometry.value(), options, variant);
    if (HasFatalFailure()) return;
    ++runs;
  }
  EXPECT_GT(runs, 0);
}

constexpr const char* all = "posix,mpiio,mpiio-independent,hdf5,pnetcdf,weir";

INSTANTIATE_TEST_SUITE_P(
    Cases, Arrays,
    ::testing::Values(
        // On six ranks, one of the blocks is empty.
        Case{"BlocksCutAtTheEdges",
             {"--api", all, "--shape", "13x10x7", "--read-distribution", "*,BLOCK,*", "--peak"}},
        Case{"BlocksOfRows",
             {"--api", all, "--shape", "5x40", "--distribution", "BLOCK,*", "--type", "int32"}},
        Case{"HalfSection", {"--api", all, "--shape", "64x48", "--half-section", "--peak"}},
        Case{"SectionOfBlocks",
             {"--api", all, "--shape", "31x17x3", "--section", "0:31,3:9,1:2", "--type", "int16",
              "--read-distribution", "BLOCK,*,*"}},
        Case{"StridesBetweenElements",
             {"--api", all, "--shape", "31x47", "--section", "1:31:3,2:45:2", "--read-distribution",
              "*,BLOCK"}},
        Case{"StridesOverPartsOfRanks",
             {"--api", all, "--shape", "9x8x20", "--section", "0:9:8,1:8,3:20:5", "--type",
              "record[24]", "--write"}},
        Case{"StridesOverCyclicParts",
             {"--api", "posix,hdf5,weir", "--shape", "50x44", "--section", "3:50:7,0:44:3",
              "--distribution", "CYCLIC(8)"}},
        Case{"CyclicPartsReadByOtherOnes",
             {"--api", "posix,mpiio,mpiio-independent,hdf5,weir", "--shape", "50x44",
              "--distribution", "CYCLIC(8)", "--read-distribution", "CYCLIC(3),BLOCK"}},
        Case{"HalfSectionOfCyclicParts",
             {"--api", "posix,hdf5", "--shape", "50x44", "--distribution", "CYCLIC(8)",
              "--half-section"}},
        Case{"RecordsWrittenOnly",
             {"--api", all, "--shape", "300", "--type", "record[24]", "--write"}},
        Case{"TruthValuesReadOnly", {"--api", all, "--shape", "33x5", "--type", "bool", "--read"}},
        Case{"HalfSectionOfChunks",
             {"--api", "hdf5,weir", "--shape", "50x44", "--chunk", "7x11", "--half-section"}},
        Case{"NaturalChunks", {"--api", "hdf5,weir", "--shape", "50x44", "--chunk", "natural"}},
        Case{"ChunksInFilesOfAggregators",
             {"--api", "weir", "--shape", "50x44", "--chunk-counts", "4x8", "--half-section",
              "--layout", "per-aggregator", "--aggregators", "1", "--buffer", "1k", "--buffers",
              "2"}},
        Case{"ChunksInFilesOfRanksInThreeFolders",
             {"--api", "weir", "--shape", "50x44", "--chunk", "9x10", "--layout", "per-rank",
              "--directory", "a,b,c", "--peak", "--half-section"}},
        Case{"ColumnMajorFile",
             {"--api", "weir", "--shape", "50x44", "--file-order", "column-major", "--strategy",
              "direct", "--read-distribution", "CYCLIC(3)"}},
        Case{"ReadByOneRank", {"--api", all, "--shape", "16x16", "--read-grid", "1x1"}}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace weir::bench::array_io
