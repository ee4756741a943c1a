// A stager is a state machine here: it takes events and returns actions. Sockets, files, memory and
// clocks are outside (server.hpp), so that tests can replay events in any order.
//
// clang-format off
//     Reserve ─► block is granted ─► FilledBlock: filled by the rank, in the queue ─► written ─► free
//     CommitStep ──────────────────────────────────────► in the queue ─► step is published
// clang-format on
//
// A session's items are carried out in the order in which they arrived: a commit changes the header
// of its file only after all filled blocks before it are written and, if requested, durable. Filled
// blocks wait in memory until something needs them written: a commit or a drain behind them, or a
// rank that finds no free block; and the bytes of an array by itself, which no step's end
// publishes, are written as soon as possible, or, where they may wait, at the second Tick after
// they came. At most one job of a session is under way.
// Overlapping extents are written in the order of their arrival.
//
// Limits keep one program from taking what others need. A session that has as much memory as one
// program may have waits, as where all memory is in use, until a part of its own is free; a file or
// a rank beyond the limits is refused.
//
// Where the stager may spill, a rank that finds no free block makes filled blocks move to slots of
// a file on the node, those first that were handed over last, since they are needed last. Such a
// filled block keeps its place in the queue, and is read back when it is written. Only when all
// slots are in use, or the file cannot take more, are filled blocks written to make room.
//
// clang-format off
//     FilledBlock: in memory ─► moves ─► in a slot, its block is free ─► written ─► the slot is free
// clang-format on
//
// Where the stager keeps a journal (journal.hpp), filled blocks and commits are recorded there in
// the order of their arrival, beside the jobs of all sessions. Nothing of a filled block is
// written, moved or freed before it is recorded, and a commit is accepted when its record is
// durable. What cannot be recorded is accepted all the same, and the report says so.
//
// clang-format off
//     CommitStep ─► in the queue ─► recorded ─► Accepted ─► step is published
// clang-format on
//
// A job that fails for want of space is repeated until there is some: what was accepted is not
// given up. Any other failure ends the session: nothing that is behind it is carried out, and
// everyone who asks gets the reason; a Drain is then answered when no job of the session is under
// way, so that its ranks may write the files themselves. Once all ranks of a session are gone,
// filled blocks behind its last commit are dropped: their step has not ended, and never will.
//
// The ranks of a session on several nodes have a stager on each. The one of rank 0 publishes the
// steps; the others join it, over a network. At the end of a step, each of these gets a SealStep
// behind its filled blocks, and tells when everything before is stored; the commit waits until all
// have told. Between stagers nothing else is ordered: whatever must be written after something that
// another stager has, needs a Drain before.
//
// clang-format off
//     stager that joined    FilledBlock, FilledBlock, SealStep ──► stored ──► Sealed ─┐
//     stager of rank 0      FilledBlock, FilledBlock, CommitStep ──► stored ──────────┴─► step is published
// clang-format on
//
// Where stagers encode chunks whose places are in a table of the file, each writes them into
// regions of its own, and tells with Sealed how long they are and where (EncodedChunks). The stager
// of rank 0 enters those of all stagers. So no stager waits for another one's chunks, and a stager
// that is lost after it has sealed a step has stored all that the step needs.
//
// A failure on one of the stagers, or the loss of one, ends the session on all of them.
//
// Where all of them keep a journal, each records its share of a step together with the step's end,
// and the stager of rank 0 does so last: its record says that all others have theirs. After a
// restart each of them can therefore go on with the step (journal_replay.hpp). A stager that joined
// stays in the session until the step is published, and removes its share then.
//
// clang-format off
//     stager that joined    RecordShare ──► recorded ──► ShareRecorded ─┐               Published ──► removed
//     stager of rank 0      CommitStep ─────────────────────────────────┴─► recorded ─► Accepted … published ─► removed
// clang-format on
//
// Ranks of other nodes connect over a network, too, where the stager has a key for them
// (remote_ranks.cpp). What they hand over comes in messages. They are ranks like all others from
// the moment at which they have shown who they are; how that is checked is no part of this machine.
//
// clang-format off
//     Knock ─► Challenge ─► Prove ─► CheckProof ─► Vouch ─► Hello, … BlockBytes, BlockBytes, FilledBlock, …
//                                                           Hello, Attach … Piece ─► Brought, FilledBlock, …
// clang-format on
//
// Such a rank may bring bytes over UCX (transport/ucx.hpp), where the stager offers it: a Piece is
// for the stager what a BlockBytes is.
//
// The state has parts of its own: blocks (block_pool.hpp), slots of the spill file
// (spill_slots.hpp), the items of a session (session_queue.hpp), and what is being recorded
// (recordings.hpp). Stager decides between them: connections and messages in stager.cpp, jobs in
// jobs.cpp, who gets memory in memory.cpp, other stagers in peers.cpp, ranks of other nodes in
// remote_ranks.cpp, what people are told in report.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "stager/block_pool.hpp"
#include "stager/events.hpp"
#include "stager/recordings.hpp"
#include "stager/session.hpp"
#include "stager/session_queue.hpp"
#include "stager/spill_slots.hpp"
#include "transport/filled_block.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

struct StagerSettings {
  std::int64_t blocks = 0;  // in all; BlocksReady gives them for use
  std::int64_t block_bytes = 0;
  std::int64_t most_written_together = std::int64_t{64} << 20;  // bytes of one Write, about
  std::int64_t spill_slots = 0;  // blocks that the spill file takes; 0: there is none
  std::int64_t most_read_back_together = std::int64_t{16} << 20;  // spilled bytes of one Write
  std::string name;                                               // Welcome::stager
  // The most blocks of one session, and the most connections of ranks in all; 0: no limit.
  std::int64_t client_blocks = 0;
  std::int64_t client_files = 0;
  std::int64_t client_connections = 0;
  std::int64_t connections = 0;
  // NOLINTBEGIN(readability-redundant-member-init): may be left out
  std::string host = {};      // of this stager, for people
  std::string secret = {};    // that other stagers know which may join
  std::string rank_key = {};  // of the rendezvous file; "": no ranks of other nodes are served
  bool has_journal = false;
  std::string ucx = {};  // Welcome::ucx
  // NOLINTEND(readability-redundant-member-init)
};

class Stager {
 public:
  explicit Stager(const StagerSettings& settings);

  // Returns what is to be done, in this order.
  [[nodiscard]] std::vector<Action> handle(const Event& event);

  [[nodiscard]] std::int64_t free_blocks() const { return blocks_.free(); }
  [[nodiscard]] std::int64_t free_slots() const { return slots_.free(); }
  // Returns whether a rank waits for blocks, or will soon, and more could become ready.
  [[nodiscard]] bool needs_more_blocks(std::int64_t enough) const {
    return blocks_.ready() < blocks_.most() &&
           (blocks_.free() < enough || (!wanting_.empty() && !blocks_.has_free()));
  }
  // Returns how many blocks a session has, granted or with bytes that are not stored.
  [[nodiscard]] std::int64_t blocks_of(const transport::SessionId& session) const;
  // Returns whether no rank is connected and nothing is left to be stored.
  [[nodiscard]] bool is_idle() const { return sessions_.empty(); }
  // Returns the number of connections over a network that have shown no secret.
  [[nodiscard]] std::size_t strangers() const;
  // Describes the state for people, as JSON.
  [[nodiscard]] std::string report() const;

 private:
  // Bytes of a block that have come in messages or pieces, at its beginning and at its end.
  struct Filled {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool over_ucx = false;  // all of them
  };
  struct Client {
    SessionId session = 0;   // 0: has not said Hello, or Peer
    std::int32_t rank = 0;   // with `session`, unless it is another stager
    bool is_remote = false;  // another stager, or somebody who has shown nothing so far
    bool is_remote_rank = false;
    bool has_knocked = false;
    bool has_attached = false;         // asked for UCX
    bool proves = false;               // what it has shown is being checked
    transport::Nonce nonce{};          // of this stager, for a Challenge
    transport::Proof awaited_proof{};  // with `has_knocked`
    transport::Proof own_proof{};      // likewise
    int ticks = 0;  // since a remote client connected, until it has shown a secret or who it is
    std::map<std::uint64_t, NamedFile> files;
    std::map<std::int64_t, Filled> granted;
    std::int64_t wanted = 0;     // blocks, while it waits for some
    bool drains = false;         // waits for Drained
    bool commits = false;        // waits for Accepted
    bool stops = false;          // asked the stager to end, and waits for its last report
    JobId locks = 0;             // waits for Locked when the job has ended; 0: it does not
    std::int64_t waited_ns = 0;  // by its own account, for this stager
  };

  void take(const Connected& event);
  void take(const Received& event);
  void take(const Piece& event);
  void take(const Disconnected& event);
  void take(const Unreadable& event);
  void take(const ProofChecked& event);
  void take(const Linked& event);
  void take(const JobEnded& event);
  void take(const RetryDue& event);
  void take(const Tick& event);
  void take(const BlocksReady& event);
  void take(const NoMoreBlocks& event);
  void take(const SharesWait& event) { waiting_shares_ = event.lines; }
  void take(const Stopping& event);

  // Messages of ranks.
  void take(ClientId number, const transport::Hello& message);
  void take(ClientId client, const transport::NameFile& message);
  void take(ClientId client, const transport::ForgetFile& message);
  void take(ClientId number, const transport::Reserve& message);
  void take(ClientId number, const transport::Flush& message);
  void take(ClientId number, const transport::HandOver& message);
  void take(ClientId client, const transport::LockFile& message);
  void take(ClientId number, const transport::CommitStep& message);
  void take(ClientId number, const transport::UnlockFile& message);
  void take(ClientId number, const transport::Await& message);
  void take(ClientId number, const transport::Drain& message);
  void take(ClientId number, const transport::Listen& message);
  void take(ClientId number, const transport::JoinHome& message);
  void take(ClientId number, const transport::SealStep& message);
  void take(ClientId client, const transport::Goodbye& message);
  void take(ClientId number, const transport::Refused& message);
  void take(ClientId client, const transport::AskReport& message);
  void take(ClientId client, const transport::Stop& message);
  template <typename Other>
  void take(ClientId client, const Other& message);
  // Messages of ranks of other nodes, in src/stager/remote_ranks.cpp.
  void take(ClientId number, const transport::BlockBytes& message);
  void take(ClientId number, const transport::Attach& message);
  void take(ClientId number, const transport::TakeLock& message);
  // Returns whether it is a message of somebody who wants to become such a rank.
  bool take_from_stranger(ClientId number, const transport::Message& message);
  // Gives bytes their place in a block, or refuses the client that brings them; null then. `piece`:
  // as which they came, or null.
  Filled* place(ClientId number, std::int64_t block, bool at_end, std::int64_t bytes,
                const transport::UcxPiece* piece);
  // Returns whether all bytes of a filled block have come.
  [[nodiscard]] static bool is_filled(const Filled& filled,
                                      std::span<const transport::BlockExtent> extents);
  // Returns whether the job took a lock, and answers.
  bool end_locking(const JobEnded& event);
  // Messages of other stagers, in src/stager/peers.cpp.
  void take_from_peer(ClientId number, const Received& event);
  void let_in(ClientId number, const transport::Peer& message);
  void take_joined(SessionId number, Session& session, const Status& outcome);
  void take_failure(SessionId number, Session& session, const Status& why);
  void remove_peer(ClientId client, SessionId number, Session& session);
  // Returns a stager that must have stored its share before a commit, and has not; null: none.
  [[nodiscard]] static const PeerState* late_peer(const Session& session, std::uint64_t seal);
  [[nodiscard]] static Error lost_peer(const std::string& host);
  // Returns what other stagers have told of chunks that they have encoded before this seal, and
  // forget it, as that of the seals before, whose steps were given up if it is still there.
  [[nodiscard]] static std::vector<std::shared_ptr<const transport::EncodedChunks>> told_chunks(
      const Session& session, std::uint64_t seal);
  static void forget_chunks(Session& session, std::uint64_t seal);
  // Asks the other stagers for a step's shares.
  void ask_for_shares(SessionId number, Session& session, CommitItem& commit, ClientId client);
  // Notes that one of them has answered, or has gone.
  void end_share_of(SessionId number, Session& session, ClientId peer, std::uint64_t ticket,
                    const Status& outcome);
  void record_shared_step(SessionId number, Session& session, std::size_t index);
  void record_share(SessionId number, Session& session, const transport::RecordShare& message,
                    const Status& may_be_stored);
  void end_share(Session& session, const Recording& ended);
  void take_published(SessionId number, Session& session, std::uint64_t ticket);
  void tell_peers(const Session& session, const transport::Message& message);
  void tell_peers_of_failure(const Session& session);
  void leave_peers(const Session& session);
  void take_filled_block(const Received& event, const transport::FilledBlock& filled);

  void send(ClientId client, transport::Message message);
  void say(std::string line);
  // Returns who a client is, for people.
  [[nodiscard]] std::string name_of(const Client& client) const;
  // Ends a connection whose messages make no sense.
  void refuse(ClientId client, std::string reason);
  void remove(ClientId client);
  void grant();
  // Returns how many blocks a rank gets beside its first one.
  [[nodiscard]] std::int64_t extra_blocks(const Client& client) const;
  // Returns how many blocks a rank gets that is going to ask for them.
  [[nodiscard]] std::int64_t blocks_ahead(const Client& client, std::int64_t wanted) const;
  // Takes back the blocks that a rank has not handed over, and adds what it tells of its waits.
  void end_hand_over(Client& client, std::int64_t waited_ns);
  static void forget_path(Session& session, const std::string& path);
  // Frees what a filled block occupies, or lets the end of its move do so.
  void free_filled_block(const BlockItem& filled);
  // Called where ranks wait for memory: lets filled blocks move, or else be written.
  void make_room();
  // Returns the sessions whose filled blocks take the memory for which ranks wait.
  [[nodiscard]] std::set<SessionId> full_sessions() const;
  void begin_spill(const std::set<SessionId>& full);
  void end_spill(const std::optional<SpillSlots::Moved>& moved);
  // Gives back the space of the spill file once nothing is in it.
  void empty_spill();
  // Begins the next job of a session, if there is one and it is needed now.
  void advance(SessionId number, Session& session);
  [[nodiscard]] WriteLimits write_limits() const;
  // Takes the last item from the queue.
  void remove_last(Session& session);
  // Returns whether what the session hands over is recorded in the journal: only where all its
  // stagers keep one.
  [[nodiscard]] bool is_journaled(const Session& session) const {
    return settings_.has_journal && std::ranges::all_of(session.peers, &PeerState::keeps_journal) &&
           (session.home.state == Home::State::none || session.home.keep_journals);
  }
  // Says so where a journal does not have the session.
  void say_if_not_journaled(const Session& session);
  void end_recording(const Recording& ended);
  // Answers a CommitStep.
  void accept_recorded(ClientId number, std::uint64_t ticket, const Status& failure,
                       bool is_recorded);
  void end_ticket(Session& session, std::uint64_t ticket);
  void fail(Session& session, const Status& why);
  // Drops what is in the queue behind the first items.
  void drop_behind(Session& session, std::size_t items);
  void answer_drains(const Session& session);
  void drop_unfinished(Session& session);
  // Tells people if some ranks of a session, which have all left, did not say farewell.
  void say_if_lost(const Session& session);
  // Forgets the session if nothing of it is left.
  void end_if_over(SessionId number);
  // Returns whether ranks wait although all memory is ready: only writing can make some free.
  [[nodiscard]] bool is_short_of_blocks() const {
    return !wanting_.empty() && blocks_.is_used_up();
  }
  // Returns why it takes long, for people; "": for no unusual reason.
  [[nodiscard]] std::string reason_to_wait(SessionId number, const Session& session) const;
  [[nodiscard]] static Status result_of(const Session& session, std::uint64_t ticket);

  StagerSettings settings_;
  BlockPool blocks_;
  SpillSlots slots_;
  Recordings recordings_;
  struct Locking {
    SessionId session = 0;
    ClientId client = 0;
    std::string path;
  };
  std::map<JobId, Locking> lockings_;
  bool writes_for_room_ = false;  // filled blocks are written although no commit needs it
  std::map<ClientId, Client> clients_;
  std::map<SessionId, Session> sessions_;
  std::map<transport::SessionId, SessionId> by_name_;
  std::deque<ClientId> wanting_;  // wait for blocks, the longest first
  std::int64_t ranks_ = 0;        // connected
  SessionId last_session_ = 0;
  JobId last_job_ = 0;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  std::vector<std::string> waiting_shares_;
  std::vector<Action> actions_;
};

}  // namespace weir::stager
