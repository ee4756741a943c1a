#include "workloads/s3d/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "array/shape.hpp"
#include "measurement/phase_record.hpp"

namespace weir::bench::s3d {
namespace {

struct NamedArray {
  const char* name;
  const char* along;  // of the fourth dimension; nullptr: there is none
};
constexpr NamedArray all_arrays[] = {
    {"yspecies", "species"}, {"temp", nullptr}, {"pressure", nullptr}, {"u", "component"}};
constexpr const char* dimension_names[] = {"x", "y", "z"};

std::vector<std::int64_t> as_list(const array::Indices& values) {
  return {values.begin(), values.end()};
}

}  // namespace

array::Box box_of(const array::Indices& cells, const array::Indices& grid, std::int64_t rank) {
  array::Box box;
  for (int d = 0; d < cells.size(); ++d) {
    const std::int64_t place = rank % grid[d];
    const std::int64_t least = cells[d] / grid[d];
    const std::int64_t richer = cells[d] % grid[d];
    rank /= grid[d];
    box.lower.push_back(place * least + std::min(place, richer));
    box.extent.push_back(least + (place < richer ? 1 : 0));
  }
  if (rank > 0)
    return {.lower = array::Indices(cells.size()), .extent = array::Indices(cells.size())};
  return box;
}

std::vector<output::Kind> S3dContent::kinds() const {
  return {{.name = "checkpoint", .function = function_checkpoint, .files = steps_}};
}

std::int64_t S3dContent::variables() const { return std::ssize(all_arrays); }

std::string S3dContent::file_name(std::size_t /*kind*/, std::int64_t number,
                                  const Interface& api) const {
  return fmt::format("field_{:04}.{}", number,
                     api.can.netcdf ? "nc"
                     : api.can.bare ? "bare"
                                    : "h5");
}

std::vector<output::FileArray> S3dContent::arrays(const output::Form& form,
                                                  std::int64_t rank) const {
  const bool writing = form.direction == Direction::write;
  const array::Indices& cells = decomposition_.cells;
  const array::Box mine =
      box_of(cells, writing ? decomposition_.writing : decomposition_.reading, rank);
  std::vector<output::FileArray> arrays;
  for (const NamedArray& one : all_arrays) {
    ArrayBox made{.name = one.name,
                  .type = array::ElementKind::float64,
                  .extents = {},
                  .dimension_names = {},
                  .box = {},
                  .division = writing ? 0 : 1};
    const auto add = [&](const char* name, std::int64_t extent, std::int64_t lower,
                         std::int64_t count) {
      made.dimension_names.emplace_back(name);
      made.extents.push_back(extent);
      made.box.lower.push_back(lower);
      made.box.extent.push_back(count);
    };
    if (one.along != nullptr) {
      const std::int64_t fourth = std::string_view(one.along) == "species" ? species_ : velocities;
      add(one.along, fourth, 0, fourth);
    }
    for (int d = cells.size() - 1; d >= 0; --d) {
      add(dimension_names[d], cells[d], mine.lower[d], mine.extent[d]);
    }
    arrays.push_back({.box = std::move(made), .variable = std::ssize(arrays)});
  }
  return arrays;
}

nlohmann::ordered_json S3dContent::facts() const {
  return {{"cells", as_list(decomposition_.cells)},
          {"processes", as_list(decomposition_.writing)},
          {"restart_processes", as_list(decomposition_.reading)}};
}

std::string S3dContent::headline() const {
  constexpr double mebibyte = 1048576;
  return fmt::format(
      "{} cells on {} processes, {} on the first; {} checkpoints of {:.4g} MiB, read back on {} "
      "processes",
      array::extents_text(decomposition_.cells), array::extents_text(decomposition_.writing),
      array::extents_text(box_of(decomposition_.cells, decomposition_.writing, 0).extent), steps_,
      static_cast<double>(bytes_of_file(*this, 0, false)) / mebibyte,
      array::extents_text(decomposition_.reading));
}

}  // namespace weir::bench::s3d
