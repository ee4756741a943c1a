#include "system/network_listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "system/network_address.hpp"
#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

constexpr int waiting_peers = 4096;

std::string text_of(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace

Result<NetworkListener> NetworkListener::listen(const std::string& address) {
  const auto wanted = address.empty() ? Result<NetworkAddress>(NetworkAddress())
                                      : NetworkAddress::parse_place(address);
  if (!wanted) return wanted.error();
  auto socket = address.empty() ? bound_socket("") : bound_socket(wanted.value());
  if (!socket && socket.error().system_error == EADDRINUSE) {
    return invalid_argument(fmt::format("another process listens at \"{}\" already", address));
  }
  if (!socket && socket.error().system_error == EADDRNOTAVAIL) {
    std::vector<std::string> own;
    for (const NetworkAddress& one : own_addresses()) own.push_back(one.host());
    own.emplace_back("127.0.0.1");
    return invalid_argument(fmt::format("\"{}\" is no address of this node: give one of {}",
                                        address, fmt::join(own, ", ")));
  }
  if (!socket) return socket.error();
  sockaddr_storage bound{};
  socklen_t bytes = sizeof bound;
  const int descriptor = socket.value().descriptor();
  if (::listen(descriptor, waiting_peers) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &bytes) != 0) {
    return system_failure("listen", socket.value().path(), -1, errno);
  }
  const auto place = NetworkAddress::from(reinterpret_cast<const sockaddr*>(&bound));
  if (!place) return system_failure("getsockname", socket.value().path(), -1, EAFNOSUPPORT);
  std::vector<std::string> reached;
  if (!address.empty()) {
    reached.push_back(text_of(wanted.value().host(), place->port()));
  } else {
    for (const NetworkAddress& one : own_addresses()) {
      if (place->family() == AF_INET && one.family() == AF_INET6) continue;
      reached.push_back(text_of(one.host(), place->port()));
    }
    reached.push_back(text_of("127.0.0.1", place->port()));
  }
  return NetworkListener(std::move(socket).value(), std::move(reached));
}

std::optional<FrameSocket> NetworkListener::accept() const {
  sockaddr_storage other{};
  auto* const name = reinterpret_cast<sockaddr*>(&other);
  socklen_t bytes = sizeof other;
  const int descriptor = uninterrupted(
      [&] { return ::accept4(socket_.descriptor(), name, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK); });
  if (descriptor < 0) return std::nullopt;
  const auto from = NetworkAddress::from(name);
  return FrameSocket::over_network(
      File::passed(descriptor, from ? text_of(from->host(), from->port()) : socket_.path(), 0));
}

}  // namespace weir::storage
