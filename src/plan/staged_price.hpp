// What a write takes that ranks hand over to stagers, stage by stage. The path model has the same
// stages (docs/path-model.md, section Staged output).
//
// clang-format off
//     copies     of the ranks' rows into the stagers' memory
//     links      the same bytes on their way to stagers of other nodes
//     storing    calls and bytes of files, by the stagers, while the program goes on
// clang-format on
//
// Copies and links work on different bytes at the same time, so the slower of them blocks the
// ranks. A stager stores a write from the end of its hand-over on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::plan {

struct Stagers {
  std::int64_t count = 1;       // on all nodes
  bool on_other_nodes = false;  // than the ranks; otherwise each node has equally many
  bool exist = true;            // false: they are only compared with writing by the ranks

  friend bool operator==(const Stagers&, const Stagers&) = default;
};

struct StagedPrice {
  Stagers stagers = {};
  double copy_seconds = 0;
  double link_seconds = 0;  // 0: the stagers are on the ranks' own nodes
  double store_seconds = 0;
  double unstaged_seconds = 0;  // the cheapest way in which the ranks write by themselves

  [[nodiscard]] double blocked_seconds() const { return std::max(copy_seconds, link_seconds); }
  [[nodiscard]] double until_stored_seconds() const { return blocked_seconds() + store_seconds; }
  // Returns whether the ranks gain if they compute for long enough between two writes.
  [[nodiscard]] bool may_be_worth_it() const { return blocked_seconds() < unstaged_seconds; }
  // Returns how long they have to compute: a stager that has not stored a write yet cannot store
  // the next one, so many writes in turn take at least as long as storing them.
  [[nodiscard]] double least_computing_seconds() const {
    return std::max(0.0, store_seconds - unstaged_seconds);
  }
};

// Returns one line for users. `unstaged` is the strategy that takes unstaged_seconds.
[[nodiscard]] std::string text_of(const StagedPrice& price, std::string_view unstaged);

}  // namespace weir::plan
