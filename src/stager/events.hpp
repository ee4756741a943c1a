// Events are what happens to a stager, and actions are what it has to do: the values that its state
// machine (stager.hpp) takes and returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/status.hpp"
#include "system/step_durability.hpp"
#include "transport/filled_block.hpp"
#include "transport/messages.hpp"
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
  // The extents of a FilledBlock, or why they are impossible.
  Result<std::vector<transport::BlockExtent>> extents = std::vector<transport::BlockExtent>();
  // Why a message that names something to be stored is refused.
  Status may_be_stored = {};  // NOLINT(readability-redundant-member-init): may be left out
};
// Bytes that a rank has brought over UCX.
struct Piece {
  ClientId client = 0;
  transport::UcxPiece what;
  std::int64_t bytes = 0;
  bool is_whole = true;  // the piece is as it was sent, by its checksum
};
struct Disconnected {
  ClientId client = 0;
};
// The client sent something that is no message of this version, or was damaged on the way.
struct Unreadable {
  ClientId client = 0;
  Error why;
};
// The answer to CheckProof: what this stager shows to the client, or why the client is sent away.
struct ProofChecked {
  ClientId client = 0;
  Result<std::vector<std::byte>> shown;
};
// The answer to Connect: the connection to the stager of rank 0, or why there is none.
struct Linked {
  SessionId session = 0;
  Result<ClientId> client;
};
struct JobEnded {
  JobId job = 0;
  Status status;
  // The stager of rank 0 is told these chunks if the job was a Seal, in messages of bounded length.
  std::vector<transport::EncodedChunks> chunks =
      {};  // NOLINT(readability-redundant-member-init): may be left out
};
// A time that was asked for with RetryLater has come.
struct RetryDue {
  SessionId session = 0;
};
// Comes about once a second: ranks that wait get a sign of life.
struct Tick {};
// So many blocks of the stager's memory can be used now, behind those that came before.
struct BlocksReady {
  std::int64_t blocks = 0;
};
// There is no more memory than what has become ready.
struct NoMoreBlocks {};
// Steps of which the journal has shares wait for other stagers, or for another reason: a line for
// each, for people.
struct SharesWait {
  std::vector<std::string> lines;
};
// A person or the system asks the stager to end (transport::Stop does the same).
struct Stopping {};
using Event =
    std::variant<Connected, Received, Piece, Disconnected, Unreadable, ProofChecked, Linked,
                 JobEnded, RetryDue, Tick, BlocksReady, NoMoreBlocks, SharesWait, Stopping>;

// ---- Actions ------------------------------------------------------------------------------------

struct Send {
  ClientId client = 0;
  transport::Message message;
};
struct Disconnect {
  ClientId client = 0;
};
// A line for people.
struct Say {
  std::string line;
};
// What the client has shown is compared with the proof that is awaited, and this stager's own proof
// is shown in return (transport/authenticator.hpp): ProofChecked tells how that ended. Nothing is
// taken from the client meanwhile.
struct CheckProof {
  ClientId client = 0;
  std::vector<std::byte> shown;
  transport::Proof awaited{};
  transport::Proof own{};
};
// The client has shown who it is: its messages may be as long as those of a rank of the node.
struct Trust {
  ClientId client = 0;
};
// Messages of this client, which is another stager of a session, may be long from now on.
struct TrustStager {
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
// Bytes for files: what SessionFiles writes.
struct Write {
  JobId job = 0;
  SessionId session = 0;
  std::vector<transport::NameFile> files;
  std::vector<BlockExtent> extents;  // in the order of their arrival
  std::vector<SpilledBlock> spilled =
      {};  // NOLINT(readability-redundant-member-init): may be left out
};
// The extents of a filled block, whose bytes follow each other in it.
struct FilledExtents {
  std::int64_t block = 0;  // or index in WriteBlocks::spilled
  bool is_spilled = false;
  std::vector<std::shared_ptr<const transport::NameFile>> files;
  std::shared_ptr<const std::vector<transport::BlockExtent>> extents;  // `file`: index in `files`
};
// Writes filled blocks, which to_write() describes by their extents. There may be a million of
// these, so the thread that writes them does that.
struct WriteBlocks {
  JobId job = 0;
  SessionId session = 0;
  std::vector<FilledExtents> blocks;  // in the order of their arrival
  std::vector<SpilledBlock> spilled =
      {};  // NOLINT(readability-redundant-member-init): may be left out
};
[[nodiscard]] Write to_write(const WriteBlocks& job);
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
  std::shared_ptr<const std::vector<transport::BlockExtent>> extents;  // `file`: index in `files`
};
// Records the end of a step in the same way. What was recorded of the step is durable when the job
// has ended.
struct RecordStep {
  JobId job = 0;
  SessionId session = 0;
  transport::CommitStep step;
  transport::StepShare share;  // without hosts: the step has no other stagers
  Status refused;              // why nothing of the step may stay in the journal
};
// Nobody needs what this stager has recorded of the step of this path that ended first.
struct ForgetShare {
  SessionId session = 0;
  std::string path;
};
// Gives back the space of the spill file, in which nothing is left.
struct EmptySpill {
  JobId job = 0;
};
struct Commit {
  JobId job = 0;
  SessionId session = 0;
  transport::CommitStep step;
  // What other stagers have told of the chunks of the step that they have encoded.
  std::vector<std::shared_ptr<const transport::EncodedChunks>> others =
      {};  // NOLINT(readability-redundant-member-init): may be left out
};
// Makes durable, as requested, what was written, and closes its files.
struct Seal {
  JobId job = 0;
  SessionId session = 0;
  transport::SealStep step;
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
using Action =
    std::variant<Send, Disconnect, Say, CheckProof, Trust, TrustStager, AttachUcx, Fill,
                 WriteBlocks, Spill, EmptySpill, Record, RecordStep, ForgetShare, Commit, Seal,
                 OpenNetwork, Connect, AcquireLock, KeepLock, Unlock, RetryLater, Forget, End>;

}  // namespace weir::stager
