// The ranks tell each other of their parts of a collective call in one exchange: why a rank cannot
// do its part, and the patterns of its bytes in the file, or the chunked array of which it moves a
// region, or the arrays that are moved one after the other. All ranks then come to the same
// decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "adapters/mpiio/reason.hpp"
#include "adapters/takeover/rank_group.hpp"
#include "array/byte_grid.hpp"
#include "array/byte_pattern.hpp"

namespace weir::takeover {

// A rank with more patterns in a call tells that its part is irregular.
inline constexpr std::size_t most_rounds = 64;

// The part of a rank as patterns.
struct ToldPatterns {
  std::span<const array::BytePattern> patterns;  // at most `most_rounds`
  std::int64_t displacement = 0;                 // of the rank's view
  bool is_irregular = false;                     // there are more patterns, which are not told
};

// Returns whether `rank` would tell of `part` what it has told in the vote that has this told(). A
// rank with one pattern at most tells all of its part.
[[nodiscard]] bool is_told(const ToldPatterns& part, std::span<const std::int64_t> told, int rank);

// The part of a rank as elements of a chunked array, or of several arrays.
struct ToldArrays {
  std::uint64_t fingerprint = 0;  // of the array, or of all of them
  bool are_several = false;
  bool is_irregular = false;  // the elements are no box with strides
};

class PartVote {
 public:
  // Collective: each rank constructs a vote, in whichever way. Its `reason` is Reason::taken, or
  // why the call is to be passed on.
  PartVote(const RankGroup& group, mpiio::Reason reason, const ToldPatterns& part);
  PartVote(const RankGroup& group, mpiio::Reason reason, const ToldArrays& arrays);

  // Returns why all ranks pass the call on; Reason::taken: they carry it out. Ranks that have told
  // of patterns and of an array, or of different arrays, pass it on.
  [[nodiscard]] mpiio::Reason reason() const { return reason_; }
  // Returns whether all ranks move their parts each by itself, since nobody gains by an exchange of
  // bytes, or each part is one block, or one is an irregular one.
  [[nodiscard]] bool is_each_alone() const { return is_each_alone_; }
  // Returns whether a rank has an irregular part, of which it has not told where it is.
  [[nodiscard]] bool is_irregular() const;
  // Returns arrays in which the patterns of each number of all ranks are boxes; nothing if there is
  // no such array for one of the numbers. Sets `reason` if MPI fails. Collective; `part` is that
  // of the constructor.
  [[nodiscard]] std::optional<std::vector<array::ByteGrid>> grids(const ToldPatterns& part,
                                                                  mpiio::Reason& reason) const;
  // Returns what all ranks have told. Where grids() returns a single array, it follows from this
  // alone.
  [[nodiscard]] const std::vector<std::int64_t>& told() const { return told_; }

 private:
  void gather(std::span<const std::int64_t> telling);

  const RankGroup& group_;
  std::vector<std::int64_t> told_;
  std::int64_t most_ = 1;  // patterns of a rank
  mpiio::Reason reason_;
  bool is_each_alone_ = false;
};

}  // namespace weir::takeover
