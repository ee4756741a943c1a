// The native connector of HDF5, which does all that this one does not.
//
// This connector wraps no object: each is the native connector's own. HDF5 then needs no functions
// that wrap and unwrap, and every function of the native connector serves as it is.
#pragma once

#include <mpi.h>
// After <mpi.h>, in which HDF5's headers would otherwise be in a block of extern "C".
#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::hdf5 {

// Valid after the first call of class_of_connector() (connector.cpp).
[[nodiscard]] const H5VL_class_t& native();
// Returns false if HDF5 does not tell it.
[[nodiscard]] bool find_native();

// Returns HDF5's handle of an open file; null if its driver is not mpio, or has none.
[[nodiscard]] MPI_File* handle_of(void* file, hid_t dxpl);
// Returns the number by which HDF5 tells open files from each other; nothing if it does not tell
// it. The number serves because HDF5, if it is asked for the file of an object, keeps that file
// open.
[[nodiscard]] std::optional<unsigned long> number_of_file(void* file, hid_t dxpl);
struct PlaceOfDataset {
  unsigned long file = 0;    // its number
  std::int64_t in_file = 0;  // tells datasets of a file from each other, on all ranks alike
};
[[nodiscard]] std::optional<PlaceOfDataset> place_of(void* dataset, hid_t dxpl);
// Returns where the bytes of a dataset begin in the file; nothing if they have no place there.
[[nodiscard]] std::optional<haddr_t> address_of(void* dataset, hid_t dxpl);
// Takes a chunk of a dataset: its first element, and where it begins in the file. A negative number
// ends the visit.
using TakeChunk = int (*)(const hsize_t* corner, unsigned filter_mask, haddr_t address,
                          hsize_t bytes, void* context);
// Visits all chunks of a chunked dataset that are in the file. HDF5 first writes what it has of
// them in its cache. Returns false if that or the visit failed.
[[nodiscard]] bool visit_chunks(void* dataset, hid_t dxpl, TakeChunk take, void* context);
// Return a new id; a negative number if HDF5 fails.
[[nodiscard]] hid_t type_of(void* dataset, hid_t dxpl);
[[nodiscard]] hid_t space_of(void* dataset, hid_t dxpl);
[[nodiscard]] hid_t creation_of(void* dataset, hid_t dxpl);

}  // namespace weir::hdf5
