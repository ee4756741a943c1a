// Messages between ranks and transfers of files cost each other time. Finds which of them ran while
// the other was under way, from the times of both. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "measurement/events.hpp"

namespace weir::bench::madbench {

// Consecutive messages of one rank. It sent `bytes` and received as many. Times are on this
// process's clock, as those of events.
struct Exchange {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t bytes = 0;
};

struct Amount {
  std::int64_t bytes = 0;
  std::int64_t ns = 0;
};

// One kind of movement by what else this rank moved meanwhile.
struct Divided {
  Amount alone;     // nothing else at any time
  Amount together;  // something else for at least `least_share_together` of the time
  Amount partly;    // something else for less
};

inline constexpr double least_share_together = 0.9;

struct OfRepetition {
  Divided messages;  // bytes that the rank sent, by transfers and syncs of any function
  // The transfers of S and of C, each with its sync, by messages. W moves two matrices at a time,
  // which slow each other, so its transfers say nothing about messages.
  Divided writes;
  Divided reads;
};

// `exchanges` and `events` are those of one rank in one repetition. The exchanges are in the order
// of their times and do not overlap.
[[nodiscard]] OfRepetition divided(std::span<const Exchange> exchanges,
                                   std::span<const Event> events);

}  // namespace weir::bench::madbench
