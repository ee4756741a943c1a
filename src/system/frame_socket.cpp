#include "system/frame_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/crc32c.hpp"
#include "system/incomplete.hpp"
#include "system/network_address.hpp"
#include "system/own_folder.hpp"
#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

constexpr std::array<char, 4> local_magic = {'W', 'E', 'I', 'F'};
constexpr std::array<char, 4> network_magic = {'W', 'E', 'I', 'N'};

struct FrameHead {
  std::array<char, 4> magic;
  std::uint32_t files;
  std::uint32_t bytes;
};
struct NetworkHead {
  FrameHead frame;
  std::uint32_t number;
  std::uint32_t payload_sum;
  std::uint32_t head_sum;
};
std::uint32_t sum_of(const NetworkHead& head) {
  return crc32c(std::as_bytes(std::span(&head, 1)).first(offsetof(NetworkHead, head_sum)));
}

// At most this many files that arrived wait for their frames.
constexpr std::size_t most_passed = 64;
constexpr std::size_t read_bytes = 64 << 10;
constexpr std::size_t most_frames_together = 16;
constexpr int waiting_connections = 4096;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return invalid_argument(
        fmt::format("the path of a socket has 1 to {} bytes", sizeof address.sun_path - 1), path);
  }
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  return address;
}

Result<File> new_socket(const std::string& path) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return system_failure("socket", path, -1, errno);
  return File::passed(descriptor, path, 0);
}

}  // namespace

std::string socket_folder() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread of Weir changes the environment
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/' && ::access(runtime, W_OK) == 0) {
    return std::string(runtime) + "/weir";
  }
  return fmt::format("/tmp/weir-{}", ::geteuid());
}

Error FrameSocket::lost(int reason) const {
  return system_failure("recv", file_.path(), -1, reason);
}

Status FrameSocket::check_user() const {
  ucred other{};
  socklen_t bytes = sizeof other;
  if (::getsockopt(file_.descriptor(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) != 0) {
    return system_failure("getsockopt", file_.path(), -1, errno);
  }
  if (other.uid == ::geteuid()) return {};
  return invalid_argument(
      fmt::format("the process at the other end belongs to user {}, not to you", other.uid),
      file_.path());
}

Result<FrameSocket> FrameSocket::connect(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return address.error();
  auto socket = new_socket(path);
  if (!socket) return socket.error();
  FrameSocket made(std::move(socket).value());
  const auto* const name = reinterpret_cast<const sockaddr*>(&address.value());
  const int answer =
      uninterrupted([&] { return ::connect(made.descriptor(), name, sizeof(sockaddr_un)); });
  if (answer != 0) return system_failure("connect", path, -1, errno);
  if (Status ours = made.check_user(); !ours.ok()) return ours.error();
  return made;
}

Result<FrameSocket> FrameSocket::begin_connection(const std::string& address) {
  const auto place = NetworkAddress::parse(address);
  if (!place) return place.error();
  const int descriptor =
      ::socket(place.value().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return system_failure("socket", address, -1, errno);
  FrameSocket made = over_network(File::passed(descriptor, address, 0));
  if (::connect(descriptor, place.value().address(), place.value().bytes()) != 0 &&
      errno != EINPROGRESS) {
    return system_failure("connect", address, -1, errno);
  }
  return made;
}

int FrameSocket::connecting_error() const {
  int reason = 0;
  socklen_t bytes = sizeof reason;
  if (::getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &reason, &bytes) != 0) return errno;
  return reason;
}

FrameSocket FrameSocket::over_network(File file) {
  FrameSocket made(std::move(file));
  made.is_network_ = true;
  const auto set = [&](int level, int option, int value) {
    (void)::setsockopt(made.descriptor(), level, option, &value, sizeof value);
  };
  constexpr int probe_seconds = 10;
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, probe_seconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, probe_seconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, longest_silence_seconds / probe_seconds);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, longest_silence_seconds * 1000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  return made;
}

Status FrameSocket::send(std::span<const std::byte> payload, const File* passed) {
  if (Status kept = send_later(payload, passed); !kept.ok()) return kept;
  return send_rest();
}

Status FrameSocket::send_later(std::span<const std::byte> payload, const File* passed) {
  if (payload.size() > most_bytes()) {
    return invalid_argument(
        fmt::format("a message of {} bytes is longer than {}", payload.size(), most_bytes()),
        file_.path());
  }
  Unsent one;
  if (passed != nullptr) {
    const int copy = ::fcntl(passed->descriptor(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return system_failure("fcntl", passed->path(), -1, errno);
    one.passed = File::passed(copy, passed->path(), 0);
  }
  one.bytes = head_of(payload, passed != nullptr);
  one.bytes.insert(one.bytes.end(), payload.begin(), payload.end());
  unsent_.push_back(std::move(one));
  return {};
}

std::vector<std::byte> FrameSocket::head_of(std::span<const std::byte> payload, bool passes) {
  NetworkHead head{.frame = {.magic = is_network_ ? network_magic : local_magic,
                             .files = passes ? 1U : 0U,
                             .bytes = static_cast<std::uint32_t>(payload.size())},
                   .number = frames_sent_++,
                   .payload_sum = 0,
                   .head_sum = 0};
  if (is_network_) {
    head.payload_sum = crc32c(payload);
    head.head_sum = sum_of(head);
  }
  const std::size_t bytes = is_network_ ? sizeof head : sizeof head.frame;
  std::vector<std::byte> made;
  made.reserve(bytes + payload.size());
  const auto all = std::as_bytes(std::span(&head, 1)).first(bytes);
  made.insert(made.end(), all.begin(), all.end());
  return made;
}

Status FrameSocket::send_rest() {
  while (!unsent_.empty()) {
    const Unsent& first = unsent_.front();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    if (first.passed && first.sent == 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      const int descriptor = first.passed->descriptor();
      std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    }
    // Frames up to the next one that passes a file go together: each call wakes the other side.
    std::array<iovec, most_frames_together> parts{};
    for (Unsent& one : unsent_) {
      if (message.msg_iovlen == parts.size() || (message.msg_iovlen > 0 && one.passed)) break;
      parts.at(message.msg_iovlen++) = {one.bytes.data() + one.sent, one.bytes.size() - one.sent};
    }
    message.msg_iov = parts.data();
    const ssize_t sent =
        uninterrupted([&] { return ::sendmsg(descriptor(), &message, MSG_NOSIGNAL); });
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (sent < 0) return system_failure("send", file_.path(), -1, errno);
    for (auto left = static_cast<std::size_t>(sent); left > 0;) {
      Unsent& one = unsent_.front();
      const std::size_t taken = std::min(left, one.bytes.size() - one.sent);
      one.sent += taken;
      left -= taken;
      if (one.sent == one.bytes.size()) unsent_.pop_front();
    }
  }
  return {};
}

Result<bool> FrameSocket::receive() {
  // If `received_` had room for so much, each of thousands of connections would keep it.
  std::array<std::byte, read_bytes> arrived;  // NOLINT(*-member-init): recvmsg() fills it
  iovec part{arrived.data(), arrived.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(most_passed * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got =
      uninterrupted([&] { return ::recvmsg(descriptor(), &message, MSG_CMSG_CLOEXEC); });
  const int reason = errno;
  if (got > 0) received_.insert(received_.end(), arrived.begin(), arrived.begin() + got);
  if (got < 0 && (reason == EAGAIN || reason == EWOULDBLOCK)) return false;
  if (got < 0) return lost(reason);
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(one) + i * sizeof(int), sizeof descriptor);
      passed_.push_back(File::passed(descriptor, "", 0));
    }
  }
  if (got == 0) return lost(ECONNRESET);
  if (passed_.size() > most_passed) {
    return Error(ErrorCode::corrupt, "too many open files were sent", file_.path());
  }
  return true;
}

Error FrameSocket::damaged(std::string what) const {
  return {ErrorCode::corrupt,
          fmt::format("bytes were damaged on the way ({}): check the network", what), file_.path()};
}

Result<std::optional<FrameSocket::Head>> FrameSocket::received_head() const {
  NetworkHead head{};
  const std::size_t bytes = is_network_ ? sizeof head : sizeof head.frame;
  if (received_.size() < sizeof head.frame) return std::optional<Head>();
  const bool is_whole = received_.size() >= bytes;
  std::memcpy(&head, received_.data(), is_whole ? bytes : sizeof head.frame);
  // Whoever has sent a frame is no stranger any more.
  const bool is_known = is_network_ && frames_received_ > 0;
  const auto nothing_of_weir = [&] {
    return Error(ErrorCode::corrupt, "what was received is no message of Weir", file_.path());
  };
  if (!is_known && head.frame.magic != (is_network_ ? network_magic : local_magic)) {
    return nothing_of_weir();
  }
  if (!is_whole) return std::optional<Head>();
  if (is_network_ && head.head_sum != sum_of(head)) {
    return damaged("the CRC-32C of a message's head differs");
  }
  if (is_network_ && head.number != frames_received_) {
    return damaged(fmt::format("message {} came in place of message {}: it was lost or doubled",
                               head.number, frames_received_));
  }
  const bool is_possible = head.frame.magic == (is_network_ ? network_magic : local_magic) &&
                           head.frame.files <= 1 && head.frame.bytes <= most_bytes();
  if (!is_possible) return nothing_of_weir();
  return std::optional<Head>({.bytes = bytes,
                              .payload_bytes = head.frame.bytes,
                              .passes = head.frame.files == 1,
                              .sum = head.payload_sum});
}

Result<std::optional<Frame>> FrameSocket::next() {
  for (;;) {
    const auto arrived = received_head();
    if (!arrived) return arrived.error();
    if (arrived.value()) {
      const Head& head = *arrived.value();
      const std::size_t whole = head.bytes + head.payload_bytes;
      if (received_.size() >= whole) {
        if (is_network_ &&
            crc32c(std::span(received_).subspan(head.bytes, head.payload_bytes)) != head.sum) {
          return damaged("the CRC-32C of a message differs");
        }
        ++frames_received_;
        Frame frame;
        frame.payload.assign(received_.begin() + static_cast<std::ptrdiff_t>(head.bytes),
                             received_.begin() + static_cast<std::ptrdiff_t>(whole));
        received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(whole));
        if (head.passes) {
          if (passed_.empty()) {
            return Error(ErrorCode::corrupt, "a message lacks its open file", file_.path());
          }
          frame.passed = std::move(passed_.front());
          passed_.pop_front();
        }
        return std::optional<Frame>(std::move(frame));
      }
    }
    const auto more = receive();
    if (!more) return more.error();
    if (!more.value()) {
      if (received_.empty()) received_ = {};
      return std::optional<Frame>();
    }
  }
}

void FrameSocket::wait(int milliseconds) const {
  pollfd one{descriptor(), static_cast<short>(has_rest() ? POLLIN | POLLOUT : POLLIN), 0};
  (void)::poll(&one, 1, milliseconds);
}

Result<FrameListener> FrameListener::listen(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return address.error();
  if (Status made = make_own_folder(folder_of(path), "the folder of a socket"); !made.ok())
    return made.error();
  const std::string lock_name = path + ".lock";
  const int descriptor =
      ::open(lock_name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return system_failure("open", lock_name, -1, errno);
  File lock = File::passed(descriptor, lock_name, 0);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return invalid_argument("another process listens at this socket already", path);
  }
  ::unlink(path.c_str());  // the name of a listener that was killed
  auto socket = new_socket(path);
  if (!socket) return socket.error();
  const auto* const name = reinterpret_cast<const sockaddr*>(&address.value());
  if (::bind(socket.value().descriptor(), name, sizeof(sockaddr_un)) != 0) {
    return system_failure("bind", path, -1, errno);
  }
  if (::listen(socket.value().descriptor(), waiting_connections) != 0) {
    return system_failure("listen", path, -1, errno);
  }
  return FrameListener(std::move(lock), std::move(socket).value());
}

FrameListener::FrameListener(FrameListener&& other) noexcept
    : lock_(std::move(other.lock_)), socket_(std::move(other.socket_)) {
  other.lock_.reset();
  other.socket_.reset();
}

FrameListener::~FrameListener() {
  if (socket_) ::unlink(socket_->path().c_str());
}

std::optional<FrameSocket> FrameListener::accept() const {
  for (;;) {
    const int descriptor = uninterrupted([&] {
      return ::accept4(socket_->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    });
    if (descriptor < 0) return std::nullopt;
    FrameSocket one(File::passed(descriptor, socket_->path(), 0));
    if (one.check_user().ok()) return one;
  }
}

}  // namespace weir::storage
