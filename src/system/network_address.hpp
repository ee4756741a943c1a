// A numeric address of IPv4 or IPv6, and a port.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

class NetworkAddress {
 public:
  // Fails with ErrorCode::invalid_argument if `host` is not numeric: nothing is looked up.
  static Result<NetworkAddress> of(const std::string& host, const std::string& port);
  // Takes "10.0.0.1:4711" or "[fd00::1]:4711".
  static Result<NetworkAddress> parse(const std::string& text);

  // Takes the same, and addresses without a port, such as "10.0.0.1" or "fd00::1": port 0.
  static Result<NetworkAddress> parse_place(const std::string& text);

  // Takes an address of one of these families; nothing else is one.
  static std::optional<NetworkAddress> from(const sockaddr* address);

  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&storage_);
  }
  [[nodiscard]] socklen_t bytes() const { return bytes_; }
  [[nodiscard]] NetworkAddress with_port(std::uint16_t port) const;
  // Returns the address without its port, as text.
  [[nodiscard]] std::string host() const;
  [[nodiscard]] int port() const;

 private:
  sockaddr_storage storage_{};
  socklen_t bytes_ = 0;
};

// Returns the addresses at which other hosts may reach this one, those of IPv4 first. Link-local
// addresses are left out: they mean nothing without the name of an interface, which differs between
// hosts.
[[nodiscard]] std::vector<NetworkAddress> own_addresses();

// Makes a socket that does not block and is bound to an address and a port that the system chooses;
// "": all addresses of this host, of IPv6 and IPv4 if it has both. It does not listen yet.
[[nodiscard]] Result<File> bound_socket(const std::string& host);
// Makes such a socket that is bound to this address and its port; 0: the system chooses one.
[[nodiscard]] Result<File> bound_socket(const NetworkAddress& address);

}  // namespace weir::storage
