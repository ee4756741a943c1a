// One rank's part in moving an array through aggregators: the shares that it gives or takes, and
// the pieces that it gathers when it is an aggregator itself. Nothing about other ranks' shares.
#pragma once

#include <cstdint>
#include <vector>

#include "array/distribution.hpp"
#include "array/region.hpp"
#include "plan/piece_domains.hpp"

namespace weir::plan {

// What a rank holds of one piece: of its memory pieces `memory_pieces[first, first + count)`.
struct Share {
  std::int64_t piece = 0;
  std::int64_t turn = 0;
  std::int64_t aggregator = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

struct Duty {
  std::int64_t piece = 0;
  std::int64_t turn = 0;
};

struct GatherPlan {
  std::vector<Share> shares;  // by turn, then aggregator
  std::vector<std::int64_t> memory_pieces;
  std::vector<Duty> duties;  // by turn
};

// `aggregator` is the caller's number among the aggregators, or -1. Turns count from `first_turn`.
[[nodiscard]] GatherPlan gather_plan(const PieceDomains& domains, const array::Distribution& memory,
                                     const array::Region& asked_for, std::int64_t rank,
                                     std::int64_t aggregator, std::int64_t first_turn);

// How many elements ranks give to, or take from, the box of a piece, and each of them; an element
// that several hold counts several times. `wanted` is the part of the request inside the box.
[[nodiscard]] std::int64_t elements_held(const array::Distribution& memory,
                                         const array::Region& wanted);
struct RankElements {
  std::int64_t rank = 0;
  std::int64_t elements = 0;
};
[[nodiscard]] std::vector<RankElements> elements_by_rank(const array::Distribution& memory,
                                                         const array::Region& wanted);

}  // namespace weir::plan
