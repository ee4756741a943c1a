#include "formats/hdf5/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "formats/hdf5/types.hpp"

namespace weir::storage {
namespace {

// The form in which an attribute is stored, and the data for H5Awrite.
struct Stored {
  Hdf5Handle type;
  Hdf5Handle space;
  const void* data = nullptr;
  std::vector<const char*> texts = {};
};

Hdf5Handle list_space(std::size_t items) {
  const hsize_t count = items;
  return Hdf5Handle(H5Screate_simple(1, &count, nullptr));
}

Hdf5Handle text_type(std::size_t bytes) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.id(), bytes);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

Stored stored_form(const Attribute::Value& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) {
    Stored stored{text_type(std::max<std::size_t>(1, text->size())),
                  Hdf5Handle(H5Screate(H5S_SCALAR)), text->c_str()};
    H5Tset_strpad(stored.type.id(), H5T_STR_NULLPAD);
    return stored;
  }
  if (const auto* const texts = std::get_if<std::vector<std::string>>(&value)) {
    Stored stored{text_type(H5T_VARIABLE), list_space(texts->size())};
    for (const std::string& one : *texts) stored.texts.push_back(one.c_str());
    if (!stored.texts.empty()) stored.data = static_cast<const void*>(stored.texts.data());
    return stored;
  }
  const std::size_t count = attribute_count(value);
  const auto bytes = number_bytes(value);
  return {hdf5_type(*number_kind(value), ByteOrder::little),
          count == 1 ? Hdf5Handle(H5Screate(H5S_SCALAR)) : list_space(count),
          bytes.empty() ? nullptr : bytes.data()};
}

Status write_one(hid_t object, const Attribute& attribute, const std::string& path) {
  const Stored stored = stored_form(attribute.value);
  const Hdf5Handle made(H5Acreate2(object, attribute.name.c_str(), stored.type.id(),
                                   stored.space.id(), H5P_DEFAULT, H5P_DEFAULT));
  // An empty list has no address in memory, and nothing to write.
  if (!made.ok() ||
      (stored.data != nullptr && H5Awrite(made.id(), stored.type.id(), stored.data) < 0)) {
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

// A value, or the reason why it cannot be read.
using Value = std::variant<Attribute::Value, std::string>;

Value unreadable_value() { return std::string("its value cannot be read"); }
Value too_long(const Hdf5AttributeLimits& limits) {
  return fmt::format("it has more than {} bytes, which is the limit", limits.bytes);
}

std::string until_null(const char* text, std::size_t bytes) {
  const std::string_view all(text, bytes);
  return std::string(all.substr(0, all.find('\0')));
}

// Reads `count` texts of the same number of bytes.
Value read_fixed_texts(hid_t attribute, hid_t type, std::size_t count,
                       const Hdf5AttributeLimits& limits, std::vector<std::string>& texts) {
  const std::size_t bytes = H5Tget_size(type);
  if (bytes == 0) return unreadable_value();
  if (count > limits.bytes / bytes) return too_long(limits);
  std::string all(bytes * count, '\0');
  if (H5Aread(attribute, type, all.data()) < 0) return unreadable_value();
  for (std::size_t i = 0; i < count; ++i) {
    texts.push_back(until_null(all.data() + i * bytes, bytes));
  }
  return Attribute::Value();
}

Value read_variable_texts(hid_t attribute, hid_t type, hid_t space, std::size_t count,
                          const Hdf5AttributeLimits& limits, std::vector<std::string>& texts) {
  if (count > limits.bytes / sizeof(char*)) return too_long(limits);
  std::vector<char*> places(count);
  auto* const memory = static_cast<void*>(places.data());
  if (H5Aread(attribute, type, memory) < 0) return unreadable_value();
  std::size_t bytes = 0;
  for (const char* const one : places) {
    if (one != nullptr) bytes += std::string_view(one).size();
    if (bytes > limits.bytes) break;
    texts.emplace_back(one == nullptr ? "" : one);
  }
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, memory);
  return bytes > limits.bytes ? too_long(limits) : Value(Attribute::Value());
}

// Returns one text, also if it is stored in a list, as NetCDF-4 stores it; or several texts.
Value read_texts(hid_t attribute, hid_t type, hid_t space, std::size_t count,
                 const Hdf5AttributeLimits& limits) {
  const htri_t variable = H5Tis_variable_str(type);
  if (variable < 0) return unreadable_value();
  std::vector<std::string> texts;
  if (count > 0) {
    Value read = variable > 0 ? read_variable_texts(attribute, type, space, count, limits, texts)
                              : read_fixed_texts(attribute, type, count, limits, texts);
    if (std::holds_alternative<std::string>(read)) return read;
  }
  if (count != 1) return Attribute::Value(std::move(texts));
  return Attribute::Value(std::move(texts.front()));
}

// Returns the kind of numbers of a type; nothing for types that attributes cannot have.
std::optional<array::ElementKind> kind_of_numbers(hid_t type) {
  using array::ElementKind;
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: {
      const bool has_sign = H5Tget_sign(type) != H5T_SGN_NONE;
      if (bytes == 1) return has_sign ? ElementKind::int8 : ElementKind::uint8;
      if (bytes == 2) return has_sign ? ElementKind::int16 : ElementKind::uint16;
      if (bytes == 4) return has_sign ? ElementKind::int32 : ElementKind::uint32;
      if (bytes == 8) return has_sign ? ElementKind::int64 : ElementKind::uint64;
      return std::nullopt;
    }
    case H5T_FLOAT:
      if (bytes == 4) return ElementKind::float32;
      if (bytes == 8) return ElementKind::float64;
      return std::nullopt;
    case H5T_ENUM: {
      const Hdf5Handle truth = hdf5_type(ElementKind::boolean, ByteOrder::little);
      if (H5Tequal(type, truth.id()) > 0) return ElementKind::boolean;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

Value read_numbers(hid_t attribute, array::ElementKind kind, std::size_t count,
                   const Hdf5AttributeLimits& limits) {
  const auto bytes = static_cast<std::size_t>(array::ElementType(kind).bytes());
  if (count > limits.bytes / bytes) return too_long(limits);
  const Hdf5Handle memory = hdf5_type(kind, ByteOrder::little);
  std::vector<std::byte> numbers(count * bytes);
  if (count > 0 && H5Aread(attribute, memory.id(), numbers.data()) < 0) return unreadable_value();
  auto value = numbers_of(kind, numbers);
  return value ? Value(*std::move(value)) : unreadable_value();
}

Value read_value(hid_t attribute, const Hdf5AttributeLimits& limits) {
  const Hdf5Handle type(H5Aget_type(attribute));
  const Hdf5Handle space(H5Aget_space(attribute));
  if (!type.ok() || !space.ok()) return unreadable_value();
  const hssize_t points = H5Sget_simple_extent_npoints(space.id());
  if (points < 0) return unreadable_value();
  const auto count = static_cast<std::size_t>(points);
  const int dimensions = H5Sget_simple_extent_ndims(space.id());
  if (dimensions > 1 && count > 1) return fmt::format("it has {} dimensions", dimensions);
  if (H5Tget_class(type.id()) == H5T_STRING) {
    // NetCDF-4 stores an empty text with a null dataspace.
    if (H5Sget_simple_extent_type(space.id()) == H5S_NULL) return Attribute::Value(std::string());
    return read_texts(attribute, type.id(), space.id(), count, limits);
  }
  if (const auto kind = kind_of_numbers(type.id())) {
    return read_numbers(attribute, *kind, count, limits);
  }
  switch (H5Tget_class(type.id())) {
    case H5T_INTEGER:
    case H5T_FLOAT:
      return fmt::format("its numbers have a type of {} bytes that attributes cannot have",
                         H5Tget_size(type.id()));
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
  if (reading.seen++ >= reading.limits.attributes) return 0;  // only counted
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

struct AttributeStorage {
  bool in_index = false;
  std::size_t count = 0;
  unsigned most_in_header = 0;
};

std::optional<AttributeStorage> attribute_storage(hid_t dataset) {
  AttributeStorage storage;
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t about{};
  H5O_native_info_t native{};
  if (H5Oget_info3(dataset, &about, H5O_INFO_NUM_ATTRS) < 0 ||
      H5Oget_native_info(dataset, &native, H5O_NATIVE_INFO_META_SIZE) < 0) {
    return std::nullopt;
  }
  storage.in_index = native.meta_size.attr.heap_size > 0;
#else
  H5O_info_t about{};
  if (H5Oget_info2(dataset, &about, H5O_INFO_NUM_ATTRS | H5O_INFO_META_SIZE) < 0) {
    return std::nullopt;
  }
  storage.in_index = about.meta_size.attr.heap_size > 0;
#endif
  storage.count = about.num_attrs;
  unsigned least = 0;
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  if (H5Pget_attr_phase_change(creation.id(), &storage.most_in_header, &least) < 0) {
    return std::nullopt;
  }
  return storage;
}

}  // namespace

Status write_hdf5_attributes(hid_t object, const std::vector<Attribute>& attributes,
                             const std::string& path) {
  for (const Attribute& attribute : attributes) {
    if (Status written = write_one(object, attribute, path); !written.ok()) return written;
  }
  return {};
}

Status set_hdf5_attributes_in_place(hid_t dataset, const GroupDescription& owner,
                                    const std::string& path) {
  std::vector<Attribute> fresh;
  for (const Attribute& one : owner.attributes) {
    if (H5Aexists(dataset, one.name.c_str()) <= 0) {
      fresh.push_back(one);
      continue;
    }
    const Stored stored = stored_form(one.value);
    const Hdf5Handle there(H5Aopen(dataset, one.name.c_str(), H5P_DEFAULT));
    const Hdf5Handle type(H5Aget_type(there.id()));
    const Hdf5Handle space(H5Aget_space(there.id()));
    if (H5Tequal(type.id(), stored.type.id()) <= 0 || H5Tis_variable_str(type.id()) > 0 ||
        H5Sextent_equal(space.id(), stored.space.id()) <= 0) {
      return Error(ErrorCode::unsupported,
                   fmt::format("attribute \"{}\" of array \"{}\" has another type or length in "
                               "this HDF5 file, and the header of an array can be changed only in "
                               "place: keep its type and length, or give it another name",
                               one.name, printable(owner.name)),
                   path);
    }
    if (stored.data != nullptr && H5Awrite(there.id(), stored.type.id(), stored.data) < 0) {
      return hdf5_failure("write attribute \"" + one.name + '"', path, ErrorCode::io);
    }
  }
  const auto storage = attribute_storage(dataset);
  if (!storage) return hdf5_failure("look at \"" + owner.name + '"', path, ErrorCode::corrupt);
  if (storage->in_index || storage->count + fresh.size() > storage->most_in_header) {
    return Error(
        ErrorCode::unsupported,
        fmt::format("array \"{}\" has {} attributes and would have {} more; HDF5 keeps more than "
                    "{} in an index, which a killed run could damage: convert the file, or give "
                    "the attributes to a group",
                    printable(owner.name), storage->count, fresh.size(), storage->most_in_header),
        path);
  }
  return write_hdf5_attributes(dataset, fresh, path);
}

std::optional<std::string> read_hdf5_text_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return std::nullopt;
  const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT));
  if (!attribute.ok()) return std::nullopt;
  const Value read = read_value(attribute.id(), {});
  const auto* const value = std::get_if<Attribute::Value>(&read);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

AttributesFound read_hdf5_attributes(hid_t object, const std::string& owner,
                                     const Hdf5AttributeLimits& limits) {
  Reading reading{owner, limits, {}};
  const herr_t read =
      H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, weir_hdf5_attribute, &reading);
  if (read < 0) reading.found.left_out.push_back({owner, "", "its attributes cannot be listed"});
  if (reading.seen > limits.attributes) {
    reading.found.left_out.push_back({owner, "",
                                      fmt::format("it has {} attributes, but Weir reads at most {}",
                                                  reading.seen, limits.attributes)});
  }
  return std::move(reading.found);
}

}  // namespace weir::storage
