// The moving of a request's bytes by one strategy, as a state machine on every rank.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "common/status.hpp"

namespace weir::aggregation {

enum class Way : std::uint8_t { write, read };

// One array of a request, checked.
struct RequestedPart {
  const ArrayPart* part = nullptr;
  OpenArray* file = nullptr;
};

class Move {
 public:
  Move() = default;
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  virtual ~Move() = default;

  // Does what can be done without waiting for another rank; true when that was something.
  virtual bool step() = 0;
  // Nothing is left to do for this rank. A rank that failed gets there as the others do.
  [[nodiscard]] virtual bool done() const = 0;
  // The first failure on this rank.
  [[nodiscard]] virtual const Status& status() const = 0;
};

}  // namespace weir::aggregation
