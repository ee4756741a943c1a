// Keeps what is known of datasets that the program has open, each of which is looked at once.
#pragma once

#include <hdf5.h>
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "adapters/hdf5/native.hpp"
#include "adapters/mpiio/reason.hpp"
#include "adapters/mpiio/take_over.hpp"

namespace weir::hdf5 {

struct DeleteChunks {
  void operator()(mpiio::StoredChunks* chunks) const;
};
using Chunks = std::unique_ptr<mpiio::StoredChunks, DeleteChunks>;

struct KnownDataset {
  std::optional<PlaceOfDataset> place;
  mpiio::Reason reason = mpiio::Reason::taken;  // why no call on it can be taken over
  bool may_get_address = false;   // it is contiguous, and has no place in the file yet
  hid_t type = H5I_INVALID_HID;   // of an element in the file
  hid_t space = H5I_INVALID_HID;  // the whole of it
  std::int64_t element_bytes = 0;
  std::int64_t address = 0;     // of the first element in the file, if it is contiguous
  std::vector<hsize_t> chunk;   // extents of a chunk; empty if it is contiguous
  Chunks chunks;                // where they are; null before find_chunks()
  bool may_get_chunks = false;  // some are not in the file
};

// Returns what is known of an open dataset, until it is closed.
[[nodiscard]] const KnownDataset& known_dataset(void* dataset, hid_t dxpl);
// Finds where the chunks of a chunked dataset are. Called on all ranks, HDF5 may read its index
// together. This looks again for chunks that were not in the file.
void find_chunks(void* dataset, hid_t dxpl);
// Returns whether the chunks were looked for.
[[nodiscard]] bool has_found_chunks(void* dataset);
// Called before the extent of a dataset changes, and with it that of others that are the same one
// in the file.
void forget_extents();
// Returns whether the dataset has chunks, of which such an extent cuts some.
[[nodiscard]] bool is_cut_by(const hsize_t* extents, void* dataset, hid_t dxpl);
// From now on calls on the dataset, which is known, are passed on.
void distrust(void* dataset);
// Called before the dataset is closed.
void forget_dataset(void* dataset);

}  // namespace weir::hdf5
