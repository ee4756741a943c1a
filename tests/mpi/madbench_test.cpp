// Every combination of method, mode, file type, gangs, RMOD and WMOD that the ranks allow moves the
// same bytes to the same places: what is read is verified by the run itself, and what is left on
// disk is compared, byte for byte, with what POSIX SYNC left.
//
//   madbench_test DIRECTORY      under an MPI launcher, on 1, 4, 9 or 16 ranks
//
// Exit status 0 when all agree. Sizes are small: a share is a few kilobytes.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "workload_test.hpp"
#include "workloads/madbench/buffers.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/io_work.hpp"

namespace weir::bench::madbench {
namespace {

constexpr std::int64_t pixels = 70;  // not a multiple of the block: unequal shares
constexpr std::uint64_t payload_seed = 7;

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

// What the functions must have recorded, whatever the variant.
void check_record(Expectations& expected, const RepetitionRecord& record,
                  const Configuration& configuration, const Size& size, int rank,
                  std::int64_t shift, const std::string& what) {
  std::map<std::pair<int, Operation>, std::int64_t> bytes;
  for (const Event& event : record.events) {
    bytes[{event.function, event.operation}] += event.bytes;
    expected.expect(event.end_ns >= event.start_ns, what + ": an event ends before it starts");
    expected.expect(event.foreground_ns >= 0, what + ": negative foreground time");
  }
  // With --rank-shift a rank handles another's data in W and another one's again in C.
  const Layout& layout = configuration.layout;
  const auto owner = [&](std::int64_t shifts) { return (rank + shifts * shift) % size.no_pe; };
  const bool moves = configuration.variant.mode != Mode::none;
  const auto level_1 = [&](std::int64_t shifts) {
    return moves ? size.no_bin * layout.share_bytes(GangLevel::all_ranks, owner(shifts)) : 0;
  };
  const auto level_2 = [&](std::int64_t shifts) {
    const std::int64_t matrices = size.no_bin / size.no_gang;
    return moves ? matrices * layout.share_bytes(GangLevel::gang, owner(shifts)) : 0;
  };
  expected.expect(bytes[{0, Operation::write}] == level_1(0), what + ": bytes written by S");
  expected.expect(bytes[{2, Operation::read}] == level_1(1), what + ": bytes read by W");
  expected.expect(bytes[{2, Operation::write}] == level_2(1), what + ": bytes written by W");
  expected.expect(bytes[{3, Operation::read}] == level_2(2), what + ": bytes read by C");
  expected.expect(record.bytes_verified == level_1(1) + level_2(2), what + ": bytes verified");
  expected.expect(record.functions.size() == 3, what + ": functions S, W, C");
}

class Matrix {
 public:
  Matrix(const Job& job, FailureGuard& guard, Expectations& expected, std::string directory)
      : job_(job), guard_(guard), expected_(expected), directory_(std::move(directory)) {}

  void run(const Size& size, const CoreSettings& core, const std::vector<Variant>& variants,
           const std::string& about) {
    const Layout any = Layout::create(size, FileType::unique).value();
    auto buffers = Buffers::create(std::max(any.largest_share_bytes(GangLevel::all_ranks),
                                            any.largest_share_bytes(GangLevel::gang)) +
                                   4096);
    IoWork work(size, /*alpha=*/0.5, core.compressible_percent, buffers.value());
    Executor executor(job_, guard_, core, size, work);
    std::map<FileType, std::string> reference;
    for (const Variant& variant : variants) {
      const Configuration configuration{.variant = variant,
                                        .layout = Layout::create(size, variant.file_type).value(),
                                        .label = label_of(variant),
                                        .slug = slug_of(variant),
                                        .directory = directory_,
                                        .payload_seed = payload_seed};
      const std::string what =
          fmt::format("rank {} of {}: {} gangs {} rmod {} wmod {} {}", job_.rank, job_.size,
                      configuration.label, size.no_gang, size.rmod, size.wmod, about);
      const auto record = executor.run(configuration, 0);
      expected_.expect(record.ok(), what + ": " + (record.ok() ? "" : record.error().text()));
      if (!record) return;
      check_record(expected_, record.value(), configuration, size, job_.rank, core.rank_shift,
                   what);
      if (variant.mode != Mode::none) {
        const std::string left = content(configuration.file_of(job_.rank));
        expected_.expect(!left.empty(), what + ": nothing on disk");
        const auto [place, first] = reference.try_emplace(variant.file_type, left);
        expected_.expect(first || place->second == left,
                         what + ": other bytes on disk than the first");
      }
      MPI_Barrier(job_.world);
      expected_.expect(executor.remove_files(configuration).ok(),
                       what + ": files cannot be removed");
      ++runs_;
    }
  }
  [[nodiscard]] int runs() const { return runs_; }

 private:
  const Job& job_;
  FailureGuard& guard_;
  Expectations& expected_;
  std::string directory_;
  int runs_ = 0;
};

std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  for (const Method method : {Method::posix, Method::mpi}) {
    for (const Mode mode : {Mode::sync, Mode::async, Mode::none}) {
      for (const FileType type : {FileType::unique, FileType::shared}) {
        all.push_back({method, mode, type});
      }
    }
  }
  return all;
}

void run_all(const Job& job, Matrix& matrix) {
  CoreSettings core;
  core.deadline_seconds = deadline_seconds;
  core.durability = storage::Durability::none;  // thousands of small writes; full is tried below
  for (const std::int64_t gangs : {1, 4, 9, 16}) {
    Size size{.no_pe = job.size,
              .no_pix = pixels,
              .no_bin = gangs == 1 ? 3 : 2 * gangs,
              .no_gang = gangs,
              .sblocksize = 8,
              .fblocksize = 512,
              .rmod = 1,
              .wmod = 1};
    if (!validate(size)) continue;
    const std::int64_t gang = job.size / gangs;
    for (const std::int64_t rmod : divisors(gang)) {
      size.rmod = rmod;
      size.wmod = gang / rmod;
      matrix.run(size, core, all_variants(), "");
    }
    size.rmod = size.wmod = gang;
    matrix.run(size, core, all_variants(), "");
  }

  // The other settings of the measurement core, on one size.
  const Size size{.no_pe = job.size,
                  .no_pix = pixels,
                  .no_bin = 4,
                  .no_gang = 1,
                  .sblocksize = 8,
                  .fblocksize = 4096,
                  .rmod = 1,
                  .wmod = 1};
  core.durability = storage::Durability::full;
  core.drop_cache = true;
  core.rank_shift = 1;
  core.compressible_percent = 50;
  matrix.run(size, core, all_variants(), "durable, cache dropped, ranks shifted, compressible");
  core.rank_shift = job.size + 2;
  matrix.run(size, core, {{Method::posix, Mode::sync, FileType::shared}}, "shifted further");
  core.direct = true;
  matrix.run(size, core,
             {{Method::posix, Mode::sync, FileType::unique},
              {Method::posix, Mode::async, FileType::unique},
              {Method::posix, Mode::sync, FileType::shared},
              {Method::posix, Mode::async, FileType::shared}},
             "O_DIRECT");
}

}  // namespace
}  // namespace weir::bench::madbench

int main(int argc, char** argv) {
  using namespace weir::bench::madbench;
  return weir::bench::workload_test(
      argc, argv, "madbench",
      [](const weir::bench::Job& job, weir::bench::FailureGuard& guard,
         weir::bench::Expectations& expected, const std::string& directory) {
        Matrix matrix(job, guard, expected, directory);
        run_all(job, matrix);
        return matrix.runs();
      });
}
