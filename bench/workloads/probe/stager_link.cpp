#include "workloads/probe/stager_link.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "system/network_address.hpp"
#include "system/network_listener.hpp"

namespace weir::bench::probe {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;  // as a stager's
constexpr std::size_t piece_bytes = std::size_t{64} << 10;
constexpr std::size_t received_bytes = std::size_t{16} << 20;  // in turn, so that caches miss
constexpr std::int64_t most_ends = 64;
constexpr int look_milliseconds = 100;
constexpr std::size_t address_bytes = 64;

Error refused(const std::string& text) {
  return invalid_argument(
      fmt::format("calibrate: --links '{}': give stagers times receivers, each 1 to {}, such as "
                  "1x4,2x1",
                  text, most_ends));
}

// Returns nothing for a text that is no number from 1 to most_ends.
std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || number < 1 || number > most_ends) return std::nullopt;
  return number;
}

std::int64_t stager_of(const Job& job, const LinkEnds& ends) {
  return job.rank * std::min<std::int64_t>(ends.stagers, job.size) / job.size;
}

std::span<const std::byte> bytes_of(const std::uint64_t& word) {
  return std::as_bytes(std::span(&word, 1));
}

bool is_word(std::span<const std::byte> payload, std::uint64_t word) {
  return payload.size() == sizeof word && std::memcmp(payload.data(), &word, sizeof word) == 0;
}

}  // namespace

Result<std::vector<LinkEnds>> parse_link_ends(const std::string& text) {
  std::vector<LinkEnds> ends;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t cross = one.find('x');
    const auto stagers = number_of(one.substr(0, cross));
    const auto receivers = cross == std::string_view::npos ? std::optional<std::int64_t>()
                                                           : number_of(one.substr(cross + 1));
    const bool ends_in_comma = comma != std::string_view::npos && rest.empty();
    if (!stagers || !receivers || ends_in_comma) return refused(text);
    ends.push_back({.stagers = *stagers, .receivers = *receivers});
  }
  return ends;
}

// One thread of a stager, with some of its connections.
class LinkReceiver {
 public:
  LinkReceiver(std::vector<storage::FrameSocket> sockets, std::uint64_t end)
      : sockets_(std::move(sockets)),
        end_(end),
        memory_(received_bytes),
        thread_([this] { run(); }) {}
  LinkReceiver(const LinkReceiver&) = delete;
  LinkReceiver& operator=(const LinkReceiver&) = delete;
  ~LinkReceiver() {
    is_ending_ = true;
    thread_.join();
  }

 private:
  void run() {
    std::vector<pollfd> watched;
    watched.reserve(sockets_.size());
    for (const storage::FrameSocket& one : sockets_) {
      watched.push_back({.fd = one.descriptor(), .events = POLLIN, .revents = 0});
    }
    while (!is_ending_) {
      if (::poll(watched.data(), watched.size(), look_milliseconds) <= 0) continue;
      for (std::size_t i = 0; i < watched.size(); ++i) {
        // The rank learns from its end of the connection that nothing answers any more.
        if (watched[i].revents != 0 && !take(sockets_[i])) watched[i].fd = -1;
      }
    }
  }
  // Takes all frames that have arrived; returns false if the connection has ended.
  bool take(storage::FrameSocket& socket) {
    for (;;) {
      const auto frame = socket.next();
      if (!frame) return false;
      if (!frame.value()) return true;
      const std::vector<std::byte>& payload = frame.value()->payload;
      if (is_word(payload, end_)) {
        if (!socket.send(payload).ok()) return false;
        continue;
      }
      if (place_ + payload.size() > memory_.size()) place_ = 0;
      std::ranges::copy(payload, memory_.begin() + static_cast<std::ptrdiff_t>(place_));
      place_ += payload.size();
    }
  }

  std::vector<storage::FrameSocket> sockets_;
  std::uint64_t end_;
  std::vector<std::byte> memory_;
  std::size_t place_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

struct StagerLink::Stager {
  std::int64_t number = 0;
  storage::NetworkListener listener;
  std::vector<std::unique_ptr<LinkReceiver>> receivers = {};
};

StagerLink::StagerLink(const Job& job, Meeting& meeting) : job_(job), meeting_(meeting) {}

StagerLink::~StagerLink() = default;

// Each stager's address is filled in by the rank that leads its node.
Status StagerLink::open_receivers(const LinkEnds& ends, std::vector<std::string>* addresses) {
  const auto stagers = static_cast<std::size_t>(ends.stagers);
  std::vector<unsigned char> mine(stagers * address_bytes, 0);
  Status status;
  std::string host = "127.0.0.1";
  if (job_.nodes > 1 && job_.node_rank == 0) {
    const auto own = storage::own_addresses();
    if (own.empty()) status = invalid_argument("this node has no address that other nodes reach");
    if (status.ok()) host = own.front().host();
  }
  for (auto number = static_cast<std::size_t>(job_.node_index);
       job_.node_rank == 0 && status.ok() && number < stagers;
       number += static_cast<std::size_t>(job_.nodes)) {
    auto listener = storage::NetworkListener::listen(host);
    if (!listener) {
      status = listener.error();
      break;
    }
    const std::string& address = listener.value().addresses().front();
    std::copy_n(address.begin(), std::min(address.size(), address_bytes - 1),
                mine.begin() + static_cast<std::ptrdiff_t>(number * address_bytes));
    stagers_.push_back(std::make_unique<Stager>(
        Stager{static_cast<std::int64_t>(number), std::move(listener).value()}));
  }
  std::vector<unsigned char> all(mine.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_UNSIGNED_CHAR, MPI_MAX,
                 job_.world, &request);
  Status told = wait_for(request, job_.deadline_ns(), "the addresses of the receivers");
  for (std::size_t number = 0; told.ok() && number < stagers; ++number) {
    addresses->emplace_back(reinterpret_cast<const char*>(&all[number * address_bytes]));
  }
  return status.ok() ? told : status;
}

Status StagerLink::send_frame(std::span<const std::byte> payload) {
  if (Status sent = socket_->send(payload); !sent.ok()) return sent;
  const std::int64_t deadline_ns = job_.deadline_ns();
  while (socket_->has_rest()) {
    socket_->wait(look_milliseconds);
    if (Status sent = socket_->send_rest(); !sent.ok()) return sent;
    if (monotonic_ns() > deadline_ns) {
      return Error(ErrorCode::deadline, "nobody receives what is sent over TCP", socket_->name());
    }
  }
  return {};
}

Status StagerLink::join(const std::string& address, std::uint64_t token) {
  auto begun = storage::FrameSocket::begin_connection(address);
  if (!begun) return begun.error();
  socket_ = std::move(begun).value();
  return send_frame(bytes_of(token));
}

// Whoever else connects does not know the token, and is not kept.
Status StagerLink::accept_all(const LinkEnds& ends, std::uint64_t token) {
  const std::int64_t deadline_ns = job_.deadline_ns();
  const std::int64_t serving = std::min<std::int64_t>(ends.stagers, job_.size);
  const auto threads =
      static_cast<std::size_t>(ends.receivers > 0 ? ends.receivers : LinkEnds::usual_receivers);
  for (const auto& stager : stagers_) {
    std::int64_t expected = 0;
    for (std::int64_t rank = 0; rank < job_.size; ++rank) {
      if (rank * serving / job_.size == stager->number) ++expected;
    }
    std::vector<std::vector<storage::FrameSocket>> sockets(threads);
    std::int64_t accepted = 0;
    while (accepted < expected) {
      if (monotonic_ns() > deadline_ns) {
        return Error(ErrorCode::deadline, "not all ranks have connected over TCP");
      }
      auto socket = stager->listener.accept();
      if (!socket) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      for (bool waits = true; waits && monotonic_ns() <= deadline_ns;) {
        const auto frame = socket->next();
        waits = frame && !frame.value();
        if (waits) socket->wait(look_milliseconds);
        if (waits || !frame || !is_word(frame.value()->payload, token)) continue;
        sockets[static_cast<std::size_t>(accepted++) % threads].push_back(std::move(*socket));
        break;
      }
    }
    for (std::vector<storage::FrameSocket>& of_thread : sockets) {
      if (of_thread.empty()) continue;
      stager->receivers.push_back(std::make_unique<LinkReceiver>(std::move(of_thread), token));
    }
  }
  return {};
}

Result<std::unique_ptr<StagerLink>> StagerLink::connect(const Job& job, Meeting& meeting,
                                                        const LinkEnds& ends) {
  std::unique_ptr<StagerLink> link(new StagerLink(job, meeting));
  std::vector<std::string> addresses;
  if (Status met = meeting.meet(link->open_receivers(ends, &addresses)); !met.ok()) {
    return met.error();
  }
  // The token tells the job's ranks from others on the machine; it guards no data.
  const auto told = meeting.from_first_rank(static_cast<double>(monotonic_ns()));
  if (!told) return told.error();
  const auto token = static_cast<std::uint64_t>(told.value());
  link->block_.resize(block_bytes);
  const auto own = static_cast<std::size_t>(stager_of(job, ends));
  Status status = link->join(addresses[own], token);
  if (status.ok()) status = link->accept_all(ends, token);
  link->token_ = token;
  if (Status met = meeting.meet(std::move(status)); !met.ok()) return met.error();
  return link;
}

Status StagerLink::wait_for_answer() {
  if (Status asked = send_frame(bytes_of(token_)); !asked.ok()) return asked;
  const std::int64_t deadline_ns = job_.deadline_ns();
  while (monotonic_ns() <= deadline_ns) {
    const auto frame = socket_->next();
    if (!frame) return frame.error();
    if (frame.value()) return {};
    socket_->wait(look_milliseconds);
  }
  return Error(ErrorCode::deadline, "nobody answers what was sent over TCP", socket_->name());
}

Status StagerLink::send_all(std::span<const std::byte> memory, std::int64_t times) {
  for (std::int64_t turn = 0; turn < times; ++turn) {
    for (std::size_t at = 0; at < memory.size(); at += block_bytes) {
      const auto part = memory.subspan(at, std::min(block_bytes, memory.size() - at));
      std::ranges::copy(part, block_.begin());
      for (std::size_t sent = 0; sent < part.size(); sent += piece_bytes) {
        const std::span<const std::byte> piece(block_.data() + sent,
                                               std::min(piece_bytes, part.size() - sent));
        if (Status status = send_frame(piece); !status.ok()) return status;
      }
    }
  }
  return wait_for_answer();
}

Result<double> StagerLink::send(std::span<const std::byte> memory, std::int64_t times) {
  if (Status met = meeting_.meet({}); !met.ok()) return met.error();
  Times taken{.start_ns = monotonic_ns()};
  Status status = send_all(memory, times);
  taken.end_ns = monotonic_ns();
  const auto span_ns = meeting_.span(std::move(status), taken);
  if (!span_ns) return span_ns.error();
  const auto bytes = static_cast<double>(memory.size()) * static_cast<double>(times * job_.size);
  return bytes / seconds_of(span_ns.value());
}

}  // namespace weir::bench::probe
