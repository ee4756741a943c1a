// The stager of this node listens at a path that every rank can compute, and a rank starts one
// there.
#pragma once

#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::transport {

// Returns WEIR_STAGER_SOCKET, or the path at which a stager of this user listens.
[[nodiscard]] std::string default_socket();

// Returns the path of the program weir-stager: WEIR_STAGER, or where it lies beside this library,
// or else its name, which is then looked up in PATH.
[[nodiscard]] std::string stager_program();

// Starts a stager at this socket with these options, unless one runs there already. `program` is
// its path.
[[nodiscard]] Status start_stager(const std::string& socket, const std::string& program,
                                  const std::vector<std::string>& options, double deadline_seconds);

}  // namespace weir::transport
