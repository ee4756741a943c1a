// Engines and movers that spoil what others do, as failing storage would: for tests.
#pragma once

#include <cstdint>
#include <memory>

#include "storage/engines/engine.hpp"

namespace weir::storage {

struct Fault {
  enum class Operation : std::uint8_t { open, write, read, sync };

  Operation operation = Operation::write;
  // The number of the call that is spoilt, from 1 on; of transfers, ranges are counted. Calls after
  // it are spoilt too.
  std::int64_t number = 1;
  bool is_once = false;      // those after it are spoilt no more
  int system_error = 0;      // errno that it fails with; 0: it does not fail
  bool is_dropped = false;   // a transfer is left out, and the call says that all went well
  std::int64_t moved = 0;    // bytes of a spoilt write or read that are moved before it fails
  double delay_seconds = 0;  // before it is carried out or fails
};

[[nodiscard]] std::unique_ptr<Engine> make_faulty_engine(std::unique_ptr<Engine> base,
                                                         const Fault& fault);
// Makes serial transfers and transfers of encoded chunks (SliceMover) fail; the fault is one of
// Operation::write or read. A dropped transfer moves its first `fault.moved` bytes.
[[nodiscard]] std::shared_ptr<const SliceMover> make_faulty_mover(const Fault& fault);

}  // namespace weir::storage
