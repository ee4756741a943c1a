#include "workloads/s3d/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "array/shape.hpp"
#include "common/setting_fields.hpp"
#include "workloads/array/geometry.hpp"
#include "workloads/s3d/content.hpp"

namespace weir::bench::s3d {
namespace {

constexpr int dimensions = 3;
constexpr std::int64_t most_extent = 2147483647;  // of MPI's datatypes
constexpr double most_along = 1 << 20;
constexpr double most_bytes = 4e18;  // of a file, which fit into 63 bits
constexpr double most_species = 1000;
constexpr double most_steps = 1000;

Error refuse(const std::string& rule) { return output::refuse("s3d", rule); }

Result<std::optional<array::Indices>> parse_grid(const std::string& text) {
  array::Indices grid;
  for (std::size_t at = 0; at <= text.size() && grid.size() < dimensions;) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data() + at, text.data() + end, number);
    const bool is_number = error == std::errc() && rest == text.data() + end;
    if (!is_number || number < 1 || number > most_extent) break;
    grid.push_back(number);
    at = end + 1;
    if (end == text.size() && grid.size() == dimensions) return std::optional(grid);
  }
  return invalid_argument("is not three numbers of processes, along x, y and z, such as 2x2x1");
}

FieldSettings<Options> options_table() {
  return {
      {&Options::nx,
       "nx",
       "cells of a rank along x",
       {.default_value = "22", .metavar = "N", .range = {1, most_along}}},
      {&Options::ny,
       "ny",
       "cells of a rank along y",
       {.default_value = "36", .metavar = "N", .range = {1, most_along}}},
      {&Options::nz,
       "nz",
       "cells of a rank along z",
       {.default_value = "22", .metavar = "N", .range = {1, most_along}}},
      {&Options::strong, "strong",
       "the cells are those of all ranks together, divided among them (strong scaling)"},
      {&Options::grid,
       parse_grid,
       "grid",
       "processes along x, y and z [as even as possible]",
       {.metavar = "PXxPYxPZ"}},
      {&Options::restart_ranks,
       "restart-ranks",
       "ranks that read the files back, divided anew among them [half of the ranks]",
       {.metavar = "N", .range = {1, most_extent}}},
      {&Options::species,
       "species",
       "chemical species, each with a double per cell, beside five more doubles",
       {.default_value = "11", .metavar = "N", .range = {1, most_species}}},
      {&Options::steps,
       "steps",
       "output steps of a repetition, each of which writes a file",
       {.default_value = "20", .metavar = "N", .range = {1, most_steps}}},
  };
}

std::int64_t product(const array::Indices& values) {
  return array::Box{array::Indices(values.size()), values}.elements();
}

// Returns the grid of as many processes as ranks, the most along x.
array::Indices even_grid(std::int64_t ranks) {
  const std::vector<array::DistributionFormat> divided(dimensions,
                                                       array::DistributionFormat::block_of());
  return array_io::process_grid("grid", ranks, divided, {}).value();
}

}  // namespace

std::vector<Setting> declarations() { return declarations_of(options_table()); }

Options options_of(const Settings& settings) {
  Options options;
  fill(settings, options_table(), &options);
  return options;
}

Result<Decomposition> decomposition_of(const Options& options, std::int64_t ranks,
                                       const std::vector<output::Variant>& variants) {
  const array::Indices grid = options.grid.value_or(even_grid(ranks));
  double processes = 1;
  for (const std::int64_t along : grid) processes *= static_cast<double>(along);
  if (processes != static_cast<double>(ranks)) {
    return refuse(fmt::format("--grid {}: these are {:.0f} processes, but the job has {} ranks",
                              array::extents_text(grid), processes, ranks));
  }
  const std::int64_t readers = options.restart_ranks.value_or((ranks + 1) / 2);
  if (readers > ranks) {
    return refuse(fmt::format("--restart-ranks {}: the job has {} ranks", readers, ranks));
  }
  Decomposition made{.cells = {options.nx, options.ny, options.nz},
                     .writing = grid,
                     .reading = readers == ranks ? grid : even_grid(readers)};
  double bytes = 8.0 * static_cast<double>(doubles_of_cell(options.species));
  for (int d = 0; d < dimensions; ++d) {
    if (!options.strong) made.cells[d] *= grid[d];
    bytes *= static_cast<double>(made.cells[d]);
    if (made.cells[d] <= most_extent) continue;
    return refuse(
        fmt::format("--nx, --ny and --nz: all ranks have {} cells along a dimension; at "
                    "most {} are allowed",
                    made.cells[d], most_extent));
  }
  if (bytes > most_bytes) {
    return refuse(fmt::format("--nx, --ny and --nz: a file of {} cells has more than {:.0f} bytes",
                              array::extents_text(made.cells), most_bytes));
  }
  const std::int64_t cells = std::max(product(box_of(made.cells, made.writing, 0).extent),
                                      product(box_of(made.cells, made.reading, 0).extent));
  Status counted = output::check_count(
      "s3d", "nx", cells * std::max<std::int64_t>(options.species, velocities), variants);
  if (!counted) return counted.error();
  return made;
}

}  // namespace weir::bench::s3d
