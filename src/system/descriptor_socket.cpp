#include "system/descriptor_socket.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

// The start of a message; the path follows.
struct Head {
  DescriptorSocket::Secret secret;
  std::uint64_t file;
  std::int32_t user;
  std::uint32_t description;
  std::uint8_t write;
  std::uint8_t direct;
};

// The control data contains the credentials, which the kernel adds, and the descriptor. send()
// never sends more than one descriptor; the additional room allows descriptors of other messages to
// be closed.
constexpr std::size_t most_descriptors = 4;
constexpr std::size_t control_bytes =
    CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(most_descriptors * sizeof(int));

struct Received {
  std::array<int, most_descriptors> descriptors{};
  std::size_t count = 0;
  bool from_this_user = false;
};

Received control_of(msghdr& message) {
  Received received;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
      received.from_this_user = sender.uid == ::getuid();
    } else if (part->cmsg_type == SCM_RIGHTS) {
      received.count =
          std::min((part->cmsg_len - CMSG_LEN(0)) / sizeof(int), received.descriptors.size());
      std::memcpy(received.descriptors.data(), CMSG_DATA(part), received.count * sizeof(int));
    }
  }
  return received;
}

enum class Next { none, ours, foreign };

// Examines the next message without taking its descriptors, because closing a foreign descriptor
// may wait for its owner.
Next next_of(int socket, const DescriptorSocket::Secret& secret) {
  Head head{};
  iovec part{&head, sizeof head};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> credentials{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = credentials.data();
  message.msg_controllen = credentials.size();
  const ssize_t got = uninterrupted(
      [&] { return ::recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC); });
  if (got < 0) return Next::none;
  const bool ours = control_of(message).from_this_user &&
                    got >= static_cast<ssize_t>(sizeof head) && head.secret == secret;
  return ours ? Next::ours : Next::foreign;
}

// Drops the next message; the kernel drops its descriptors.
void drop_next(int socket) {
  char nothing = 0;
  iovec part{&nothing, sizeof nothing};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // If this fails, the message no longer exists.
  [[maybe_unused]] const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
}

constexpr int most_dropped_at_once = 64;

}  // namespace

Result<DescriptorSocket::Secret> new_secret() {
  DescriptorSocket::Secret secret{};
  // getrandom() returns so few bytes either completely or not at all.
  const ssize_t got = ::getrandom(secret.data(), secret.size(), GRND_NONBLOCK);
  if (got == static_cast<ssize_t>(secret.size())) return secret;
  return system_failure("getrandom", "", -1, got < 0 ? errno : EIO);
}

Result<DescriptorSocket> DescriptorSocket::create() {
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return system_failure("socket", "", -1, errno);
  DescriptorSocket made(descriptor, {});
  const int yes = 1;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t bytes = sizeof name;
  // An address that contains only the family makes bind() choose a free abstract name.
  if (::setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0 ||
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&name), sizeof(sa_family_t)) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &bytes) != 0) {
    return system_failure("bind", "", -1, errno);
  }
  const std::size_t length = bytes - offsetof(sockaddr_un, sun_path);
  if (length == 0 || length > made.address_.name.size()) {
    return system_failure("getsockname", "", -1, ENAMETOOLONG);
  }
  std::copy_n(std::begin(name.sun_path), length, made.address_.name.begin());
  made.address_.bytes = static_cast<std::uint8_t>(length);
  return made;
}

DescriptorSocket::DescriptorSocket(DescriptorSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), address_(other.address_) {}

DescriptorSocket& DescriptorSocket::operator=(DescriptorSocket&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = std::exchange(other.descriptor_, -1);
    address_ = other.address_;
  }
  return *this;
}

DescriptorSocket::~DescriptorSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

DescriptorSocket::Sent DescriptorSocket::send(const Address& to, const Secret& secret,
                                              const PassedName& name, const File& file) const {
  if (to.bytes == 0 || name.path.size() > longest_path) return Sent::nobody_there;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy_n(to.name.begin(), to.bytes, std::begin(address.sun_path));
  Head head{};
  head.secret = secret;
  head.file = name.file;
  head.user = name.user;
  head.description = file.description();
  head.write = name.write ? 1 : 0;
  head.direct = name.direct ? 1 : 0;
  std::string path = name.path;
  std::array<iovec, 2> parts{{{&head, sizeof head}, {path.data(), path.size()}}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + to.bytes);
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int passed = file.descriptor();
  std::memcpy(CMSG_DATA(rights), &passed, sizeof passed);
  const ssize_t sent =
      uninterrupted([&] { return ::sendmsg(descriptor_, &message, MSG_DONTWAIT | MSG_NOSIGNAL); });
  if (sent >= 0) return Sent::yes;
  // ETOOMANYREFS: as many of this user's descriptors are in flight as the user may have open.
  const bool for_now =
      errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS;
  return for_now ? Sent::no_room : Sent::nobody_there;
}

std::optional<PassedFile> DescriptorSocket::receive(const Secret& secret) const {
  for (int dropped = 0; dropped < most_dropped_at_once;) {
    const Next next = next_of(descriptor_, secret);
    if (next == Next::none) return std::nullopt;
    if (next == Next::foreign) {
      drop_next(descriptor_);
      ++dropped;
      continue;
    }
    Head head{};
    std::array<char, longest_path> path{};
    std::array<iovec, 2> parts{{{&head, sizeof head}, {path.data(), path.size()}}};
    alignas(cmsghdr) std::array<char, control_bytes> control{};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(descriptor_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    const Received received = control_of(message);
    const bool wanted = got >= static_cast<ssize_t>(sizeof head) && received.count == 1 &&
                        received.from_this_user && (message.msg_flags & MSG_TRUNC) == 0 &&
                        head.secret == secret;
    if (!wanted) {  // this also happens if this process may have no more descriptors
      for (std::size_t i = 0; i < received.count; ++i) ::close(received.descriptors.at(i));
      ++dropped;
      continue;
    }
    PassedName name{head.file, head.user, head.write != 0, head.direct != 0,
                    std::string(path.data(), static_cast<std::size_t>(got) - sizeof head)};
    File file = File::passed(received.descriptors.front(), name.path, head.description);
    return PassedFile{std::move(name), std::move(file)};
  }
  return std::nullopt;
}

}  // namespace weir::storage
