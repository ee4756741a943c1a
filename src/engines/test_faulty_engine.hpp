// Engines and movers for tests that inject the faults of failing storage into others.
#pragma once

#include <cstdint>
#include <memory>

#include "engines/engine.hpp"

namespace weir::storage {

struct Fault {
  enum class Operation : std::uint8_t { open, write, read, sync };

  Operation operation = Operation::write;
  // The number of the first call with the fault, counted from 1; for transfers, the number of the
  // first range. Later calls have the fault, too.
  std::int64_t number = 1;
  bool is_once = false;      // later calls do not have the fault
  int system_error = 0;      // errno of the failure; 0: the call does not fail
  bool is_dropped = false;   // the transfer is skipped, and the call reports success
  std::int64_t moved = 0;    // bytes that a faulty write or read moves before it fails
  double delay_seconds = 0;  // delay before the call is executed or fails
};

[[nodiscard]] std::unique_ptr<Engine> make_faulty_engine(std::unique_ptr<Engine> base,
                                                         const Fault& fault);
// Returns a mover that injects the fault into serial transfers and transfers of encoded chunks
// (SliceMover). The fault's operation is Operation::write or read. A dropped transfer moves its
// first `fault.moved` bytes.
[[nodiscard]] std::shared_ptr<const SliceMover> make_faulty_mover(const Fault& fault);

}  // namespace weir::storage
