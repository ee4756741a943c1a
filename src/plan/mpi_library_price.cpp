#include "plan/mpi_library_price.hpp"

#include <algorithm>
#include <cmath>

#include "array/data_sieving.hpp"

namespace weir::plan {
namespace {

// What a collective call takes beside the bytes of files.
struct TogetherCost {
  double rank_seconds;  // for each rank that is waited for
  double row_seconds;   // for each row of all ranks
  double byte_seconds;  // on the way to the aggregator
};
constexpr TogetherCost romio_together = {8e-6, 0.25e-6, 0.05e-9};
constexpr TogetherCost ompio_together = {10e-6, 0.3e-6, 0.35e-9};

// ROMIO's buffers for data sieving, of which each is moved by calls of its own.
constexpr double romio_read_buffer = 4 << 20;
constexpr double romio_write_buffer = 512 << 10;
// How long a rank waits for the lock of a buffer that others write into, too.
constexpr double romio_lock_seconds = 30e-6;
// OMPIO reads along holes that are at most so long on average, between rows of at most so many
// bytes.
constexpr double ompio_widest_hole = 4096;
constexpr double ompio_longest_sieved_row = 1 << 20;
// With up to so many ranks, OMPIO carries out a collective call as that of each rank alone.
constexpr int ompio_ranks_alone = 2;

double read_seconds(double bytes, double calls) {
  return calls * array::cached_read.call_seconds + bytes / array::cached_read.bytes_per_second;
}

// OMPIO's rows cost more the more ranks there are: 0.33 us of 3 ranks, 1.9 us of 16.
double seconds_of_row(MpiIo library, const TogetherCost& cost, int ranks) {
  return library == MpiIo::ompio ? cost.row_seconds * std::log2(ranks) : cost.row_seconds;
}

double romio_alone(Direction direction, const RowsOfRank& part, const PlatformRates& rates) {
  const double copied = part.rows * rates.copy_run_seconds;
  if (direction == Direction::read) {
    return copied + read_seconds(part.span, std::ceil(part.span / romio_read_buffer));
  }
  const double buffers = std::ceil(part.span / romio_write_buffer);
  return copied + read_seconds(part.span, buffers) +
         buffers * (rates.write.call_seconds + romio_lock_seconds) +
         part.span / rates.write.node_bytes_per_second;
}

double ompio_read_alone(const RowsOfRank& part, const PlatformRates& rates) {
  const double hole = (part.span - part.bytes) / std::max(1.0, part.rows - 1);
  const bool is_sieved =
      hole <= ompio_widest_hole && part.bytes <= part.rows * ompio_longest_sieved_row;
  if (!is_sieved) return read_seconds(part.bytes, part.rows);
  return part.rows * rates.copy_run_seconds + read_seconds(part.span, 1);
}

}  // namespace

MpiIo mpi_io_of(std::string_view version, std::string_view components) {
  const auto has = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  if (has(version, "Open MPI")) {
    // A list that begins with ^ names components that are not used.
    const bool excludes = components.starts_with('^');
    const bool is_romio = excludes ? has(components, "ompio") : has(components, "romio");
    const bool is_ompio = excludes ? has(components, "romio") : has(components, "ompio");
    if (is_romio && is_ompio) return MpiIo::unknown;
    return is_romio ? MpiIo::romio : MpiIo::ompio;
  }
  const bool is_relative =
      has(version, "MPICH") || has(version, "MVAPICH") || has(version, "Intel");
  return is_relative ? MpiIo::romio : MpiIo::unknown;
}

std::optional<double> more_seconds_of_blocks(MpiIo library, int ranks) {
  if (library == MpiIo::romio) return ranks * romio_together.rank_seconds;
  const bool is_alone = library == MpiIo::ompio && ranks <= ompio_ranks_alone;
  return is_alone ? std::optional(0.0) : std::nullopt;
}

std::optional<double> seconds_together(MpiIo library, Direction direction, const RowsOfRank& part,
                                       int ranks, const PlatformRates& rates) {
  if (library == MpiIo::unknown) return std::nullopt;
  const bool is_alone = ranks == 1 || (library == MpiIo::ompio && ranks <= ompio_ranks_alone);
  if (is_alone) return seconds_alone(library, direction, part, rates);
  const TogetherCost& cost = library == MpiIo::romio ? romio_together : ompio_together;
  const FileRates& files = direction == Direction::write ? rates.write : rates.read;
  const double of_rank = cost.rank_seconds + part.rows * seconds_of_row(library, cost, ranks) +
                         part.bytes * (cost.byte_seconds + 1 / files.node_bytes_per_second);
  return ranks * of_rank;
}

std::optional<double> seconds_alone(MpiIo library, Direction direction, const RowsOfRank& part,
                                    const PlatformRates& rates) {
  if (library == MpiIo::romio) return romio_alone(direction, part, rates);
  const bool is_known = library == MpiIo::ompio && direction == Direction::read;
  return is_known ? std::optional(ompio_read_alone(part, rates)) : std::nullopt;
}

// The differences of docs/measurements/library.md, Independent calls of one row.
double more_seconds_of_block(MpiIo library, Direction direction, bool has_holes) {
  if (library == MpiIo::ompio) return 0.15e-6;
  if (library != MpiIo::romio || !has_holes) return 0;
  return direction == Direction::write ? 1.4e-6 : 0.3e-6;
}

}  // namespace weir::plan
