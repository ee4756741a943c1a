// MADbench2 in full, on every combination of method, mode, file type, gangs, RMOD, WMOD and remap
// that the ranks allow: the correction of the spectrum is the same whatever moved the matrices, D
// times its inverse is the identity, and no rank holds more than its five matrices.
//
//   full_mode_test DIRECTORY      under an MPI launcher, on 1, 4, 9 or 16 ranks
//
// Exit status 0 when all hold. What the numbers must be is tests/measurement/test_full_mode.py's
// business.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "workload_test.hpp"
#include "workloads/madbench/buffers.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/full/full_work.hpp"

namespace {

// The ledger: what this program has from the heap, besides the five matrices of `Buffers`, which
// are mapped. ScaLAPACK and MPI allocate by malloc and are not in it.
struct Ledger {
  std::int64_t live = 0;
  std::int64_t most = 0;
};
Ledger ledger;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
constexpr std::size_t header = alignof(std::max_align_t);

void* taken(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::malloc(bytes + header));
  if (memory == nullptr) throw std::bad_alloc();
  const auto size = static_cast<std::int64_t>(bytes);
  *reinterpret_cast<std::int64_t*>(memory) = size;
  const std::int64_t live = __atomic_add_fetch(&ledger.live, size, __ATOMIC_RELAXED);
  ledger.most = std::max(ledger.most, live);
  return memory + header;
}

void given_back(void* pointer) noexcept {
  if (pointer == nullptr) return;
  auto* memory = static_cast<std::byte*>(pointer) - header;
  __atomic_sub_fetch(&ledger.live, *reinterpret_cast<std::int64_t*>(memory), __ATOMIC_RELAXED);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return taken(bytes); }
void* operator new[](std::size_t bytes) { return taken(bytes); }
void operator delete(void* pointer) noexcept { given_back(pointer); }
void operator delete[](void* pointer) noexcept { given_back(pointer); }
void operator delete(void* pointer, std::size_t /*bytes*/) noexcept { given_back(pointer); }
void operator delete[](void* pointer, std::size_t /*bytes*/) noexcept { given_back(pointer); }

namespace weir::bench::madbench {
namespace {

constexpr double agreement = 1e-9;  // of results; rounding differs with the order of sums

class Trials {
 public:
  Trials(const Job& job, FailureGuard& guard, Expectations& expected, std::string directory)
      : job_(job),
        guard_(guard),
        expected_(expected),
        directory_(std::move(directory)),
        functions_(*load_scalapack().value()) {
    core_.deadline_seconds = deadline_seconds;
    core_.durability = storage::Durability::none;
  }

  void run(const Size& size, const Variant& variant, bool remap_by_scalapack) {
    const std::string what = fmt::format(
        "rank {} of {}: {} pixels {} bins {} gangs {} block {} rmod {} wmod {} {}", job_.rank,
        job_.size, label_of(variant), size.no_pix, size.no_bin, size.no_gang, size.sblocksize,
        size.rmod, size.wmod, remap_by_scalapack ? "SCALAPACK" : "CUSTOM");
    const Layout layout = Layout::create(size, variant.file_type).value();
    const std::int64_t share = std::max(layout.largest_share_bytes(GangLevel::all_ranks),
                                        layout.largest_share_bytes(GangLevel::gang));
    auto buffers = Buffers::create(share);
    const std::int64_t before = ledger.live;
    FullWork work({.job = job_,
                   .guard = guard_,
                   .size = size,
                   .remap_by_scalapack = remap_by_scalapack,
                   .functions = functions_,
                   .buffers = buffers.value()},
                  madbench_analysis(size));
    Executor executor(job_, guard_, core_, size, work);
    const Configuration configuration{.variant = variant,
                                      .layout = layout,
                                      .label = label_of(variant),
                                      .slug = slug_of(variant),
                                      .directory = directory_};
    ledger.most = ledger.live;
    const auto record = executor.run(configuration, 0);
    most_heap_ = ledger.most - before;
    share_ = share;
    expect(record.ok(), what + ": " + (record.ok() ? "" : record.error().text()));
    if (!record) return;
    expect(record.value().functions.size() == 4, what + ": functions S, D, W, C");
    const std::int64_t units = size.no_bin / size.no_gang;
    const std::int64_t read =
        size.no_bin * layout.share_bytes(GangLevel::all_ranks, job_.rank) +
        units * (units + 1) / 2 * layout.share_bytes(GangLevel::gang, job_.rank);
    expect(record.value().bytes_verified == read, what + ": bytes verified");
    compare(size, work.corrections(), what);
    expect(executor.remove_files(configuration).ok(), what + ": files cannot be removed");
    ++runs_;
  }

  // D and its inverse, at the point where the inverse is there.
  void check_inverse(const Size& size) {
    const Layout layout = Layout::create(size, FileType::unique).value();
    auto buffers = Buffers::create(std::max(layout.largest_share_bytes(GangLevel::all_ranks),
                                            layout.largest_share_bytes(GangLevel::gang)));
    FullWork work({.job = job_,
                   .guard = guard_,
                   .size = size,
                   .functions = functions_,
                   .buffers = buffers.value()},
                  madbench_analysis(size));
    bool fine = work.begin(Function::S).ok();
    for (std::int64_t bin = 0; bin < size.no_bin; ++bin) {
      fine = fine && work.compute(Function::S, {Action::compute, bin}, {}).ok();
    }
    fine = fine && work.begin(Function::D).ok();
    fine = fine && work.compute(Function::D, {Action::compute, 0}, {}).ok();
    const double residual = work.inverse_residual();
    // D's condition number is below 10^4 and its elements below 10^3.
    expect(fine && residual < 1e-10, fmt::format("|D D^-1 - identity| is {}", residual));
  }

  [[nodiscard]] std::int64_t most_heap() const { return most_heap_; }
  [[nodiscard]] std::int64_t share() const { return share_; }
  [[nodiscard]] int runs() const { return runs_; }
  void expect(bool holds, const std::string& what) { expected_.expect(holds, what); }

 private:
  // The result depends on pixels and bins alone.
  void compare(const Size& size, const std::vector<double>& result, const std::string& what) {
    expect(static_cast<std::int64_t>(result.size()) == size.no_bin, what + ": a result per bin");
    if (size.no_pix != pixels_ || size.no_bin != bins_) {
      pixels_ = size.no_pix;
      bins_ = size.no_bin;
      reference_ = result;
    }
    for (std::size_t bin = 0; bin < result.size(); ++bin) {
      const double difference = std::abs(result[bin] - reference_[bin]);
      expect(difference <= agreement * std::abs(reference_[bin]),
             fmt::format("{}: dC[{}] is {} and not {}", what, bin, result[bin], reference_[bin]));
    }
  }

  const Job& job_;
  FailureGuard& guard_;
  Expectations& expected_;
  std::string directory_;
  const ScalapackFunctions& functions_;
  CoreSettings core_;
  std::int64_t pixels_ = 0;
  std::int64_t bins_ = 0;
  std::vector<double> reference_;
  std::int64_t most_heap_ = 0;
  std::int64_t share_ = 0;
  int runs_ = 0;
};

std::vector<Variant> moving_variants() {
  std::vector<Variant> all;
  for (const Method method : {Method::posix, Method::mpi}) {
    for (const Mode mode : {Mode::sync, Mode::async}) {
      for (const FileType type : {FileType::unique, FileType::shared}) {
        all.push_back({method, mode, type});
      }
    }
  }
  return all;
}

void run_all(const Job& job, Trials& trials) {
  const std::vector<Variant> variants = moving_variants();
  for (const std::int64_t gangs : {1, 4, 9, 16}) {
    for (const std::int64_t block : {5, 16}) {
      Size size{.no_pe = job.size,
                .no_pix = 70,
                .no_bin = gangs == 1 ? 4 : 2 * gangs,
                .no_gang = gangs,
                .sblocksize = block,
                .fblocksize = 512,
                .rmod = 1,
                .wmod = 1};
      if (!validate(size)) continue;
      const std::int64_t gang = job.size / gangs;
      for (const auto& [rmod, wmod] : {std::pair<std::int64_t, std::int64_t>{1, gang}, {gang, 1}}) {
        size.rmod = rmod;
        size.wmod = wmod;
        for (const Variant& variant : variants) trials.run(size, variant, rmod == 1);
      }
      trials.check_inverse(size);
    }
  }
  // Large enough that a sixth matrix would show: shares of 128 KiB and more.
  const std::int64_t side = *exact_square_root(job.size);
  for (const std::int64_t gangs : {std::int64_t{1}, std::int64_t{job.size}}) {
    const Size size{.no_pe = job.size,
                    .no_pix = 128 * side,
                    .no_bin = gangs == 1 ? 2 : gangs,
                    .no_gang = gangs,
                    .sblocksize = 16,
                    .fblocksize = 4096,
                    .rmod = 1,
                    .wmod = 1};
    trials.run(size, {.mode = Mode::async}, false);
    trials.expect(trials.most_heap() < trials.share(),
                  fmt::format("rank {}: besides five matrices of {} bytes each, {} bytes are held",
                              job.rank, trials.share(), trials.most_heap()));
  }
}

}  // namespace
}  // namespace weir::bench::madbench

int main(int argc, char** argv) {
  using namespace weir::bench::madbench;
  return weir::bench::workload_test(
      argc, argv, "full-mode",
      [](const weir::bench::Job& job, weir::bench::FailureGuard& guard,
         weir::bench::Expectations& expected, const std::string& directory) {
        Trials trials(job, guard, expected, directory);
        run_all(job, trials);
        return trials.runs();
      });
}
