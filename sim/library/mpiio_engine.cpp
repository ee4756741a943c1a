// In place of the library's engine for MPI-IO: files of SMPI store nothing and cost the wrong time.
// The storage of simulated ranks is behind StorageEngine, whichever engine it stands for.
#include "aggregation/engines/mpiio_engine.hpp"

namespace weir::aggregation {

std::unique_ptr<storage::Engine> make_mpiio_engine(MPI_Comm /*communicator*/) {
  return storage::make_null_engine();
}

}  // namespace weir::aggregation
