#include "aggregation/node_combination.hpp"

#include <algorithm>
#include <utility>

namespace weir::aggregation {
namespace {

// Length of a message between nodes. A rank has memory for one message.
constexpr std::size_t words_at_once = std::size_t{1} << 16U;

}  // namespace

NodeCombination::NodeCombination(std::span<std::uint64_t> words, std::shared_ptr<void> memory,
                                 MPI_Comm leaders)
    : words_(words), leaders_(leaders) {
  part_->memory = std::move(memory);
  if (leaders_ == MPI_COMM_NULL) begun_ = words_.size();
}

Result<bool> NodeCombination::step() {
  for (;;) {
    const auto done = ranks::test(pending_);
    if (!done) return done.error();
    if (!done.value()) return false;
    if (begun_ == words_.size()) return true;
    const auto here = words_.subspan(begun_, std::min(words_at_once, words_.size() - begun_));
    part_->mine.assign(here.begin(), here.end());
    if (Status begun =
            ranks::reduce_to_all(pending_, part_->mine.data(), here.data(),
                                 static_cast<int>(here.size()), MPI_UINT64_T, MPI_BOR, leaders_);
        !begun.ok()) {
      return begun.error();
    }
    begun_ += here.size();
  }
}

}  // namespace weir::aggregation
