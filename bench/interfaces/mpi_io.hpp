// The interfaces that move data by MPI-IO share this: the hints of their files, and the datatypes
// of a rank's part or box.
#pragma once

#include <mpi.h>

#include <span>

#include "array/byte_pattern.hpp"
#include "common/status.hpp"
#include "interfaces/array_part.hpp"
#include "interfaces/interface.hpp"
#include "measurement/mpi_hints.hpp"

namespace weir::bench {

// Returns the hints that the settings ask for.
[[nodiscard]] Result<MpiHints> hints_of(const SessionSettings& settings);

// Notes the hints with which a file was opened, if nobody has for such a file: what MPI says of it.
void note_hints(const SessionSettings& settings, bool writing, MPI_Info given, MPI_File file);

// Makes the committed datatype of these bytes, of which there is at least one, whose first one has
// the offset 0. Returns MPI's code.
int blocks_type(std::span<const array::BytePattern> patterns, MPI_Datatype* type);

// The datatypes of one element, and of the selected elements in the file and in memory. They are
// freed by the destructor.
class TransferTypes {
 public:
  TransferTypes() = default;
  // Creates the types. The part is one region, or has no section; the settings are checked for
  // this. If the rank has no elements, the types are those of one element.
  static Result<TransferTypes> create(const Part& part);
  static Result<TransferTypes> create(const ArrayBox& array);
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
  Status commit(int code);

  MPI_Datatype element_ = MPI_DATATYPE_NULL;
  MPI_Datatype file_ = MPI_DATATYPE_NULL;
  MPI_Datatype memory_ = MPI_DATATYPE_NULL;
};

}  // namespace weir::bench
