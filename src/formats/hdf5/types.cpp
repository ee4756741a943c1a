#include "formats/hdf5/types.hpp"

#include <array>
#include <cstdint>

namespace weir::storage {
namespace {

using array::ElementKind;

Hdf5Handle half_precision() {
  Hdf5Handle type(H5Tcopy(H5T_IEEE_F32LE));
  // Sign, exponent and mantissa of IEEE 754 binary16. Fields are set first, because they must fit.
  if (H5Tset_fields(type.id(), 15, 10, 5, 0, 10) < 0 || H5Tset_size(type.id(), 2) < 0 ||
      H5Tset_ebias(type.id(), 15) < 0) {
    return {};
  }
  return type;
}

Hdf5Handle complex_of(ElementKind part_kind, std::size_t bytes) {
  const Hdf5Handle part = hdf5_type(part_kind, ByteOrder::little);
  Hdf5Handle type(H5Tcreate(H5T_COMPOUND, bytes));
  if (H5Tinsert(type.id(), "r", 0, part.id()) < 0 ||
      H5Tinsert(type.id(), "i", bytes / 2, part.id()) < 0) {
    return {};
  }
  return type;
}

Hdf5Handle truth_values() {
  Hdf5Handle type(H5Tenum_create(H5T_STD_I8LE));
  const std::int8_t no = 0;
  const std::int8_t yes = 1;
  if (H5Tenum_insert(type.id(), "FALSE", &no) < 0 || H5Tenum_insert(type.id(), "TRUE", &yes) < 0) {
    return {};
  }
  return type;
}

// Returns the type for text in UTF-8, which includes ASCII. Shorter texts are padded with zeros, as
// in NumPy.
Hdf5Handle text_of(std::int64_t bytes) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1));
  if (H5Tset_size(type.id(), static_cast<std::size_t>(bytes)) < 0 ||
      H5Tset_strpad(type.id(), H5T_STR_NULLPAD) < 0 || H5Tset_cset(type.id(), H5T_CSET_UTF8) < 0) {
    return {};
  }
  return type;
}

Hdf5Handle little_endian(const array::ElementType& type) {
  switch (type.kind()) {
    case ElementKind::int8:
      return Hdf5Handle(H5Tcopy(H5T_STD_I8LE));
    case ElementKind::int16:
      return Hdf5Handle(H5Tcopy(H5T_STD_I16LE));
    case ElementKind::int32:
      return Hdf5Handle(H5Tcopy(H5T_STD_I32LE));
    case ElementKind::int64:
      return Hdf5Handle(H5Tcopy(H5T_STD_I64LE));
    case ElementKind::uint8:
      return Hdf5Handle(H5Tcopy(H5T_STD_U8LE));
    case ElementKind::uint16:
      return Hdf5Handle(H5Tcopy(H5T_STD_U16LE));
    case ElementKind::uint32:
      return Hdf5Handle(H5Tcopy(H5T_STD_U32LE));
    case ElementKind::uint64:
      return Hdf5Handle(H5Tcopy(H5T_STD_U64LE));
    case ElementKind::float16:
      return half_precision();
    case ElementKind::float32:
      return Hdf5Handle(H5Tcopy(H5T_IEEE_F32LE));
    case ElementKind::float64:
      return Hdf5Handle(H5Tcopy(H5T_IEEE_F64LE));
    case ElementKind::complex64:
      return complex_of(ElementKind::float32, 8);
    case ElementKind::complex128:
      return complex_of(ElementKind::float64, 16);
    case ElementKind::boolean:
      return truth_values();
    case ElementKind::record:
      return Hdf5Handle(H5Tcreate(H5T_OPAQUE, static_cast<std::size_t>(type.bytes())));
    case ElementKind::text:
      return text_of(type.bytes());
    case ElementKind::utf32:  // HDF5 has none
      return {};
  }
  return {};
}

}  // namespace

Hdf5Handle hdf5_type(const array::ElementType& type, ByteOrder byte_order) {
  Hdf5Handle made = little_endian(type);
  // The library does not change the byte order of a compound's members.
  if (byte_order == ByteOrder::big && H5Tset_order(made.id(), H5T_ORDER_BE) < 0) return {};
  return made;
}

Hdf5Handle hdf5_compound(const std::vector<array::RecordMember>& members, std::int64_t bytes) {
  Hdf5Handle made(H5Tcreate(H5T_COMPOUND, static_cast<std::size_t>(bytes)));
  for (const array::RecordMember& one : members) {
    const Hdf5Handle type = hdf5_type(one.type, ByteOrder::little);
    if (H5Tinsert(made.id(), one.name.c_str(), static_cast<std::size_t>(one.offset), type.id()) <
        0) {
      return {};
    }
  }
  return made;
}

Hdf5Types::Hdf5Types() {
  constexpr std::array kinds = {
      ElementKind::int8,       ElementKind::int16,   ElementKind::int32,   ElementKind::int64,
      ElementKind::uint8,      ElementKind::uint16,  ElementKind::uint32,  ElementKind::uint64,
      ElementKind::float16,    ElementKind::float32, ElementKind::float64, ElementKind::complex64,
      ElementKind::complex128, ElementKind::boolean};
  for (const ElementKind kind : kinds) {
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
      const bool one_way = array::ElementType(kind).bytes() == 1 ||
                           kind == ElementKind::complex64 || kind == ElementKind::complex128;
      if (order == ByteOrder::big && one_way) continue;
      Hdf5Handle handle = hdf5_type(kind, order);
      if (handle.ok()) known_.push_back({{kind, order}, std::move(handle)});
    }
  }
}

std::optional<StoredType> Hdf5Types::find(hid_t type) const {
  for (const Known& known : known_) {
    if (H5Tequal(type, known.handle.id()) > 0) return known.stored;
  }
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_OPAQUE) {
    const auto record = array::ElementType::record(static_cast<std::int64_t>(H5Tget_size(type)));
    if (!record) return std::nullopt;
    return StoredType{record.value(), ByteOrder::little};
  }
  if (kind == H5T_STRING && H5Tis_variable_str(type) == 0) {
    const auto text = array::ElementType::text(static_cast<std::int64_t>(H5Tget_size(type)));
    if (!text) return std::nullopt;
    return StoredType{text.value(), ByteOrder::little};
  }
  if (kind == H5T_ENUM) {
    const Hdf5Handle numbers(H5Tget_super(type));
    return numbers.ok() ? find(numbers.id()) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace weir::storage
