// The memory that the ranks of a node share, and the sockets by which they pass each other files.
//
// The first rank makes it and passes it to the others (storage/engines/shared_memory.hpp); each
// rank then reserves its own part, so that these pages are near its processor. No call of MPI waits
// meanwhile without a deadline, and no page can be missing later. Waits end when `opening` is
// revoked, and an error of MPI revokes it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/status.hpp"
#include "ranks/revocation.hpp"
#include "storage/engines/descriptor_socket.hpp"
#include "storage/engines/shared_memory.hpp"

namespace weir::aggregation {

// This rank's socket, and those of all ranks of its node by their places there.
struct NodeSockets {
  storage::DescriptorSocket own;
  std::vector<storage::DescriptorSocket::Address> addresses;
  storage::DescriptorSocket::Secret secret;
};

// Collective over `node`. An error of this rank leaves its address empty: the others go on.
[[nodiscard]] Result<NodeSockets> make_sockets(MPI_Comm node, ranks::Revocation& opening,
                                               double deadline_seconds);

// A rank's part of the memory.
struct NodePart {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// Collective over `node`; `bytes` is alike on its ranks. `attempt` is another number each time.
// Error `insufficient`: this rank saw that there is too little memory; other ranks of the node may
// have got theirs. Null sockets: this rank is alone on its node, or has none, which is an error.
[[nodiscard]] Result<storage::SharedMemory> share_memory(MPI_Comm node, const NodeSockets* sockets,
                                                         std::int64_t bytes, const NodePart& own,
                                                         std::uint64_t attempt,
                                                         ranks::Revocation& opening,
                                                         double deadline_seconds);

// For who makes memory and passes it, here and while a session runs (memory_sharing.hpp).
// Error `insufficient`: there is too little.
[[nodiscard]] Result<storage::SharedMemory> make_shared_memory(std::int64_t bytes);
[[nodiscard]] storage::PassedName name_of_memory(std::uint64_t number);
// `place`: of a rank of the node.
[[nodiscard]] Error memory_cannot_be_passed(std::int64_t place);
[[nodiscard]] Error memory_has_not_come();
// For the others, which leave it to the first rank to say why.
[[nodiscard]] Error failed_at_first(const char* what);

}  // namespace weir::aggregation
