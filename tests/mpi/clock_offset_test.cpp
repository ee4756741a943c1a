// Every rank finds its clock's offset from rank 0 within the bound that it states. A rank that was
// started with a clock of its own says in WEIR_TEST_CLOCK_AHEAD how many seconds it is ahead
// (clock_offset_shifted.sh); all others share one clock, and their offset is about 0.
#include "measurement/clock_offset.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/clock.hpp"
#include "harness/on_ranks.hpp"

namespace weir::bench {
namespace {

using test::is_ok;
using test::rank_of_world;

constexpr std::int64_t deadline_ns = 60'000'000'000;
// A bound as wide as this would accept any offset of the test.
constexpr std::int64_t widest_meaningful_bound_ns = 1'000'000'000;

std::int64_t true_offset_ns() {
  const char* const ahead = std::getenv("WEIR_TEST_CLOCK_AHEAD");  // NOLINT(concurrency-mt-unsafe)
  return ahead == nullptr ? 0 : -std::int64_t{std::strtol(ahead, nullptr, 10)} * 1'000'000'000;
}

// `found` brings this rank's clock to rank 0's.
void expect_right(const ClockOffset& found, const char* when) {
  SCOPED_TRACE(when);
  EXPECT_LE(std::llabs(found.offset_ns - true_offset_ns()), found.error_bound_ns)
      << "offset " << found.offset_ns << " ns, true " << true_offset_ns() << " ns";
  EXPECT_LT(found.error_bound_ns, widest_meaningful_bound_ns);
  if (rank_of_world() != 0) return;
  EXPECT_EQ(found.offset_ns, 0);
  EXPECT_EQ(found.error_bound_ns, 0);
}

class ClockOffsets : public ::testing::TestWithParam<Clocks> {};

INSTANTIATE_TEST_SUITE_P(Ways, ClockOffsets,
                         ::testing::Values(Clocks::as_the_system_says, Clocks::measured),
                         [](const auto& tested) {
                           return tested.param == Clocks::measured ? "Measured" : "AsTheSystemSays";
                         });

TEST_P(ClockOffsets, AreWithinTheBoundThatIsStated) {
  const auto start =
      estimate_clock_offset(MPI_COMM_WORLD, monotonic_ns() + deadline_ns, GetParam());
  const auto end = estimate_clock_offset(MPI_COMM_WORLD, monotonic_ns() + deadline_ns, GetParam());
  ASSERT_TRUE(is_ok(start));
  ASSERT_TRUE(is_ok(end));
  const std::int64_t passed_ns = end.value().measured_at_ns - start.value().measured_at_ns;
  EXPECT_GT(passed_ns, 0);
  expect_right(start.value(), "at the start");
  expect_right(end.value(), "at the end");
  const std::int64_t middle_ns = start.value().measured_at_ns + passed_ns / 2;
  expect_right(interpolate(start.value(), end.value(), middle_ns), "in between");
}

TEST(ClockOffset, ARankThatDoesNotComeIsWaitedForUntilTheDeadlineOnly) {
  constexpr std::int64_t patience_ns = 200'000'000;
  const int ranks = test::size_of_world();
  if (ranks == 1) GTEST_SKIP() << "there is no rank to wait for";
  MPI_Comm left = MPI_COMM_NULL;  // never freed: a barrier stays open on it
  MPI_Comm_dup(MPI_COMM_WORLD, &left);
  const bool comes = rank_of_world() != ranks - 1;
  if (comes) {
    const auto found = estimate_clock_offset(left, monotonic_ns() + patience_ns);
    EXPECT_TRUE(!found && found.error().code == ErrorCode::deadline);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!comes) {  // the barrier of the others ends
    MPI_Request late = MPI_REQUEST_NULL;
    MPI_Ibarrier(left, &late);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
  }
}

}  // namespace
}  // namespace weir::bench
