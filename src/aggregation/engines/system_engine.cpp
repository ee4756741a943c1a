// Simulated ranks have sim/library/storage_engine.cpp instead.
#include "aggregation/engines/system_engine.hpp"

#include <utility>

#include "aggregation/engines/mpiio_engine.hpp"

namespace weir::aggregation {

Result<std::unique_ptr<storage::Engine>> make_system_engine(plan::Engine engine) {
  switch (engine) {
    case plan::Engine::uring:
      return storage::make_uring_engine();
    case plan::Engine::direct: {
      // Many transfers in flight keep the storage itself busy, if the kernel supports them.
      auto base = storage::make_uring_engine();
      return storage::make_direct_engine(base ? std::move(base).value()
                                              : storage::make_posix_engine());
    }
    case plan::Engine::mpi_io:
      return make_mpiio_engine();
    case plan::Engine::null:
      return storage::make_null_engine();
    case plan::Engine::posix:
      break;
  }
  return storage::make_posix_engine();
}

}  // namespace weir::aggregation
