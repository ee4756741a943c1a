#include "formats/zarr/data_type.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "formats/zarr/codec_json.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;
using array::ElementType;

constexpr const char* text_name = "null_terminated_bytes";
constexpr const char* any_length_name = "string";
constexpr const char* utf32_name = "fixed_length_utf32";
constexpr const char* instant_name = "numpy.datetime64";
constexpr const char* span_name = "numpy.timedelta64";

// NumPy's units of time that CF also has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> units = {
    {{"D", "days"},
     {"h", "hours"},
     {"m", "minutes"},
     {"s", "seconds"},
     {"ms", "milliseconds"},
     {"us", "microseconds"},
     {"ns", "nanoseconds"}}};

std::optional<std::int64_t> whole(const Json* value) {
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    return std::nullopt;
  }
  return value->get<std::int64_t>();
}

std::string no_type(const std::string& name) {
  return "its elements are neither numbers nor texts of a type that Weir supports: " +
         printable(name);
}

std::variant<ZarrDataType, std::string> time_type(const std::string& name,
                                                  const Json* configuration) {
  const std::string unit = json_text(json_member(configuration, "unit"));
  for (const auto& [numpys, cfs] : units) {
    if (numpys != unit || whole(json_member(configuration, "scale_factor")) != 1) continue;
    ZarrDataType found{ElementKind::int64};
    if (name == instant_name) {
      found.attributes = {{"units", fmt::format("{} since 1970-01-01", cfs)},
                          {"calendar", "proleptic_gregorian"}};
    } else {
      found.attributes = {{"units", std::string(cfs)}};
    }
    return found;
  }
  return no_type(fmt::format("{} in units of {}", name, unit));
}

}  // namespace

Json zarr_data_type(const ElementType& type) {
  switch (type.kind()) {
    case ElementKind::text:
      return named(text_name, {{"length_bytes", type.bytes()}});
    case ElementKind::utf32:
      return named(utf32_name, {{"length_bytes", type.bytes()}});
    default:
      return type.name();
  }
}

std::variant<ZarrDataType, std::string> parse_zarr_data_type(const Json* value) {
  if (value != nullptr && *value == any_length_name) {
    return ZarrDataType{.type = ElementKind::uint8, .is_text_of_any_length = true};
  }
  if (value != nullptr && value->is_object()) {
    const std::string name = json_text(json_member(value, "name"));
    const Json* const configuration = json_member(value, "configuration");
    if (name == instant_name || name == span_name) return time_type(name, configuration);
    const auto bytes = whole(json_member(configuration, "length_bytes"));
    if (bytes && name == text_name) {
      const auto type = ElementType::text(*bytes);
      return type ? std::variant<ZarrDataType, std::string>(ZarrDataType{type.value()})
                  : printable(type.error().message);
    }
    if (bytes && name == utf32_name && *bytes % 4 == 0) {
      const auto type = ElementType::utf32(*bytes / 4);
      return type ? std::variant<ZarrDataType, std::string>(ZarrDataType{type.value()})
                  : printable(type.error().message);
    }
    return no_type(name);
  }
  const std::string name = json_text(value);
  const auto type = ElementType::parse(name);
  const bool is_number = type && type.value().kind() < ElementKind::record;
  if (!is_number) return no_type(name);
  return ZarrDataType{type.value()};
}

}  // namespace weir::storage
