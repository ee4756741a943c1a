// What the programs share that hold the library against expectations on several ranks.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <string>

namespace weir::test {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
inline int rank = 0;
inline int ranks = 1;
inline int failures = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

inline void expect(bool right, const std::string& what) {
  if (right) return;
  if (++failures <= 5) fmt::print(stderr, "rank {}: {}\n", rank, what);
}

// Whether all ranks have the same text.
inline void expect_same(const std::string& text, const std::string& what) {
  std::string first = text;
  first.resize(4096);
  const std::string mine = first;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  expect(mine == first, fmt::format("{}: '{}' here, '{}' on rank 0", what, text, first.c_str()));
}

inline void start_checks(int& argc, char**& argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

// The exit status, which is the same on all ranks.
inline int end_checks() {
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) fmt::print(stderr, "{} failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace weir::test
