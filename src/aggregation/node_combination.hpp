// Words in the memory of each node, combined by a bitwise OR over all nodes: what a node has not
// set is 0. By the first rank of each node, in messages of bounded size, in steps none of which
// waits.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/status.hpp"
#include "ranks/messages.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {

class NodeCombination {
 public:
  // `words`: as many on each node, inside of what `memory` keeps. `leaders`: NodeGroup::leaders();
  // null where there is one node, whose words stay as they are.
  NodeCombination(std::span<std::uint64_t> words, std::shared_ptr<void> memory, MPI_Comm leaders);

  // True when it has ended. After an error it is not called again.
  [[nodiscard]] Result<bool> step();
  // After an error or a missed deadline: what MPI may still use stays.
  void keep_for_good() { part_.keep_for_good(); }

 private:
  struct Part {
    std::vector<std::uint64_t> mine;
    std::shared_ptr<void> memory;  // where the result comes to lie
  };

  std::span<std::uint64_t> words_;
  MPI_Comm leaders_;
  ranks::KeptUntilDone<Part> part_;
  ranks::Pending pending_;
  std::size_t begun_ = 0;  // words
};

}  // namespace weir::aggregation
