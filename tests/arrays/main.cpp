// Runs the tests of a program on every rank: PROGRAM FOLDER [GoogleTest's options]. A rank's failed
// test makes the job fail; the output of all ranks but 0 shows failures only.
#include <cstdlib>

#include "parallel.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  weir::test::folder_of_tests() = argc > 1 ? argv[1] : ".";
  if (weir::test::rank_of_world() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    class Failures : public ::testing::EmptyTestEventListener {
      void OnTestPartResult(const ::testing::TestPartResult& result) override {
        if (!result.failed()) return;
        std::fprintf(stderr, "rank %d: %s:%d: %s\n", weir::test::rank_of_world(),
                     result.file_name() == nullptr ? "" : result.file_name(), result.line_number(),
                     result.message());
      }
    };
    listeners.Append(new Failures);
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
