#include "ranks/neighbour_links.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
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

int new_socket(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

constexpr const char* out_of_reach = "can no longer be reached";

// Returns whether the other end's system has acknowledged everything that was sent.
bool is_acknowledged(int descriptor) {
  int unacknowledged = 0;
  return ::ioctl(descriptor, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged == 0;
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

SocketAddress address_at(const NeighbourLinks::Address::Place& place, std::uint32_t port) {
  SocketAddress address;
  if (place.family == AF_INET) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&to.sin_addr, place.bytes.data(), sizeof to.sin_addr);
    std::memcpy(&address.storage, &to, sizeof to);
    address.bytes = sizeof to;
  } else {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&to.sin6_addr, place.bytes.data(), sizeof to.sin6_addr);
    std::memcpy(&address.storage, &to, sizeof to);
    address.bytes = sizeof to;
  }
  return address;
}

}  // namespace

NeighbourLinks::Socket::Socket(Socket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

NeighbourLinks::Socket& NeighbourLinks::Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

NeighbourLinks::Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

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

// Listens for IPv6 and IPv4 connections at once if the system supports both.
void NeighbourLinks::listen() {
  const ssize_t drawn = ::getrandom(own_.secret.data(), own_.secret.size(), GRND_NONBLOCK);
  if (drawn != static_cast<ssize_t>(own_.secret.size())) return;
  SocketAddress any;
  Socket made(new_socket(AF_INET6));
  if (made.is_open()) {
    const int no = 0;
    static_cast<void>(::setsockopt(made.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no));
    any = address_at({.family = AF_INET6, .scope = 0, .bytes = {}}, 0);
  }
  const auto bind = [&] {
    return made.is_open() &&
           ::bind(made.descriptor(), reinterpret_cast<sockaddr*>(&any.storage), any.bytes) == 0;
  };
  if (!bind()) {
    made = Socket(new_socket(AF_INET));
    any = address_at({.family = AF_INET, .scope = 0, .bytes = {}}, 0);
    if (!bind()) return;
  }
  sockaddr_storage bound{};
  socklen_t bytes = sizeof bound;
  if (::listen(made.descriptor(), backlog) != 0 ||
      ::getsockname(made.descriptor(), reinterpret_cast<sockaddr*>(&bound), &bytes) != 0) {
    return;
  }
  // The port is at the same offset in addresses of both versions.
  sockaddr_in port{};
  std::memcpy(&port, &bound, sizeof port);
  listening_ = std::move(made);
  find_places();
  own_.port = ntohs(port.sin_port);
}

// Collects the host's own addresses, except those that are meaningless outside of it. The first
// place is the loopback address, for processes of the same system.
void NeighbourLinks::find_places() {
  constexpr std::array<std::byte, 4> loopback{std::byte{127}, {}, {}, std::byte{1}};
  own_.places[0].family = AF_INET;
  std::copy(loopback.begin(), loopback.end(), own_.places[0].bytes.begin());
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return;
  std::size_t count = 1;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (count == Address::most_places) break;
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family ||
          (one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) {
        continue;
      }
      Address::Place& place = own_.places.at(count);
      if (family == AF_INET) {
        sockaddr_in found{};
        std::memcpy(&found, one->ifa_addr, sizeof found);
        std::memcpy(place.bytes.data(), &found.sin_addr, sizeof found.sin_addr);
      } else {
        sockaddr_in6 found{};
        std::memcpy(&found, one->ifa_addr, sizeof found);
        if (IN6_IS_ADDR_LINKLOCAL(&found.sin6_addr)) continue;
        std::memcpy(place.bytes.data(), &found.sin6_addr, sizeof found.sin6_addr);
      }
      place.family = static_cast<std::uint32_t>(family);
      ++count;
    }
  }
  ::freeifaddrs(all);
}

void NeighbourLinks::connect(const Address& next, const Address& previous) {
  next_.neighbour = next;
  previous_.neighbour = previous;
  previous_.state = listening_.is_open() && previous.port != 0 ? State::connecting : State::unknown;
  if (!listening_.is_open() || next.port == 0) {
    next_.state = State::unknown;
    return;
  }
  const bool same_system = next.system == own_.system && next.system[0] != '\0';
  next_.place = same_system ? 0 : 1;
  try_next_place(next_);
}

void NeighbourLinks::try_next_place(Link& link) {
  link.proved = 0;
  link.since_ns = monotonic_ns();
  for (; link.place < Address::most_places; ++link.place) {
    const Address::Place& place = link.neighbour.places.at(link.place);
    if (place.family != AF_INET && place.family != AF_INET6) continue;
    link.socket = Socket(new_socket(static_cast<int>(place.family)));
    if (!link.socket.is_open()) continue;
    link.state = State::connecting;
    return;
  }
  link.socket = Socket();
  link.state = State::unknown;
}

void NeighbourLinks::accept_previous() {
  Socket come(::accept4(listening_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!come.is_open()) return;
  previous_.socket = std::move(come);
  previous_.state = State::proving;
  previous_.proved = 0;
}

// Returns true once the neighbour has sent the secret of this process. If anything else arrives, or
// the connection ends, it closes the socket and returns false.
bool NeighbourLinks::prove(Link& link) const {
  std::array<std::uint8_t, sizeof(Address::secret)> come{};
  const ssize_t got = ::recv(link.socket.descriptor(), come.data(), come.size() - link.proved, 0);
  const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  const bool waits = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (waits) return false;
  if (got <= 0 || std::memcmp(come.data(), own_.secret.data() + link.proved, bytes) != 0) {
    link.socket = Socket();
    return false;
  }
  link.proved += bytes;
  return link.proved == own_.secret.size();
}

void NeighbourLinks::move(Link& link, std::int64_t now_ns) {
  const bool is_next = &link == &next_;
  const auto say_secret = [&] {
    const auto& secret = link.neighbour.secret;
    return ::send(link.socket.descriptor(), secret.data(), secret.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(secret.size());
  };
  if (link.state == State::connecting && is_next) {
    const SocketAddress to = address_at(link.neighbour.places.at(link.place), link.neighbour.port);
    const int answer = ::connect(link.socket.descriptor(),
                                 reinterpret_cast<const sockaddr*>(&to.storage), to.bytes);
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
        listening_ = Socket();
        if (!say_secret()) link.state = State::unknown;
      }
    } else if (!link.socket.is_open()) {
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
  const ssize_t got = ::recv(link.socket.descriptor(), said.data(), said.size(), MSG_DONTWAIT);
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
      ::send(link.socket.descriptor(), &living, sizeof living, MSG_DONTWAIT | MSG_NOSIGNAL));
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
      static_cast<void>(
          ::send(link->socket.descriptor(), &leaving, sizeof leaving, MSG_DONTWAIT | MSG_NOSIGNAL));
    }
    link->socket = Socket();
    link->state = State::unknown;
  }
  listening_ = Socket();
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
      return lost(is_acknowledged(link->socket.descriptor()) ? "is stopped" : out_of_reach);
    }
  }
  return std::nullopt;
}

}  // namespace weir::ranks
