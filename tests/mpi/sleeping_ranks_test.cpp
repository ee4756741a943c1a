// A rank of a test that waits in MPI for a message sleeps (tests/harness/sleeping_ranks.c).
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "harness/on_ranks.hpp"

namespace weir::test {
namespace {

// Returns how often this thread has left the processor by itself, as one that sleeps does.
long times_left() {
  rusage used{};
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &used), 0);
  return used.ru_nvcsw;
}

TEST(SleepingRanks, WhileTheyWaitForAMessage) {
  int message = 0;
  if (rank_of_world() == 0) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    for (int to = 1; to < size_of_world(); ++to) {
      MPI_Send(&message, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    }
  } else {
    const long before = times_left();
    MPI_Recv(&message, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_GT(times_left(), before);
  }
}

}  // namespace
}  // namespace weir::test
