#include "stager/connections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/epoll.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "common/clock.hpp"
#include "stager/scarce_memory.hpp"
#include "transport/messages.hpp"
#include "transport/proof.hpp"

namespace weir::stager {
namespace {

// Events that are no clients.
constexpr std::uint64_t listener_key = 0;
constexpr std::uint64_t network_key = 1;
// Connections over a network that have not shown who they are. Each may have sent a frame in
// part; others wait in the system's queue meanwhile.
constexpr std::size_t most_strangers = 1024;
// An address of another stager is tried for so long before the next one.
constexpr std::int64_t most_connecting_ns = 5'000'000'000;
// Messages of one connection that are handled before others are looked at.
constexpr int most_messages_together = 64;

constexpr std::uint32_t reading = EPOLLIN;
constexpr std::uint32_t writing = EPOLLOUT;

}  // namespace

bool is_behind_others(const transport::Message& message) {
  return std::holds_alternative<transport::Drain>(message) ||
         std::holds_alternative<transport::CommitStep>(message) ||
         std::holds_alternative<transport::UnlockFile>(message) ||
         std::holds_alternative<transport::SealStep>(message);
}

Connections::Connections(EventPoll poll, storage::FrameListener listener, ConnectionUser user)
    : poll_(std::move(poll)), listener_(std::move(listener)), user_(std::move(user)) {}

Status Connections::begin() { return poll_.add(listener_->descriptor(), listener_key, reading); }

Status Connections::accept_from(storage::NetworkListener listener) {
  Status watched = poll_.add(listener.descriptor(), network_key, reading);
  if (watched.ok()) network_.emplace(std::move(listener));
  return watched;
}

const std::vector<std::string>* Connections::network_addresses() const {
  return network_ ? &network_->addresses() : nullptr;
}

Status Connections::watch(int descriptor, std::uint64_t key) const {
  return poll_.add(descriptor, key, reading);
}

std::vector<std::uint64_t> Connections::wait(int milliseconds, const std::function<void()>& first) {
  const std::vector<std::uint64_t> ready = poll_.wait(milliseconds);
  first();
  const std::set<ClientId> unread = unread_;
  std::vector<std::uint64_t> others;
  for (const std::uint64_t key : ready) {
    if (key == listener_key) {
      while (auto socket = listener_->accept()) accept(std::move(*socket), false);
      rest_if_short(errno, listener_->descriptor(), listener_key);
    } else if (key == network_key) {
      accept_strangers();
    } else if (key < first_client) {
      others.push_back(key);
    } else {
      look_at(key);
    }
  }
  for (const ClientId client : unread) look_at(client);
  go_on_accepting();
  return others;
}

void Connections::accept(storage::FrameSocket socket, bool is_remote) {
  has_told_ = false;
  const ClientId client = next_client_++;
  if (!poll_.add(socket.descriptor(), client, reading).ok()) return;
  Connected connected{.client = client, .is_remote = is_remote};
  if (is_remote) {
    const auto nonce = transport::new_nonce();
    if (!nonce) {
      user_.say(nonce.error().text());
      return;
    }
    connected.nonce = nonce.value();
  }
  clients_.try_emplace(client, std::move(socket)).first->second.watched = reading;
  user_.handle(connected);
}

void Connections::accept_strangers() {
  while (user_.strangers() < most_strangers) {
    auto socket = network_->accept();
    if (!socket) {
      rest_if_short(errno, network_->descriptor(), network_key);
      return;
    }
    accept(std::move(*socket), true);
  }
  (void)poll_.change(network_->descriptor(), network_key, 0);
  is_full_ = true;
}

void Connections::go_on_accepting() {
  if (!is_full_ || user_.strangers() >= most_strangers) return;
  is_full_ = !poll_.change(network_->descriptor(), network_key, reading).ok();
}

// The poll would tell of those who wait again and again.
void Connections::rest_if_short(int reason, int descriptor, std::uint64_t key) {
  if (reason != EMFILE && reason != ENFILE && reason != ENOBUFS && reason != ENOMEM) return;
  if (!poll_.change(descriptor, key, 0).ok()) return;
  is_short_ = true;
  if (!std::exchange(has_told_, true)) {
    user_.say(fmt::format("nobody can connect: {}; let the stager have more open files (ulimit -n)",
                          system_failure("accept", "", -1, reason).message));
  }
}

void Connections::connect(SessionId session, std::vector<std::string> addresses) {
  connect_next({.session = session, .addresses = std::move(addresses)},
               Error(ErrorCode::io, "it has no address"));
}

// Tries the next address of the other stager.
void Connections::connect_next(Link link, const Error& before) {
  while (link.tried < link.addresses.size()) {
    auto socket = storage::FrameSocket::begin_connection(link.addresses[link.tried++]);
    if (!socket) continue;
    const ClientId client = next_client_++;
    if (!poll_.add(socket.value().descriptor(), client, reading | writing).ok()) continue;
    link.began_ns = monotonic_ns();
    clients_.try_emplace(client, std::move(socket).value()).first->second.watched =
        reading | writing;
    links_.insert_or_assign(client, std::move(link));
    return;
  }
  Error error = before;
  error.message = fmt::format("the stager of rank 0 cannot be reached at {}: {}",
                              fmt::join(link.addresses, ", "), before.message);
  user_.handle(Linked{link.session, error});
}

// A network may lose what is sent to an address that is not its own.
void Connections::tick(std::int64_t now_ns) {
  if (std::exchange(is_short_, false)) {
    if (listener_) (void)poll_.change(listener_->descriptor(), listener_key, reading);
    if (network_ && !is_full_) (void)poll_.change(network_->descriptor(), network_key, reading);
  }
  std::vector<ClientId> slow;
  for (const auto& [client, link] : links_) {
    if (now_ns - link.began_ns > most_connecting_ns) slow.push_back(client);
  }
  for (const ClientId client : slow) {
    next_address(client, Error(ErrorCode::deadline, "no answer within 5 s"));
  }
}

void Connections::next_address(ClientId client, const Error& why) {
  Link link = std::move(links_.at(client));
  links_.erase(client);
  clients_.erase(client);
  connect_next(std::move(link), why);
}

void Connections::look_at_link(ClientId client) {
  if (const int reason = clients_.at(client).socket->connecting_error(); reason != 0) {
    next_address(client, system_failure("connect", "", -1, reason));
    return;
  }
  const SessionId session = links_.at(client).session;
  links_.erase(client);
  user_.handle(Linked{session, client});
  watch_rest(client);
}

void Connections::look_at(ClientId client) {
  if (links_.contains(client)) {
    look_at_link(client);
    return;
  }
  unread_.erase(client);
  for (int messages = 0; messages < most_messages_together; ++messages) {
    const auto found = clients_.find(client);
    if (found == clients_.end() || paused_.contains(client)) return;
    const Status sent = found->second.socket->send_rest();
    if (found->second.is_closing) {
      if (!sent.ok() || !found->second.socket->has_rest()) clients_.erase(found);
      return;
    }
    if (!sent.ok()) {
      drop(client);
      return;
    }
    if (found->second.is_held) {
      watch_rest(client);
      return;
    }
    auto frame = with_memory([&] { return found->second.socket->next(); });
    if (!frame) {
      if (frame.error().code != ErrorCode::io) {
        user_.handle(Unreadable{client, frame.error()});
      } else {
        drop(client);
      }
      return;
    }
    if (!frame.value()) {
      watch_rest(client);
      return;
    }
    user_.take(client, std::move(*frame.value()));
  }
  // Others are looked at first.
  watch_rest(client);
  unread_.insert(client);
}

void Connections::resume(ClientId client) {
  paused_.erase(client);
  unread_.insert(client);
}

// The poll tells of a limited number of clients at a time, and of others the next time.
void Connections::take_from_others() {
  std::set<ClientId> looked_at;
  for (bool has_found = true; has_found;) {
    has_found = false;
    std::vector<std::uint64_t> ready = poll_.wait(0);
    ready.insert(ready.end(), unread_.begin(), unread_.end());
    for (const std::uint64_t key : ready) {
      if (key < first_client || !looked_at.insert(key).second) continue;
      has_found = true;
      do look_at(key);
      while (unread_.contains(key));
    }
  }
}

Status Connections::send(ClientId client, const transport::Message& message,
                         const storage::File* memory) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return {};
  const bool passes = !found->second.socket->is_network();
  Status sent = found->second.socket->send(transport::encode(message), passes ? memory : nullptr);
  watch_rest(client);
  return sent;
}

void Connections::trust(ClientId client) {
  const auto found = clients_.find(client);
  if (found != clients_.end()) found->second.socket->trust();
}

std::string Connections::hold(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return {};
  found->second.is_held = true;
  watch_rest(client);
  return found->second.socket->name();
}

std::shared_ptr<storage::FrameSocket> Connections::hand_on(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.is_closing) return nullptr;
  found->second.socket->trust();
  found->second.is_held = true;
  watch_rest(client);
  return found->second.socket;
}

void Connections::close(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  user_.ending(client);
  // What still arrives is not read any more, so only room for sending matters.
  const bool goes_on =
      found->second.socket->has_rest() && watch_for(client, found->second, writing);
  if (goes_on) {
    found->second.is_closing = true;
  } else {
    clients_.erase(found);
  }
}

void Connections::drop(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  user_.ending(client);
  clients_.erase(found);
  user_.handle(Disconnected{client});
}

void Connections::watch_rest(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.is_closing) return;
  const std::uint32_t from = found->second.is_held ? 0 : reading;
  const std::uint32_t to = found->second.socket->has_rest() ? writing : 0;
  (void)watch_for(client, found->second, from | to);
}

bool Connections::watch_for(ClientId number, Client& client, std::uint32_t wanted) {
  if (wanted == client.watched) return true;
  const int descriptor = client.socket->descriptor();
  Status done;
  if (wanted == 0) {
    poll_.remove(descriptor);
  } else if (client.watched == 0) {
    done = poll_.add(descriptor, number, wanted);
  } else {
    done = poll_.change(descriptor, number, wanted);
  }
  if (done.ok()) client.watched = wanted;
  return done.ok();
}

}  // namespace weir::stager
