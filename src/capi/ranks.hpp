// The ranks of a session, and the few small messages by which they agree on calls and failures.
//
// Two ways, so that a comparison that is begun early (weir_write_begin) never takes the place of a
// message about an earlier call:
//   calls     a channel: one round per collective call, whichever call it is
//   details   a communicator: what follows when that shows a difference; how a call ended
// Every rank uses each of them in the order of its collective calls. All waits end at the deadline
// or when MPI fails on any rank; either breaks the session, because its messages are then still
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
  ~Ranks() = default;  // without free(), the communicators stay: freeing them is collective

  // Collective over `communicator`.
  Outcome open(MPI_Comm communicator, double deadline_seconds);
  // Collective; nothing after a deadline was missed.
  void free();
  // Compares by this one from now on; null: by MPI, as after open(). No comparison is under way.
  void compare_by(ranks::Channel* channel) { channel_ = channel; }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] double deadline_seconds() const { return deadline_seconds_; }
  void set_deadline_seconds(double seconds) { deadline_seconds_ = seconds; }
  // The communicator for the data, used only between calls of this class.
  [[nodiscard]] MPI_Comm details() const { return details_; }
  // An earlier call has broken the session on this rank, or MPI has failed on any.
  [[nodiscard]] bool broken() const;
  // This rank makes no further call: the others need not wait for it. `reason`: for its own calls
  // that follow; the first one counts.
  void mark_broken(const std::string& reason);
  // The waits of all ranks, also on other nodes, end with this code and reason, which is in the
  // outcomes of their later calls too. Local; the first reason that a rank tells counts.
  void tell_others(ErrorCode code, const std::string& reason);
  // What calls return when the session is broken.
  [[nodiscard]] Outcome broken_session() const;
  // Ends all waits when MPI fails on any rank. After open().
  [[nodiscard]] ranks::Revocation& revocation() { return compared_by().revocation(); }
  // Fails after MPI_Finalize, when no other rank can be reached any more; the session is then
  // broken.
  [[nodiscard]] Outcome check_mpi_runs();

  // Begins to compare what the ranks call; the round's memory must outlive that. `failed`: this
  // rank cannot do what it was asked for. `asks`: rank 0 answers, by compared_by() (channel.hpp).
  // `remembered` is compared too, and may differ; a call that asks has none.
  void begin(ranks::Channel::Round& round, bool failed, std::uint64_t digest, bool asks,
             const std::optional<std::int64_t>& remembered);
  [[nodiscard]] static bool called_the_same(const ranks::Channel::Round& round) {
    return round.is_alike(0);
  }
  [[nodiscard]] static bool remember_the_same(const ranks::Channel::Round& round) {
    return round.is_alike(1);
  }
  // Whether it has ended; false at once when it has not. In the order in which they began.
  [[nodiscard]] bool test(ranks::Channel::Round& round);
  Outcome wait(ranks::Channel::Round& round);
  [[nodiscard]] ranks::Channel& compared_by() { return channel_ != nullptr ? *channel_ : *first_; }

  // The outcome of all ranks: when any failed, the same code and text everywhere, those of the
  // lowest rank that failed, which is named in it.
  Outcome common(const Outcome& mine);
  // Rank 0's text to all ranks.
  Outcome share(std::string& text);

  // Waits until a refusal that was begun has ended; after an error it has to stay for good.
  Outcome wait(Refusal& refusal);

 private:
  Outcome least(std::int64_t mine, std::int64_t& result);
  // The life signs of this node's processes; null before there is a channel that watches them.
  [[nodiscard]] ranks::LifeSigns* life() {
    return first_ == nullptr ? nullptr : compared_by().life();
  }
  // Waits for what `begun` says was begun.
  Outcome finish(const Status& begun, ranks::Pending& pending);
  // An error breaks the session.
  Outcome ended(const Status& waited);

  std::unique_ptr<ranks::Channel> first_;
  ranks::Channel* channel_ = nullptr;
  MPI_Comm details_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  double deadline_seconds_ = 0;
  std::string broken_by_;  // empty: it is not
};

}  // namespace weir::capi
