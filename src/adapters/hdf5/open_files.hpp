// The files that HDF5 has open by its driver mpio, of which calls are taken over.
//
// The machinery that takes calls of MPI-IO over (adapters/takeover) moves the bytes: for it, such a
// file is one that the MPI library has open, too.
#pragma once

#include <hdf5.h>
#include <mpi.h>

#include <cstdint>
#include <optional>

#include "adapters/hdf5/call_counts.hpp"
#include "adapters/mpiio/take_over.hpp"

namespace weir::hdf5 {

struct OpenFile {
  FileCounts* counts;
  MPI_File* handle;         // HDF5's
  mpiio::TakenFile* taken;  // null: nothing is taken over, for the reason `refusal`
  mpiio::Reason refusal;
  bool reads_metadata_together;  // HDF5 then reads no metadata on one rank alone
  int uses;                      // how often the program has it open
  bool is_unsynced = false;      // Weir has written, and H5Fflush was not called since
};

// Says what the storage has refused.
struct Refused {
  const FileCounts* file;
  int code;  // MPI's error class
};

// A file that the program is about to open or to create.
class Opening {
 public:
  // Asks all that HDF5 has to tell, which would forget why an opening failed if it were asked
  // afterwards.
  explicit Opening(hid_t access);
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  ~Opening();

  // Called on all ranks after HDF5 has opened the file; `file` is null if that failed.
  void note(void* file, const char* path, hid_t dxpl);

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;  // unless the driver is mpio
  bool reads_metadata_together_ = false;
};

// The following are called on all ranks. After the program has opened an open file once more.
void note_reopened(void* file, hid_t dxpl);
// Before it closes the file. If the storage refuses bytes only now, returns so on all ranks: the
// file is then still open, and may be closed again.
[[nodiscard]] std::optional<Refused> note_closing(void* file, hid_t dxpl);
// Makes what Weir wrote to files durable, as far as the storage does not refuse it.
[[nodiscard]] std::optional<Refused> make_durable();

// Returns the file with a dataset; null if it was not opened by the driver mpio.
[[nodiscard]] OpenFile* open_file_with(void* dataset, hid_t dxpl);
[[nodiscard]] const mpiio::TakeOver& take_over();

}  // namespace weir::hdf5
