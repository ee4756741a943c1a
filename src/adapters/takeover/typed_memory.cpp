#include "adapters/takeover/typed_memory.hpp"

#include "adapters/takeover/datatype_pattern.hpp"

namespace weir::takeover {

bool TypedMemory::is_committed() const {
  std::byte nothing{};
  int packed = 0;
  return MPI_Pack(&nothing, 0, datatype, &nothing, 0, &packed, communicator) == MPI_SUCCESS;
}

std::byte* TypedMemory::block() const {
  const auto size = size_of(datatype);
  MPI_Count lower = 0;
  MPI_Count spanned = 0;
  MPI_Type_get_true_extent_x(datatype, &lower, &spanned);
  if (!size || size->bytes != spanned) return nullptr;  // it has holes: not worth decoding
  const auto one = patterns_of(datatype);
  const auto all = one ? one->repeated(count, size->extent) : std::nullopt;
  if (!all || all->patterns().size() != 1 || !all->patterns().front().is_block()) return nullptr;
  return begin + all->offset();
}

TypedMemory TypedMemory::elements(std::int64_t first, std::int64_t number) const {
  const std::int64_t extent = size_of(datatype).value_or(TypeSize{}).extent;
  return {begin + first * extent, number, datatype, communicator};
}

bool TypedMemory::pack(std::span<std::byte> packed) const {
  const int bytes = static_cast<int>(packed.size());
  int at = 0;
  const int done =
      MPI_Pack(begin, static_cast<int>(count), datatype, packed.data(), bytes, &at, communicator);
  return done == MPI_SUCCESS && at == bytes;
}

bool TypedMemory::unpack(std::span<const std::byte> packed) const {
  int at = 0;
  return MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &at, begin,
                    static_cast<int>(count), datatype, communicator) == MPI_SUCCESS;
}

}  // namespace weir::takeover
