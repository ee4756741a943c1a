// Every rank finds its clock's offset from rank 0 within the bound that it states.
//
//   clock_offset_test                        all ranks share one clock: every offset is about 0
//   clock_offset_test --shifted RANK SECONDS rank RANK was started with its clock SECONDS ahead
//
// Exit status 0 when every rank agrees, 1 otherwise.
#include "measurement/clock_offset.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/clock.hpp"

namespace {

using weir::bench::ClockOffset;

constexpr std::int64_t deadline_ns = 60'000'000'000;
// A bound as wide as this would accept any offset of the test.
constexpr std::int64_t widest_meaningful_bound_ns = 1'000'000'000;

// Returns whether `found` brings this rank's clock to rank 0's.
bool agrees(int rank, const ClockOffset& found, std::int64_t true_offset_ns, const char* when) {
  const std::int64_t wrong_ns = std::llabs(found.offset_ns - true_offset_ns);
  const bool right =
      wrong_ns <= found.error_bound_ns && found.error_bound_ns < widest_meaningful_bound_ns;
  fmt::print(stderr, "rank {} {}: offset {} ns, true {} ns, bound {} ns{}\n", rank, when,
             found.offset_ns, true_offset_ns, found.error_bound_ns, right ? "" : "  WRONG");
  return right && (rank != 0 || (found.offset_ns == 0 && found.error_bound_ns == 0));
}

bool check(int rank, std::int64_t true_offset_ns, weir::bench::Clocks clocks) {
  const auto start = weir::bench::estimate_clock_offset(MPI_COMM_WORLD,
                                                        weir::monotonic_ns() + deadline_ns, clocks);
  const auto end = weir::bench::estimate_clock_offset(MPI_COMM_WORLD,
                                                      weir::monotonic_ns() + deadline_ns, clocks);
  if (!start || !end) {
    fmt::print(stderr, "rank {}: {}\n", rank, (!start ? start : end).error().text());
    return false;
  }
  const std::int64_t middle_ns = start.value().measured_at_ns +
                                 (end.value().measured_at_ns - start.value().measured_at_ns) / 2;
  const bool right_at_start = agrees(rank, start.value(), true_offset_ns, "at the start");
  const bool right_at_end = agrees(rank, end.value(), true_offset_ns, "at the end");
  const bool right_between =
      agrees(rank, weir::bench::interpolate(start.value(), end.value(), middle_ns), true_offset_ns,
             "in between");
  return right_at_start && right_at_end && right_between &&
         end.value().measured_at_ns > start.value().measured_at_ns;
}

bool check_both(int rank, std::int64_t true_offset_ns) {
  const bool told = check(rank, true_offset_ns, weir::bench::Clocks::as_the_system_says);
  return check(rank, true_offset_ns, weir::bench::Clocks::measured) && told;
}

// A rank that never comes: the others leave at their deadline, they do not wait for it.
bool leaves_at_the_deadline(int rank, int ranks) {
  if (ranks == 1 || rank == ranks - 1) return true;
  constexpr std::int64_t patience_ns = 200'000'000;
  const auto found =
      weir::bench::estimate_clock_offset(MPI_COMM_WORLD, weir::monotonic_ns() + patience_ns);
  if (!found && found.error().code == weir::ErrorCode::deadline) return true;
  fmt::print(stderr, "rank {}: did not report the deadline\n", rank);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::int64_t true_offset_ns = 0;
  if (argc == 4 && std::string(argv[1]) == "--shifted" && rank == std::strtol(argv[2], nullptr, 10))
    true_offset_ns = -std::int64_t{std::strtol(argv[3], nullptr, 10)} * 1'000'000'000;

  // The missing rank leaves a barrier open on the communicator, so it comes last and its verdict
  // travels on another one.
  MPI_Comm verdicts = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &verdicts);
  const bool found = check_both(rank, true_offset_ns);
  const bool left = leaves_at_the_deadline(rank, ranks);
  int right = found && left ? 1 : 0;
  int all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, verdicts);
  if (rank == ranks - 1 && ranks > 1) {
    MPI_Request late = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &late);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&verdicts);
  MPI_Finalize();
  return all_right == 1 ? 0 : 1;
}
