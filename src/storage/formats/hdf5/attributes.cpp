#include "storage/formats/hdf5/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

namespace weir::storage {
namespace {

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

// A value, or the reason why there is none.
using Value = std::variant<Attribute::Value, std::string>;

Value unreadable_value() { return std::string("its value cannot be read"); }
Value too_long(const Hdf5AttributeLimits& limits) {
  return fmt::format("it takes more than the {} bytes that are read of one", limits.bytes);
}

Value read_text(hid_t attribute, hid_t type, bool variable, const Hdf5AttributeLimits& limits) {
  if (!variable) {
    const std::size_t bytes = H5Tget_size(type);
    if (bytes > limits.bytes) return too_long(limits);
    std::string text(bytes, '\0');
    if (H5Aread(attribute, type, text.data()) < 0) return unreadable_value();
    text.resize(std::min(text.find('\0'), text.size()));
    return Attribute::Value(std::move(text));
  }
  char* characters = nullptr;
  if (H5Aread(attribute, type, static_cast<void*>(&characters)) < 0) return unreadable_value();
  if (characters == nullptr) return Attribute::Value(std::string());
  const std::string_view text(characters);
  Value value = text.size() > limits.bytes ? too_long(limits) : Attribute::Value(std::string(text));
  H5free_memory(characters);
  return value;
}

template <typename Number>
Value read_numbers(hid_t attribute, std::size_t count, hid_t memory) {
  std::vector<Number> numbers(count);
  if (count > 0 && H5Aread(attribute, memory, numbers.data()) < 0) return unreadable_value();
  return Attribute::Value(std::move(numbers));
}

// The library would store 2^63 - 1 where a number is larger.
Value read_unsigned(hid_t attribute, std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  if (count > 0 && H5Aread(attribute, H5T_NATIVE_UINT64, numbers.data()) < 0)
    return unreadable_value();
  std::vector<std::int64_t> shown;
  shown.reserve(count);
  for (const std::uint64_t number : numbers) {
    if (number > static_cast<std::uint64_t>(INT64_MAX)) {
      return std::string("it holds a number above 2^63 - 1");
    }
    shown.push_back(static_cast<std::int64_t>(number));
  }
  return Attribute::Value(std::move(shown));
}

Value read_value(hid_t attribute, const Hdf5AttributeLimits& limits) {
  const Hdf5Handle type(H5Aget_type(attribute));
  const Hdf5Handle space(H5Aget_space(attribute));
  if (!type.ok() || !space.ok()) return unreadable_value();
  const hssize_t points = H5Sget_simple_extent_npoints(space.id());
  if (points < 0) return unreadable_value();
  const auto count = static_cast<std::size_t>(points);
  switch (H5Tget_class(type.id())) {
    case H5T_STRING: {
      // NetCDF-4 stores an empty text as one of no dataspace.
      if (count == 0) return Attribute::Value(std::string());
      if (count > 1) return std::string("it is a list of texts");
      const htri_t variable = H5Tis_variable_str(type.id());
      if (variable < 0) return unreadable_value();
      return read_text(attribute, type.id(), variable > 0, limits);
    }
    case H5T_INTEGER:
      if (count > limits.bytes / sizeof(std::int64_t)) return too_long(limits);
      return H5Tget_sign(type.id()) == H5T_SGN_NONE
                 ? read_unsigned(attribute, count)
                 : read_numbers<std::int64_t>(attribute, count, H5T_NATIVE_INT64);
    case H5T_FLOAT:
      if (count > limits.bytes / sizeof(double)) return too_long(limits);
      return read_numbers<double>(attribute, count, H5T_NATIVE_DOUBLE);
    default:
      return std::string("it is neither text nor numbers");
  }
}

struct Reading {
  const std::string& owner;
  const Hdf5AttributeLimits& limits;
  AttributesFound found;
  std::size_t seen = 0;
};

extern "C" herr_t weir_hdf5_attribute(hid_t object, const char* name, const H5A_info_t* /*about*/,
                                      void* argument) {
  auto& reading = *static_cast<Reading*>(argument);
  if (of_the_library(name)) return 0;
  if (reading.seen++ >= reading.limits.attributes) return 0;  // is counted
  const auto leave_out = [&](std::string reason) {
    reading.found.left_out.push_back({reading.owner, printable(name), std::move(reason)});
  };
  const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT));
  if (!attribute.ok()) {
    leave_out("it cannot be opened");
    return 0;
  }
  Value value = read_value(attribute.id(), reading.limits);
  if (auto* const reason = std::get_if<std::string>(&value)) {
    leave_out(std::move(*reason));
  } else {
    reading.found.shown.push_back({name, std::move(std::get<Attribute::Value>(value))});
  }
  return 0;
}

}  // namespace

Status write_hdf5_attributes(hid_t object, const std::vector<Attribute>& attributes,
                             const std::string& path) {
  for (const Attribute& attribute : attributes) {
    if (Status written = write_one(object, attribute, path); !written.ok()) return written;
  }
  return {};
}

AttributesFound read_hdf5_attributes(hid_t object, const std::string& owner,
                                     const Hdf5AttributeLimits& limits) {
  Reading reading{owner, limits, {}};
  const herr_t read =
      H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, weir_hdf5_attribute, &reading);
  if (read < 0) reading.found.left_out.push_back({owner, "", "its attributes cannot be listed"});
  if (reading.seen > limits.attributes) {
    reading.found.left_out.push_back({owner, "",
                                      fmt::format("it has {} attributes, of which {} are read",
                                                  reading.seen, limits.attributes)});
  }
  return std::move(reading.found);
}

}  // namespace weir::storage
