#include "rates.hpp"

#include <algorithm>
#include <limits>

namespace weir::sim {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

// Returns how fast the bytes of one operation pass a part behind the job's I/O groups.
double rate_of_one_client(const Part& part, const Description& asked) {
  if (part.users != Users::stripe || asked.stripe_bytes == 0) return part.bytes_per_second;
  // An operation has neighbouring stripes, each on another unit.
  const std::int64_t stripes =
      asked.buffer_bytes == 0 ? part.units
                              : std::max<std::int64_t>(1, asked.buffer_bytes / asked.stripe_bytes);
  return part.bytes_per_second * static_cast<double>(std::min(part.units, stripes));
}

void take_lower(double& rate, double other) { rate = rate > 0 ? std::min(rate, other) : other; }

plan::FileRates file_rates_of(const Description& asked) {
  plan::FileRates rates = {
      .call_seconds = 0, .core_bytes_per_second = unlimited, .node_bytes_per_second = unlimited};
  for (const Part& part : asked.parts) {
    if (part.in_turn()) {
      rates.call_seconds = part.operation_seconds;
      rates.turns = {.call_seconds = part.operation_seconds,
                     .bytes_per_second = part.copy_bytes_per_second,
                     .of_io_groups = part.users == Users::group,
                     .calls_at_once = part.operations_at_once};
    }
    switch (part.users) {
      case Users::node:
        take_lower(rates.node_bytes_per_second, part.bytes_per_second);
        break;
      case Users::group:
        take_lower(rates.group_bytes_per_second, part.bytes_per_second);
        break;
      case Users::client:
      case Users::stripe:
        take_lower(rates.core_bytes_per_second, rate_of_one_client(part, asked));
        take_lower(rates.storage_bytes_per_second,
                   part.bytes_per_second * static_cast<double>(part.units));
        break;
    }
  }
  if (rates.turns.bytes_per_second > 0) {
    take_lower(rates.core_bytes_per_second, rates.turns.bytes_per_second);
  }
  return rates;
}

}  // namespace

plan::PlatformRates rates_of(const Description& asked, std::int64_t bytes) {
  plan::PlatformRates rates;
  rates.core_copy_bytes_per_second = unlimited;
  rates.node_copy_bytes_per_second = unlimited;
  if (!asked.copies.empty()) {
    const Copies& copies = asked.copies_of(bytes / asked.ranks());
    rates.core_copy_bytes_per_second = copies.one_rank_bytes_per_second;
    rates.node_copy_bytes_per_second = copies.bytes_per_second;
  }
  rates.copy_run_seconds = 0;
  rates.cores_per_node = asked.ranks_per_node;
  rates.write = file_rates_of(asked);
  rates.read = rates.write;
  rates.uring_write_seconds = 0;
  rates.uring_read_seconds = 0;
  rates.mpi_io_seconds = 0;
  rates.shared_block_seconds = 0;
  rates.link_bytes_per_second =
      asked.messages.bytes_per_second > 0 ? asked.messages.bytes_per_second : unlimited;
  rates.message_seconds = asked.messages.seconds_each;
  if (asked.network) rates.hop_bytes_per_second = asked.network->bytes_per_second;
  rates.piece_seconds = 0;
  rates.overlap = 0.8;  // messages and operations share links, and callers wait for the former
  rates.early_arrivals = 0;
  rates.by_flows = true;
  rates.origin = "those of the simulated machine";
  return rates;
}

}  // namespace weir::sim
