// Every interface stores the same array for the same elements: each combination of interface,
// distribution, section and element type is written, read under another distribution, and verified
// by the run itself, which knows every element by its global index. What interfaces without a
// header leave on disk is compared byte for byte.
//
//   array_test DIRECTORY      under an MPI launcher
//
// Exit status 0 when all is right. Arrays have a few thousand elements.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "workload_test.hpp"
#include "workloads/array/channel.hpp"
#include "workloads/array/execute.hpp"

namespace weir::bench::array_io {
namespace {

constexpr std::uint64_t payload_seed = 7;

class Cases {
 public:
  Cases(const Job& job, FailureGuard& guard, Expectations& expected, std::string directory)
      : job_(job), guard_(guard), expected_(expected), directory_(std::move(directory)) {
    core_.deadline_seconds = deadline_seconds;
    core_.durability = storage::Durability::none;
  }

  // The settings as on the command line, through each interface that they name.
  void run(const std::vector<std::string>& arguments) {
    const auto none = [](const std::string&) { return std::optional<std::string>(); };
    const auto resolved = resolve_settings("test", "", declarations(), arguments, none);
    const std::string what = fmt::format("{}", fmt::join(arguments, " "));
    expected_.expect(resolved.ok(), what + " is understood");
    if (!resolved) return;
    const Settings& settings = resolved.value().settings;
    const auto geometry = geometry_of(settings, job_.size);
    expected_.expect(geometry.ok(), what + ": geometry");
    if (!geometry) return;
    Options options = options_of(settings, geometry.value()).value();
    options.existing = true;  // the file stays, to be looked at
    const auto variants = variants_of(settings).value();
    const Status fits = check_combination(geometry.value(), options, core_, variants);
    expected_.expect(fits.ok(), what + ": " + (fits ? "" : fits.error().text()));
    if (!fits) return;
    std::string reference;
    for (const Variant& variant : variants) {
      if (!check_available(variant.api)) continue;
      run_one(geometry.value(), options, variant, what + " by " + variant.label, reference);
    }
  }

  [[nodiscard]] int runs() const { return runs_; }

 private:
  void run_one(const Geometry& geometry, const Options& options, const Variant& variant,
               const std::string& what, std::string& reference) {
    const std::string path = directory_ + "/weir-" + variant.slug;
    const Configuration configuration{
        .variant = variant, .path = path, .payload_seed = payload_seed};
    std::vector<std::string> directories = {directory_};
    for (std::size_t i = 1; i < options.directories.size(); ++i) {
      directories.push_back(fmt::format("{}/further-{}", directory_, i));
    }
    if (job_.rank == 0) {
      for (const std::string& one : directories) std::filesystem::create_directories(one);
    }
    MPI_Barrier(job_.world);
    Executor executor(job_, guard_, core_, geometry, options, directories);
    // Twice: the second time over the file that is there.
    for (int repetition = 0; repetition < 2; ++repetition) {
      const auto record = executor.run(configuration, repetition);
      expected_.expect(record.ok(), what + ": " + (record ? "" : record.error().text()));
      if (!record) MPI_Abort(job_.world, 1);  // the others may be anywhere
      check_record(record.value(), geometry, options, what);
    }
    const Status closed = executor.close();
    expected_.expect(closed.ok(), what + ": " + (closed ? "" : closed.error().text()));
    const bool has_header = variant.api == Api::hdf5 || variant.api == Api::pnetcdf;
    const bool in_pieces =
        variant.api == Api::contiguous || options.chunk.has_value() || options.column_major;
    if (job_.rank == 0 && !has_header && !in_pieces) {
      const std::string bytes = content(path);
      expected_.expect(static_cast<std::int64_t>(bytes.size()) == geometry.array_bytes(),
                       what + ": size of the file");
      if (reference.empty()) reference = bytes;
      expected_.expect(bytes == reference, what + ": other bytes on disk than the first");
    }
    MPI_Barrier(job_.world);
    if (job_.rank == 0) remove_all();
    MPI_Barrier(job_.world);
    ++runs_;
  }

  // An array may have several files.
  void remove_all() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      std::filesystem::remove_all(entry.path());
    }
  }

  void check_record(const ArrayRecord& record, const Geometry& geometry, const Options& options,
                    const std::string& what) {
    const std::size_t phases = (options.write ? 1U : 0U) + (options.read ? 1U : 0U);
    expected_.expect(record.phases.size() == phases, what + ": phases");
    for (const PhaseRecord& phase : record.repetition.phases) {
      std::int64_t bytes = 0;
      MPI_Allreduce(&phase.bytes, &bytes, 1, MPI_INT64_T, MPI_SUM, job_.world);
      expected_.expect(bytes == geometry.asked_bytes(), what + ": bytes of a phase");
      expected_.expect(phase.end_ns >= phase.start_ns, what + ": times");
    }
    std::int64_t verified = 0;
    MPI_Allreduce(&record.repetition.bytes_verified, &verified, 1, MPI_INT64_T, MPI_SUM,
                  job_.world);
    expected_.expect(verified >= geometry.asked_bytes(), what + ": verified");
  }

  const Job& job_;
  FailureGuard& guard_;
  Expectations& expected_;
  std::string directory_;
  CoreSettings core_;
  int runs_ = 0;
};

void run_all(Cases& cases) {
  const std::string all = "posix,mpiio,mpiio-independent,hdf5,pnetcdf,weir";
  // Blocks that are cut at the edges, and on six ranks one that is empty.
  cases.run({"--api", all, "--shape", "13x10x7", "--read-distribution", "*,BLOCK,*", "--peak"});
  cases.run({"--api", all, "--shape", "5x40", "--distribution", "BLOCK,*", "--type", "int32"});
  cases.run({"--api", all, "--shape", "64x48", "--half-section", "--peak"});
  cases.run({"--api", all, "--shape", "31x17x3", "--section", "0:31,3:9,1:2", "--type", "int16",
             "--read-distribution", "BLOCK,*,*"});
  // Strides: between the elements asked for, and over whole ranks' parts.
  cases.run({"--api", all, "--shape", "31x47", "--section", "1:31:3,2:45:2", "--read-distribution",
             "*,BLOCK"});
  cases.run({"--api", all, "--shape", "9x8x20", "--section", "0:9:8,1:8,3:20:5", "--type",
             "record[24]", "--write"});
  cases.run({"--api", "posix,hdf5,weir", "--shape", "50x44", "--section", "3:50:7,0:44:3",
             "--distribution", "CYCLIC(8)"});
  cases.run({"--api", "posix,mpiio,mpiio-independent,hdf5,weir", "--shape", "50x44",
             "--distribution", "CYCLIC(8)", "--read-distribution", "CYCLIC(3),BLOCK"});
  cases.run(
      {"--api", "posix,hdf5", "--shape", "50x44", "--distribution", "CYCLIC(8)", "--half-section"});
  cases.run({"--api", all, "--shape", "300", "--type", "record[24]", "--write"});
  cases.run({"--api", all, "--shape", "33x5", "--type", "bool", "--read"});
  cases.run({"--api", "hdf5,weir", "--shape", "50x44", "--chunk", "7x11", "--half-section"});
  cases.run({"--api", "hdf5,weir", "--shape", "50x44", "--chunk", "natural"});
  cases.run({"--api", "weir", "--shape", "50x44", "--chunk-counts", "4x8", "--half-section",
             "--layout", "per-aggregator", "--aggregators", "1", "--buffer", "1k", "--buffers",
             "2"});
  cases.run({"--api", "weir", "--shape", "50x44", "--chunk", "9x10", "--layout", "per-rank",
             "--directory", "a,b,c", "--peak", "--half-section"});
  cases.run({"--api", "weir", "--shape", "50x44", "--file-order", "column-major", "--strategy",
             "direct", "--read-distribution", "CYCLIC(3)"});
  cases.run({"--api", all, "--shape", "16x16", "--read-grid", "1x1"});
}

}  // namespace
}  // namespace weir::bench::array_io

int main(int argc, char** argv) {
  using namespace weir::bench::array_io;
  return weir::bench::workload_test(
      argc, argv, "array",
      [](const weir::bench::Job& job, weir::bench::FailureGuard& guard,
         weir::bench::Expectations& expected, const std::string& directory) {
        Cases cases(job, guard, expected, directory);
        run_all(cases);
        return cases.runs();
      });
}
