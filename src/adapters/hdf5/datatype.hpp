// A datatype of MPI that is freed with its object.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace weir::hdf5 {

class Datatype {
 public:
  // Returns nothing if MPI refuses a datatype.
  static std::optional<Datatype> bytes(std::int64_t count);
  // Blocks of bytes, each at its offset.
  static std::optional<Datatype> blocks(int count, const int* lengths, const MPI_Aint* offsets);
  // Datatypes, each at its offset.
  static std::optional<Datatype> joined(int count, const MPI_Datatype* parts,
                                        const MPI_Aint* offsets);
  // This datatype several times, each `stride` bytes behind the one before.
  [[nodiscard]] std::optional<Datatype> repeated(std::int64_t count, std::int64_t stride) const;

  Datatype(Datatype&& other) noexcept : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)) {}
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  ~Datatype() {
    if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
  }

  [[nodiscard]] MPI_Datatype handle() const { return handle_; }
  // MPI packs datatypes only after this.
  [[nodiscard]] bool commit() { return MPI_Type_commit(&handle_) == MPI_SUCCESS; }

 private:
  explicit Datatype(MPI_Datatype handle) : handle_(handle) {}

  MPI_Datatype handle_;
};

}  // namespace weir::hdf5
