#include "adapters/hdf5/datatype.hpp"

#include <array>
#include <climits>
#include <vector>

namespace weir::hdf5 {
namespace {

constexpr std::int64_t piece_bytes = std::int64_t{1} << 30;

}  // namespace

// Counts of MPI-3 are ints: a longer block is pieces of 1 GiB, and the rest of it.
std::optional<Datatype> Datatype::bytes(std::int64_t count) {
  if (count < 0) return std::nullopt;
  if (count <= INT_MAX) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    const int done = MPI_Type_contiguous(static_cast<int>(count), MPI_BYTE, &made);
    return done == MPI_SUCCESS ? std::optional(Datatype(made)) : std::nullopt;
  }
  const auto piece = bytes(piece_bytes);
  const std::int64_t pieces = count / piece_bytes;
  const auto whole = piece ? piece->repeated(pieces, piece_bytes) : std::nullopt;
  const auto rest = bytes(count % piece_bytes);
  if (!whole || !rest) return std::nullopt;
  const std::array<MPI_Datatype, 2> parts{whole->handle(), rest->handle()};
  const std::array<MPI_Aint, 2> offsets{0, pieces * piece_bytes};
  return joined(2, parts.data(), offsets.data());
}

std::optional<Datatype> Datatype::blocks(int count, const int* lengths, const MPI_Aint* offsets) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int done = MPI_Type_create_hindexed(count, lengths, offsets, MPI_BYTE, &made);
  return done == MPI_SUCCESS ? std::optional(Datatype(made)) : std::nullopt;
}

std::optional<Datatype> Datatype::joined(int count, const MPI_Datatype* parts,
                                         const MPI_Aint* offsets) {
  const std::vector<int> once(static_cast<std::size_t>(count), 1);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int done = MPI_Type_create_struct(count, once.data(), offsets, parts, &made);
  return done == MPI_SUCCESS ? std::optional(Datatype(made)) : std::nullopt;
}

std::optional<Datatype> Datatype::repeated(std::int64_t count, std::int64_t stride) const {
  if (count < 0 || count > INT_MAX) return std::nullopt;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int done = MPI_Type_create_hvector(static_cast<int>(count), 1, stride, handle_, &made);
  return done == MPI_SUCCESS ? std::optional(Datatype(made)) : std::nullopt;
}

}  // namespace weir::hdf5
