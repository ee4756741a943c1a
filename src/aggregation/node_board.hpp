// A board on which the ranks of a session tell each other numbers, in memory that they share: all
// of them together in one vote, or each by itself in a word that the others look at. Only a session
// whose ranks are on one node has one.
//
// In a vote, each rank writes its numbers to its place, arrives, and reads all places when the vote
// has ended. Places have two halves, which votes take in turns: a rank that writes to a half once
// more has ended the vote between, in which every rank has arrived after it had read the half.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "aggregation/call_queue.hpp"
#include "aggregation/collective_state.hpp"
#include "common/cache_line.hpp"
#include "common/status.hpp"
#include "system/shared_memory.hpp"

namespace weir::aggregation {

class NodeBoard {
 public:
  // Files that have words on the board at the same time.
  static constexpr std::size_t most_files = 64;

  // Collective. Fails alike on all ranks: with several nodes, or without memory.
  static Result<std::unique_ptr<NodeBoard>> create(CollectiveState& state, CallQueue& calls);
  NodeBoard(const NodeBoard&) = delete;
  NodeBoard& operator=(const NodeBoard&) = delete;
  ~NodeBoard() = default;

  // Collective. Returns the numbers of all ranks, in the order of ranks. Each gives as many.
  [[nodiscard]] Result<std::vector<std::int64_t>> gathered(std::span<const std::int64_t> mine);

  // A word that this rank alone changes; all of them are 0 at first.
  [[nodiscard]] std::atomic<std::int64_t>& word_of(std::size_t file, int rank) const;
  // A place in a file that all ranks move on. Whoever holds it may use the other two members.
  struct Pointer {
    alignas(cache_line_bytes) std::atomic<std::int64_t> is_held;
    std::int64_t period;
    std::int64_t position;
  };
  [[nodiscard]] Pointer& pointer_of(std::size_t file) const;
  // Waits until other ranks have done something, with the deadline of the session.
  [[nodiscard]] Status wait_until(const std::function<bool()>& done, const char* what) const;

 private:
  // Numbers of a place in one vote; more take several votes.
  static constexpr std::size_t most_numbers = 1536;
  using Half = std::array<std::int64_t, most_numbers>;
  struct alignas(cache_line_bytes) Place {
    std::array<Half, 2> halves;
    std::array<std::atomic<std::int64_t>, most_files> words;
  };

  NodeBoard(CollectiveState& state, CallQueue& calls, std::shared_ptr<storage::SharedMemory> memory)
      : state_(state), calls_(calls), memory_(std::move(memory)) {}
  [[nodiscard]] Place& place_of(int rank) const;
  [[nodiscard]] Status tell(std::span<const std::int64_t> mine, std::size_t each, std::size_t from,
                            std::vector<std::int64_t>& all);

  CollectiveState& state_;
  CallQueue& calls_;
  std::shared_ptr<storage::SharedMemory> memory_;  // the pointers, then a place for each rank
  std::size_t half_ = 0;
};

}  // namespace weir::aggregation
