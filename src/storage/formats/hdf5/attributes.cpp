#include "storage/formats/hdf5/attributes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::storage {
namespace {

constexpr hsize_t most_attributes_read = 1024;
constexpr hsize_t most_bytes = 65536;

Status write_one(hid_t object, const Attribute& attribute, const std::string& path) {
  Hdf5Handle type;
  Hdf5Handle space;
  const void* data = nullptr;
  const auto numbers = [&](const auto& list, hid_t number) {
    type = Hdf5Handle(H5Tcopy(number));
    const hsize_t count = list.size();
    space = Hdf5Handle(count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr));
    data = list.data();
  };
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    type = Hdf5Handle(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.id(), std::max<std::size_t>(1, text->size()));
    H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
    space = Hdf5Handle(H5Screate(H5S_SCALAR));
    data = text->c_str();
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    numbers(*whole, H5T_STD_I64LE);
  } else {
    numbers(std::get<std::vector<double>>(attribute.value), H5T_IEEE_F64LE);
  }
  const Hdf5Handle made(
      H5Acreate2(object, attribute.name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT));
  // An empty list has no place in memory, and nothing to write.
  if (!made.ok() || (data != nullptr && H5Awrite(made.id(), type.id(), data) < 0)) {
    return hdf5_failure("write attribute \"" + attribute.name + '"', path, ErrorCode::io);
  }
  return {};
}

bool of_the_library(std::string_view name) {
  constexpr std::array<std::string_view, 9> own = {"CLASS",
                                                   "NAME",
                                                   "DIMENSION_LIST",
                                                   "REFERENCE_LIST",
                                                   "DIMENSION_LABELS",
                                                   "_Netcdf4Dimid",
                                                   "_Netcdf4Coordinates",
                                                   "_NCProperties",
                                                   hdf5_alignment_attribute};
  return std::find(own.begin(), own.end(), name) != own.end();
}

std::optional<std::string> read_text(hid_t attribute, hid_t type, bool variable) {
  const Hdf5Handle memory(H5Tcopy(type));
  if (!variable) {
    std::string text(H5Tget_size(type), '\0');
    if (text.size() > most_bytes || H5Aread(attribute, memory.id(), text.data()) < 0) {
      return std::nullopt;
    }
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
  }
  char* characters = nullptr;
  if (H5Aread(attribute, memory.id(), static_cast<void*>(&characters)) < 0) return std::nullopt;
  if (characters == nullptr) return "";
  std::string text(characters);
  H5free_memory(characters);
  return text;
}

template <typename Number>
std::optional<Attribute::Value> read_numbers(hid_t attribute, hsize_t count, hid_t memory) {
  std::vector<Number> numbers(count);
  if (count > 0 && H5Aread(attribute, memory, numbers.data()) < 0) return std::nullopt;
  return numbers;
}

std::optional<Attribute::Value> read_value(hid_t attribute) {
  const Hdf5Handle type(H5Aget_type(attribute));
  const Hdf5Handle space(H5Aget_space(attribute));
  if (!type.ok() || !space.ok()) return std::nullopt;
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  if (count < 0 || static_cast<hsize_t>(count) > most_bytes / sizeof(double)) return std::nullopt;
  switch (H5Tget_class(type.id())) {
    case H5T_STRING: {
      if (count != 1) return std::nullopt;
      const htri_t variable = H5Tis_variable_str(type.id());
      if (variable < 0) return std::nullopt;
      return read_text(attribute, type.id(), variable > 0);
    }
    case H5T_INTEGER:
      return read_numbers<std::int64_t>(attribute, static_cast<hsize_t>(count), H5T_NATIVE_INT64);
    case H5T_FLOAT:
      return read_numbers<double>(attribute, static_cast<hsize_t>(count), H5T_NATIVE_DOUBLE);
    default:
      return std::nullopt;
  }
}

}  // namespace

Status write_hdf5_attributes(hid_t object, const std::vector<Attribute>& attributes,
                             const std::string& path) {
  for (const Attribute& attribute : attributes) {
    if (Status written = write_one(object, attribute, path); !written.ok()) return written;
  }
  return {};
}

std::vector<Attribute> read_hdf5_attributes(hid_t object) {
  std::vector<Attribute> attributes;
  for (hsize_t number = 0; number < most_attributes_read; ++number) {
    const Hdf5Handle attribute(
        H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, number, H5P_DEFAULT, H5P_DEFAULT));
    if (!attribute.ok()) break;
    std::array<char, 1024> name{};
    if (H5Aget_name(attribute.id(), name.size(), name.data()) < 0) break;
    if (of_the_library(name.data())) continue;
    if (auto value = read_value(attribute.id())) {
      attributes.push_back({name.data(), *std::move(value)});
    }
  }
  return attributes;
}

}  // namespace weir::storage
