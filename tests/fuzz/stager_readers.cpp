// What a stager is sent: messages, filled blocks, and whole conversations with several ranks and
// another stager, in which everything comes in any order and jobs end in any way.
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "readers.hpp"
#include "seeds.hpp"
#include "stager/disk_record.hpp"
#include "stager/journal.hpp"
#include "stager/journal_reading.hpp"
#include "stager/stager.hpp"
#include "system/file.hpp"
#include "transport/authenticator.hpp"
#include "transport/filled_block.hpp"
#include "transport/messages.hpp"
#include "transport/proof.hpp"
#include "transport/test_messages.hpp"

namespace weir::fuzz {
namespace {

using Complaint = std::optional<std::string>;
using Input = std::span<const std::byte>;

constexpr std::size_t connections = 4;
constexpr std::size_t remote = connections - 1;  // comes over a network
constexpr std::int64_t blocks = 8;
constexpr std::int64_t block_bytes = 4096;
constexpr std::int64_t slots = 3;
constexpr std::size_t piece_numbers = 5;  // bytes that describe a piece
constexpr const char* rank_key = "key of ranks";

// Says what a byte of a conversation makes happen, below it a message of that connection.
enum class Happening : std::uint8_t {
  connection_ends = connections,
  job_ends = 2 * connections,
  job_has_no_space,
  job_fails,
  tick,
  retry,
  more_blocks,
  no_more_blocks,
  stopping,
  piece,  // followed by what comes over UCX
  count
};

// A stager, and the storage and ranks around it.
class Conversation {
 public:
  Conversation()
      : stager_({.blocks = blocks,
                 .block_bytes = block_bytes,
                 .most_written_together = 2 * block_bytes,
                 .spill_slots = slots,
                 .name = "fuzz",
                 .client_blocks = 3,
                 .client_files = 2,
                 .client_connections = 2,
                 .connections = 3,
                 .secret = "secret",
                 .rank_key = rank_key,
                 .has_journal = true,
                 .ucx = "1.13"}) {
    for (std::size_t i = 0; i < connections; ++i) connect(i);
  }

  void hold(Input bytes) {
    while (!bytes.empty()) {
      const std::size_t what =
          std::to_integer<std::size_t>(bytes[0]) % static_cast<std::size_t>(Happening::count);
      bytes = bytes.subspan(1);
      if (what == static_cast<std::size_t>(Happening::piece)) {
        if (bytes.size() < piece_numbers) return;
        receive_piece(bytes.first(piece_numbers));
        bytes = bytes.subspan(piece_numbers);
        continue;
      }
      if (what >= connections) {
        happen(what);
        continue;
      }
      if (bytes.size() < 2) return;
      const std::size_t length =
          std::to_integer<std::size_t>(bytes[0]) + 256 * std::to_integer<std::size_t>(bytes[1]);
      bytes = bytes.subspan(2);
      const Input message = bytes.first(std::min(length, bytes.size()));
      bytes = bytes.subspan(message.size());
      receive(what, message);
    }
  }

  // Everyone leaves, and storage takes what is left. Returns what the stager did not give back.
  Complaint end() {
    for (std::size_t i = 0; i < connections; ++i) stager_has(stager::Disconnected{numbers_.at(i)});
    while (!jobs_.empty() || !retries_.empty()) {
      retry();
      end_job({});
    }
    if (fills_outside_) return "bytes that came are put outside their block";
    if (!stager_.is_idle()) return "sessions are left when all ranks have left";
    if (stager_.free_blocks() != ready_) {
      return fmt::format("{} of {} blocks are free at the end", stager_.free_blocks(), ready_);
    }
    if (stager_.free_slots() != slots) {
      return fmt::format("{} of {} slots are free at the end", stager_.free_slots(), slots);
    }
    return std::nullopt;
  }

 private:
  void connect(std::size_t connection) {
    numbers_.at(connection) = ++last_;
    stager_has(stager::Connected{last_, connection == remote});
  }

  void receive(std::size_t connection, Input bytes) {
    auto message = transport::parse(bytes);
    if (!message) {  // as the server does
      stager_has(stager::Unreadable{numbers_.at(connection), message.error()});
      connect(connection);
      return;
    }
    stager::Received received{.client = numbers_.at(connection),
                              .message = std::move(message).value()};
    if (const auto* const filled = std::get_if<transport::FilledBlock>(&received.message)) {
      const auto file = static_cast<std::uint64_t>(filled->extents);
      received.extents = std::vector<transport::BlockExtent>{{file, filled->block, 1}};
    }
    const auto* const bytes_of_block = std::get_if<transport::BlockBytes>(&received.message);
    if (bytes_of_block != nullptr) brought_ = std::ssize(bytes_of_block->bytes);
    stager_has(received);
    brought_.reset();
  }

  // Block, which end of it, bytes before, bytes in all, and its own.
  void receive_piece(Input bytes) {
    const auto number = [&](std::size_t at) { return std::to_integer<std::int64_t>(bytes[at]); };
    const auto size = [&](std::size_t at) {  // also more than a block
      return number(at) < 128 ? number(at) : 64 * (number(at) - 127);
    };
    const stager::Piece piece{.client = numbers_.at(remote),
                              .what = {.token = {},
                                       .block = number(0),
                                       .at_end = number(1) % 2 == 1,
                                       .before = size(2),
                                       .total = size(3)},
                              .bytes = size(4)};
    brought_ = piece.bytes;
    stager_has(piece);
    brought_.reset();
  }

  void happen(std::size_t what) {
    if (what < static_cast<std::size_t>(Happening::job_ends)) {
      stager_has(stager::Disconnected{numbers_.at(what - connections)});
      connect(what - connections);
      return;
    }
    switch (static_cast<Happening>(what)) {
      case Happening::job_ends:
        return end_job({});
      case Happening::job_has_no_space:
        return end_job(system_failure("write", "f", 0, ENOSPC));
      case Happening::job_fails:
        return end_job(system_failure("write", "f", 0, EIO));
      case Happening::tick:
        return stager_has(stager::Tick{});
      case Happening::retry:
        return retry();
      case Happening::more_blocks:
        if (ready_ == most_) return;
        ++ready_;
        return stager_has(stager::BlocksReady{1});
      case Happening::no_more_blocks:
        most_ = ready_;
        return stager_has(stager::NoMoreBlocks{});
      default:
        return stager_has(stager::Stopping{});
    }
  }

  void end_job(const Status& status) {
    if (jobs_.empty()) return;
    const stager::JobId job = jobs_.front();
    jobs_.pop_front();
    stager_has(stager::JobEnded{job, status});
  }
  void retry() {
    if (retries_.empty()) return;
    const stager::SessionId session = retries_.front();
    retries_.pop_front();
    stager_has(stager::RetryDue{session});
  }

  void stager_has(const stager::Event& event) {
    for (const stager::Action& action : stager_.handle(event)) {
      if (const auto* const write = std::get_if<stager::WriteBlocks>(&action)) {
        jobs_.push_back(write->job);
      } else if (const auto* const spill = std::get_if<stager::Spill>(&action)) {
        jobs_.push_back(spill->job);
      } else if (const auto* const empty = std::get_if<stager::EmptySpill>(&action)) {
        jobs_.push_back(empty->job);
      } else if (const auto* const record = std::get_if<stager::Record>(&action)) {
        jobs_.push_back(record->job);
      } else if (const auto* const step = std::get_if<stager::RecordStep>(&action)) {
        jobs_.push_back(step->job);
      } else if (const auto* const commit = std::get_if<stager::Commit>(&action)) {
        jobs_.push_back(commit->job);
      } else if (const auto* const seal = std::get_if<stager::Seal>(&action)) {
        jobs_.push_back(seal->job);
      } else if (const auto* const lock = std::get_if<stager::AcquireLock>(&action)) {
        jobs_.push_back(lock->job);
      } else if (const auto* const fill = std::get_if<stager::Fill>(&action)) {
        const bool is_inside = brought_ && fill->block >= 0 && fill->block < ready_ &&
                               fill->at >= 0 && fill->at <= block_bytes - *brought_;
        fills_outside_ = fills_outside_ || !is_inside;
      } else if (const auto* const joins = std::get_if<stager::Connect>(&action)) {
        joining_.push_back(joins->session);
      } else if (const auto* const check = std::get_if<stager::CheckProof>(&action)) {
        checks_.push_back(*check);
      } else if (const auto* const later = std::get_if<stager::RetryLater>(&action)) {
        retries_.push_back(later->session);
      } else if (const auto* const sent = std::get_if<stager::Send>(&action)) {
        (void)transport::parse(transport::encode(sent->message));
      }
    }
    (void)stager_.report();
    while (!checks_.empty()) {
      const stager::CheckProof asked = std::move(checks_.front());
      checks_.pop_front();
      const Status checked = cookies_->check(asked.shown, asked.awaited);
      stager_has(stager::ProofChecked{asked.client,
                                      checked.ok() ? cookies_->show(asked.own) : checked.error()});
    }
    while (!joining_.empty()) {
      const stager::SessionId session = joining_.front();
      joining_.pop_front();
      // The connection over the network is then that to the other stager.
      const stager::ClientId before = std::exchange(numbers_.at(remote), ++last_);
      stager_has(stager::Disconnected{before});
      stager_has(stager::Linked{session, last_});
    }
  }

  stager::Stager stager_;
  std::array<stager::ClientId, connections> numbers_{};
  stager::ClientId last_ = 0;
  std::int64_t ready_ = 0;
  std::int64_t most_ = blocks;
  std::deque<stager::JobId> jobs_;
  std::deque<stager::SessionId> joining_;
  std::deque<stager::CheckProof> checks_;
  std::unique_ptr<transport::Authenticator> cookies_ = transport::make_cookie_authenticator();
  std::deque<stager::SessionId> retries_;
  std::optional<std::int64_t> brought_;  // bytes of the message or piece that is handled
  bool fills_outside_ = false;
};

}  // namespace

// parse() accepts exactly what encode() makes.
Complaint read_message(Input bytes, const std::string& /*folder*/) {
  const auto message = transport::parse(bytes);
  if (!message) return std::nullopt;
  const std::vector<std::byte> again = transport::encode(message.value());
  if (!std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) {
    return fmt::format("a message of kind {} is written as other bytes", message.value().index());
  }
  return std::nullopt;
}

// The first byte is the number of extents, and the others are the block.
Complaint read_filled_block(Input bytes, const std::string& /*folder*/) {
  if (bytes.empty()) return std::nullopt;
  const Input block = bytes.subspan(1);
  const auto extents = transport::extents_of(block, std::to_integer<std::int64_t>(bytes[0]) - 1);
  if (!extents) return std::nullopt;
  std::int64_t in_block = 0;
  for (const transport::BlockExtent& one : extents.value()) {
    if (one.bytes < 1 || one.offset < 0) return "an extent without bytes, or before the file";
    if (one.offset > std::numeric_limits<std::int64_t>::max() - one.bytes) {
      return fmt::format("an extent ends behind offset 2^63: {} + {}", one.offset, one.bytes);
    }
    in_block += one.bytes;
    if (in_block > static_cast<std::int64_t>(block.size())) return "bytes outside the block";
  }
  return std::nullopt;
}

// The records of a journal without their heads: 2 bytes of length each, then bytes.
Complaint read_journal(Input bytes, const std::string& folder) {
  const std::string path = folder + "/journal";
  {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    const auto put = [&](Input part) {
      file.write(reinterpret_cast<const char*>(part.data()), std::ssize(part));
    };
    for (std::uint64_t number = 0; bytes.size() > 2; ++number) {
      const std::size_t length =
          std::to_integer<std::size_t>(bytes[0]) + 256 * std::to_integer<std::size_t>(bytes[1]);
      const Input record = bytes.subspan(2, std::min(length, bytes.size() - 2));
      put(stager::record_head(stager::journal_magic, number, record));
      put(record);
      bytes = bytes.subspan(2 + record.size());
    }
  }
  const auto file = storage::File::open(path, {});
  if (!file) return std::nullopt;
  const auto read = stager::read_journal(file.value(), nullptr);
  if (!read || !read.value()) return std::nullopt;
  const stager::JournaledStep& step = *read.value();
  if (step.files.empty() || !step.files.front().known) return "a step of no known file";
  const transport::StepShare& share = step.share;
  if (!share.hosts.empty() && share.number >= share.hosts.size()) return "a share of no stager";
  return step.step.path == step.before.path ? Complaint() : "two files of one commit";
}

Complaint read_conversation(Input bytes, const std::string& /*folder*/) {
  Conversation conversation;
  conversation.hold(bytes);
  return conversation.end();
}

std::vector<Bytes> message_seeds(const std::string& /*folder*/) {
  std::vector<Bytes> seeds;
  for (const auto& message : transport::test_messages()) {
    seeds.push_back(transport::encode(message));
  }
  return seeds;
}

std::vector<Bytes> filled_block_seeds(const std::string& /*folder*/) {
  Bytes data(100, std::byte{7});
  Bytes seed(1 + 256);
  transport::BlockWriter writer(std::span<std::byte>(seed).subspan(1));
  for (const std::int64_t offset : {0, 300, 1000}) {
    (void)writer.add(1, offset, std::array{storage::Slice{data.data(), 50}}, 0);
  }
  seed[0] = static_cast<std::byte>(writer.extents() + 1);
  return {seed};
}

std::vector<Bytes> journal_seeds(const std::string& /*folder*/) {
  Bytes seed;
  const auto record = [&](const Bytes& bytes) {
    seed.push_back(static_cast<std::byte>(bytes.size() % 256));
    seed.push_back(static_cast<std::byte>(bytes.size() / 256));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  };
  for (std::uint64_t file = 0; file < 2; ++file) {
    record(transport::encode(transport::NameFile{.file = file,
                                                 .path = "f",
                                                 .bytes_when_made = 0,
                                                 .known = storage::KnownFile{"f", {1, 2, 3}}}));
  }
  Bytes block(50 + 24);
  transport::BlockWriter writer(block);
  Bytes data(50, std::byte{7});
  (void)writer.add(1, 300, std::array{storage::Slice{data.data(), 50}}, 0);
  record(transport::encode(transport::FilledBlock{std::ssize(block), writer.extents()}));
  record(block);
  record(transport::encode(transport::CommitStep{.path = "f", .update = {}}));
  Bytes whole = seed;
  record(transport::encode(transport::CommitStep{.path = "f", .update = {}}));
  seed.swap(whole);
  record(transport::encode(transport::RecordShare{
      .share = {.session = {}, .ticket = 1, .number = 1, .hosts = {"a", "b"}},
      .step = {.path = "f", .seal = 1, .update = {}}}));
  return {whole, seed};
}

// A rank names a file, hands over a block, ends a step and waits; a second one leaves in between.
// In the other seed, a rank of another node does so.
std::vector<Bytes> conversation_seeds(const std::string& /*folder*/) {
  Bytes seed;
  const auto happens = [&](Happening what) { seed.push_back(static_cast<std::byte>(what)); };
  const auto sends = [&](std::size_t connection, const transport::Message& message) {
    const auto bytes = transport::encode(message);
    seed.push_back(static_cast<std::byte>(connection));
    seed.push_back(static_cast<std::byte>(bytes.size() % 256));
    seed.push_back(static_cast<std::byte>(bytes.size() / 256));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  };
  happens(Happening::more_blocks);
  happens(Happening::more_blocks);
  for (std::size_t connection = 0; connection < 2; ++connection) {
    sends(connection, transport::Hello{.session = {std::byte{9}}, .rank = 0, .program = "p"});
    sends(connection,
          transport::NameFile{.file = 1, .path = "f", .bytes_when_made = 0, .known = std::nullopt});
    sends(connection, transport::Reserve{1});
  }
  for (std::int64_t block = 0; block < 2; ++block) {
    sends(0, transport::FilledBlock{block, 1});
    sends(1, transport::FilledBlock{block, 1});
    sends(0, transport::Hello{.session = {std::byte{9}}, .rank = 0, .program = "p"});
  }
  sends(2, transport::Hello{.session = {std::byte{9}}, .rank = 0, .program = "p"});
  sends(remote, transport::Peer{.session = {std::byte{9}}, .secret = "secret", .host = "h"});
  sends(2, transport::CommitStep{.path = "f", .seal = 1, .update = {}});
  sends(remote,
        transport::EncodedChunks{.seal = 1, .encoded = "a", .chunks = {{.chunk = 1, .place = {}}}});
  sends(remote, transport::Sealed{1});
  sends(2, transport::Await{1});
  happens(Happening::job_has_no_space);
  happens(Happening::retry);
  happens(Happening::tick);
  happens(Happening::job_ends);
  sends(2, transport::Drain{});
  sends(2, transport::UnlockFile{"f"});
  happens(Happening::connection_ends);
  happens(Happening::stopping);
  std::vector<Bytes> seeds = {std::exchange(seed, {})};
  happens(Happening::more_blocks);
  sends(remote, transport::Knock{});
  const auto proof = transport::proof_of(transport::Side::rank, rank_key, {}, {});
  sends(remote, transport::Prove{{proof.begin(), proof.end()}});
  sends(remote, transport::Hello{.session = {std::byte{9}}, .rank = 0, .program = "p"});
  sends(remote,
        transport::NameFile{.file = 1, .path = "f", .bytes_when_made = 0, .known = std::nullopt});
  sends(remote, transport::TakeLock{"f"});
  happens(Happening::job_ends);
  sends(remote, transport::Reserve{1});
  sends(remote, transport::BlockBytes{0, false, Bytes(1)});
  sends(remote, transport::BlockBytes{0, true, Bytes(24)});
  sends(remote, transport::FilledBlock{0, 1});
  sends(remote, transport::Attach{Bytes(8)});
  sends(remote, transport::Reserve{1});
  for (const auto& [at_end, size] : {std::pair(0, 1), std::pair(1, 24)}) {
    happens(Happening::piece);
    for (const int number : {0, at_end, 0, 25, size})
      seed.push_back(static_cast<std::byte>(number));
  }
  sends(remote, transport::FilledBlock{0, 1});
  sends(remote, transport::CommitStep{.path = "f", .update = {}});
  sends(remote, transport::Drain{});
  happens(Happening::job_ends);
  happens(Happening::job_ends);
  sends(remote, transport::UnlockFile{"f"});
  sends(remote, transport::Goodbye{});
  seeds.push_back(seed);
  return seeds;
}

}  // namespace weir::fuzz
