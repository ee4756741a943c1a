// What is known of datasets that the program has open, each of which is looked at once.
#pragma once

#include <hdf5.h>
#include <mpi.h>

#include <cstdint>
#include <optional>

#include "adapters/mpiio/reason.hpp"

namespace weir::hdf5 {

struct KnownDataset {
  std::optional<unsigned long> file;            // its number (native.hpp)
  mpiio::Reason reason = mpiio::Reason::taken;  // why no call on it can be taken over
  bool may_get_address = false;   // it is contiguous, and has no place in the file yet
  hid_t type = H5I_INVALID_HID;   // of an element in the file
  hid_t space = H5I_INVALID_HID;  // the whole of it
  std::int64_t element_bytes = 0;
  std::int64_t address = 0;  // of the first element in the file
};

// Returns what is known of an open dataset, until it is closed.
[[nodiscard]] const KnownDataset& known_dataset(void* dataset, hid_t dxpl);
// From now on calls on the dataset, which is known, are passed on.
void distrust(void* dataset);
// Called before the dataset is closed.
void forget_dataset(void* dataset);

}  // namespace weir::hdf5
