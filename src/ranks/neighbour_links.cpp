#include "ranks/neighbour_links.hpp"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "common/clock.hpp"
#include "common/signals_blocked.hpp"
#include "ranks/process.hpp"

namespace weir::ranks {
namespace {

constexpr int backlog = 8;
constexpr std::uint8_t leaving = 'e';
constexpr std::uint8_t living = 'l';
constexpr double longest_attempt_seconds = 2;
constexpr std::int64_t signs_per_deadline = 8;
constexpr std::int64_t shortest_between_signs_ns = 10'000'000;
constexpr std::int64_t longest_between_signs_ns = 60'000'000'000;

using storage::File;
using storage::NetworkAddress;

// Takes ownership of a descriptor; nothing if it is -1.
std::optional<File> owned_socket(int descriptor) {
  if (descriptor < 0) return std::nullopt;
  return File::passed(descriptor, "a leader's connection", 0);
}

constexpr const char* out_of_reach = "can no longer be reached";

// Returns whether the other end's system has acknowledged everything that was sent.
bool is_acknowledged(int descriptor) {
  int unacknowledged = 0;
  return ::ioctl(descriptor, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged == 0;
}

NeighbourLinks::Address::Place place_of(const NetworkAddress& address) {
  NeighbourLinks::Address::Place place;
  std::memcpy(place.bytes.data(), address.address(), address.bytes());
  return place;
}

}  // namespace

NeighbourLinks::NeighbourLinks(double deadline_seconds)
    : deadline_ns_(static_cast<std::int64_t>(deadline_seconds * 1e9)),
      interval_ns_(std::clamp(deadline_ns_ / signs_per_deadline, shortest_between_signs_ns,
                              longest_between_signs_ns)) {
  own_.process = ::getpid();
  static_cast<void>(::gethostname(own_.host.data(), own_.host.size() - 1));
  const std::string system = own_system();
  std::copy_n(system.begin(), std::min(system.size(), own_.system.size() - 1), own_.system.begin());
  listen();
}

NeighbourLinks::~NeighbourLinks() = default;

void NeighbourLinks::listen() {
  const ssize_t drawn = ::getrandom(own_.secret.data(), own_.secret.size(), GRND_NONBLOCK);
  if (drawn != static_cast<ssize_t>(own_.secret.size())) return;
  auto socket = storage::bound_socket("");
  sockaddr_storage bound{};
  socklen_t bytes = sizeof bound;
  if (!socket || ::listen(socket.value().descriptor(), backlog) != 0 ||
      ::getsockname(socket.value().descriptor(), reinterpret_cast<sockaddr*>(&bound), &bytes) !=
          0) {
    return;
  }
  const auto address = NetworkAddress::from(reinterpret_cast<const sockaddr*>(&bound));
  if (!address) return;
  own_.port = static_cast<std::uint32_t>(address->port());
  listening_ = std::move(socket).value();
  find_places();
}

// The first place is the loopback address, for processes of the same system.
void NeighbourLinks::find_places() {
  own_.places[0] = place_of(NetworkAddress::of("127.0.0.1", "0").value());
  std::size_t count = 1;
  for (const NetworkAddress& address : storage::own_addresses()) {
    if (count == Address::most_places) break;
    own_.places.at(count++) = place_of(address);
  }
}

void NeighbourLinks::connect(const Address& next, const Address& previous) {
  next_.neighbour = next;
  previous_.neighbour = previous;
  previous_.state =
      listening_.has_value() && previous.port != 0 ? State::connecting : State::unknown;
  if (!listening_.has_value() || next.port == 0) {
    next_.state = State::unknown;
    return;
  }
  const bool same_system = next.system == own_.system && next.system[0] != '\0';
  next_.place = same_system ? 0 : 1;
  try_next_place(next_);
}

// Returns the neighbour's address that is tried, with its port; nothing if there is none.
std::optional<NetworkAddress> NeighbourLinks::address_of(const Link& link) {
  const Address::Place& place = link.neighbour.places.at(link.place);
  const auto address = NetworkAddress::from(reinterpret_cast<const sockaddr*>(place.bytes.data()));
  if (!address) return std::nullopt;
  return address->with_port(static_cast<std::uint16_t>(link.neighbour.port));
}

void NeighbourLinks::try_next_place(Link& link) {
  link.proved = 0;
  link.since_ns = monotonic_ns();
  for (; link.place < Address::most_places; ++link.place) {
    const auto to = address_of(link);
    if (!to) continue;
    link.socket =
        owned_socket(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!link.socket) continue;
    link.state = State::connecting;
    return;
  }
  link.socket.reset();
  link.state = State::unknown;
}

void NeighbourLinks::accept_previous() {
  auto come = owned_socket(
      ::accept4(listening_->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!come) return;
  previous_.socket = std::move(come);
  previous_.state = State::proving;
  previous_.proved = 0;
}

// Returns true once the neighbour has sent the secret of this process. If anything else arrives, or
// the connection ends, it closes the socket and returns false.
bool NeighbourLinks::prove(Link& link) const {
  std::array<std::uint8_t, sizeof(Address::secret)> come{};
  const ssize_t got = ::recv(link.socket->descriptor(), come.data(), come.size() - link.proved, 0);
  const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  const bool waits = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (waits) return false;
  if (got <= 0 || std::memcmp(come.data(), own_.secret.data() + link.proved, bytes) != 0) {
    link.socket.reset();
    return false;
  }
  link.proved += bytes;
  return link.proved == own_.secret.size();
}

void NeighbourLinks::move(Link& link, std::int64_t now_ns) {
  const bool is_next = &link == &next_;
  const auto say_secret = [&] {
    const auto& secret = link.neighbour.secret;
    return ::send(link.socket->descriptor(), secret.data(), secret.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(secret.size());
  };
  if (link.state == State::connecting && is_next) {
    const auto to = address_of(link);  // there is one, since try_next_place() found it
    const int answer = ::connect(link.socket->descriptor(), to->address(), to->bytes());
    const bool is_connected = answer == 0 || errno == EISCONN;
    const bool waits = !is_connected &&
                       (errno == EINPROGRESS || errno == EALREADY || errno == EINTR) &&
                       seconds_of(now_ns - link.since_ns) < longest_attempt_seconds;
    if (waits) return;
    if (!is_connected || !say_secret()) {
      ++link.place;
      try_next_place(link);
      return;
    }
    link.state = State::proving;
  } else if (link.state == State::connecting) {
    accept_previous();
  }
  if (link.state == State::proving) {
    if (prove(link)) {
      link.state = State::made;
      if (!is_next) {
        listening_.reset();
        if (!say_secret()) link.state = State::unknown;
      }
    } else if (!link.socket) {
      // A stranger connected to this process, or another process listens at the neighbour's
      // address.
      if (is_next) {
        ++link.place;
        try_next_place(link);
      } else {
        link.state = State::connecting;
      }
    }
  }
}

// Receives what has arrived on a connection that is made.
void NeighbourLinks::listen_to(Link& link) {
  std::array<std::uint8_t, 64> said{};
  const ssize_t got = ::recv(link.socket->descriptor(), said.data(), said.size(), MSG_DONTWAIT);
  if (got > 0) {
    link.heard = true;
    link.silent_ns = 0;
    const std::span<const std::uint8_t> bytes(said.data(), static_cast<std::size_t>(got));
    if (std::ranges::find(bytes, leaving) != bytes.end()) link.state = State::unknown;
    return;
  }
  // If the other system does not know the connection (ECONNRESET), the process no longer exists
  // there.
  if (got == 0 || errno == ECONNRESET) {
    link.state = State::ended;
    return;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
  link.state = State::unreachable;
}

bool NeighbourLinks::is_silent(const Link& link) const { return link.silent_ns >= deadline_ns_; }

// If a sign cannot be sent, the neighbour notices that; no error is needed here.
void NeighbourLinks::give_sign(const Link& link) {
  static_cast<void>(
      ::send(link.socket->descriptor(), &living, sizeof living, MSG_DONTWAIT | MSG_NOSIGNAL));
}

// Runs in a thread of its own.
void NeighbourLinks::give_signs(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::int64_t before_ns = monotonic_ns();
  while (!stop.stop_requested()) {
    for (Link* const link : {&next_, &previous_}) {
      if (link->state == State::made && !is_silent(*link)) give_sign(*link);
    }
    ending_.wait_for(lock, stop, std::chrono::nanoseconds(interval_ns_), [] { return false; });
    const std::int64_t now_ns = monotonic_ns();
    // The time counts only up to this limit: more passes if this process was stopped, perhaps with
    // all others.
    const std::int64_t passed_ns = std::min(now_ns - before_ns, 2 * interval_ns_);
    before_ns = now_ns;
    for (Link* const link : {&next_, &previous_}) {
      if (link->state == State::unreachable || link->heard) link->silent_ns += passed_ns;
      if (link->state == State::made) listen_to(*link);
    }
  }
}

// Called when a connection has been made. If no thread can be started, the neighbours are told not
// to listen for signs.
void NeighbourLinks::begin_signs() {
  if (signs_.joinable()) return;
  try {
    const SignalsBlocked blocked;
    signs_ = std::jthread([this](const std::stop_token& stop) { give_signs(stop); });
  } catch (const std::system_error&) {
    say_farewell();
  }
}

void NeighbourLinks::say_farewell() {
  for (Link* const link : {&next_, &previous_}) {
    if (link->state == State::made) {
      // If this cannot be sent, the neighbour is gone.
      static_cast<void>(::send(link->socket->descriptor(), &leaving, sizeof leaving,
                               MSG_DONTWAIT | MSG_NOSIGNAL));
    }
    link->socket.reset();
    link->state = State::unknown;
  }
  listening_.reset();
}

bool NeighbourLinks::is_settled() const {
  const auto settled = [](const Link& link) {
    return link.state != State::connecting && link.state != State::proving;
  };
  const std::lock_guard lock(mutex_);
  return settled(next_) && settled(previous_);
}

bool NeighbourLinks::is_watching() const {
  const std::lock_guard lock(mutex_);
  return next_.state == State::made && previous_.state == State::made;
}

void NeighbourLinks::leave() {
  signs_ = std::jthread();
  say_farewell();
}

std::optional<NeighbourLinks::Loss> NeighbourLinks::look(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  for (Link* const link : {&next_, &previous_}) {
    const auto which = link == &next_ ? Neighbour::next : Neighbour::previous;
    if (link->state == State::connecting || link->state == State::proving) {
      move(*link, now_ns);
      if (link->state == State::made) begin_signs();
      // Silence counts from the first sign on, and the thread may give its next one much later.
      if (link->state == State::made) give_sign(*link);
    }
    if (link->state == State::made) listen_to(*link);
    const auto lost = [&](const char* what) {
      return Loss{which, fmt::format("(process {} on host {}) {}", link->neighbour.process,
                                     link->neighbour.host.data(), what)};
    };
    if (link->state == State::ended) return lost("has ended");
    if (!is_silent(*link)) continue;
    if (link->state == State::unreachable) return lost(out_of_reach);
    if (link->state == State::made) {
      return lost(is_acknowledged(link->socket->descriptor()) ? "is stopped" : out_of_reach);
    }
  }
  return std::nullopt;
}

}  // namespace weir::ranks
