#include "storage/serial/open_any.hpp"

#include <utility>

#include "storage/formats/format_by_content.hpp"
#include "storage/formats/incomplete.hpp"
#include "storage/formats/raw/raw_leftovers.hpp"
#include "storage/formats/raw_array.hpp"

namespace weir::storage {
namespace {

// Of a raw file or array that was named by its data or by its document; empty where it is none.
std::string path_of_raw(const std::string& path) {
  if (is_on_disk(sidecar_path(path))) return has_other_format(path) ? "" : path;
  constexpr std::string_view suffix = ".json";
  const bool may_be_document = path.size() > suffix.size() && path.ends_with(suffix);
  return may_be_document && is_on_disk(path) ? path.substr(0, path.size() - suffix.size()) : "";
}

Error unsupported(const std::string& path, std::string what) {
  Error error = invalid_argument(std::move(what));
  error.code = ErrorCode::unsupported;
  error.file = path;
  return error;
}

}  // namespace

Result<OpenedFile> open_any(const std::string& path) {
  const std::string own = path_of_raw(path);
  const auto name = own.empty() ? format_by_content(path) : std::string_view("raw");
  if (!name) return name.error();
  if (name.value().empty()) {
    return unsupported(path,
                       "is neither HDF5 nor NetCDF, no folder (as Zarr is), and has no document "
                       "beside it as a raw array has");
  }
  const auto format = find_format(name.value());
  if (!format) return format.error();
  const std::string& file = own.empty() ? path : own;
  auto map = format.value()->open(file);
  if (!map) return map.error();
  return OpenedFile{name.value(), file, std::move(map).value()};
}

bool is_seen_unrenamed(const std::string& path) {
  const auto opened = open_any(path);
  if (!opened || opened.value().map.arrays.empty()) return false;
  return opened.value().map.arrays.front().map.files.path(0) == incomplete_path(path);
}

}  // namespace weir::storage
