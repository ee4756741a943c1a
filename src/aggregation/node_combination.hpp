// Combines words in the memory of each node by a bitwise OR over all nodes; words that a node has
// not set are 0. The first rank of each node does this, with messages of bounded size, in steps
// that never block.
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
  // `words`: equally many on each node, within the memory that `memory` keeps alive. `leaders`:
  // NodeGroup::leaders(); null if there is only one node, whose words stay unchanged.
  NodeCombination(std::span<std::uint64_t> words, std::shared_ptr<void> memory, MPI_Comm leaders);

  // Makes progress; returns true if the combination has ended. It must not be called after an
  // error.
  [[nodiscard]] Result<bool> step();
  // Called after an error or a missed deadline: keeps the memory that MPI may still use.
  void keep_for_good() { part_.keep_for_good(); }

 private:
  struct Part {
    std::vector<std::uint64_t> mine;
    std::shared_ptr<void> memory;  // keeps the memory of the result alive
  };

  std::span<std::uint64_t> words_;
  MPI_Comm leaders_;
  ranks::KeptUntilDone<Part> part_;
  ranks::Pending pending_;
  std::size_t begun_ = 0;  // number of words whose combination has begun
};

}  // namespace weir::aggregation
