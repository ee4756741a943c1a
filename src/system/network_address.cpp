#include "system/network_address.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace weir::storage {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

bool is_link_local(const sockaddr* address) {
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

}  // namespace

Result<NetworkAddress> NetworkAddress::of(const std::string& host, const std::string& port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) != 0) {
    return invalid_argument(
        fmt::format("\"{}\" is no numeric address: give one such as 10.0.0.1 or fd00::1", host));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  auto made = from(found->ai_addr);
  if (!made) return invalid_argument(fmt::format("\"{}\" is no address of IPv4 or IPv6", host));
  return *made;
}

std::optional<NetworkAddress> NetworkAddress::from(const sockaddr* address) {
  if (address->sa_family != AF_INET && address->sa_family != AF_INET6) return std::nullopt;
  NetworkAddress made;
  made.bytes_ = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&made.storage_, address, made.bytes_);
  return made;
}

NetworkAddress NetworkAddress::with_port(std::uint16_t port) const {
  NetworkAddress changed = *this;
  const std::uint16_t in_network_order = htons(port);
  if (family() == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&changed.storage_)->sin_port = in_network_order;
  } else {
    reinterpret_cast<sockaddr_in6*>(&changed.storage_)->sin6_port = in_network_order;
  }
  return changed;
}

std::string NetworkAddress::host() const {
  std::array<char, NI_MAXHOST> text{};
  (void)::getnameinfo(address(), bytes_, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

int NetworkAddress::port() const {
  return family() == AF_INET ? ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port)
                             : ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
}

std::vector<NetworkAddress> own_addresses() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, FreeInterfaces> list(all);
  std::vector<NetworkAddress> found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool is_usable = one->ifa_addr != nullptr && (one->ifa_flags & IFF_UP) != 0 &&
                           (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_usable || is_link_local(one->ifa_addr)) continue;
    if (auto address = NetworkAddress::from(one->ifa_addr)) found.push_back(*address);
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const NetworkAddress& one) { return one.family() == AF_INET; });
  return found;
}

Result<File> bound_socket(const NetworkAddress& address) {
  const std::string name = address.host();
  const int descriptor = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return system_failure("socket", name, -1, errno);
  File socket = File::passed(descriptor, name, 0);
  if (address.family() == AF_INET6) {
    const int no = 0;  // IPv4, too
    (void)::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  if (address.port() != 0) {
    // Connections of a process that listened there before may be remembered for a minute.
    const int yes = 1;
    (void)::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  }
  if (::bind(descriptor, address.address(), address.bytes()) == 0) return socket;
  return system_failure("bind", name, -1, errno);
}

Result<File> bound_socket(const std::string& host) {
  const auto place = NetworkAddress::of(host.empty() ? "::" : host, "0");
  if (!place) return place.error();
  auto socket = bound_socket(place.value());
  if (socket || !host.empty()) return socket;
  return bound_socket(NetworkAddress::of("0.0.0.0", "0").value());  // a host without IPv6
}

Result<NetworkAddress> NetworkAddress::parse(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return invalid_argument(fmt::format("\"{}\" has no port: give ADDRESS:PORT", text));
  }
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  // getaddrinfo() takes a number modulo 65536.
  const std::string port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
  if (read.ec != std::errc() || read.ptr != port.data() + port.size() || number == 0) {
    return invalid_argument(fmt::format("\"{}\" is no port: give 1 to 65535", port));
  }
  return of(host, port);
}

Result<NetworkAddress> NetworkAddress::parse_place(const std::string& text) {
  const bool has_port = text.starts_with('[') || std::ranges::count(text, ':') == 1;
  return has_port ? parse(text) : of(text, "0");
}

}  // namespace weir::storage
