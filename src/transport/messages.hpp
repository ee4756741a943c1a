// The messages between a session's ranks and a stager, and between the stagers of a session on
// several nodes, and how they are represented (docs/staging.md describes the protocol).
//
// Numbers are little-endian. A message begins with its kind (2 bytes) and protocol_version (2).
// Texts and lists begin with their length (8). parse() accepts exactly what encode() makes;
// everything else, for example a message that is too short or too long, is an error, and the
// connection ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "common/status.hpp"
#include "formats/header_update.hpp"
#include "stored/encoded_table.hpp"
#include "system/known_file.hpp"
#include "system/step_durability.hpp"

namespace weir::transport {

// Both sides refuse to work with another version.
inline constexpr std::uint16_t protocol_version = 13;

// Identifies a session of a program; all its ranks use the same.
using SessionId = std::array<std::byte, 16>;
// Random bytes of one side of a connection, and what is made of the bytes of both sides
// (proof.hpp).
using Nonce = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;

// ---- From a rank to the stager ------------------------------------------------------------------

// The first message of a rank over a network. The stager answers with Challenge.
struct Knock {
  Nonce nonce{};
  friend bool operator==(const Knock&, const Knock&) = default;
};
// Answers Challenge: the rank shows who it is (authenticator.hpp). The stager answers with Vouch or
// Refused, and takes messages of this rank as those of a rank of the node from then on.
struct Prove {
  std::vector<std::byte> shown;
  friend bool operator==(const Prove&, const Prove&) = default;
};
// The first message of a rank of the node. The stager answers with Welcome or Refused.
struct Hello {
  SessionId session{};
  std::int32_t rank = 0;
  std::string program;  // for people: process and host
  friend bool operator==(const Hello&, const Hello&) = default;
};
// A stager puts the encoded chunks of a step there, if a table in the file has their places. Each
// of several stagers has regions of its own (sections/file_space_allocator.hpp), so that none needs
// to know how long the chunks of the others are.
struct ChunkPlaces {
  std::uint64_t step = 0;      // a number of the session for this step; 0: there is no such table
  std::int64_t free_from = 0;  // as in formats/format.hpp
  std::int64_t stagers = 1;    // of the session's ranks
  std::int64_t own = 0;        // number of this stager among them
  std::int64_t region_bytes = 0;  // unused by a single stager
  friend bool operator==(const ChunkPlaces&, const ChunkPlaces&) = default;
};
// Names a file of which filled blocks bring bytes. The stager opens it when it writes.
struct NameFile {
  std::uint64_t file = 0;  // a number that this rank chose and has not used
  std::string path;
  std::int64_t bytes_when_made = 0;  // as in engines/engine.hpp
  std::optional<storage::KnownFile> known;
  // NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
  // The map of one array, if the stager encodes (formats/file_map_message.hpp). The bytes are then
  // those of its chunks as sections/decoded_engine.hpp presents them, and `path` is only a name.
  std::string encoded = {};
  ChunkPlaces places = {};  // with `encoded`
  // The file's bytes need no step's end: the stager writes them as soon as possible.
  bool at_once = false;
  // With `at_once`: the stager may let them wait for a second or two, until they are more, or the
  // ranks compute.
  bool may_wait = false;
  // NOLINTEND(readability-redundant-member-init)
  friend bool operator==(const NameFile&, const NameFile&) = default;
};
// The rank sends no more bytes for the file.
struct ForgetFile {
  std::uint64_t file = 0;
  friend bool operator==(const ForgetFile&, const ForgetFile&) = default;
};
// Asks for blocks of the stager's memory. The stager answers with Granted as soon as it has any.
struct Reserve {
  std::int64_t blocks = 0;
  friend bool operator==(const Reserve&, const Reserve&) = default;
};
// A rank sends this over a network: bytes of a granted block. The stager puts them behind those
// that came before, or, with `at_end`, before those that came before with `at_end`, the first ones
// at the end of the block.
struct BlockBytes {
  std::int64_t block = 0;
  bool at_end = false;
  std::vector<std::byte> bytes;
  friend bool operator==(const BlockBytes&, const BlockBytes&) = default;
};
// A rank sends this over a network, where Welcome offers UCX: it wants to bring bytes over UCX
// (ucx.hpp). The stager answers with Attached.
struct Attach {
  std::vector<std::byte> address;  // of the rank's worker
  friend bool operator==(const Attach&, const Attach&) = default;
};
// Hands over a granted block with its bytes (transport/filled_block.hpp); the stager owns it from
// now on.
struct FilledBlock {
  std::int64_t block = 0;
  std::int64_t extents = 0;
  friend bool operator==(const FilledBlock&, const FilledBlock&) = default;
};
// The stager answers with Flushed when it has taken all earlier messages of this rank. Blocks that
// the rank has not handed over are no longer its own.
struct Flush {
  std::int64_t waited_ns = 0;  // by this rank, for this stager, since the Flush before
  friend bool operator==(const Flush&, const Flush&) = default;
};
// A rank of the node sends this in place of Flush where it does not wait for an answer. The stager
// takes all earlier messages of this rank before it carries out what any rank asks later. Blocks
// that the rank has not handed over are no longer its own. The answer is Granted: with up to
// `blocks` for what the rank hands over next, or with none.
struct HandOver {
  std::int64_t waited_ns = 0;  // as in Flush
  std::int64_t blocks = 0;
  friend bool operator==(const HandOver&, const HandOver&) = default;
};
// Passes the open file of a writer's lock (formats/writer_lock.hpp), so that the lock is held until
// the file is stored, also after the program has ended.
struct LockFile {
  std::string path;
  friend bool operator==(const LockFile&, const LockFile&) = default;
};
// A rank sends this over a network, which cannot pass a lock: the stager takes the writer's lock of
// the path. It answers with Locked.
struct TakeLock {
  std::string path;
  friend bool operator==(const TakeLock&, const TakeLock&) = default;
};
// A stager needs this in order to enter the chunks that it has encoded in the tables of a file
// (Format::enter_chunks()).
struct EnteredChunks {
  std::uint64_t step = 0;  // as in ChunkPlaces; 0: there are none
  std::string format;
  std::int64_t steps = 0;  // of the file, with this one
  bool has_leftovers = false;
  friend bool operator==(const EnteredChunks&, const EnteredChunks&) = default;
};
// Ends a step: after everything that the session has handed over before is stored, the stager
// changes the header of the file. The stager answers with Accepted.
struct CommitStep {
  std::string path;
  storage::StepDurability durability = storage::StepDurability::step;
  bool names_sums = false;  // the file of checksums gets its name together with the file
  // The stagers that joined must have stored what was handed to them before this seal of theirs
  // (SealStep); 0: none has to.
  std::uint64_t seal = 0;
  EnteredChunks chunks = {};  // NOLINT(readability-redundant-member-init): may be left out
  storage::HeaderUpdate update;
  friend bool operator==(const CommitStep&, const CommitStep&) = default;
};
// Releases the lock after everything before is stored. The stager answers with Accepted.
struct UnlockFile {
  std::string path;
  friend bool operator==(const UnlockFile&, const UnlockFile&) = default;
};
// The stager answers with Stored when the item of that ticket is done.
struct Await {
  std::uint64_t ticket = 0;
  friend bool operator==(const Await&, const Await&) = default;
};
// The stager writes everything that the session has handed over, and answers with Drained.
// FilledBlocks whose step has not ended are written, too. If the session has failed, the answer
// says so when the stager no longer writes to its files.
struct Drain {
  friend bool operator==(const Drain&, const Drain&) = default;
};
// Asks how the stagers of other nodes reach this one, which is going to publish the session's
// steps. The stager answers with Listening, or with Refused.
struct Listen {
  friend bool operator==(const Listen&, const Listen&) = default;
};
// Lets the stager join the one that publishes the session's steps. It answers with Joined when the
// other one has let it in, or tells why not.
struct JoinHome {
  std::vector<std::string> addresses;  // of Listening: tried in this order
  std::string secret;
  bool keep_journals = false;  // all stagers of the session
  friend bool operator==(const JoinHome&, const JoinHome&) = default;
};
// Ends a step on a stager that joined: after everything that the session has handed over to it
// before is stored, it tells the stager that publishes the step. It answers with Accepted.
struct SealStep {
  std::uint64_t seal = 0;  // a number that grows with each step of the session
  storage::StepDurability durability = storage::StepDurability::step;
  // As in ChunkPlaces: the chunks of this step that the stager has encoded are told, too
  // (EncodedChunks); 0: there are none.
  std::uint64_t chunk_step = 0;
  friend bool operator==(const SealStep&, const SealStep&) = default;
};
// The rank leaves. A connection that ends says the same.
struct Goodbye {
  friend bool operator==(const Goodbye&, const Goodbye&) = default;
};
// A person's program sends this: the stager answers with Report.
struct AskReport {
  friend bool operator==(const AskReport&, const AskReport&) = default;
};
// A person's program sends this: the stager refuses new sessions, and ends when everything is
// stored. It sends Alive each second until then, and Report at its end.
struct Stop {
  friend bool operator==(const Stop&, const Stop&) = default;
};

// ---- From the stager ----------------------------------------------------------------------------

// The stager's answer to Knock, which tells that it wrote the rendezvous file that has its key. The
// rank answers with Prove.
struct Challenge {
  Nonce nonce{};
  Proof proof{};
  friend bool operator==(const Challenge&, const Challenge&) = default;
};
// The stager's answer to Prove, which shows who it is.
struct Vouch {
  std::vector<std::byte> shown;
  friend bool operator==(const Vouch&, const Vouch&) = default;
};
// Passes the file of the stager's memory to a rank of the node.
struct Welcome {
  std::int64_t blocks = 0;
  std::int64_t block_bytes = 0;
  std::string stager;  // differs for each process that runs as a stager
  // Version of UCX over which a rank may bring bytes; "": none.
  std::string ucx = {};      // NOLINT(readability-redundant-member-init): may be left out
  bool has_journal = false;  // steps that are accepted survive the stager
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
// A rank or a stager that cannot read what it was sent also says so by this.
struct Refused {
  std::string reason;
  friend bool operator==(const Refused&, const Refused&) = default;
};
struct Granted {
  std::vector<std::int64_t> blocks;
  friend bool operator==(const Granted&, const Granted&) = default;
};
// A result; an error's code, text, file, offset and errno arrive as they were.
struct Outcome {
  Status status;
  friend bool operator==(const Outcome& a, const Outcome& b) {
    return a.status.ok() == b.status.ok() &&
           (a.status.ok() || a.status.error().text() == b.status.error().text());
  }
};
// The rank may bring bytes over UCX with this token, or the outcome says why not: it sends them in
// messages then.
struct Attached {
  Outcome outcome;
  std::vector<std::byte> address;  // of the stager's worker
  Nonce token{};
  friend bool operator==(const Attached&, const Attached&) = default;
};
// All bytes that a rank announced for a block over UCX are there.
struct Brought {
  std::int64_t block = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Brought&, const Brought&) = default;
};
struct Flushed {
  Outcome outcome;
  friend bool operator==(const Flushed&, const Flushed&) = default;
};
struct Locked {
  Outcome outcome;
  friend bool operator==(const Locked&, const Locked&) = default;
};
// The outcome is the error with which the session has failed: nothing will be done then.
struct Accepted {
  std::uint64_t ticket = 0;
  Outcome outcome;
  bool in_journal = false;  // the step is durable in the stager's journal
  friend bool operator==(const Accepted&, const Accepted&) = default;
};
struct Stored {
  std::uint64_t ticket = 0;
  Outcome outcome;
  friend bool operator==(const Stored&, const Stored&) = default;
};
struct Drained {
  Outcome outcome;
  friend bool operator==(const Drained&, const Drained&) = default;
};
// A sign of life to a rank that waits; `reason` says for what, "" for nothing unusual.
struct Alive {
  std::string reason;
  friend bool operator==(const Alive&, const Alive&) = default;
};
struct Report {
  std::string json;
  friend bool operator==(const Report&, const Report&) = default;
};
struct Listening {
  std::vector<std::string> addresses;  // such as "10.0.0.1:4711" or "[fd00::1]:4711"
  std::string secret;                  // who knows it may join
  friend bool operator==(const Listening&, const Listening&) = default;
};

// ---- Between stagers ----------------------------------------------------------------------------

// The first message of a stager that joins. The other one answers with Joined.
struct Peer {
  SessionId session{};
  std::string secret;
  std::string host;            // for people
  bool keep_journals = false;  // as in JoinHome
  friend bool operator==(const Peer&, const Peer&) = default;
};
struct Joined {
  Outcome outcome;
  friend bool operator==(const Joined&, const Joined&) = default;
};
// The stager that joined tells chunks of an array that it has encoded and stored before this seal,
// or some of them. Sealed comes after the last ones.
struct EncodedChunks {
  std::uint64_t seal = 0;
  std::string encoded;  // as in NameFile
  // If a chunk has several entries, the last one counts.
  std::vector<storage::EncodedTable::Entry> chunks;
  friend bool operator==(const EncodedChunks&, const EncodedChunks&) = default;
};
// All that was handed before this seal to the stager that joined is stored.
struct Sealed {
  std::uint64_t seal = 0;
  friend bool operator==(const Sealed&, const Sealed&) = default;
};
// The session has failed on the stager that sends this, for this reason.
struct SessionFailed {
  Outcome reason;
  friend bool operator==(const SessionFailed&, const SessionFailed&) = default;
};
// Says which part of a step one stager has in its journal.
struct StepShare {
  SessionId session{};
  std::uint64_t ticket = 0;        // of the step, on the stager that publishes it
  std::uint64_t number = 0;        // of the stager, in `hosts`
  std::vector<std::string> hosts;  // of all stagers of the step, that of rank 0 first; for people
  friend bool operator==(const StepShare&, const StepShare&) = default;
};
// The stager that publishes the step sends this: everything of it that was handed to the one that
// joined is to be durable in its journal, together with the step's end. It answers with
// ShareRecorded.
struct RecordShare {
  StepShare share;
  CommitStep step;
  friend bool operator==(const RecordShare&, const RecordShare&) = default;
};
// The outcome says why the share is not in the journal.
struct ShareRecorded {
  std::uint64_t ticket = 0;
  Outcome outcome;
  friend bool operator==(const ShareRecorded&, const ShareRecorded&) = default;
};
// The stager that publishes the steps sends this: the step is stored, and nobody needs a share of
// it.
struct Published {
  std::uint64_t ticket = 0;
  friend bool operator==(const Published&, const Published&) = default;
};

using Message =
    std::variant<Knock, Prove, Hello, NameFile, ForgetFile, Reserve, BlockBytes, Attach,
                 FilledBlock, Flush, LockFile, TakeLock, CommitStep, UnlockFile, Await, Drain,
                 Listen, JoinHome, SealStep, Goodbye, AskReport, Stop, Challenge, Vouch, Welcome,
                 Refused, Granted, Attached, Brought, Flushed, Locked, Accepted, Stored, Drained,
                 Alive, Report, Listening, Peer, Joined, Sealed, SessionFailed, RecordShare,
                 ShareRecorded, Published, EncodedChunks, HandOver>;

[[nodiscard]] std::vector<std::byte> encode(const Message& message);
[[nodiscard]] Result<Message> parse(std::span<const std::byte> bytes);

}  // namespace weir::transport
