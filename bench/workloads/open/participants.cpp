#include "workloads/open/participants.hpp"

#include <fmt/format.h>

namespace weir::bench::opening {

Participants::Participants(MPI_Comm everybody, std::int64_t sharers) : all(everybody) {
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  number = static_cast<int>(rank / sharers);
  files = static_cast<int>((ranks + sharers - 1) / sharers);
  MPI_Comm_split(all, number, rank, &file);
  MPI_Comm_rank(file, &place);
  MPI_Comm_size(file, &places);
}

void Participants::free() {
  if (file != MPI_COMM_NULL) MPI_Comm_free(&file);
}

std::string Participants::path(const std::string& stem) const {
  return files == 1 ? stem : fmt::format("{}-{}", stem, number);
}

}  // namespace weir::bench::opening
