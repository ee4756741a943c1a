// Credentials of MUNGE, which the daemon munged of each node makes and opens with a key that all
// nodes of a cluster share. WEIR_MUNGE_SOCKET names the socket of munged; without it MUNGE's
// library takes its own.
//
// MUNGE's library is loaded when it is first used, as UCX is (ucx.hpp). It gives a munged that does
// not answer five tries of 2 s, so that each function takes about 10 s at most.
#pragma once

#include <memory>

#include "common/status.hpp"
#include "transport/credentials.hpp"

namespace weir::transport {

// Fails if Weir was built without MUNGE, or if its library is not on this node. Whether munged
// answers shows when a credential is made.
[[nodiscard]] Result<std::unique_ptr<Credentials>> open_munge();

}  // namespace weir::transport
