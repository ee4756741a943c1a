// The side that stagers of other nodes connect to, over TCP. Whoever connects may be anyone: what
// is accepted from a connection before it has told a secret is for the caller to limit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "system/frame_socket.hpp"

namespace weir::storage {

class NetworkListener {
 public:
  // Listens at `address`, a numeric address of this node with or without a port, such as
  // "10.0.0.1:4711"; "": at all of its addresses. Without a port, the system chooses one. Fails
  // with ErrorCode::invalid_argument if the address is not one of this node or the port is in use.
  static Result<NetworkListener> listen(const std::string& address);

  // Returns a new connection, or nothing if there is none.
  [[nodiscard]] std::optional<FrameSocket> accept() const;
  // Returns what FrameSocket::begin_connection() takes on another node: the addresses of this node
  // at which it listens, its loopback address last.
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }

 private:
  NetworkListener(File socket, std::vector<std::string> addresses)
      : socket_(std::move(socket)), addresses_(std::move(addresses)) {}

  File socket_;
  std::vector<std::string> addresses_;
};

}  // namespace weir::storage
