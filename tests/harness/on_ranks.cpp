#include "harness/on_ranks.hpp"

#include <sched.h>

#include <cstdio>
#include <ctime>

namespace weir::test {
namespace {

std::filesystem::path& folder_given() {
  static std::filesystem::path folder;
  return folder;
}

// A test may leave a collective call on MPI_COMM_WORLD under way for good, which would come before
// any later one there.
MPI_Comm& meeting() {
  static MPI_Comm communicator = MPI_COMM_NULL;
  return communicator;
}

// The only output of all ranks but 0.
class Failures : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_of_world(),
                 result.file_name() == nullptr ? "" : result.file_name(), result.line_number(),
                 result.message());
  }
};

}  // namespace

const std::filesystem::path& folder_of_tests() { return folder_given(); }

void meet() {
  constexpr int yields = 50;
  constexpr timespec nap{0, 500'000};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(meeting(), &request);
  int has_come = 0;
  for (int looks = 0;; ++looks) {
    MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
    if (has_come != 0) return;
    if (looks < yields)
      ::sched_yield();
    else
      ::nanosleep(&nap, nullptr);
  }
}

int run_tests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &meeting());
  folder_given() = argc > 1 ? argv[1] : ".";
  const auto* const tests = ::testing::UnitTest::GetInstance();
  if (rank_of_world() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  int failed = RUN_ALL_TESTS();
  if (tests->test_to_run_count() == 0) {
    std::fprintf(stderr, "rank %d: no test has the name that is asked for\n", rank_of_world());
    failed = 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Comm_free(&meeting());
  MPI_Finalize();
  return failed;
}

bool holds_on_all_ranks(bool holds) {
  int all = holds ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

::testing::AssertionResult is_same_on_all_ranks(const std::string& text) {
  std::string first = text;
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  first.resize(static_cast<std::size_t>(length));
  MPI_Bcast(first.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (first == text) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text << "' here, '" << first << "' on rank 0";
}

}  // namespace weir::test
