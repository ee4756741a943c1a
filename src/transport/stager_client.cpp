#include "transport/stager_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/settings.hpp"
#include "system/incomplete.hpp"
#include "transport/ucx.hpp"

namespace weir::transport {
namespace {

// Blocks that a rank asks for at a time, so that an answer is worth its wait.
constexpr std::int64_t most_blocks_together = 64;
// Messages that a rank of the stager's node keeps until it sends one more.
constexpr std::size_t most_kept_messages = 3;
// How long a rank waits for a stager whose connection has ended, but which listens still.
constexpr double longest_farewell_seconds = 30;
// Bytes of a block that a rank fills before it sends them.
constexpr std::int64_t most_sent_block_bytes = std::int64_t{1} << 30;

}  // namespace

Result<std::unique_ptr<StagerClient>> StagerClient::connect(const StagerPlace& place,
                                                            const Hello& hello,
                                                            double deadline_seconds) {
  auto opened = StagerConnection::open(place, deadline_seconds);
  if (!opened) return opened.error();
  std::unique_ptr<StagerClient> client(new StagerClient(std::move(opened).value(), hello));
  StagerConnection& connection = *client->connection_;
  connection.set_sender(fmt::format("rank {}", hello.rank));
  if (Status sent = connection.send(hello); !sent.ok()) return sent.error();
  auto welcome = connection.answer<Welcome>();
  if (!welcome) return welcome.error();
  client->welcome_ = std::move(welcome).value();
  if (Status carried = client->choose_carrier(); !carried.ok()) return carried.error();
  if (Status attached = client->attach_over_ucx(); !attached.ok()) return attached.error();
  return client;
}

Status StagerClient::choose_carrier() {
  auto passed = connection_->take_passed();
  const bool possible = welcome_.blocks > 0 && welcome_.block_bytes > 0 &&
                        welcome_.blocks <= (std::int64_t{1} << 50) / welcome_.block_bytes;
  const bool is_small = !is_remote() || welcome_.block_bytes <= most_sent_block_bytes;
  if (!possible || !is_small || is_remote() == passed.has_value()) {
    return connection_->lose(Error(ErrorCode::corrupt, "the stager sent no memory"));
  }
  if (is_remote()) {
    carrier_ = make_message_carrier(
        welcome_, [this](const Message& one) { return connection_->send_now(one); });
    return {};
  }
  auto memory =
      storage::SharedMemory::map(std::move(*passed), welcome_.blocks * welcome_.block_bytes);
  if (!memory) return connection_->lose(memory.error());
  memory.value().close_file();
  carrier_ = make_shared_memory_carrier(std::move(memory).value(), welcome_);
  return {};
}

Status StagerClient::attach_over_ucx() {
  const std::string allowed = process_environment("WEIR_STAGING_CARRIER").value_or("");
  if (!allowed.empty() && allowed != "tcp" && allowed != "ucx") {
    return connection_->lose(invalid_argument(
        fmt::format("WEIR_STAGING_CARRIER is '{}': give one of tcp, ucx", allowed)));
  }
  if (!is_remote() || welcome_.ucx.empty() || allowed == "tcp") return {};
  const auto version = ucx_version();
  if (!version || version.value() != welcome_.ucx) return {};
  auto sender = UcxSender::open();
  if (!sender) return {};
  if (Status asked = connection_->send(Attach{sender.value()->address()}); !asked.ok()) {
    return asked;
  }
  const auto attached = connection_->answer<Attached>();
  if (!attached) return attached.error();
  if (!attached.value().outcome.status.ok()) return {};
  if (!sender.value()->connect(attached.value().address).ok()) return {};
  carrier_ = make_ucx_carrier(
      welcome_, attached.value().token, std::move(sender).value(),
      [this](std::int64_t block, int descriptor, std::int64_t nanoseconds, bool moved) {
        return connection_->wait_beside(block, descriptor, nanoseconds, moved);
      });
  return {};
}

StagerClient::~StagerClient() { leave(); }

void StagerClient::leave() {
  if (!connection_->lost().ok()) return;
  (void)connection_->send(Goodbye{});
  (void)connection_->lose(Error(ErrorCode::io, "the session with the stager was given up"));
}

Status StagerClient::check() {
  handed_over_ = false;
  return hand_over();
}

// A connection ends with its process, after the last write of its threads, or because the process
// is disturbed. One that listens still, under the same name, therefore has to be asked once more.
Status StagerClient::leave_for_good() {
  if (connection_->lost().ok()) (void)drain();
  if (connection_->lost().ok()) {
    leave();
    return {};
  }
  const StagerPlace& place = connection_->place();
  const double deadline = connection_->deadline_seconds();
  if (!StagerConnection::may_run_at(place, deadline)) return {};
  const auto again = connect(place, hello_, std::min(deadline, longest_farewell_seconds));
  Status drained;
  if (again && again.value()->stager() == welcome_.stager) {
    (void)again.value()->drain();
    drained = again.value()->connection_->lost();
  } else if (!again) {
    drained = again.error();
  }
  if (drained.ok() || !StagerConnection::may_run_at(place, deadline)) return {};
  return Error(ErrorCode::io,
               fmt::format("the stager that listens at {} was lost and has not ended, so that it "
                           "may still write to the files ({}): end its process, and try again",
                           connection_->name(), drained.error().message));
}

Result<std::uint64_t> StagerClient::name_file(const std::string& path,
                                              const storage::Opening& opening,
                                              const StagedHandling& handling) {
  NameFile message{.file = ++files_,
                   .path = storage::absolute_path(path),
                   .bytes_when_made = opening.bytes_when_made,
                   .known = std::nullopt};
  if (opening.known != nullptr) {
    message.known = *opening.known;
    message.known->path = storage::absolute_path(message.known->path);
  }
  message.at_once = handling.at_once;
  message.may_wait = handling.may_wait;
  if (!handling.encoded.empty()) {
    message.encoded = handling.encoded;
    message.places = handling.places;
    message.known = handling.known;
  }
  const std::uint64_t number = message.file;
  // What the rank hands over, or its giving the file up, follows.
  if (Status kept = connection_->send_later(std::move(message)); !kept.ok()) return kept.error();
  return number;
}

Status StagerClient::forget_file(std::uint64_t file) {
  // The block that is being filled may have bytes for the file.
  if (Status sent = send_filled_block(); !sent.ok()) return sent;
  return connection_->send(ForgetFile{file});
}

Status StagerClient::send_filled_block() {
  if (!block_) return connection_->lost();
  const std::int64_t block = *block_;
  block_.reset();
  if (filled_block_.extents() == 0) {
    blocks_.push_back(block);
    return connection_->lost();
  }
  connection_->begin_patience();
  if (Status brought = carrier_->bring(block, filled_block_); !brought.ok()) {
    return connection_->lose(brought.error());
  }
  ++filled_;
  const FilledBlock filled{block, filled_block_.extents()};
  // Each message that is sent alone wakes the stager.
  const bool is_kept = !is_remote() && connection_->unsent() < most_kept_messages;
  return is_kept ? connection_->send_later(filled) : connection_->send(filled);
}

// Gets a block for up to `bytes` more bytes. Everything that is full has been sent before this rank
// waits: the stager can make room only from blocks that it owns.
Status StagerClient::begin_block(std::int64_t bytes) {
  if (Status sent = send_filled_block(); !sent.ok()) return sent;
  if (blocks_.empty() && std::exchange(is_granted_ahead_, false)) {
    if (Status taken = take_granted(); !taken.ok()) return taken;
  }
  if (blocks_.empty()) {
    const std::int64_t wanted =
        std::max({bytes / welcome_.block_bytes + 1, usual_ - filled_, filled_});
    const Reserve question{std::min(wanted, most_blocks_together)};
    if (Status asked = connection_->send(question); !asked.ok()) return asked;
    if (Status taken = take_granted(); !taken.ok()) return taken;
    if (blocks_.empty()) {
      return connection_->lose(Error(ErrorCode::corrupt, "the stager granted no blocks"));
    }
  }
  block_ = blocks_.back();
  blocks_.pop_back();
  // The stager reads one block of several after the caches have taken in others. What a rank of
  // another node fills is sent at once.
  const bool is_read_late = !is_remote() && (filled_ > 0 || usual_ > 1);
  filled_block_ = BlockWriter(carrier_->begin(*block_), is_read_late ? BlockWriter::Target::streamed
                                                                     : BlockWriter::Target::cached);
  return {};
}

Status StagerClient::take_granted() {
  auto granted = connection_->answer<Granted>();
  if (!granted) return granted.error();
  blocks_ = std::move(granted.value().blocks);
  const bool possible = std::all_of(blocks_.begin(), blocks_.end(),
                                    [&](auto one) { return one >= 0 && one < welcome_.blocks; });
  if (!possible) {
    return connection_->lose(Error(ErrorCode::corrupt, "the stager granted impossible blocks"));
  }
  std::reverse(blocks_.begin(), blocks_.end());
  return {};
}

Status StagerClient::write(std::uint64_t file, std::int64_t offset,
                           std::span<const storage::Slice> slices) {
  const std::int64_t bytes = storage::bytes_of(slices);
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t taken = block_ ? filled_block_.add(file, offset, slices, done) : 0;
    done += taken;
    if (taken > 0) continue;
    if (Status begun = begin_block(bytes - done); !begun.ok()) return begun;
  }
  handed_over_ = false;
  return connection_->lost();
}

Status StagerClient::hand_over() {
  if (handed_over_) return connection_->lost();
  if (Status sent = send_filled_block(); !sent.ok()) return sent;
  blocks_.clear();
  usual_ = std::exchange(filled_, 0);
  if (Status asked = connection_->send(Flush{take_untold_ns()}); !asked.ok()) return asked;
  auto flushed = connection_->answer<Flushed>();
  if (!flushed) return flushed.error();
  // The answer to a HandOver came before, and its blocks went back with the Flush.
  if (std::exchange(is_granted_ahead_, false)) (void)connection_->answer<Granted>();
  handed_over_ = true;
  return flushed.value().outcome.status;
}

std::int64_t StagerClient::take_untold_ns() {
  return waited_ns() - std::exchange(told_waited_ns_, waited_ns());
}

Status StagerClient::hand_over_unanswered() {
  if (is_remote()) return hand_over();
  if (handed_over_) return connection_->lost();
  if (Status sent = send_filled_block(); !sent.ok()) return sent;
  blocks_.clear();
  usual_ = std::exchange(filled_, 0);
  const HandOver message{take_untold_ns(), std::min(usual_, most_blocks_together)};
  if (Status sent = connection_->send_now(message); !sent.ok()) return sent;
  is_granted_ahead_ = true;
  handed_over_ = true;
  return {};
}

Status StagerClient::give_back() {
  if (!handed_over_ || !std::exchange(is_granted_ahead_, false)) return connection_->lost();
  if (Status taken = take_granted(); !taken.ok() || blocks_.empty()) return taken;
  blocks_.clear();
  is_granted_ahead_ = true;
  return connection_->send(HandOver{take_untold_ns(), 0});
}

Status StagerClient::keep_lock(const std::string& path, const storage::File& lock) {
  return connection_->send(LockFile{storage::absolute_path(path)}, &lock);
}

Status StagerClient::take_lock(const std::string& path) {
  if (Status asked = connection_->send(TakeLock{storage::absolute_path(path)}); !asked.ok()) {
    return asked;
  }
  const auto locked = connection_->answer<Locked>();
  return locked ? locked.value().outcome.status : Status(locked.error());
}

Result<StagerClient::Committed> StagerClient::commit(CommitStep step) {
  step.path = storage::absolute_path(step.path);
  if (Status sent = connection_->send(std::move(step)); !sent.ok()) return sent.error();
  const auto accepted = connection_->answer<Accepted>();
  if (!accepted) return accepted.error();
  const Status& outcome = accepted.value().outcome.status;
  if (!outcome.ok()) return outcome.error();
  return Committed{accepted.value().ticket, accepted.value().in_journal};
}

Result<std::uint64_t> StagerClient::unlock(const std::string& path) {
  if (Status sent = connection_->send(UnlockFile{storage::absolute_path(path)}); !sent.ok()) {
    return sent.error();
  }
  const auto accepted = connection_->answer<Accepted>();
  if (!accepted) return accepted.error();
  return accepted.value().ticket;
}

Result<bool> StagerClient::is_done(std::uint64_t ticket) { return connection_->is_done(ticket); }

Status StagerClient::wait(std::uint64_t ticket, double seconds) {
  return connection_->wait(ticket, seconds);
}

Status StagerClient::drain() {
  if (Status handed = hand_over(); !handed.ok()) return handed;
  if (Status asked = connection_->send(Drain{}); !asked.ok()) return asked;
  const auto drained = connection_->answer<Drained>();
  return drained ? drained.value().outcome.status : Status(drained.error());
}

Result<Listening> StagerClient::listen() {
  if (Status asked = connection_->send(Listen{}); !asked.ok()) return asked.error();
  return connection_->answer<Listening>();
}

Status StagerClient::join(const Listening& home, bool keep_journals) {
  const JoinHome question{home.addresses, home.secret, keep_journals};
  if (Status asked = connection_->send(question); !asked.ok()) return asked;
  const auto joined = connection_->answer<Joined>();
  return joined ? joined.value().outcome.status : Status(joined.error());
}

Status StagerClient::seal(const SealStep& step) {
  if (Status sent = connection_->send(step); !sent.ok()) return sent;
  const auto accepted = connection_->answer<Accepted>();
  return accepted ? accepted.value().outcome.status : Status(accepted.error());
}

}  // namespace weir::transport
