#include "transport/stager_client.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <type_traits>
#include <utility>
#include <variant>

#include "common/clock.hpp"
#include "common/settings.hpp"
#include "system/incomplete.hpp"
#include "transport/proof.hpp"
#include "transport/ucx.hpp"

namespace weir::transport {
namespace {

// Blocks that a rank asks for at a time, so that an answer is worth its wait.
constexpr std::int64_t most_blocks_together = 64;
// Messages that a rank of the stager's node keeps until it sends one more.
constexpr std::size_t most_kept_messages = 3;
// How long a rank sleeps between two calls of its function for waiting.
constexpr int nap_milliseconds = 5;
// How long a rank waits for a stager whose connection has ended, but which listens still.
constexpr double longest_farewell_seconds = 30;

// Bytes of a block that a rank fills before it sends them.
constexpr std::int64_t most_sent_block_bytes = std::int64_t{1} << 30;
// How long an address is tried before the next one.
constexpr double longest_connecting_seconds = 10;

// Adds the time of its life to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(std::int64_t& sum_ns) : sum_ns_(sum_ns) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { sum_ns_ += monotonic_ns() - began_ns_; }

 private:
  std::int64_t& sum_ns_;
  std::int64_t began_ns_ = monotonic_ns();
};

std::string name_of(const StagerPlace& place) {
  if (const auto* const socket = std::get_if<std::string>(&place)) return *socket;
  return fmt::format("{}", fmt::join(std::get<Rendezvous>(place).addresses, ", "));
}

// Waits until the connection is made. A connection that cannot be made is the error.
Status wait_until_connected(storage::FrameSocket& socket, const std::string& address,
                            double seconds) {
  const std::int64_t began_ns = monotonic_ns();
  while (socket.has_rest()) {
    socket.wait(nap_milliseconds);
    if (const int reason = socket.connecting_error(); reason != 0) {
      return system_failure("connect", address, -1, reason);
    }
    if (Status sent = socket.send_rest(); !sent.ok()) return sent;
    if (socket.has_rest() && static_cast<double>(monotonic_ns() - began_ns) > seconds * 1e9) {
      return Error(ErrorCode::deadline, fmt::format("no answer within {:g} s", seconds), address);
    }
  }
  return {};
}

}  // namespace

std::string StagerClient::explained(const Error& error) const {
  if (const auto* const socket = std::get_if<std::string>(&place_)) {
    return fmt::format(
        "the stager that listened at {} has ended or was replaced; what it had not yet stored is "
        "lost, and {}.log may say why",
        *socket, *socket);
  }
  if (welcome_.stager.empty()) {
    return fmt::format(
        "who listens at {} has ended the connection: it is no stager of this version of Weir",
        name_of(place_));
  }
  return fmt::format(
      "the stager at {} has ended, or the connection to it has ({}); what it had not yet stored "
      "may "
      "be lost, and its log may say why",
      name_of(place_), error.text());
}

Result<std::unique_ptr<StagerClient>> StagerClient::reach(const Rendezvous& service,
                                                          double deadline_seconds) {
  const auto authenticator = make_authenticator(service.authentication);
  if (!authenticator) return authenticator.error();
  Error last(ErrorCode::invalid_argument, "no address is known");
  for (const std::string& address : service.addresses) {
    auto begun = storage::FrameSocket::begin_connection(address);
    if (!begun) {
      last = begun.error();
      continue;
    }
    std::unique_ptr<StagerClient> client(
        new StagerClient(std::move(begun).value(), service, deadline_seconds));
    Status introduced = client->introduce(service, *authenticator.value());
    if (introduced.ok()) return client;
    last = introduced.error();
    if (!client->lost_.ok()) return last;  // somebody listens there
  }
  last.message =
      last.system_error == ECONNREFUSED
          ? fmt::format(
                "no stager listens at {}: it has ended, and its rendezvous file is stale, "
                "or a firewall refuses; start it again",
                name_of(service))
          : fmt::format("the stager at {} cannot be reached: {}", name_of(service), last.text());
  last.operation.clear();
  last.file.clear();
  return last;
}

Status StagerClient::introduce(const Rendezvous& service, const Authenticator& authenticator) {
  const auto nonce = new_nonce();
  if (!nonce) return nonce.error();
  Status begun = socket_.send(encode(Knock{nonce.value()}));
  if (begun.ok()) {
    begun = wait_until_connected(socket_, service.addresses.front(),
                                 std::min(deadline_seconds_, longest_connecting_seconds));
  }
  if (!begun.ok()) return begun;
  const auto challenge = answer<Challenge>();
  if (!challenge) return challenge.error();
  const Nonce& other = challenge.value().nonce;
  if (!is_same(challenge.value().proof,
               proof_of(Side::stager, service.key, nonce.value(), other))) {
    return lose(invalid_argument(
        fmt::format("who listens at {} does not know the key: the rendezvous file is stale, and "
                    "its stager has ended or was started again",
                    name_of(place_))));
  }
  socket_.trust();
  auto shown = authenticator.show(proof_of(Side::rank, service.key, nonce.value(), other));
  if (!shown) return lose(shown.error());
  if (Status sent = send(Prove{std::move(shown).value()}); !sent.ok()) return sent;
  const auto vouch = answer<Vouch>();
  if (!vouch) return vouch.error();
  Status checked = authenticator.check(vouch.value().shown,
                                       proof_of(Side::stager, service.key, nonce.value(), other));
  if (checked.ok()) return {};
  return lose(Error(ErrorCode::io, fmt::format("who listens at {} has not shown that it is your "
                                               "stager: {}",
                                               name_of(place_), checked.error().message)));
}

Result<std::unique_ptr<StagerClient>> StagerClient::connect(const StagerPlace& place,
                                                            const Hello& hello,
                                                            double deadline_seconds) {
  std::unique_ptr<StagerClient> client;
  if (const auto* const socket = std::get_if<std::string>(&place)) {
    auto connected = storage::FrameSocket::connect(*socket);
    if (!connected) return connected.error();
    client.reset(new StagerClient(std::move(connected).value(), place, deadline_seconds));
  } else {
    auto reached = reach(std::get<Rendezvous>(place), deadline_seconds);
    if (!reached) return reached.error();
    client = std::move(reached).value();
  }
  client->hello_ = hello;
  if (Status sent = client->send(hello); !sent.ok()) return sent.error();
  auto welcome = client->answer<Welcome>();
  if (!welcome) return welcome.error();
  client->welcome_ = std::move(welcome).value();
  if (Status attached = client->attach_over_ucx(); !attached.ok()) return attached.error();
  return client;
}

Status StagerClient::attach_over_ucx() {
  const std::string allowed = process_environment("WEIR_STAGING_CARRIER").value_or("");
  if (!allowed.empty() && allowed != "tcp" && allowed != "ucx") {
    return lose(invalid_argument(
        fmt::format("WEIR_STAGING_CARRIER is '{}': give one of tcp, ucx", allowed)));
  }
  if (!is_remote() || welcome_.ucx.empty() || allowed == "tcp") return {};
  const auto version = ucx_version();
  if (!version || version.value() != welcome_.ucx) return {};
  auto sender = UcxSender::open();
  if (!sender) return {};
  if (Status asked = send(Attach{sender.value()->address()}); !asked.ok()) return asked;
  const auto attached = answer<Attached>();
  if (!attached) return attached.error();
  if (!attached.value().outcome.status.ok()) return {};
  if (!sender.value()->connect(attached.value().address).ok()) return {};
  carrier_ = make_ucx_carrier(
      welcome_, attached.value().token, std::move(sender).value(),
      [this](std::int64_t block, int descriptor, std::int64_t nanoseconds, bool moved) {
        return wait_beside(block, descriptor, nanoseconds, moved);
      });
  return {};
}

Result<std::optional<std::int64_t>> StagerClient::wait_beside(std::int64_t block, int descriptor,
                                                              std::int64_t nanoseconds,
                                                              bool moved) {
  if (moved) heard_ns_ = monotonic_ns();
  const auto there = [&]() -> std::optional<std::int64_t> {
    if (!brought_ || brought_->block != block) return std::nullopt;
    return std::exchange(brought_, std::nullopt)->bytes;
  };
  if (Status looked = look(0); !looked.ok()) return looked.error();
  if (const auto bytes = there()) return bytes;
  const auto room = static_cast<short>(socket_.has_rest() ? POLLIN | POLLOUT : POLLIN);
  std::array<pollfd, 2> both{{{socket_.descriptor(), room, 0}, {descriptor, POLLIN, 0}}};
  const timespec nap{0, nanoseconds};
  (void)::ppoll(both.data(), both.size(), &nap, nullptr);
  if (Status looked = look(0); !looked.ok()) return looked.error();
  if (const auto bytes = there()) return bytes;
  if (Status may = may_go_on_waiting(); !may.ok()) return may.error();
  return std::optional<std::int64_t>();
}

StagerClient::~StagerClient() { leave(); }

void StagerClient::leave() {
  if (!lost_.ok()) return;
  (void)send(Goodbye{});
  (void)lose(Error(ErrorCode::io, "the session with the stager was given up"));
}

Status StagerClient::check() {
  handed_over_ = false;
  return hand_over();
}

// A connection ends with its process, after the last write of its threads, or because the process
// is disturbed. One that listens still, under the same name, therefore has to be asked once more.
Status StagerClient::leave_for_good() {
  if (lost_.ok()) (void)drain();
  if (lost_.ok()) {
    leave();
    return {};
  }
  if (!may_run()) return {};
  const auto again = connect(place_, hello_, std::min(deadline_seconds_, longest_farewell_seconds));
  Status drained;
  if (again && again.value()->stager() == welcome_.stager) {
    (void)again.value()->drain();
    drained = again.value()->lost_;
  } else if (!again) {
    drained = again.error();
  }
  if (drained.ok() || !may_run()) return {};
  return Error(ErrorCode::io,
               fmt::format("the stager that listens at {} was lost and has not ended, so that it "
                           "may still write to the files ({}): end its process, and try again",
                           name_of(place_), drained.error().message));
}

// A node that refuses a connection has no process that listens there. One that cannot be reached
// tells nothing. Who listens in its place and does not know the key has come after its end.
bool StagerClient::may_run() const {
  if (const auto* const socket = std::get_if<std::string>(&place_)) {
    return storage::FrameSocket::connect(*socket).ok();
  }
  const auto reached =
      reach(std::get<Rendezvous>(place_), std::min(deadline_seconds_, longest_connecting_seconds));
  return reached.ok() || (reached.error().system_error != ECONNREFUSED &&
                          reached.error().code != ErrorCode::invalid_argument);
}

Status StagerClient::lose(Error error) {
  if (lost_.ok()) lost_ = std::move(error);
  return lost_;
}

Status StagerClient::lose_unreadable(const Error& why) {
  if (!is_remote()) return lose(why);
  const bool has_said_hello = !hello_.program.empty();
  Error whole = why;
  whole.message = fmt::format("{} cannot read what the stager at {} sent: {}",
                              has_said_hello ? fmt::format("rank {}", hello_.rank) : "a rank",
                              name_of(place_), why.message);
  whole.file.clear();
  (void)socket_.send(encode(Refused{whole.message}));
  return lose(std::move(whole));
}

Status StagerClient::send(const Message& message, const storage::File* passed) {
  if (!lost_.ok()) return lost_;
  Status sent = socket_.send(encode(message), passed);
  if (!sent.ok() && sent.error().code == ErrorCode::invalid_argument) return sent;
  if (sent.ok()) return {};
  // A stager that refuses says why before it ends the connection.
  for (auto frame = socket_.next(); frame && frame.value(); frame = socket_.next()) {
    auto last = parse(frame.value()->payload);
    if (last) (void)sort(std::move(last).value());
  }
  return lose(Error(ErrorCode::io, explained(sent.error())));
}

Status StagerClient::send_later(const Message& message) {
  if (!lost_.ok()) return lost_;
  return socket_.send_later(encode(message));
}

Status StagerClient::send_now(const Message& message) {
  const Stopwatch waits(waited_ns_);
  if (Status sent = send(message); !sent.ok()) return sent;
  heard_ns_ = monotonic_ns();
  for (std::size_t unsent = socket_.unsent_frames(); unsent > 0;) {
    if (Status looked = look(nap_milliseconds); !looked.ok()) return looked;
    const std::size_t now = socket_.unsent_frames();
    if (now < unsent) heard_ns_ = monotonic_ns();
    unsent = now;
    if (Status may = unsent > 0 ? may_go_on_waiting() : Status(); !may.ok()) return may;
  }
  return {};
}

Status StagerClient::sort(Message message) {
  heard_ns_ = monotonic_ns();
  Status status;
  std::visit(
      [&](auto& one) {
        using Kind = std::remove_cvref_t<decltype(one)>;
        if constexpr (std::is_same_v<Kind, Granted>) {
          granted_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Attached>) {
          attached_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Brought>) {
          brought_ = one;
        } else if constexpr (std::is_same_v<Kind, Flushed>) {
          flushed_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Challenge>) {
          challenge_ = one;
        } else if constexpr (std::is_same_v<Kind, Vouch>) {
          vouch_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Locked>) {
          locked_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Accepted>) {
          accepted_ = one;
        } else if constexpr (std::is_same_v<Kind, Drained>) {
          drained_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Listening>) {
          listening_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Joined>) {
          joined_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Stored>) {
          const auto awaited = awaited_.find(one.ticket);
          if (awaited != awaited_.end()) awaited->second = std::move(one.outcome.status);
        } else if constexpr (std::is_same_v<Kind, Welcome>) {
          welcomed_ = std::move(one);
        } else if constexpr (std::is_same_v<Kind, Alive>) {
          stager_says_ = std::move(one.reason);
        } else if constexpr (std::is_same_v<Kind, Refused>) {
          status =
              lose(Error(ErrorCode::io, is_remote() ? fmt::format("the stager at {} refused: {}",
                                                                  name_of(place_), one.reason)
                                                    : "the stager refused: " + one.reason));
        } else {
          status = lose(Error(ErrorCode::corrupt, "the stager sent a message of a program"));
        }
      },
      message);
  return status;
}

Status StagerClient::look(int milliseconds) {
  if (!lost_.ok()) return lost_;
  socket_.wait(milliseconds);
  if (Status sent = socket_.send_rest(); !sent.ok()) {
    return lose(Error(ErrorCode::io, explained(sent.error())));
  }
  for (;;) {
    auto frame = socket_.next();
    if (!frame) {
      return frame.error().code == ErrorCode::io
                 ? lose(Error(ErrorCode::io, explained(frame.error())))
                 : lose_unreadable(frame.error());
    }
    if (!frame.value()) return {};
    auto message = parse(frame.value()->payload);
    if (!message) return lose_unreadable(message.error());
    if (const auto* const welcome = std::get_if<Welcome>(&message.value())) {
      const bool possible = welcome->blocks > 0 && welcome->block_bytes > 0 &&
                            welcome->blocks <= (std::int64_t{1} << 50) / welcome->block_bytes;
      const bool is_small = !is_remote() || welcome->block_bytes <= most_sent_block_bytes;
      if (!possible || !is_small || is_remote() == frame.value()->passed.has_value()) {
        return lose(Error(ErrorCode::corrupt, "the stager sent no memory"));
      }
      if (is_remote()) {
        carrier_ =
            make_message_carrier(*welcome, [this](const Message& one) { return send_now(one); });
      } else {
        auto memory = storage::SharedMemory::map(std::move(*frame.value()->passed),
                                                 welcome->blocks * welcome->block_bytes);
        if (!memory) return lose(memory.error());
        memory.value().close_file();
        carrier_ = make_shared_memory_carrier(std::move(memory).value(), *welcome);
      }
    }
    if (Status sorted = sort(std::move(message).value()); !sorted.ok()) return sorted;
  }
}

Status StagerClient::may_go_on_waiting() {
  if (static_cast<double>(monotonic_ns() - heard_ns_) > deadline_seconds_ * 1e9) {
    return lose(
        Error(ErrorCode::deadline,
              fmt::format("the stager has shown no sign of life for {:g} s", deadline_seconds_)));
  }
  return waiting_ ? waiting_() : Status();
}

template <typename Answer>
Result<Answer> StagerClient::answer() {
  const auto slot = [&]() -> std::optional<Answer>& {
    if constexpr (std::is_same_v<Answer, Challenge>) return challenge_;
    if constexpr (std::is_same_v<Answer, Vouch>) return vouch_;
    if constexpr (std::is_same_v<Answer, Welcome>) return welcomed_;
    if constexpr (std::is_same_v<Answer, Locked>) return locked_;
    if constexpr (std::is_same_v<Answer, Granted>) return granted_;
    if constexpr (std::is_same_v<Answer, Attached>) return attached_;
    if constexpr (std::is_same_v<Answer, Flushed>) return flushed_;
    if constexpr (std::is_same_v<Answer, Accepted>) return accepted_;
    if constexpr (std::is_same_v<Answer, Drained>) return drained_;
    if constexpr (std::is_same_v<Answer, Listening>) return listening_;
    if constexpr (std::is_same_v<Answer, Joined>) return joined_;
  };
  const Stopwatch waits(waited_ns_);
  heard_ns_ = monotonic_ns();
  while (!slot()) {
    if (Status looked = look(nap_milliseconds); !looked.ok()) return looked.error();
    if (slot()) break;
    if (Status may = may_go_on_waiting(); !may.ok()) return may.error();
  }
  Answer taken = std::move(*slot());
  slot().reset();
  return taken;
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
  if (!handling.encoded.empty()) {
    message.encoded = handling.encoded;
    message.places = handling.places;
    message.known = handling.known;
  }
  const std::uint64_t number = message.file;
  // What the rank hands over, or its giving the file up, follows.
  if (Status kept = send_later(std::move(message)); !kept.ok()) return kept.error();
  return number;
}

Status StagerClient::forget_file(std::uint64_t file) {
  // The block that is being filled may have bytes for the file.
  if (Status sent = send_filled_block(); !sent.ok()) return sent;
  return send(ForgetFile{file});
}

Status StagerClient::send_filled_block() {
  if (!block_) return lost_;
  const std::int64_t block = *block_;
  block_.reset();
  if (filled_block_.extents() == 0) {
    blocks_.push_back(block);
    return lost_;
  }
  heard_ns_ = monotonic_ns();
  if (Status brought = carrier_->bring(block, filled_block_); !brought.ok()) {
    return lose(brought.error());
  }
  ++filled_;
  const FilledBlock filled{block, filled_block_.extents()};
  // Each message that is sent alone wakes the stager.
  const bool is_kept = !is_remote() && socket_.unsent_frames() < most_kept_messages;
  return is_kept ? send_later(filled) : send(filled);
}

// Gets a block for up to `bytes` more bytes. Everything that is full has been sent before this rank
// waits: the stager can make room only from blocks that it owns.
Status StagerClient::begin_block(std::int64_t bytes) {
  if (Status sent = send_filled_block(); !sent.ok()) return sent;
  if (blocks_.empty()) {
    const std::int64_t wanted =
        std::max({bytes / welcome_.block_bytes + 1, usual_ - filled_, filled_});
    const Reserve question{std::min(wanted, most_blocks_together)};
    if (Status asked = send(question); !asked.ok()) return asked;
    auto granted = answer<Granted>();
    if (!granted) return granted.error();
    blocks_ = std::move(granted.value().blocks);
    const bool possible = !blocks_.empty() &&
                          std::all_of(blocks_.begin(), blocks_.end(),
                                      [&](auto one) { return one >= 0 && one < welcome_.blocks; });
    if (!possible) return lose(Error(ErrorCode::corrupt, "the stager granted impossible blocks"));
    std::reverse(blocks_.begin(), blocks_.end());
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
  return lost_;
}

Status StagerClient::hand_over() {
  if (handed_over_) return lost_;
  if (Status sent = send_filled_block(); !sent.ok()) return sent;
  blocks_.clear();
  usual_ = std::exchange(filled_, 0);
  const std::int64_t untold_ns = waited_ns_ - std::exchange(told_waited_ns_, waited_ns_);
  if (Status asked = send(Flush{untold_ns}); !asked.ok()) return asked;
  auto flushed = answer<Flushed>();
  if (!flushed) return flushed.error();
  handed_over_ = true;
  return flushed.value().outcome.status;
}

Status StagerClient::keep_lock(const std::string& path, const storage::File& lock) {
  return send(LockFile{storage::absolute_path(path)}, &lock);
}

Status StagerClient::take_lock(const std::string& path) {
  if (Status asked = send(TakeLock{storage::absolute_path(path)}); !asked.ok()) return asked;
  const auto locked = answer<Locked>();
  return locked ? locked.value().outcome.status : Status(locked.error());
}

Result<StagerClient::Committed> StagerClient::commit(CommitStep step) {
  step.path = storage::absolute_path(step.path);
  if (Status sent = send(std::move(step)); !sent.ok()) return sent.error();
  const auto accepted = answer<Accepted>();
  if (!accepted) return accepted.error();
  const Status& outcome = accepted.value().outcome.status;
  if (!outcome.ok()) return outcome.error();
  return Committed{accepted.value().ticket, accepted.value().in_journal};
}

Result<std::uint64_t> StagerClient::unlock(const std::string& path) {
  if (Status sent = send(UnlockFile{storage::absolute_path(path)}); !sent.ok()) return sent.error();
  const auto accepted = answer<Accepted>();
  if (!accepted) return accepted.error();
  return accepted.value().ticket;
}

Result<bool> StagerClient::is_done(std::uint64_t ticket) {
  const auto [awaited, is_new] = awaited_.try_emplace(ticket);
  if (is_new) {
    if (Status sent = send(Await{ticket}); !sent.ok()) {
      awaited_.erase(awaited);
      return sent.error();
    }
  }
  Status looked = look(0);
  if (!awaited->second) return looked.ok() ? Result<bool>(false) : looked.error();
  const Status outcome = *awaited->second;
  awaited_.erase(awaited);
  return outcome.ok() ? Result<bool>(true) : outcome.error();
}

Status StagerClient::wait(std::uint64_t ticket, double seconds) {
  const Stopwatch waits(waited_ns_);
  const std::int64_t began_ns = monotonic_ns();
  heard_ns_ = began_ns;
  for (;;) {
    const auto done = is_done(ticket);
    if (!done) return done.error();
    if (done.value()) return {};
    const std::int64_t now_ns = monotonic_ns();
    if (static_cast<double>(now_ns - began_ns) >= seconds * 1e9) {
      return Error(ErrorCode::deadline,
                   fmt::format("it is not stored after {:g} s{}", seconds,
                               stager_says_.empty() ? "" : ": " + stager_says_));
    }
    if (Status may = may_go_on_waiting(); !may.ok()) return may;
    const double left = seconds - static_cast<double>(now_ns - began_ns) / 1e9;
    const int nap = std::isfinite(left) && left * 1000 < nap_milliseconds
                        ? static_cast<int>(left * 1000) + 1
                        : nap_milliseconds;
    // An error of the connection is returned by is_done(), unless the outcome has arrived.
    (void)look(nap);
  }
}

Status StagerClient::drain() {
  if (Status handed = hand_over(); !handed.ok()) return handed;
  if (Status asked = send(Drain{}); !asked.ok()) return asked;
  const auto drained = answer<Drained>();
  return drained ? drained.value().outcome.status : Status(drained.error());
}

Result<Listening> StagerClient::listen() {
  if (Status asked = send(Listen{}); !asked.ok()) return asked.error();
  return answer<Listening>();
}

Status StagerClient::join(const Listening& home, bool keep_journals) {
  const JoinHome question{home.addresses, home.secret, keep_journals};
  if (Status asked = send(question); !asked.ok()) return asked;
  const auto joined = answer<Joined>();
  return joined ? joined.value().outcome.status : Status(joined.error());
}

Status StagerClient::seal(const SealStep& step) {
  if (Status sent = send(step); !sent.ok()) return sent;
  const auto accepted = answer<Accepted>();
  return accepted ? accepted.value().outcome.status : Status(accepted.error());
}

}  // namespace weir::transport
