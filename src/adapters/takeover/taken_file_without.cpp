// What calls that are taken over would have taken without Weir, by the prices of
// plan/mpi_library_price.hpp. A call asks for that of its bytes alone, so that it takes the same
// time for any number of rows and ranks.
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "adapters/takeover/program_nodes.hpp"
#include "adapters/takeover/taken_file.hpp"
#include "plan/mpi_library_price.hpp"

namespace weir::mpiio {
namespace {

using Basis = Without::Basis;

// The prices are those of one node.
plan::MpiIo library_of_process() {
  if (!takeover::are_all_ranks_on_one_node()) return plan::MpiIo::unknown;
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  if (PMPI_Get_library_version(version.data(), &length) != MPI_SUCCESS) return plan::MpiIo::unknown;
  const char* const components = ::getenv("OMPI_MCA_io");
  return plan::mpi_io_of(version.data(), components == nullptr ? "" : components);
}

plan::MpiIo library() {
  static const plan::MpiIo found = library_of_process();
  return found;
}

std::int64_t ns_of(double seconds) { return std::llround(seconds * 1e9); }

Without price_of(const std::optional<double>& seconds) {
  return seconds ? Without{Basis::price, ns_of(*seconds)} : Without{};
}

plan::RowsOfRank rows_of(const array::ByteSpread& spread, std::int64_t bytes) {
  const auto of_rank = static_cast<double>(bytes);
  return {of_rank, spread.rows_of(of_rank), spread.span_of(of_rank)};
}

}  // namespace

void TakenFile::note_spread() {
  spread_ = view_ ? view_->spread() : array::ByteSpread();
  for (const bool writing : {false, true}) {
    const double more =
        plan::more_seconds_of_block(library(), direction_of(writing), spread_.has_holes());
    const bool is_known = library() != plan::MpiIo::unknown;
    without_of_block_.at(writing ? 1 : 0) =
        is_known ? Without{Basis::own_time, ns_of(more)} : Without{};
  }
}

Without TakenFile::without_alone(const Transfer& transfer, const Part& part) const {
  // What a nonblocking call takes is in the wait for its request, of which nothing is counted, and
  // the ranks of the others wait for each other at their pointer.
  const bool is_known = transfer.way == Way::independent && transfer.from != From::shared_pointer;
  if (!is_known || !staged_.empty()) return {};
  if (part.block || part.bytes == 0) return without_of_block_.at(transfer.writing ? 1 : 0);
  return price_of(plan::seconds_alone(library(), direction_of(transfer.writing),
                                      rows_of(spread_, part.bytes), group_.rates()));
}

Without TakenFile::without_together(bool writing, const Part& part) const {
  return price_of(plan::seconds_together(library(), direction_of(writing),
                                         rows_of(spread_, part.bytes), group_.ranks(),
                                         group_.rates()));
}

Without TakenFile::without_of_blocks(std::int64_t transfer_ns) const {
  const auto more = plan::more_seconds_of_blocks(library(), group_.ranks());
  return more ? Without{Basis::price, transfer_ns + ns_of(*more)} : Without{};
}

}  // namespace weir::mpiio
