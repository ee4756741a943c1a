#include "plan/buffer_turns.hpp"

#include <numeric>

namespace weir::plan {

BufferTurns::BufferTurns(std::int64_t most_parts, std::int64_t buffers)
    : buffers_(buffers), per_step_(most_parts) {
  while (std::gcd(per_step_, buffers_) != 1) ++per_step_;
}

std::int64_t BufferTurns::turn_of(const PieceId& id) const {
  constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const auto turn = static_cast<std::uint64_t>(id.step) * static_cast<std::uint64_t>(per_step_) +
                    static_cast<std::uint64_t>(id.part);
  return static_cast<std::int64_t>(turn & mask);
}

}  // namespace weir::plan
