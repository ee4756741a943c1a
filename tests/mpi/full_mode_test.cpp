// MADbench2 in full, on every combination of method, mode, file type, gangs, RMOD, WMOD and remap
// that the ranks allow: the correction of the spectrum is the same whatever moved the matrices, D
// times its inverse is the identity, and no rank holds more than its five matrices. The ranks are
// 1, 4, 9 or 16. What the numbers must be is tests/measurement/test_full_mode.py's business.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "workload.hpp"
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

using test::is_ok;
using test::is_ok_on_all_ranks;

std::vector<Variant> moving_variants() {
  std::vector<Variant> all;
  for (const char* const name : {"posix", "mpiio"}) {
    for (const Mode mode : {Mode::sync, Mode::async}) {
      for (const FileType type : {FileType::unique, FileType::shared}) {
        all.push_back({interface_named(name), mode, type});
      }
    }
  }
  return all;
}

class FullMode : public WorkloadTest {
 protected:
  // Says what a rank holds while a run goes on.
  struct Held {
    std::int64_t heap_bytes = 0;    // at most, besides the matrices
    std::int64_t matrix_bytes = 0;  // of one of its five matrices
  };

  void SetUp() override {
    WorkloadTest::SetUp();
    const auto functions = load_scalapack();
    ASSERT_TRUE(is_ok_on_all_ranks(functions));
    functions_ = functions.value();
  }
  void run(const Size& size, const Variant& variant, bool remap_by_scalapack, Held& held);
  [[nodiscard]] FullWork work_on(const Size& size, Buffers& buffers, bool remap_by_scalapack) {
    return {{.job = job(),
             .guard = guard(),
             .size = size,
             .remap_by_scalapack = remap_by_scalapack,
             .functions = *functions_,
             .buffers = buffers},
            madbench_analysis(size)};
  }
  [[nodiscard]] static std::int64_t largest_share_bytes(const Layout& layout) {
    return std::max(layout.largest_share_bytes(GangLevel::all_ranks),
                    layout.largest_share_bytes(GangLevel::gang));
  }

 private:
  void compare(const Size& size, const std::vector<double>& result);

  const CoreSettings core_ = not_durable();
  const ScalapackFunctions* functions_ = nullptr;
  std::vector<double> reference_;  // what the first run of a test found
};

void FullMode::run(const Size& size, const Variant& variant, bool remap_by_scalapack, Held& held) {
  SCOPED_TRACE(fmt::format("{}: {} pixels {} bins {} gangs block {} rmod {} wmod {} {}",
                           label_of(variant), size.no_pix, size.no_bin, size.no_gang,
                           size.sblocksize, size.rmod, size.wmod,
                           remap_by_scalapack ? "SCALAPACK" : "CUSTOM"));
  const Layout layout = Layout::create(size, variant.file_type).value();
  held.matrix_bytes = largest_share_bytes(layout);
  auto buffers = Buffers::create(held.matrix_bytes);
  ASSERT_TRUE(is_ok_on_all_ranks(buffers));
  const std::int64_t before = ledger.live;
  FullWork work = work_on(size, buffers.value(), remap_by_scalapack);
  Executor executor(job(), guard(), core_, size, work);
  const Configuration configuration{.variant = variant,
                                    .layout = layout,
                                    .label = label_of(variant),
                                    .slug = slug_of(variant),
                                    .directories = {folder()}};
  ledger.most = ledger.live;
  const auto record = executor.run(configuration, 0);
  held.heap_bytes = ledger.most - before;
  ASSERT_TRUE(is_ok_on_all_ranks(record));
  EXPECT_EQ(record.value().functions.size(), 4U) << "S, D, W, C";
  const std::int64_t units = size.no_bin / size.no_gang;
  const std::int64_t read =
      size.no_bin * layout.share_bytes(GangLevel::all_ranks, job().rank) +
      units * (units + 1) / 2 * layout.share_bytes(GangLevel::gang, job().rank);
  EXPECT_EQ(record.value().bytes_verified, read);
  compare(size, work.corrections());
  EXPECT_TRUE(is_ok(executor.remove_files(configuration)));
}

// The result depends on pixels and bins alone.
void FullMode::compare(const Size& size, const std::vector<double>& result) {
  EXPECT_EQ(static_cast<std::int64_t>(result.size()), size.no_bin);
  if (reference_.empty()) reference_ = result;
  for (std::size_t bin = 0; bin < std::min(result.size(), reference_.size()); ++bin) {
    EXPECT_NEAR(result[bin], reference_[bin], agreement * std::abs(reference_[bin]))
        << "dC[" << bin << "]";
  }
}

// The parameter is the number of gangs.
class FullModeInGangs : public FullMode, public ::testing::WithParamInterface<std::int64_t> {
 protected:
  void SetUp() override {
    FullMode::SetUp();
    if (!validate(size_of_block(16))) GTEST_SKIP() << "the ranks do not make that many gangs";
  }
  [[nodiscard]] Size size_of_block(std::int64_t block) const {
    const std::int64_t gangs = GetParam();
    return {.no_pe = job().size,
            .no_pix = 70,
            .no_bin = gangs == 1 ? 4 : 2 * gangs,
            .no_gang = gangs,
            .sblocksize = block,
            .fblocksize = 512,
            .rmod = 1,
            .wmod = 1};
  }
  static constexpr std::int64_t blocks[] = {5, 16};
};

INSTANTIATE_TEST_SUITE_P(Numbers, FullModeInGangs, ::testing::Values(1, 4, 9, 16),
                         ::testing::PrintToStringParamName());

// Up to 9 ranks move the matrices in every way. 16, which wait for each other most of the time, do
// so in ways of which any two settings of block, RMOD, method, mode and file type meet: an
// orthogonal array of strength two.
bool is_tried(std::int64_t ranks, bool block, bool rmod, std::size_t variant) {
  const bool method = (variant & 4U) != 0;
  const bool mode = (variant & 2U) != 0;
  const bool type = (variant & 1U) != 0;
  return ranks < 16 || (mode == (block != rmod) && type == (block != method));
}

TEST_P(FullModeInGangs, TheCorrectionsAreTheSameWhateverMovedTheMatrices) {
  const std::int64_t gang = job().size / GetParam();
  const std::vector<Variant> variants = moving_variants();
  ASSERT_EQ(variants.size(), 8U);
  for (const std::int64_t block : blocks) {
    Size size = size_of_block(block);
    ASSERT_TRUE(is_ok(validate(size)));
    for (const bool collected : {false, true}) {
      size.rmod = collected ? gang : 1;
      size.wmod = collected ? 1 : gang;
      for (std::size_t i = 0; i < variants.size(); ++i) {
        if (!is_tried(job().size, block == blocks[0], collected, i)) continue;
        Held held;
        run(size, variants[i], size.rmod == 1, held);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(FullModeInGangs, DTimesItsInverseIsTheIdentity) {
  for (const std::int64_t block : blocks) {
    SCOPED_TRACE(fmt::format("block {}", block));
    const Size size = size_of_block(block);
    ASSERT_TRUE(is_ok(validate(size)));
    auto buffers =
        Buffers::create(largest_share_bytes(Layout::create(size, FileType::unique).value()));
    ASSERT_TRUE(is_ok_on_all_ranks(buffers));
    FullWork work = work_on(size, buffers.value(), false);
    EXPECT_TRUE(is_ok(work.begin(Function::S)));
    for (std::int64_t bin = 0; bin < size.no_bin; ++bin) {
      EXPECT_TRUE(is_ok(work.compute(Function::S, {Action::compute, bin}, {})));
    }
    EXPECT_TRUE(is_ok(work.begin(Function::D)));
    EXPECT_TRUE(is_ok(work.compute(Function::D, {Action::compute, 0}, {})));
    // D's condition number is below 10^4 and its elements below 10^3.
    EXPECT_LT(work.inverse_residual(), 1e-10) << "|D D^-1 - identity|";
  }
}

// The parameter says whether each rank is a gang; otherwise all are one.
class LargeMatrices : public FullMode, public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Gangs, LargeMatrices, ::testing::Bool(), [](const auto& tested) {
  return tested.param ? "OfOneRank" : "OfAllRanks";
});

// So large that a sixth matrix would show: shares of 128 KiB and more.
TEST_P(LargeMatrices, ARankHoldsNoMoreThanItsFive) {
  const std::int64_t gangs = GetParam() ? job().size : 1;
  const Size size{.no_pe = job().size,
                  .no_pix = 128 * *exact_square_root(job().size),
                  .no_bin = gangs == 1 ? 2 : gangs,
                  .no_gang = gangs,
                  .sblocksize = 16,
                  .fblocksize = 4096,
                  .rmod = 1,
                  .wmod = 1};
  Held held;
  run(size, {.mode = Mode::async}, false, held);
  EXPECT_LT(held.heap_bytes, held.matrix_bytes) << "besides five matrices";
}

}  // namespace
}  // namespace weir::bench::madbench
