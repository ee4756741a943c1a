// What a stager does, as a state machine: it takes events and returns actions. Sockets, files,
// memory and clocks are outside (server.hpp), so that tests can replay events in any order.
//
// clang-format off
//     Reserve ─► block is granted ─► Parcel: filled by the rank, in the queue ─► written ─► free
//     CommitStep ──────────────────────────────────────► in the queue ─► step is published
// clang-format on
//
// A session's items are carried out in the order in which they arrived: a commit changes the header
// of its file only after all parcels before it are written and, if requested, durable. Parcels wait
// in memory until something needs them written: a commit or a drain behind them, or a rank that
// finds no free block; and the bytes of an array by itself, which no step's end publishes, are
// written as soon as possible. At most one job of a session is under way. Overlapping extents are
// written in the order of their arrival.
//
// Limits keep one program from taking what others need. A session that has as much memory as one
// program may have waits, as where all memory is in use, until a part of its own is free; a file or
// a rank beyond the limits is refused.
//
// Where the stager may spill, a rank that finds no free block makes parcels move to slots of a file
// on the node, those first that were handed over last, since they are needed last. Such a parcel
// keeps its place in the queue, and is read back when it is written. Only when all slots are in
// use, or the file cannot take more, are parcels written to make room.
//
// clang-format off
//     Parcel: in memory ─► moves ─► in a slot, its block is free ─► written ─► the slot is free
// clang-format on
//
// Where the stager keeps a journal (journal.hpp), parcels and commits are recorded there in the
// order of their arrival, beside the jobs of all sessions. Nothing of a parcel is written, moved or
// freed before it is recorded, and a commit is accepted when its record is durable. What cannot be
// recorded is accepted all the same, and the report says so.
//
// clang-format off
//     CommitStep ─► in the queue ─► recorded ─► Accepted ─► step is published
// clang-format on
//
// A job that fails for want of space is repeated until there is some: what was accepted is not
// given up. Any other failure ends the session: nothing that is behind it is carried out, and
// everyone who asks gets the reason; a Drain is then answered when no job of the session is under
// way, so that its ranks may write the files themselves. Once all ranks of a session are gone,
// parcels behind its last commit are dropped: their step has not ended, and never will.
//
// The ranks of a session on several nodes have a stager on each. The one of rank 0 publishes the
// steps; the others join it, over a network. At the end of a step, each of these gets a SealStep
// behind its parcels, and tells when everything before is stored; the commit waits until all have
// told. Between stagers nothing else is ordered: whatever must be written after something that
// another stager has, needs a Drain before.
//
// clang-format off
//     stager that joined    Parcel, Parcel, SealStep ──► stored ──► Sealed ─┐
//     stager of rank 0      Parcel, Parcel, CommitStep ──► stored ──────────┴─► step is published
// clang-format on
//
// A failure on one of the stagers, or the loss of one, ends the session on all of them.
//
// Ranks of other nodes connect over a network, too, where the stager has a secret for them
// (remote_ranks.cpp). What they hand over comes in messages. They are ranks like all others from
// the moment at which they have shown that they know the secret.
//
// clang-format off
//     Knock ─► Challenge ─► Prove ─► Hello, … BlockBytes, BlockBytes, Parcel, …
//                                    Hello, Attach … Piece, Piece ─► Brought, Parcel, …
// clang-format on
//
// Such a rank may bring bytes over UCX (transport/ucx.hpp), where the stager offers it: a Piece is
// for the stager what a BlockBytes is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/status.hpp"
#include "system/step_durability.hpp"
#include "transport/messages.hpp"
#include "transport/parcel.hpp"
#include "transport/ucx.hpp"

namespace weir::stager {

using ClientId = std::uint64_t;   // of a connection; never used again
using SessionId = std::uint64_t;  // of a session on this stager
using JobId = std::uint64_t;

// ---- Events -------------------------------------------------------------------------------------

struct Connected {
  ClientId client = 0;
  bool is_remote = false;    // over a network: another stager, or a rank of another node
  transport::Nonce nonce{};  // with `is_remote`: random bytes for its Challenge
};
struct Received {
  ClientId client = 0;
  transport::Message message;
  // If the message is a Parcel: its extents, or why they are impossible.
  Result<std::vector<transport::ParcelExtent>> extents = std::vector<transport::ParcelExtent>();
};
// Bytes that a rank has brought over UCX.
struct Piece {
  ClientId client = 0;
  transport::UcxPiece what;
  std::int64_t bytes = 0;
};
struct Disconnected {
  ClientId client = 0;
};
// What Connect asked for: the connection to the stager of rank 0, or why there is none.
struct Linked {
  SessionId session = 0;
  Result<ClientId> client;
};
struct JobEnded {
  JobId job = 0;
  Status status;
};
// A time that was asked for with RetryLater has come.
struct RetryDue {
  SessionId session = 0;
};
// Comes about once a second: ranks that wait get a sign of life.
struct Tick {};
// More of the stager's memory can be used: so many blocks behind those that came before.
struct BlocksReady {
  std::int64_t blocks = 0;
};
// There is no more memory than what has become ready.
struct NoMoreBlocks {};
// A person or the system asks the stager to end (transport::Stop does the same).
struct Stopping {};
using Event = std::variant<Connected, Received, Piece, Disconnected, Linked, JobEnded, RetryDue,
                           Tick, BlocksReady, NoMoreBlocks, Stopping>;

// ---- Actions ------------------------------------------------------------------------------------

struct Send {
  ClientId client = 0;
  transport::Message message;
};
struct Disconnect {
  ClientId client = 0;
};
// The client has shown that it knows the secret: its messages may be as long as those of a rank of
// the node.
struct Trust {
  ClientId client = 0;
};
// The client may bring bytes over UCX if it can be reached: it gets an Attached.
struct AttachUcx {
  ClientId client = 0;
  std::vector<std::byte> address;
};
// The bytes that came with the message or piece are put into a block.
struct Fill {
  std::int64_t block = 0;
  std::int64_t at = 0;  // behind its beginning
};
// The bytes of an extent lie in a block, `at` bytes behind its beginning.
struct BlockExtent {
  std::int64_t block = 0;  // or index in Write::spilled
  std::int64_t at = 0;
  std::int64_t bytes = 0;
  std::size_t file = 0;  // index in Write::files
  std::int64_t offset = 0;
  bool is_spilled = false;
};
// The first bytes of a block, and the slot of the spill file to which they move. No two have the
// same stamp, by which bytes that were in the slot before are not taken for them.
struct SpilledBlock {
  std::int64_t block = -1;  // -1: free, since the bytes have moved
  std::int64_t slot = 0;
  std::int64_t bytes = 0;
  std::uint64_t stamp = 0;
};
struct Write {
  JobId job = 0;
  SessionId session = 0;
  std::vector<transport::NameFile> files;
  std::vector<BlockExtent> extents;  // in the order of their arrival
  std::vector<SpilledBlock> spilled =
      {};  // NOLINT(readability-redundant-member-init): may be left out
};
// Moves bytes to the spill file. It is of no session, and runs beside the jobs of all of them.
struct Spill {
  JobId job = 0;
  std::vector<SpilledBlock> blocks;
};
// Writes bytes of a block to the journal. It runs beside the jobs of all sessions, behind the
// records that were begun before.
struct Record {
  JobId job = 0;
  SessionId session = 0;
  std::int64_t block = 0;
  std::vector<std::shared_ptr<const transport::NameFile>> files;
  std::vector<transport::ParcelExtent> extents;  // `file` is an index in `files`
};
// Records the end of a step in the same way. What was recorded of the step is durable when the job
// has ended.
struct RecordStep {
  JobId job = 0;
  SessionId session = 0;
  transport::CommitStep step;
};
// Gives back the space of the spill file, in which nothing is left.
struct EmptySpill {
  JobId job = 0;
};
struct Commit {
  JobId job = 0;
  SessionId session = 0;
  transport::CommitStep step;
};
// Makes durable, as requested, what was written, and closes its files.
struct Seal {
  JobId job = 0;
  SessionId session = 0;
  storage::StepDurability durability = storage::StepDurability::step;
};
// Other stagers can connect from now on: the client gets a Listening.
struct OpenNetwork {
  ClientId client = 0;
};
// Connects to another stager; Linked tells how that ended.
struct Connect {
  SessionId session = 0;
  std::vector<std::string> addresses;
};
// Takes the writer's lock of a path for the session.
struct AcquireLock {
  JobId job = 0;
  SessionId session = 0;
  std::string path;
  std::string program;  // holds it, for people
};
// The lock that came with the message is kept.
struct KeepLock {
  SessionId session = 0;
  std::string path;
};
struct Unlock {
  SessionId session = 0;
  std::string path;
};
struct RetryLater {
  SessionId session = 0;
};
// Nothing of the session is left: its files are closed and its locks are released.
struct Forget {
  SessionId session = 0;
};
// The stager was told to stop, and everything is stored.
struct End {};
using Action = std::variant<Send, Disconnect, Trust, AttachUcx, Fill, Write, Spill, EmptySpill,
                            Record, RecordStep, Commit, Seal, OpenNetwork, Connect, AcquireLock,
                            KeepLock, Unlock, RetryLater, Forget, End>;

struct StagerSettings {
  std::int64_t blocks = 0;  // in all; BlocksReady gives them for use
  std::int64_t block_bytes = 0;
  std::int64_t most_written_together = std::int64_t{64} << 20;  // bytes of one Write, about
  std::int64_t spill_slots = 0;  // blocks that the spill file takes; 0: there is none
  std::int64_t most_read_back_together = std::int64_t{16} << 20;  // spilled bytes of one Write
  std::string name;                                               // Welcome::stager
  // Most of one session, and connections of ranks in all; 0: no limit.
  std::int64_t client_blocks = 0;
  std::int64_t client_files = 0;
  std::int64_t connections = 0;
  // NOLINTBEGIN(readability-redundant-member-init): may be left out
  std::string host = {};         // of this stager, for people
  std::string secret = {};       // that other stagers know which may join
  std::string rank_secret = {};  // that ranks of other nodes know; "": none are served
  bool has_journal = false;
  std::string ucx = {};  // Welcome::ucx
  // NOLINTEND(readability-redundant-member-init)
};

class Stager {
 public:
  explicit Stager(const StagerSettings& settings);

  // Returns what is to be done, in this order.
  [[nodiscard]] std::vector<Action> handle(const Event& event);

  [[nodiscard]] std::int64_t free_blocks() const { return static_cast<std::int64_t>(free_.size()); }
  [[nodiscard]] std::int64_t free_slots() const {
    return static_cast<std::int64_t>(free_slots_.size());
  }
  // Returns whether a rank waits for blocks, or will soon, and more could become ready.
  [[nodiscard]] bool needs_more_blocks(std::int64_t enough) const {
    return ready_ < settings_.blocks &&
           (free_blocks() < enough || (!wanting_.empty() && free_.empty()));
  }
  // Returns how many blocks a session has, granted or with bytes that are not stored.
  [[nodiscard]] std::int64_t blocks_of(const transport::SessionId& session) const;
  // Returns whether no rank is connected and nothing is left to be stored.
  [[nodiscard]] bool is_idle() const { return sessions_.empty(); }
  // Returns the number of connections over a network that have shown no secret.
  [[nodiscard]] std::size_t strangers() const {
    return static_cast<std::size_t>(std::count_if(
        clients_.begin(), clients_.end(),
        [](const auto& one) { return one.second.is_remote && one.second.session == 0; }));
  }
  // Describes the state for people, as JSON.
  [[nodiscard]] std::string report() const;

 private:
  using NamedFile = std::shared_ptr<const transport::NameFile>;
  struct ParcelItem {
    std::int64_t block = 0;
    std::int64_t bytes = 0;
    std::optional<SpilledBlock> spilled = std::nullopt;  // its block is free then
    bool is_moving = false;                              // to the spill file
    JobId recording = 0;                                 // 0: it is not being recorded
    bool at_once = false;                                // counts as urgent
    std::vector<NamedFile> files;
    std::vector<transport::ParcelExtent> extents;  // `file` is an index in `files`
  };
  struct CommitItem {
    std::uint64_t ticket = 0;
    transport::CommitStep step;
    JobId recording = 0;
  };
  struct UnlockItem {
    std::uint64_t ticket = 0;
    std::string path;
  };
  struct SealItem {
    std::uint64_t ticket = 0;
    transport::SealStep step;
  };
  struct DrainItem {
    ClientId client = 0;
  };
  using Item = std::variant<ParcelItem, CommitItem, UnlockItem, SealItem, DrainItem>;

  // Another stager of a session.
  struct PeerState {
    ClientId client = 0;  // 0: its connection has ended
    std::string host;
    std::uint64_t sealed = 0;  // the last seal behind everything that it has stored
  };
  // The way of a stager that joined to the stager of rank 0.
  struct Home {
    enum class State : std::uint8_t { none, joining, joined };
    State state = State::none;
    ClientId client = 0;
    std::string secret;
    std::vector<ClientId> waiting;  // ranks that get a Joined
  };

  struct Session {
    transport::SessionId name{};
    std::string program;
    std::set<ClientId> clients;    // ranks
    std::vector<PeerState> peers;  // that joined
    Home home;
    std::deque<Item> queue;
    // Items of the queue that are no parcels, or parcels that wait for no step's end.
    std::int64_t urgent = 0;
    std::uint64_t tickets = 0;
    std::uint64_t done = 0;  // tickets are done in order
    JobId job = 0;           // 0: none is under way
    std::size_t in_job = 0;  // items at the front of the queue that belong to it
    bool waits_for_space = false;
    std::int64_t written = 0;                                 // bytes, so far
    std::set<std::string_view> carriers;                      // that have brought bytes
    std::int64_t blocks = 0;                                  // granted, or not stored
    std::map<std::string, std::int64_t, std::less<>> paths;   // names of each file by its ranks
    Status failure;                                           // why nothing more is carried out
    std::vector<std::pair<ClientId, std::uint64_t>> waiting;  // for tickets
  };
  // What is moving to the spill file: parcels of one session.
  struct Spilling {
    JobId job = 0;  // 0: nothing
    SessionId session = 0;
    std::vector<SpilledBlock> blocks;
    std::set<std::int64_t> dropped;  // blocks whose parcels nobody needs any more
  };
  // What is being recorded in the journal. Items of a queue keep their place in memory.
  struct Recording {
    SessionId session = 0;
    ParcelItem* parcel = nullptr;  // null: it was dropped, or this is a commit
    CommitItem* commit = nullptr;  // the same
    std::int64_t block = -1;       // of the parcel; freed at the end if that was dropped
    ClientId client = 0;           // that gets an Accepted
    std::uint64_t ticket = 0;
  };
  // Bytes of a block that have come in messages or pieces, at its beginning and at its end.
  struct Filled {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool over_ucx = false;  // all of them
  };
  struct Client {
    SessionId session = 0;   // 0: has not said Hello, or Peer
    bool is_remote = false;  // another stager, or somebody who has shown nothing so far
    bool is_remote_rank = false;
    bool has_knocked = false;
    bool has_attached = false;         // asked for UCX
    transport::Nonce nonce{};          // of this stager, for a Challenge
    transport::Proof awaited_proof{};  // with `has_knocked`
    int ticks = 0;  // since a remote client connected, until it has shown a secret
    std::map<std::uint64_t, NamedFile> files;
    std::map<std::int64_t, Filled> granted;
    std::int64_t wanted = 0;  // blocks, while it waits for some
    bool drains = false;      // waits for Drained
    bool commits = false;     // waits for Accepted
    JobId locks = 0;          // waits for Locked when the job has ended; 0: it does not
  };

  void take(const Connected& event);
  void take(const Received& event);
  void take(const Piece& event);
  void take(const Disconnected& event);
  void take(const Linked& event);
  void take(const JobEnded& event);
  void take(const RetryDue& event);
  void take(const Tick& event);
  void take(const BlocksReady& event);
  void take(const NoMoreBlocks& event);
  void take(const Stopping& event);

  // Messages of ranks.
  void take(ClientId number, const transport::Hello& message);
  void take(ClientId client, const transport::NameFile& message);
  void take(ClientId client, const transport::ForgetFile& message);
  void take(ClientId number, const transport::Reserve& message);
  void take(ClientId number, const transport::Flush& message);
  void take(ClientId client, const transport::LockFile& message);
  void take(ClientId number, const transport::CommitStep& message);
  void take(ClientId number, const transport::UnlockFile& message);
  void take(ClientId number, const transport::Await& message);
  void take(ClientId number, const transport::Drain& message);
  void take(ClientId number, const transport::Listen& message);
  void take(ClientId number, const transport::JoinHome& message);
  void take(ClientId number, const transport::SealStep& message);
  void take(ClientId client, const transport::Goodbye& message);
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
  // Returns whether all bytes of a parcel have come.
  [[nodiscard]] static bool is_filled(const Filled& filled,
                                      std::span<const transport::ParcelExtent> extents);
  // Returns whether the job took a lock, and answers.
  bool end_locking(const JobEnded& event);
  // Messages of other stagers, in src/stager/peers.cpp.
  void take_from_peer(ClientId number, const transport::Message& message);
  void let_in(ClientId number, const transport::Peer& message);
  void take_joined(SessionId number, Session& session, const Status& outcome);
  void take_failure(SessionId number, Session& session, const Status& why);
  void remove_peer(ClientId client, SessionId number, Session& session);
  // Returns a stager that must have stored its share before a commit, and has not; null: none.
  [[nodiscard]] static const PeerState* late_peer(const Session& session, std::uint64_t seal);
  [[nodiscard]] static Error lost_peer(const std::string& host);
  void tell_peers_of_failure(const Session& session);
  void leave_peers(const Session& session);
  void take_parcel(const Received& event, const transport::Parcel& parcel);

  void send(ClientId client, transport::Message message);
  // Ends a connection whose messages make no sense.
  void refuse(ClientId client, std::string reason);
  void remove(ClientId client);
  void grant();
  // Returns how many more blocks the session may have.
  [[nodiscard]] std::int64_t room_of(const Session& session) const;
  void free_block(std::int64_t block);
  static void forget_path(Session& session, const std::string& path);
  // Frees what a parcel occupies, or lets the end of its move do so.
  void free_parcel(const ParcelItem& parcel);
  // Called where ranks wait for memory: lets parcels move, or else be written.
  void make_room();
  // Returns the sessions whose parcels take the memory for which ranks wait.
  [[nodiscard]] std::set<SessionId> full_sessions() const;
  void begin_spill(const std::set<SessionId>& full);
  void end_spill(const Status& status);
  // Gives back the space of the spill file once nothing is in it.
  void empty_spill();
  [[nodiscard]] bool is_spill_usable() const {
    return !free_slots_.empty() && spill_failure_.ok() && !spill_pauses_;
  }
  // Returns the parcels that can move, the one first that was handed over last.
  [[nodiscard]] static std::vector<ParcelItem*> movable_parcels(Session& session);
  // Begins the next job of a session, if there is one and it is needed now.
  void advance(SessionId number, Session& session);
  void write_parcels(SessionId number, Session& session);
  // Takes the last item from the queue.
  void remove_last(Session& session);
  // Returns whether what the session hands over is recorded in the journal: that of a session with
  // several stagers is not.
  [[nodiscard]] bool is_journaled(const Session& session) const {
    return settings_.has_journal && session.peers.empty() &&
           session.home.state == Home::State::none;
  }
  void end_recording(JobId job, const Status& status);
  void end_ticket(Session& session, std::uint64_t ticket);
  void fail(Session& session, const Status& why);
  // Drops what is in the queue behind the first items.
  void drop_behind(Session& session, std::size_t items);
  void answer_drains(const Session& session);
  void drop_unfinished(Session& session);
  // Forgets the session if nothing of it is left.
  void end_if_over(SessionId number);
  // Returns whether ranks wait although all memory is ready: only writing can make some free.
  [[nodiscard]] bool is_short_of_blocks() const {
    return !wanting_.empty() && free_.empty() && ready_ == settings_.blocks;
  }
  // Returns why it takes long, for people; "": for no unusual reason.
  [[nodiscard]] std::string reason_to_wait(const Session& session) const;
  [[nodiscard]] static Status result_of(const Session& session, std::uint64_t ticket);

  StagerSettings settings_;
  std::int64_t ready_ = 0;  // blocks, so far
  std::vector<std::int64_t> free_;
  std::map<std::int64_t, SessionId> owners_;  // of blocks that are not free
  std::vector<std::int64_t> free_slots_;
  Spilling spilling_;
  std::uint64_t last_stamp_ = 0;
  bool spill_is_used_ = false;  // since its space was given back
  bool spill_pauses_ = false;   // it had no space left; it is tried again a second later
  Status spill_failure_;        // why it takes no more
  std::map<JobId, Recording> recordings_;
  struct Locking {
    SessionId session = 0;
    ClientId client = 0;
    std::string path;
  };
  std::map<JobId, Locking> lockings_;
  std::string journal_failure_;   // why a step that was accepted is not in the journal
  bool writes_for_room_ = false;  // parcels are written although no commit needs it
  std::map<ClientId, Client> clients_;
  std::map<SessionId, Session> sessions_;
  std::map<transport::SessionId, SessionId> by_name_;
  std::deque<ClientId> wanting_;  // wait for blocks, the longest first
  std::int64_t ranks_ = 0;        // connected
  SessionId last_session_ = 0;
  JobId last_job_ = 0;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  std::vector<Action> actions_;
};

}  // namespace weir::stager
