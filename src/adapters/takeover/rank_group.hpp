// The ranks that have files open together: their session of Weir, and how they tell each other what
// each of them asks. Files of the same ranks in the same order share a group, which stays until
// MPI_Finalize.
#pragma once

#include <mpi.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregation/collective.hpp"
#include "aggregation/node_board.hpp"
#include "plan/platform_rates.hpp"
#include "stored/extent_map.hpp"
#include "weir/weir.h"

namespace weir::takeover {

class RankGroup {
 public:
  // Returns the group of the communicator's ranks; null if there is none. Collective.
  static RankGroup* of(MPI_Comm communicator);
  // Returns a group of the same ranks in which no other file takes part; null if MPI fails.
  // Collective.
  [[nodiscard]] std::unique_ptr<RankGroup> copy() const;
  // Frees the communicator. Collective.
  void free();
  // Closes the sessions of all groups. Every rank calls it before MPI_Finalize.
  static void close_all();

  explicit RankGroup(MPI_Comm communicator);
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  ~RankGroup() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  // A communicator of these ranks that returns errors.
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  // The following are collective. The ranks tell each other numbers on the board of their session,
  // which takes a fraction of the time of a call of MPI where ranks share processors. They do so by
  // MPI before the session is open, and when it is broken. Returns the greatest of all ranks'
  // numbers; `most` if MPI fails.
  [[nodiscard]] int greatest(int number, int most) const;
  // Returns when all ranks have called it.
  void meet() const;
  // Returns as many numbers of every rank as each gives; none if MPI fails.
  [[nodiscard]] std::vector<std::int64_t> gathered(std::span<const std::int64_t> mine) const;
  // Returns the session, which is opened at first use; null, on all ranks, if that fails.
  [[nodiscard]] aggregation::Collective* session();
  // Returns the rates of the platform: those of the session once it is open, before that estimates.
  [[nodiscard]] const plan::PlatformRates& rates() const;
  // Returns the board of the session; null, on all ranks alike, before it is open or if it has
  // none.
  [[nodiscard]] aggregation::NodeBoard* board() const { return board_; }
  // Returns the number of a file on the board, which is free then; nothing if there is none. All
  // ranks call this and free_number() alike.
  [[nodiscard]] std::optional<std::size_t> take_number();
  void free_number(std::size_t number) { numbers_.at(number).is_taken = false; }
  // Returns a number for the next period of this file's number, equal on all ranks.
  [[nodiscard]] std::int64_t next_period(std::size_t number) {
    return ++numbers_.at(number).periods;
  }
  // Returns whether the session can be used no more.
  [[nodiscard]] bool is_broken() const;
  // Collective. The file was closed, and its stager may not have stored all of it. Waits for the
  // files before it if these have become too many.
  void note_handed_over(const storage::DataFiles& file);
  // Local. Waits until such a file at this path is stored, if this rank closed it and the main
  // thread calls.
  static void await_closed(const char* path);
  // Called on all ranks: rank 0 tells people, once, why the stagers get nothing.
  void tell_why_not_staged(const char* why);

 private:
  static constexpr std::size_t most_closed_files = 64;
  // A file that was closed with staged writes.
  struct HandedOver {
    storage::DataFiles file;
    bool is_stored = false;  // as far as this rank knows
  };
  // Returns nothing if the ranks cannot tell each other anything on the board.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> told_on_board(
      std::span<const std::int64_t> mine) const;
  void await_closed(const std::string& path);
  // Collective. Waits until all such files are stored; rank 0 tells of those that are not.
  void store_handed_over();

  pid_t process_ = ::getpid();  // a forked child has its parent's memory, and not its stager
  MPI_Comm communicator_;
  int rank_ = 0;
  int ranks_ = 1;
  weir_session* session_ = nullptr;
  aggregation::NodeBoard* board_ = nullptr;
  struct Number {
    bool is_taken = false;
    std::int64_t periods = 0;
  };
  std::array<Number, aggregation::NodeBoard::most_files> numbers_{};
  bool tried_ = false;
  bool has_told_ = false;
  std::vector<HandedOver> handed_over_;  // the same files on all ranks
};

}  // namespace weir::takeover
