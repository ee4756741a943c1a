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

// In the order of ElementKind; `record` has no size of its own.
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
constexpr std::string_view record_prefix = "record[";

const Known& known(ElementKind kind) { return known_types.at(static_cast<std::size_t>(kind)); }

}  // namespace

ElementType::ElementType(ElementKind kind) : bytes_(known(kind).bytes), kind_(kind) {}

Result<ElementType> ElementType::record(std::int64_t bytes) {
  if (bytes < 1 || bytes > max_record_bytes) {
    return invalid_argument(fmt::format("a record of {} bytes: give 1 to {}, or several elements",
                                        bytes, max_record_bytes));
  }
  return ElementType(ElementKind::record, bytes);
}

Result<ElementType> ElementType::parse(std::string_view name) {
  for (std::size_t kind = 0; kind < known_types.size(); ++kind) {
    if (known_types.at(kind).name == name) return ElementType(static_cast<ElementKind>(kind));
  }
  if (name.starts_with(record_prefix) && name.ends_with(']')) {
    const char* const first = name.data() + record_prefix.size();
    const char* const last = name.data() + name.size() - 1;
    std::int64_t bytes = 0;
    const auto [end, error] = std::from_chars(first, last, bytes);
    if (error == std::errc() && end == last) return record(bytes);
  }
  std::string names;
  for (const Known& type : known_types) names += fmt::format("{}, ", type.name);
  return invalid_argument(
      fmt::format("unknown element type '{}': give {}or record[BYTES]", name, names));
}

std::string ElementType::name() const {
  if (kind_ == ElementKind::record) return fmt::format("{}{}]", record_prefix, bytes_);
  return std::string(known(kind_).name);
}

}  // namespace weir::array
