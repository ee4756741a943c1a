#include "adapters/takeover/part_vote.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace weir::takeover {
namespace {

using array::BytePattern;
using mpiio::Reason;

// A rank whose part is not such patterns tells one of these numbers instead of theirs.
constexpr auto no_patterns = static_cast<std::int64_t>(most_rounds) + 1;
constexpr std::int64_t in_chunks = no_patterns + 1;
constexpr std::int64_t in_several = in_chunks + 1;

// Says what a rank tells the others of a pattern.
enum Told : std::size_t {
  told_reason,
  told_patterns,
  told_displacement,  // of the view, or the fingerprint of arrays
  told_offset,        // or whether elements of an array are irregular
  told_block,
  told_levels,
  told_counts,
  told_strides = told_counts + BytePattern::most_levels,
  told_numbers = told_strides + BytePattern::most_levels
};

void tell(const ToldPatterns& part, std::size_t number, std::span<std::int64_t> telling) {
  const BytePattern pattern = number < part.patterns.size() ? part.patterns[number] : BytePattern();
  telling[told_displacement] = part.displacement;
  telling[told_offset] = pattern.offset();
  telling[told_block] = pattern.block();
  telling[told_levels] = pattern.levels().size();
  std::size_t level = 0;
  for (const array::PatternLevel& one : pattern.levels()) {
    telling[told_counts + level] = one.count;
    telling[told_strides + level] = one.stride;
    ++level;
  }
}

// What a rank that can do its part tells of it.
std::array<std::int64_t, told_numbers> telling_of(const ToldPatterns& part) {
  std::array<std::int64_t, told_numbers> telling{};
  telling[told_reason] = static_cast<std::int64_t>(Reason::taken);
  telling[told_patterns] = part.is_irregular ? no_patterns : std::ssize(part.patterns);
  tell(part, 0, telling);
  return telling;
}

// The numbers of one rank among those of all.
std::span<const std::int64_t> of_rank(std::span<const std::int64_t> told, std::size_t rank) {
  return told.subspan(rank * told_numbers, told_numbers);
}

std::optional<BytePattern> pattern_in(std::span<const std::int64_t> numbers) {
  std::optional<BytePattern> pattern = BytePattern(numbers[told_offset], numbers[told_block]);
  for (auto level = static_cast<std::size_t>(numbers[told_levels]); level-- > 0 && pattern;) {
    pattern = pattern->repeated(numbers[told_counts + level], numbers[told_strides + level]);
  }
  return pattern;
}

// The numbers of all ranks' patterns of that number, where each rank has told of all of its own.
std::vector<std::int64_t> of_number(const std::vector<std::int64_t>& told, std::size_t ranks,
                                    std::size_t number) {
  const std::size_t each = told.size() / ranks;
  std::vector<std::int64_t> found;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto one = std::span(told).subspan(rank * each + number * told_numbers, told_numbers);
    found.insert(found.end(), one.begin(), one.end());
  }
  return found;
}

// Adds the array in which the pattern of each rank is a box; empties `grids` if there is none.
void add_grid(const std::vector<std::int64_t>& told, std::size_t ranks,
              std::optional<std::vector<array::ByteGrid>>& grids) {
  std::vector<BytePattern> patterns;
  std::optional<std::int64_t> displacement = of_rank(told, 0)[told_displacement];
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto numbers = of_rank(told, rank);
    const auto pattern = pattern_in(numbers);
    if (!pattern) return grids.reset();
    patterns.push_back(*pattern);
    if (displacement != numbers[told_displacement]) displacement.reset();
  }
  auto grid = array::grid_of(patterns, displacement);
  if (!grid) return grids.reset();
  grids->push_back(std::move(*grid));
}

// Returns whether the part of each rank is one block, and no two of them have a byte in common.
bool are_blocks_apart(const std::vector<std::int64_t>& told, std::size_t ranks) {
  std::vector<BytePattern> blocks;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto numbers = of_rank(told, rank);
    if (numbers[told_patterns] == 0) continue;
    if (numbers[told_patterns] > 1 || numbers[told_levels] > 0) return false;
    blocks.emplace_back(numbers[told_offset], numbers[told_block]);
  }
  std::ranges::sort(blocks, {}, &BytePattern::offset);
  const auto meets_next = [](const BytePattern& one, const BytePattern& next) {
    return next.offset() < one.end();
  };
  return std::ranges::adjacent_find(blocks, meets_next) == blocks.end();
}

}  // namespace

bool is_told(const ToldPatterns& part, std::span<const std::int64_t> told, int rank) {
  return std::ranges::equal(telling_of(part), of_rank(told, static_cast<std::size_t>(rank)));
}

PartVote::PartVote(const RankGroup& group, Reason reason, const ToldPatterns& part)
    : group_(group), reason_(reason) {
  gather(telling_of(part));
  if (reason_ != Reason::taken) return;
  const auto ranks = static_cast<std::size_t>(group_.ranks());
  is_each_alone_ = most_ == no_patterns || are_blocks_apart(told_, ranks);
}

bool PartVote::is_irregular() const { return most_ == no_patterns; }

PartVote::PartVote(const RankGroup& group, Reason reason, const ToldArrays& arrays)
    : group_(group), reason_(reason) {
  std::vector<std::int64_t> telling(told_numbers);
  telling[told_patterns] = arrays.are_several ? in_several : in_chunks;
  telling[told_displacement] = std::bit_cast<std::int64_t>(arrays.fingerprint);
  telling[told_offset] = arrays.is_irregular ? 1 : 0;
  gather(telling);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(group_.ranks()); ++rank) {
    if (reason_ != Reason::taken) break;
    is_each_alone_ = is_each_alone_ || of_rank(told_, rank)[told_offset] != 0;
  }
}

void PartVote::gather(std::span<const std::int64_t> telling) {
  std::vector<std::int64_t> own(telling.begin(), telling.end());
  own[told_reason] = static_cast<std::int64_t>(reason_);
  told_ = group_.gathered(own);
  reason_ = Reason::taken;
  if (told_.empty()) {
    reason_ = Reason::failed;
    return;
  }
  bool are_the_same = true;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(group_.ranks()); ++rank) {
    const auto numbers = of_rank(told_, rank);
    const auto first = of_rank(told_, 0);
    reason_ = std::max(reason_, static_cast<Reason>(numbers[told_reason]));
    most_ = std::max(most_, numbers[told_patterns]);
    are_the_same = are_the_same && numbers[told_patterns] == first[told_patterns] &&
                   numbers[told_displacement] == first[told_displacement];
  }
  if (reason_ == Reason::taken && most_ >= in_chunks && !are_the_same) {
    reason_ = Reason::arguments;
  }
}

std::optional<std::vector<array::ByteGrid>> PartVote::grids(const ToldPatterns& part,
                                                            Reason& reason) const {
  const auto ranks = static_cast<std::size_t>(group_.ranks());
  std::optional<std::vector<array::ByteGrid>> grids(std::in_place);
  if (most_ == 1) {
    add_grid(told_, ranks, grids);
    return grids;
  }
  const auto patterns = static_cast<std::size_t>(most_);
  std::vector<std::int64_t> telling(patterns * told_numbers);
  for (std::size_t number = 0; number < patterns; ++number) {
    tell(part, number, std::span(telling).subspan(number * told_numbers, told_numbers));
  }
  const std::vector<std::int64_t> told = group_.gathered(telling);
  if (told.empty()) {
    reason = Reason::failed;
    return std::nullopt;
  }
  for (std::size_t number = 0; number < patterns && grids; ++number) {
    add_grid(of_number(told, ranks, number), ranks, grids);
  }
  return grids;
}

}  // namespace weir::takeover
