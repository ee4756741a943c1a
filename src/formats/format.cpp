#include "formats/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "formats/cdf/cdf_format.hpp"
#include "formats/hdf5/hdf5_format.hpp"
#include "formats/raw/raw_format.hpp"
#include "formats/zarr/zarr_format.hpp"

namespace weir::storage {

Result<FileMap> described_as(const FileDescription& file, FileMap opened) {
  FileMap map;
  map.groups = std::move(opened.groups);
  map.left_out = std::move(opened.left_out);
  for (const ArrayDescription& one : file.arrays) {
    const auto stored = opened.get(one.name);
    if (!stored) return stored.error();
    map.arrays.push_back({one, stored.value()->map});
    map.arrays.back().map.shape = one.shape;
    map.arrays.back().map.order = one.order;
  }
  return map;
}

Result<Room> Format::make_room_behind(const std::string& path, std::int64_t steps,
                                      const FileMap& /*known*/,
                                      std::int64_t /*known_steps*/) const {
  return make_room(path, steps);
}

Result<HeaderUpdate> Format::enter_chunks(const std::string& path, const Room& room,
                                          std::int64_t /*steps*/,
                                          std::span<const WrittenChunk> chunks) const {
  if (chunks.empty()) return room.update;
  Error error = invalid_argument(fmt::format("the format {} has no table of chunks", name()));
  error.file = path;
  return error;
}

std::span<const Format* const> all_formats() {
  static const std::vector<const Format*> formats = [] {
    std::vector<const Format*> built;
    for (const Format* const one : {hdf5_format(), cdf_format(5), cdf_format(2), cdf_format(1),
                                    zarr_format(), raw_format()}) {
      if (one != nullptr) built.push_back(one);
    }
    return built;
  }();
  return formats;
}

Result<const Format*> find_format(std::string_view name) {
  std::string known;
  for (const Format* const one : all_formats()) {
    if (one->name() == name) return one;
    known += known.empty() ? "" : ", ";
    known += one->name();
  }
  return invalid_argument(fmt::format("format \"{}\" is unknown to this build: give one of {}",
                                      printable(std::string(name)), known));
}

Result<const Format*> format_by_suffix(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  std::string lower(path);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  std::string known;
  for (const Format* const one : all_formats()) {
    for (const std::string_view suffix : one->abilities().suffixes) {
      if (lower.ends_with(suffix)) return one;
      known += known.empty() ? "" : ", ";
      known += suffix;
    }
  }
  return invalid_argument(fmt::format("'{}' does not end in any of {}: give a format",
                                      printable(std::string(path)), known));
}

}  // namespace weir::storage
