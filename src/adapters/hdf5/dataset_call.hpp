// A write or read of contiguous datasets as one request: what each dataset has in the file becomes
// one datatype of MPI, and what it has in memory another, both in the order of the file. They are
// the view and the memory of one transfer of the machinery that takes calls of MPI-IO over. Each
// dataset in chunks is a request of its own.
#pragma once

#include <hdf5.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "adapters/hdf5/open_files.hpp"
#include "adapters/mpiio/take_over.hpp"

namespace weir::hdf5 {

// Says what a program gives to H5Dwrite_multi or H5Dread_multi, or to those of a single dataset.
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

// Returns how the ranks make the call; nothing if they make it together, and the MPI library is to
// move the bytes of each by itself: it may then write back what lies between them.
[[nodiscard]] std::optional<mpiio::Way> way_of(hid_t transfer);

// Returns how many bytes of memory the call asks to move; those of a dataset of which HDF5 does not
// tell it do not count.
[[nodiscard]] std::int64_t bytes_of(const DatasetCall& call);
// Moves the bytes. A collective call: if all ranks can, or does nothing and returns the same reason
// on all of them. An independent one: if this rank can.
[[nodiscard]] mpiio::Moved move_datasets(OpenFile& file, const DatasetCall& call, mpiio::Way way);

}  // namespace weir::hdf5
