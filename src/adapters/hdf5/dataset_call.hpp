// A collective write or read of datasets as one request: what each dataset has in the file becomes
// one datatype of MPI, and what it has in memory another, both in the order of the file. They are
// the view and the memory of one transfer of the machinery that takes calls of MPI-IO over.
#pragma once

#include <hdf5.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "adapters/hdf5/open_files.hpp"

namespace weir::hdf5 {

// What a program gives to H5Dwrite_multi or H5Dread_multi, or to those of a single dataset.
struct DatasetCall {
  bool writing;
  std::size_t count;
  void* const* datasets;
  const hid_t* memory_types;
  const hid_t* memory_spaces;
  const hid_t* file_spaces;
  hid_t transfer;  // property list
  void* const* memory;
};

// Returns whether all ranks make the call together.
[[nodiscard]] bool is_collective(hid_t transfer);

// Returns how many bytes of memory the call asks to move; those of a dataset of which HDF5 does not
// tell it do not count.
[[nodiscard]] std::int64_t bytes_of(const DatasetCall& call);
// Collective. Moves the bytes if all ranks can, or does nothing and returns the same reason on all
// of them.
[[nodiscard]] mpiio::Moved move_datasets(OpenFile& file, const DatasetCall& call);

}  // namespace weir::hdf5
