#include "workloads/output/content.hpp"

#include <algorithm>

namespace weir::bench::output {
namespace {

constexpr std::int64_t page_bytes = 4096;

}  // namespace

std::int64_t steps_of(const std::vector<Kind>& kinds) {
  std::int64_t most = 0;
  for (const Kind& one : kinds) most = std::max(most, one.files);
  return most;
}

std::int64_t bytes_of_file(const Content& content, std::size_t kind, bool netcdf) {
  std::int64_t bytes = 0;
  for (const FileArray& one : content.arrays({.kind = kind, .netcdf = netcdf}, 0)) {
    bytes += one.box.array_bytes();
  }
  return bytes;
}

std::vector<Form> forms_of(const Content& content, bool netcdf) {
  std::vector<Form> forms;
  for (std::size_t kind = 0; kind < content.kinds().size(); ++kind) {
    forms.push_back({.kind = kind, .netcdf = netcdf});
    if (!content.redivides()) continue;
    forms.push_back({.kind = kind, .netcdf = netcdf, .direction = Direction::read});
  }
  return forms;
}

std::vector<std::int64_t> places_of(const std::vector<FileArray>& arrays) {
  std::vector<std::int64_t> places;
  std::int64_t place = 0;
  for (const FileArray& one : arrays) {
    places.push_back(place);
    if (one.variable < 0) continue;
    place += (one.box.bytes() + page_bytes - 1) / page_bytes * page_bytes;
  }
  places.push_back(place);
  return places;
}

std::int64_t buffer_bytes(const Content& content, std::int64_t rank) {
  std::int64_t most = 0;
  for (const Form& form : forms_of(content, false)) {
    most = std::max(most, places_of(content.arrays(form, rank)).back());
  }
  return most;
}

}  // namespace weir::bench::output
