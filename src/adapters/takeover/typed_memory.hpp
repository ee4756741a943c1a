// The program's memory of a call, as MPI describes it: elements of a datatype, with any holes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::takeover {

struct TypedMemory {
  std::byte* begin;  // what the program gives; bytes of an element may lie before it
  std::int64_t count;
  MPI_Datatype datatype;
  MPI_Comm communicator;  // of the file

  // Returns whether the datatype is committed: the MPI library refuses any other.
  [[nodiscard]] bool is_committed() const;
  // Returns where the bytes are if they follow each other, or null.
  [[nodiscard]] std::byte* block() const;
  // Returns a part of the elements.
  [[nodiscard]] TypedMemory elements(std::int64_t first, std::int64_t number) const;
  // The following two copy all bytes of at most INT_MAX elements to or from `packed`, which has at
  // most INT_MAX bytes. They return false if MPI refuses.
  [[nodiscard]] bool pack(std::span<std::byte> packed) const;
  [[nodiscard]] bool unpack(std::span<const std::byte> packed) const;
};

}  // namespace weir::takeover
