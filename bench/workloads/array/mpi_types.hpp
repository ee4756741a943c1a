// MPI datatypes of a rank's part: for one element, and for the selected elements in the file and in
// memory.
#pragma once

#include <mpi.h>

#include "common/status.hpp"
#include "workloads/array/geometry.hpp"

namespace weir::bench::array_io {

// The datatypes are freed by the destructor.
class TransferTypes {
 public:
  TransferTypes() = default;
  // Creates the types. The part is one region, or has no section; the settings are checked for
  // this. If the rank has no elements, the types are those of one element.
  static Result<TransferTypes> create(const Part& part);
  TransferTypes(TransferTypes&& other) noexcept;
  TransferTypes& operator=(TransferTypes&& other) noexcept;
  TransferTypes(const TransferTypes&) = delete;
  TransferTypes& operator=(const TransferTypes&) = delete;
  ~TransferTypes();

  [[nodiscard]] MPI_Datatype element() const { return element_; }
  [[nodiscard]] MPI_Datatype file() const { return file_; }
  [[nodiscard]] MPI_Datatype memory() const { return memory_; }

 private:
  void free();

  MPI_Datatype element_ = MPI_DATATYPE_NULL;
  MPI_Datatype file_ = MPI_DATATYPE_NULL;
  MPI_Datatype memory_ = MPI_DATATYPE_NULL;
};

}  // namespace weir::bench::array_io
