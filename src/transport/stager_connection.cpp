#include "transport/stager_connection.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <type_traits>

#include "transport/proof.hpp"

namespace weir::transport {
namespace {

// How long a rank sleeps between two calls of its function for waiting.
constexpr int nap_milliseconds = 5;
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

// Whether there is a place for messages of a kind.
template <typename Kind, typename Places>
constexpr bool has_place = false;
template <typename Kind, typename... Kinds>
constexpr bool has_place<Kind, std::tuple<std::optional<Kinds>...>> =
    (std::is_same_v<Kind, Kinds> || ...);

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

std::string StagerConnection::name() const { return name_of(place_); }

std::string StagerConnection::explained(const Error& error) const {
  if (const auto* const socket = std::get_if<std::string>(&place_)) {
    return fmt::format(
        "the stager that listened at {} has ended or was replaced; what it had not yet stored is "
        "lost, and {}.log may say why",
        *socket, *socket);
  }
  if (!is_welcome_) {
    return fmt::format(
        "who listens at {} has ended the connection: it is no stager of this version of Weir",
        name());
  }
  return fmt::format(
      "the stager at {} has ended, or the connection to it has ({}); what it had not yet stored "
      "may "
      "be lost, and its log may say why",
      name(), error.text());
}

Result<std::unique_ptr<StagerConnection>> StagerConnection::reach(const Rendezvous& service,
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
    std::unique_ptr<StagerConnection> connection(
        new StagerConnection(std::move(begun).value(), service, deadline_seconds));
    Status introduced = connection->introduce(service, *authenticator.value());
    if (introduced.ok()) return connection;
    last = introduced.error();
    if (!connection->lost_.ok()) return last;  // somebody listens there
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

Status StagerConnection::introduce(const Rendezvous& service, const Authenticator& authenticator) {
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
                    name())));
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
                                               name(), checked.error().message)));
}

Result<std::unique_ptr<StagerConnection>> StagerConnection::open(const StagerPlace& place,
                                                                 double deadline_seconds) {
  const auto* const path = std::get_if<std::string>(&place);
  if (path == nullptr) return reach(std::get<Rendezvous>(place), deadline_seconds);
  auto connected = storage::FrameSocket::connect(*path);
  if (!connected) return connected.error();
  return std::unique_ptr<StagerConnection>(
      new StagerConnection(std::move(connected).value(), place, deadline_seconds));
}

// A node that refuses a connection has no process that listens there. One that cannot be reached
// tells nothing. Who listens in its place and does not know the key has come after its end.
bool StagerConnection::may_run_at(const StagerPlace& place, double deadline_seconds) {
  if (const auto* const socket = std::get_if<std::string>(&place)) {
    return storage::FrameSocket::connect(*socket).ok();
  }
  const auto reached =
      reach(std::get<Rendezvous>(place), std::min(deadline_seconds, longest_connecting_seconds));
  return reached.ok() || (reached.error().system_error != ECONNREFUSED &&
                          reached.error().code != ErrorCode::invalid_argument);
}

Status StagerConnection::lose(Error error) {
  if (lost_.ok()) lost_ = std::move(error);
  return lost_;
}

Status StagerConnection::lose_unreadable(const Error& why) {
  if (!is_remote()) return lose(why);
  Error whole = why;
  whole.message =
      fmt::format("{} cannot read what the stager at {} sent: {}", sender_, name(), why.message);
  whole.file.clear();
  (void)socket_.send(encode(Refused{whole.message}));
  return lose(std::move(whole));
}

Status StagerConnection::send(const Message& message, const storage::File* passed) {
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

Status StagerConnection::send_later(const Message& message) {
  if (!lost_.ok()) return lost_;
  return socket_.send_later(encode(message));
}

Status StagerConnection::send_now(const Message& message) {
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

Status StagerConnection::sort(Message message) {
  heard_ns_ = monotonic_ns();
  Status status;
  std::visit(
      [&](auto& one) {
        using Kind = std::remove_cvref_t<decltype(one)>;
        if constexpr (has_place<Kind, decltype(answers_)>) {
          std::get<std::optional<Kind>>(answers_).emplace(std::move(one));
        } else if constexpr (std::is_same_v<Kind, Stored>) {
          const auto awaited = awaited_.find(one.ticket);
          if (awaited != awaited_.end()) awaited->second = std::move(one.outcome.status);
        } else if constexpr (std::is_same_v<Kind, Alive>) {
          stager_says_ = std::move(one.reason);
        } else if constexpr (std::is_same_v<Kind, Refused>) {
          status =
              lose(Error(ErrorCode::io, is_remote() ? fmt::format("the stager at {} refused: {}",
                                                                  name(), one.reason)
                                                    : "the stager refused: " + one.reason));
        } else {
          status = lose(Error(ErrorCode::corrupt, "the stager sent a message of a program"));
        }
      },
      message);
  return status;
}

Status StagerConnection::look(int milliseconds) {
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
    if (std::holds_alternative<Welcome>(message.value())) {
      is_welcome_ = true;
      passed_ = std::move(frame.value()->passed);
    }
    if (Status sorted = sort(std::move(message).value()); !sorted.ok()) return sorted;
  }
}

Status StagerConnection::may_go_on_waiting() {
  if (static_cast<double>(monotonic_ns() - heard_ns_) > deadline_seconds_ * 1e9) {
    return lose(
        Error(ErrorCode::deadline,
              fmt::format("the stager has shown no sign of life for {:g} s", deadline_seconds_)));
  }
  return waiting_ ? waiting_() : Status();
}

Status StagerConnection::wait_until(const std::function<bool()>& is_there) {
  const Stopwatch waits(waited_ns_);
  heard_ns_ = monotonic_ns();
  while (!is_there()) {
    if (Status looked = look(nap_milliseconds); !looked.ok()) return looked;
    if (is_there()) break;
    if (Status may = may_go_on_waiting(); !may.ok()) return may;
  }
  return {};
}

Result<bool> StagerConnection::is_done(std::uint64_t ticket) {
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

Status StagerConnection::wait(std::uint64_t ticket, double seconds) {
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

Result<std::optional<std::int64_t>> StagerConnection::wait_beside(std::int64_t block,
                                                                  int descriptor,
                                                                  std::int64_t nanoseconds,
                                                                  bool moved) {
  if (moved) heard_ns_ = monotonic_ns();
  const auto there = [&]() -> std::optional<std::int64_t> {
    auto& brought = std::get<std::optional<Brought>>(answers_);
    if (!brought || brought->block != block) return std::nullopt;
    return std::exchange(brought, std::nullopt)->bytes;
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

}  // namespace weir::transport
