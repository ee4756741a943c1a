// The ranks of a session, and the few small messages by which they agree on calls and failures.
//
// There are two ways to communicate, so that a comparison that is begun early (weir_write_begin)
// never takes the place of a message about an earlier call:
//   calls     a channel, with one round per collective call of any kind
//   details   a communicator, for messages after a failed comparison, and about how a call ended
// Every rank uses each of them in the order of its collective calls. All waits end at the deadline,
// or when MPI fails on any rank. Either breaks the session, because its messages are then still
// under way.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "capi/outcome.hpp"
#include "capi/refusal.hpp"
#include "ranks/channel.hpp"
#include "ranks/messages.hpp"

namespace weir::capi {

class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() = default;  // without free() the communicators are kept, because freeing them is
                       // collective

  // Duplicates the communicator. Collective over `communicator`.
  Outcome open(MPI_Comm communicator, double deadline_seconds);
  // Frees the communicator. Collective. Does nothing in a broken session.
  void free();
  // Sets the channel for later comparisons; null: the channel that open() made. No comparison may
  // be under way.
  void compare_by(ranks::Channel* channel) { channel_ = channel; }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] double deadline_seconds() const { return deadline_seconds_; }
  void set_deadline_seconds(double seconds) { deadline_seconds_ = seconds; }
  // The communicator for data. It may be used only between calls of this class.
  [[nodiscard]] MPI_Comm details() const { return details_; }
  // Returns whether an earlier call has broken the session on this rank, or MPI has failed on any
  // rank.
  [[nodiscard]] bool broken() const;
  // Marks that this rank makes no further calls, so that the others need not wait for it. `reason`
  // is returned by this rank's later calls; only the first reason is kept.
  void mark_broken(const std::string& reason);
  // Ends the waits of all ranks, also on other nodes, with this code and reason. Their later calls
  // return the reason too. Local. Only the first reason that a rank gives is used.
  void tell_others(ErrorCode code, const std::string& reason);
  // Returns the outcome of calls on a broken session.
  [[nodiscard]] Outcome broken_session() const;
  // Ends all waits when MPI fails on any rank. Valid after open().
  [[nodiscard]] ranks::Revocation& revocation() { return compared_by().revocation(); }
  // Fails after MPI_Finalize, when other ranks can no longer be reached, and marks the session as
  // broken.
  [[nodiscard]] Outcome check_mpi_runs();

  // Begins to compare the call on all ranks. `round` must live until the comparison has ended.
  // `failed`: this rank cannot do what was requested. `asks`: rank 0 answers, by compared_by()
  // (channel.hpp). `remembered` is compared too, and may differ; a call that asks has none.
  void begin(ranks::Channel::Round& round, bool failed, std::uint64_t digest, bool asks,
             const std::optional<std::int64_t>& remembered);
  [[nodiscard]] static bool called_the_same(const ranks::Channel::Round& round) {
    return round.is_alike(0);
  }
  [[nodiscard]] static bool remember_the_same(const ranks::Channel::Round& round) {
    return round.is_alike(1);
  }
  // Returns, without waiting, whether the round has ended. Rounds are tested in the order in which
  // they began.
  [[nodiscard]] bool test(ranks::Channel::Round& round);
  Outcome wait(ranks::Channel::Round& round);
  [[nodiscard]] ranks::Channel& compared_by() { return channel_ != nullptr ? *channel_ : *first_; }

  // Returns the common outcome of all ranks. If any rank failed, all get the code and text of the
  // lowest rank that failed; the text names that rank.
  Outcome common(const Outcome& mine);
  // Sends rank 0's text to all ranks.
  Outcome share(std::string& text);

  // Waits until a refusal that was begun has ended. After an error the refusal must never be freed.
  Outcome wait(Refusal& refusal);

 private:
  Outcome least(std::int64_t mine, std::int64_t& result);
  // The life signs of this node's processes; null while no channel watches them.
  [[nodiscard]] ranks::LifeSigns* life() {
    return first_ == nullptr ? nullptr : compared_by().life();
  }
  // Waits for the operation whose start returned `begun`.
  Outcome finish(const Status& begun, ranks::Pending& pending);
  // Returns the outcome of a wait. An error breaks the session.
  Outcome ended(const Status& waited);

  std::unique_ptr<ranks::Channel> first_;
  ranks::Channel* channel_ = nullptr;
  MPI_Comm details_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  double deadline_seconds_ = 0;
  std::string broken_by_;  // empty: not broken
};

}  // namespace weir::capi
