#include "array/element_type.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>

namespace weir::array {
namespace {

struct Known {
  std::string_view name;
  std::int64_t bytes;
};

// The entries are in the order of ElementKind, up to `record`, from which on kinds have no fixed
// size.
constexpr std::array<Known, 14> known_types = {{
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float16", 2},
    {"float32", 4},
    {"float64", 8},
    {"complex64", 8},
    {"complex128", 16},
    {"bool", 1},
}};
static_assert(known_types.size() == static_cast<std::size_t>(ElementKind::record));

constexpr std::int64_t max_record_bytes = std::int64_t{1} << 30;

// A kind whose types have different sizes, measured in units.
struct Sized {
  ElementKind kind;
  std::string_view prefix;  // start of the type's name, before the number of units
  std::int64_t unit_bytes;
  std::string_view units;
};

constexpr std::array<Sized, 3> sized_types = {{
    {ElementKind::record, "record[", 1, "bytes"},
    {ElementKind::text, "text[", 1, "bytes"},
    {ElementKind::utf32, "utf32[", 4, "characters"},
}};

const Known& known(ElementKind kind) { return known_types.at(static_cast<std::size_t>(kind)); }

}  // namespace

ElementType::ElementType(ElementKind kind) : bytes_(known(kind).bytes), kind_(kind) {}

Result<ElementType> ElementType::sized(ElementKind kind, std::int64_t units) {
  for (const Sized& one : sized_types) {
    if (one.kind != kind) continue;
    const std::int64_t most = max_record_bytes / one.unit_bytes;
    if (units >= 1 && units <= most) return ElementType(kind, units * one.unit_bytes);
    return invalid_argument(fmt::format(
        "element type '{}{}]' has an invalid size: give 1 to {} {}, or use several elements",
        one.prefix, units, most, one.units));
  }
  return ElementType(kind);
}

Result<ElementType> ElementType::record(std::int64_t bytes) {
  return sized(ElementKind::record, bytes);
}

Result<ElementType> ElementType::text(std::int64_t bytes) {
  return sized(ElementKind::text, bytes);
}

Result<ElementType> ElementType::utf32(std::int64_t characters) {
  return sized(ElementKind::utf32, characters);
}

Result<ElementType> ElementType::parse(std::string_view name) {
  for (std::size_t kind = 0; kind < known_types.size(); ++kind) {
    if (known_types.at(kind).name == name) return ElementType(static_cast<ElementKind>(kind));
  }
  for (const Sized& one : sized_types) {
    if (!name.starts_with(one.prefix) || !name.ends_with(']')) continue;
    const char* const first = name.data() + one.prefix.size();
    const char* const last = name.data() + name.size() - 1;
    std::int64_t units = 0;
    const auto [end, error] = std::from_chars(first, last, units);
    if (error == std::errc() && end == last) return sized(one.kind, units);
  }
  std::string names;
  for (const Known& type : known_types) names += fmt::format("{}, ", type.name);
  return invalid_argument(fmt::format(
      "unknown element type '{}': give {}text[BYTES], utf32[CHARACTERS] or record[BYTES]", name,
      names));
}

std::string ElementType::name() const {
  for (const Sized& one : sized_types) {
    if (one.kind == kind_) return fmt::format("{}{}]", one.prefix, bytes_ / one.unit_bytes);
  }
  return std::string(known(kind_).name);
}

}  // namespace weir::array
