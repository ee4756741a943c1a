#include "workloads/flash/tables.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "workloads/flash/tree.hpp"

namespace weir::bench::flash {
namespace {

constexpr std::size_t entry_bytes = 80;
constexpr std::size_t long_text_bytes = 400;
constexpr std::int32_t format_version = 9;  // of the files of FLASH 4
constexpr std::int32_t dimensions = 3;
constexpr std::int32_t no = 0;
constexpr double heat_ratio = 1.4;  // the ratio of specific heats in FLASH's Sedov problem

template <typename Number>
void put_number(std::vector<std::byte>* bytes, const Number& number) {
  const auto* begin = reinterpret_cast<const std::byte*>(&number);
  bytes->insert(bytes->end(), begin, begin + sizeof number);
}

void put_text(std::vector<std::byte>* bytes, std::string_view text, std::size_t length) {
  std::string filled(text.substr(0, length));
  filled.resize(length, ' ');
  const auto* begin = reinterpret_cast<const std::byte*>(filled.data());
  bytes->insert(bytes->end(), begin, begin + length);
}

void put_value(std::vector<std::byte>* bytes, std::int32_t value) { put_number(bytes, value); }
void put_value(std::vector<std::byte>* bytes, double value) { put_number(bytes, value); }
void put_value(std::vector<std::byte>* bytes, const char* value) {
  put_text(bytes, value, entry_bytes);
}

const char* value_type(std::int32_t /*value*/) { return "int32"; }
const char* value_type(double /*value*/) { return "float64"; }
const char* value_type(const char* /*value*/) { return "text[80]"; }

template <typename Value>
Table table_of(const char* name, const std::vector<std::pair<const char*, Value>>& entries) {
  Table table{.name = name,
              .members = fmt::format("name:text[{}],value:{}", entry_bytes, value_type(Value())),
              .rows = static_cast<std::int64_t>(entries.size())};
  for (const auto& [key, value] : entries) {
    put_text(&table.bytes, key, entry_bytes);
    put_value(&table.bytes, value);
  }
  table.row_bytes = static_cast<std::int64_t>(table.bytes.size()) / table.rows;
  return table;
}

// One row, about the program.
Table sim_info() {
  struct Text {
    const char* name;
    std::size_t length;
    const char* value;
  };
  constexpr Text texts[] = {
      {"setup call", long_text_bytes, "weir-bench flash"},
      {"file creation time", entry_bytes, ""},  // files of one repetition do not differ by it
      {"flash version", entry_bytes, "weir-bench"},
      {"build date", entry_bytes, ""},
      {"build directory", entry_bytes, ""},
      {"build machine", entry_bytes, ""},
      {"cflags", long_text_bytes, ""},
      {"fflags", long_text_bytes, ""},
      {"setup time stamp", entry_bytes, ""},
      {"build time stamp", entry_bytes, ""},
  };
  Table table{.name = "sim info", .members = "file format version:int32", .rows = 1};
  put_number(&table.bytes, format_version);
  for (const Text& one : texts) {
    table.members += fmt::format(",{}:text[{}]", one.name, one.length);
    put_text(&table.bytes, one.value, one.length);
  }
  table.row_bytes = static_cast<std::int64_t>(table.bytes.size());
  return table;
}

}  // namespace

std::vector<Table> tables_of(const Options& options, std::int64_t blocks) {
  using Integers = std::vector<std::pair<const char*, std::int32_t>>;
  using Reals = std::vector<std::pair<const char*, double>>;
  using Texts = std::vector<std::pair<const char*, const char*>>;
  const std::int32_t roots = Tree::roots_of(blocks);
  return {
      sim_info(),
      table_of("integer scalars", Integers{{"nxb", static_cast<std::int32_t>(options.nxb)},
                                           {"nyb", static_cast<std::int32_t>(options.nyb)},
                                           {"nzb", static_cast<std::int32_t>(options.nzb)},
                                           {"dimensionality", dimensions},
                                           {"globalnumblocks", static_cast<std::int32_t>(blocks)},
                                           {"nstep", no}}),
      table_of("real scalars", Reals{{"time", 0.0}, {"dt", 0.0}}),
      table_of("logical scalars", Integers{{"corners", no}}),
      table_of("string scalars", Texts{{"geometry", "cartesian"}}),
      table_of("integer runtime parameters",
               Integers{{"lrefine_min", 1}, {"nblockx", roots}, {"nblocky", 1}, {"nblockz", 1}}),
      table_of("real runtime parameters", Reals{{"xmin", 0.0},
                                                {"xmax", static_cast<double>(roots)},
                                                {"ymin", 0.0},
                                                {"ymax", 1.0},
                                                {"zmin", 0.0},
                                                {"zmax", 1.0},
                                                {"gamma", heat_ratio}}),
      table_of("logical runtime parameters", Integers{{"restart", no}}),
      table_of("string runtime parameters", Texts{{"geometry", "cartesian"},
                                                  {"xl_boundary_type", "outflow"},
                                                  {"xr_boundary_type", "outflow"},
                                                  {"yl_boundary_type", "outflow"},
                                                  {"yr_boundary_type", "outflow"},
                                                  {"zl_boundary_type", "outflow"},
                                                  {"zr_boundary_type", "outflow"}}),
  };
}

}  // namespace weir::bench::flash
