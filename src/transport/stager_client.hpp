// A rank's connection to the stager of its node, or to one of another node.
//
// Bytes are copied once, into blocks of the stager's memory, or into a block of the rank's own that
// is then sent (carrier.hpp). A rank that finds no free block waits until the stager has written
// something; how it waits is in stager_connection.hpp. After a failure of the connection every
// function returns the same error.
//
// Each wait is two changes of the processor, so a rank waits twice between two calls of
// hand_over(): for all blocks that it is likely to fill, and for Flushed (ARCHITECTURE.md says
// why). Blocks that it does not fill go back with the Flush. Where hand_over_unanswered() is
// sufficient, a rank waits for neither if the stager has much free memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "engines/engine.hpp"
#include "transport/carrier.hpp"
#include "transport/filled_block.hpp"
#include "transport/messages.hpp"
#include "transport/rendezvous.hpp"
#include "transport/stager_connection.hpp"

namespace weir::transport {

// What the stager does with the bytes of a file, apart from writing them (NameFile).
// NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
struct StagedHandling {
  std::string encoded = {};
  std::optional<storage::KnownFile> known = {};  // of an array that is encoded
  ChunkPlaces places = {};
  bool at_once = false;
  bool may_wait = false;
};
// NOLINTEND(readability-redundant-member-init)

class StagerClient {
 public:
  using Waiting = StagerConnection::Waiting;

  static Result<std::unique_ptr<StagerClient>> connect(const StagerPlace& place, const Hello& hello,
                                                       double deadline_seconds);
  StagerClient(const StagerClient&) = delete;
  StagerClient& operator=(const StagerClient&) = delete;
  ~StagerClient();  // says goodbye: what was not committed is dropped when all ranks have left

  // Leaves the session on behalf of this rank, which has given it up.
  void leave();
  // Returns the error by which the stager was lost, or by which the session has failed on it.
  Status check();
  // Leaves the session, of which a stager was lost, so that the ranks can write its files
  // themselves: when this returns 0, this stager writes nothing of the session any more. Fails if
  // the stager may still write, for example because its process was stopped.
  Status leave_for_good();
  void set_waiting(Waiting waiting) { connection_->set_waiting(std::move(waiting)); }
  // Returns the name of the stager's process, which no other stager has.
  [[nodiscard]] const std::string& stager() const { return welcome_.stager; }
  // Returns how long this rank has waited for the stager since it was connected: for free blocks,
  // for the network to take bytes, and for answers. Copying bytes is not part of it.
  [[nodiscard]] std::int64_t waited_ns() const { return connection_->waited_ns(); }
  [[nodiscard]] bool has_journal() const { return welcome_.has_journal; }
  // Returns whether the stager is reached over a network.
  [[nodiscard]] bool is_remote() const { return connection_->is_remote(); }

  // Returns the number of a file, for write().
  Result<std::uint64_t> name_file(const std::string& path, const storage::Opening& opening,
                                  const StagedHandling& handling = {});
  Status forget_file(std::uint64_t file);
  // Copies the bytes of a range into the stager's memory.
  Status write(std::uint64_t file, std::int64_t offset, std::span<const storage::Slice> slices);
  // Hands over everything that was copied, and returns when the stager owns it.
  Status hand_over();
  // Hands over everything that was copied, and does not wait for the stager. What this rank and
  // others hand over so may be stored in any order. The stager has it before it carries out what
  // any rank of its node asks afterwards, also if this process ends. If the session has failed, a
  // later call says so.
  Status hand_over_unanswered();
  // Gives back the blocks that the stager has granted for what this rank hands over next.
  Status give_back();

  // Called by one rank of the session: gives a writer's lock to a stager of this node, or lets one
  // of another node take it.
  Status keep_lock(const std::string& path, const storage::File& lock);
  Status take_lock(const std::string& path);
  // Called by one rank of the session, after all ranks have handed over.
  // Return a ticket, after which wait() and is_done() can be asked. The stager carries out what
  // the session asks in the order of the tickets. commit() fails if the session has failed on the
  // stager.
  struct Committed {
    std::uint64_t ticket = 0;
    bool in_journal = false;  // the step survives the stager
  };
  Result<Committed> commit(CommitStep step);
  Result<std::uint64_t> unlock(const std::string& path);
  // Waits until what the ticket stands for is done, and returns its outcome. Fails with
  // ErrorCode::deadline if it is not done after `seconds`; then it can be called again.
  Status wait(std::uint64_t ticket, double seconds);
  // Returns why it takes long, as the stager has said last; "": for no unusual reason.
  [[nodiscard]] const std::string& says() const { return connection_->says(); }
  [[nodiscard]] bool is_lost() const { return !connection_->lost().ok(); }
  // Returns whether it is done; the outcome is the error if it failed.
  Result<bool> is_done(std::uint64_t ticket);
  // Waits until everything that the session handed over to this stager is written to its files.
  Status drain();

  // Returns how others reach this rank's stager. A rank of the stager that publishes the steps
  // calls it, in a session whose ranks have several stagers.
  Result<Listening> listen();
  // Called by a rank of another one: joins the one that listens, and ends a step here, after all
  // ranks have handed over what belongs to it. `keep_journals`: all stagers of the session do.
  Status join(const Listening& home, bool keep_journals);
  Status seal(const SealStep& step);

 private:
  StagerClient(std::unique_ptr<StagerConnection> connection, Hello hello)
      : connection_(std::move(connection)), hello_(std::move(hello)) {}
  // Brings bytes into the memory of the stager's Welcome from now on.
  Status choose_carrier();
  // Lets bytes go over UCX from now on, if both sides have it and WEIR_STAGING_CARRIER allows it.
  // Where that is not possible they go over the connection.
  Status attach_over_ucx();
  [[nodiscard]] Status begin_block(std::int64_t bytes);
  // Waits for blocks that were asked for.
  [[nodiscard]] Status take_granted();
  Status send_filled_block();
  // Returns how long this rank has waited since it last told the stager.
  [[nodiscard]] std::int64_t take_untold_ns();

  std::unique_ptr<StagerConnection> connection_;
  Hello hello_;
  Welcome welcome_;
  std::unique_ptr<Carrier> carrier_;
  std::uint64_t files_ = 0;            // numbers given so far
  std::vector<std::int64_t> blocks_;   // granted and not used yet
  std::optional<std::int64_t> block_;  // that is being filled
  BlockWriter filled_block_;
  std::int64_t filled_ = 0;          // blocks, since the last hand_over()
  std::int64_t usual_ = 0;           // blocks that were filled before the last hand_over()
  bool handed_over_ = true;          // nothing was sent since the last hand_over()
  bool is_granted_ahead_ = false;    // the answer to HandOver was not looked at
  std::int64_t told_waited_ns_ = 0;  // of the time of waits, by the Flush messages so far
};

}  // namespace weir::transport
