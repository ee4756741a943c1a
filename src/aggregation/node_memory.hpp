// Creates the memory that the ranks of a node share, and the sockets over which they pass each
// other files.
//
// The first rank creates the memory and passes it to the others
// (system/shared_memory.hpp). Each rank then reserves its own part, so that these pages
// are near its processor and none can be missing later. All MPI calls made meanwhile have a
// deadline. Waits end when `opening` is revoked, and an MPI error revokes it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/status.hpp"
#include "ranks/revocation.hpp"
#include "system/descriptor_socket.hpp"
#include "system/shared_memory.hpp"

namespace weir::aggregation {

// This rank's socket, and the addresses of the sockets of all ranks of its node, by place.
struct NodeSockets {
  storage::DescriptorSocket own;
  std::vector<storage::DescriptorSocket::Address> addresses;
  storage::DescriptorSocket::Secret secret;
};

// Collective over `node`. If this rank gets an error, its address is empty; the others continue.
[[nodiscard]] Result<NodeSockets> make_sockets(MPI_Comm node, ranks::Revocation& opening,
                                               double deadline_seconds);

// A rank's part of the memory.
struct NodePart {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// Collective over `node`; `bytes` is equal on its ranks. `attempt` differs for each call. With the
// error `insufficient`, this rank found too little memory; other ranks of the node may have got
// theirs. `sockets` is null if this rank is alone on its node, or if it has none, which is an
// error.
[[nodiscard]] Result<storage::SharedMemory> share_memory(MPI_Comm node, const NodeSockets* sockets,
                                                         std::int64_t bytes, const NodePart& own,
                                                         std::uint64_t attempt,
                                                         ranks::Revocation& opening,
                                                         double deadline_seconds);

// The following functions are for code that creates and passes memory, here and while a session
// runs (memory_sharing.hpp). The error is `insufficient` if there is too little memory.
[[nodiscard]] Result<storage::SharedMemory> make_shared_memory(std::int64_t bytes);
[[nodiscard]] storage::PassedName name_of_memory(std::uint64_t number);
// `place`: the place of a rank on the node.
[[nodiscard]] Error memory_cannot_be_passed(std::int64_t place);
[[nodiscard]] Error memory_has_not_come();
// The error of the other ranks, which leave it to the first rank to give the reason.
[[nodiscard]] Error failed_at_first(const char* what);

}  // namespace weir::aggregation
