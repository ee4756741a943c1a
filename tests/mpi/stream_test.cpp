// Every combination of interface, pattern, collective or not, file per rank or shared, and order of
// reading puts the same bytes to the same places: the payload is a function of the place alone, so
// all patterns of one size make the same file. What is read is verified by the run itself; what is
// left on disk is compared, byte for byte, with what POSIX segmented left. HDF5 and PnetCDF files
// must contain these bytes as one piece.
//
//   stream_test DIRECTORY      under an MPI launcher
//
// Exit status 0 when all agree. Sizes are small: a block is a few kilobytes.
#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/mpi_hints.hpp"
#include "workload_test.hpp"
#include "workloads/stream/channel.hpp"
#include "workloads/stream/execute.hpp"

namespace weir::bench::stream {
namespace {

constexpr std::uint64_t payload_seed = 7;
constexpr Api apis[] = {Api::posix, Api::io_uring, Api::mpiio, Api::hdf5, Api::pnetcdf};
constexpr Pattern patterns[] = {Pattern::segmented, Pattern::interleaved, Pattern::strided,
                                Pattern::random};

bool holds_a_header(Api api) { return api == Api::hdf5 || api == Api::pnetcdf; }

class Matrix {
 public:
  Matrix(const Job& job, FailureGuard& guard, Expectations& expected, std::string directory)
      : job_(job), guard_(guard), expected_(expected), directory_(std::move(directory)) {}

  void run(Variant variant, Options options, const CoreSettings& core, const std::string& note) {
    if (!check_available(variant.api)) return;
    variant.slug = "slug";
    options.keep = true;
    options.test_files = {directory_ + "/file"};
    const Layout layout = layout_of(variant, options, job_.size);
    const std::string what =
        fmt::format("{} {} {} {}{} of {}", name_of(variant.api), name_of(variant.pattern),
                    variant.file_per_rank ? "per rank" : "shared",
                    variant.collective ? "collective " : "", note, variant.transfer_bytes);
    Configuration configuration{
        .variant = variant,
        .layout = layout,
        .files = FileNames(options, variant, {{directory_, "file"}}, directory_, "id"),
        .payload_seed = payload_seed};
    Executor executor(job_, guard_, core, options, directory_ + "/none");
    const auto record = executor.run(configuration, 0);
    expected_.expect(record.ok(), what + ": " + (record ? "" : record.error().text()));
    if (record) check_record(record.value(), layout, what);
    MPI_Barrier(job_.world);
    compare(configuration, what);
    MPI_Barrier(job_.world);
    if (variant.file_per_rank || job_.rank == 0) {
      std::filesystem::remove(configuration.files.path(job_.rank, 0));
    }
    MPI_Barrier(job_.world);
    ++runs_;
  }

  [[nodiscard]] int runs() const { return runs_; }

 private:
  void check_record(const RepetitionRecord& record, const Layout& layout, const std::string& what) {
    expected_.expect(record.phases.size() == 2, what + ": two phases");
    for (const PhaseRecord& phase : record.phases) {
      expected_.expect(phase.bytes == layout.bytes_per_rank(), what + ": bytes of a phase");
      expected_.expect(
          phase.latencies.count() == static_cast<std::uint64_t>(layout.operations_per_rank()),
          what + ": latencies");
      expected_.expect(phase.end_ns >= phase.start_ns && phase.io_ns > 0, what + ": times");
    }
    expected_.expect(record.bytes_verified >= layout.bytes_per_rank(), what + ": verified");
  }

  // The first of a size and file type is the reference.
  void compare(const Configuration& configuration, const std::string& what) {
    const Layout& layout = configuration.layout;
    if (!layout.file_per_rank && job_.rank != 0) return;
    const std::string left = content(configuration.files.path(job_.rank, 0));
    const std::tuple key{layout.file_per_rank, layout.block_bytes, layout.transfer_bytes,
                         layout.segments};
    if (holds_a_header(configuration.variant.api)) {
      expected_.expect(!references_[key].empty(), what + ": no reference");
      expected_.expect(left.find(references_[key]) != std::string::npos,
                       what + ": the bytes are not in the file");
      return;
    }
    expected_.expect(static_cast<std::int64_t>(left.size()) == layout.file_bytes(),
                     what + ": size of the file");
    const auto [place, first] = references_.try_emplace(key, left);
    expected_.expect(first || place->second == left, what + ": other bytes on disk than the first");
  }

  const Job& job_;
  FailureGuard& guard_;
  Expectations& expected_;
  std::string directory_;
  std::map<std::tuple<bool, std::int64_t, std::int64_t, std::int64_t>, std::string> references_;
  int runs_ = 0;
};

Variant variant_of(Api api, Pattern pattern, bool file_per_rank, std::int64_t transfer_bytes) {
  Variant variant;
  variant.api = api;
  variant.pattern = pattern;
  variant.block_bytes = 6 * transfer_bytes;
  variant.transfer_bytes = transfer_bytes;
  variant.segments = 3;
  variant.queue_depth = api == Api::io_uring ? 4 : 1;
  variant.file_per_rank = file_per_rank;
  return variant;
}

bool can_be_collective(Api api) {
  return api == Api::mpiio || api == Api::hdf5 || api == Api::pnetcdf;
}

void run_all(Matrix& matrix) {
  CoreSettings core;
  core.deadline_seconds = deadline_seconds;
  core.durability = storage::Durability::none;
  const Options plain;
  // A page and more, less than a page, and neither.
  for (const std::int64_t transfer : {8192, 40, 5000}) {
    for (const bool file_per_rank : {false, true}) {
      for (const Api api : apis) {
        for (const Pattern pattern : patterns) {
          const Variant variant = variant_of(api, pattern, file_per_rank, transfer);
          matrix.run(variant, plain, core, "");
          if (!can_be_collective(api)) continue;
          Variant together = variant;
          together.collective = true;
          matrix.run(together, plain, core, "");
        }
      }
    }
  }

  core.durability = storage::Durability::full;
  core.drop_cache = true;
  for (const Api api : apis) {
    Options options;
    options.check_write = true;
    options.reorder = Reorder::constant;
    matrix.run(variant_of(api, Pattern::random, false, 8192), options, core, "durable, reordered");
    options.reorder = Reorder::random;
    matrix.run(variant_of(api, Pattern::interleaved, true, 8192), options, core,
               "durable, read by random ranks");
  }
  Options options;
  options.file_view = true;
  options.preallocate = true;
  for (const Pattern pattern : {Pattern::segmented, Pattern::interleaved}) {
    for (const bool collective : {false, true}) {
      Variant variant = variant_of(Api::mpiio, pattern, false, 8192);
      variant.collective = collective;
      matrix.run(variant, options, core, "through a view");
    }
  }
  options.file_view = false;
  options.sync_each = true;
  matrix.run(variant_of(Api::posix, Pattern::strided, false, 8192), options, core,
             "each write durable");
  options.sync_each = false;
  core.direct = true;
  for (const Api api : {Api::posix, Api::io_uring}) {
    matrix.run(variant_of(api, Pattern::random, false, 8192), options, core, "O_DIRECT");
    matrix.run(variant_of(api, Pattern::segmented, true, 8192), options, core, "O_DIRECT");
  }
}

std::string hint(const MpiHints& hints, const char* name) {
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int is_there = 0;
  if (hints.info() == MPI_INFO_NULL) return "no hints";
  MPI_Info_get(hints.info(), name, MPI_MAX_INFO_VAL, value.data(), &is_there);
  return is_there != 0 ? value.data() : "";
}

// How a file is to be striped is told to MPI-IO, and a file of hints goes before that.
void striping_is_told_as_hints(const std::string& directory, Expectations& expected) {
  const auto none = MpiHints::read("");
  expected.expect(none.ok() && hint(none.value(), "striping_factor") == "no hints", "no hints");
  const storage::Striping striping{.count = 8, .stripe_bytes = 1 << 20, .first_target = 1};
  const auto hints = MpiHints::read("", striping);
  expected.expect(hints.ok() && hint(hints.value(), "striping_factor") == "8" &&
                      hint(hints.value(), "striping_unit") == "1048576" &&
                      hint(hints.value(), "start_iodevice") == "0",
                  "hints of a striping");
  const auto all = MpiHints::read("", {.count = storage::Striping::all_targets});
  expected.expect(all.ok() && hint(all.value(), "striping_factor") == "-1" &&
                      hint(all.value(), "striping_unit").empty() &&
                      hint(all.value(), "start_iodevice").empty(),
                  "hints of all targets");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string path = fmt::format("{}/hints-{}", directory, rank);
  std::ofstream(path) << "striping_factor = 4\ncb_nodes = 2\n";
  const auto both = MpiHints::read(path, striping);
  expected.expect(both.ok() && hint(both.value(), "striping_factor") == "4" &&
                      hint(both.value(), "cb_nodes") == "2" &&
                      hint(both.value(), "striping_unit") == "1048576",
                  "hints of a file and a striping");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weir::bench::stream

int main(int argc, char** argv) {
  using namespace weir::bench::stream;
  return weir::bench::workload_test(
      argc, argv, "stream",
      [](const weir::bench::Job& job, weir::bench::FailureGuard& guard,
         weir::bench::Expectations& expected, const std::string& directory) {
        Matrix matrix(job, guard, expected, directory);
        run_all(matrix);
        striping_is_told_as_hints(directory, expected);
        return matrix.runs();
      });
}
