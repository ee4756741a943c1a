// What a stager and a rank of another node are sent over a network, before it is a message.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "readers.hpp"
#include "seeds.hpp"
#include "system/frame_socket.hpp"
#include "transport/messages.hpp"
#include "transport/test_messages.hpp"

namespace weir::fuzz {
namespace {

using storage::FrameSocket;

// Both ends of a connection, each in place of one over a network.
struct Ends {
  int raw = -1;
  std::optional<FrameSocket> frames;
};

std::optional<Ends> connected() {
  std::array<int, 2> both{};
  const int kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (::socketpair(AF_UNIX, kind, 0, both.data()) != 0) return std::nullopt;
  return Ends{both[0], FrameSocket::over_network(storage::File::passed(both[1], "", 0))};
}

Bytes arrived(int descriptor) {
  Bytes all(std::size_t{1} << 17);
  const ssize_t got = ::recv(descriptor, all.data(), all.size(), 0);
  all.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return all;
}

}  // namespace

// What next() returns is what send() makes, from the beginning on.
std::optional<std::string> read_frame(std::span<const std::byte> bytes,
                                      const std::string& /*folder*/) {
  auto from = connected();
  auto again = connected();
  if (!from || !again) return "no sockets are left";
  const bool is_sent = ::send(from->raw, bytes.data(), bytes.size(), 0) == std::ssize(bytes);
  ::close(from->raw);
  std::optional<std::string> complaint;
  std::size_t read = 0;
  while (is_sent && !complaint) {
    const auto frame = from->frames->next();
    if (!frame || !frame.value()) break;
    static_cast<void>(again->frames->send(frame.value()->payload));
    const Bytes same = arrived(again->raw);
    const auto part = bytes.subspan(read, std::min(same.size(), bytes.size() - read));
    read += part.size();
    if (!std::ranges::equal(same, part)) complaint = "a frame is written as other bytes";
  }
  ::close(again->raw);
  return complaint;
}

std::vector<Bytes> frame_seeds(const std::string& /*folder*/) {
  auto ends = connected();
  if (!ends) return {};
  for (const transport::Message& message : transport::test_messages()) {
    static_cast<void>(ends->frames->send(transport::encode(message)));
  }
  Bytes all;
  for (Bytes part = arrived(ends->raw); !part.empty(); part = arrived(ends->raw)) {
    all.insert(all.end(), part.begin(), part.end());
  }
  ::close(ends->raw);
  return {std::move(all)};
}

}  // namespace weir::fuzz
