#include "formats/open_any.hpp"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include "formats/format_by_content.hpp"
#include "formats/raw/raw_document.hpp"
#include "formats/raw/raw_format.hpp"
#include "formats/raw/raw_leftovers.hpp"
#include "formats/reading_limits.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {
namespace {

// Returns the path of a raw file or array that was given by its data or by its document, or "" if
// it is neither.
std::string path_of_raw(const std::string& path) {
  if (is_on_disk(sidecar_path(path))) return has_other_format(path) ? "" : path;
  constexpr std::string_view suffix = ".json";
  const bool may_be_document = path.size() > suffix.size() && path.ends_with(suffix);
  return may_be_document && is_on_disk(path) ? path.substr(0, path.size() - suffix.size()) : "";
}

Result<OpenedFile> open_once(const std::string& path) {
  const std::string own = path_of_raw(path);
  const auto name = own.empty() ? format_by_content(path) : std::string_view("raw");
  if (!name) return name.error();
  if (name.value().empty()) {
    return Error(ErrorCode::unsupported,
                 "the file is neither HDF5 nor NetCDF nor a folder of Zarr, and has no document "
                 "PATH.json like a raw file",
                 path);
  }
  const auto format = find_format(name.value());
  if (!format) return format.error();
  const std::string& file = own.empty() ? path : own;
  auto map = format.value()->open(file);
  if (!map && map.error().system_error == ENOENT && map.error().file == file + "/zarr.json") {
    return Error(ErrorCode::unsupported,
                 "the folder is not a Zarr store: it has no zarr.json, .zgroup or .zarray", path);
  }
  if (!map) return map.error();
  return OpenedFile{name.value(), file, std::move(map).value(), {}};
}

}  // namespace

// Programs and libraries that read the header open the file by its path. The file's version is
// therefore compared before and after.
Result<OpenedFile> open_any(const std::string& path) {
  constexpr int most_attempts = 5;  // a file that is replaced each time cannot be read
  std::string name = path;
  for (int attempt = 1;; ++attempt) {
    auto before = version_of(name);
    auto opened = open_once(name);
    if (!opened) return opened;
    if (!before) return before.error();
    OpenedFile& found = opened.value();
    const bool is_document = found.path != name;
    name = found.path;
    if (is_document) continue;
    const auto known = known_file_of(found.map, found.path);
    const auto after = version_of(name);
    if (!after) return after.error();
    if (after.value().file == before.value().file) {
      set_known_file(found.map, known);
      found.version = std::move(before).value();
      return opened;
    }
    if (attempt >= most_attempts) {
      return invalid_argument("another program replaced it several times while it was being opened",
                              path);
    }
  }
}

Result<OpenedFile> open_within_limits(const std::string& path) {
  const auto limits = reading_limits();
  if (!limits) return with_file(limits.error(), path);
  auto opened = open_any(path);
  if (opened) refuse_large_chunks(opened.value().map, limits.value().chunk_bytes);
  return opened;
}

Result<OpenedFile> open_in_place(const std::string& path) {
  auto map = raw_format()->open(path);
  if (map) return OpenedFile{raw_format()->name(), path, std::move(map).value(), {}};
  const bool has_document =
      map.error().system_error != ENOENT || map.error().file != sidecar_path(path);
  return has_document ? map.error() : open_within_limits(path);
}

std::string first_data_file(const FileMap& map, const std::string& path) {
  if (map.arrays.empty() && map.texts.empty()) return path;
  const StoredArray& first = map.arrays.empty() ? map.texts.front().array : map.arrays.front();
  const DataFiles& files = first.map.files;
  return files.files() > 0 ? files.path(0) : path;
}

std::optional<KnownFile> known_file_of(const FileMap& map, const std::string& path,
                                       const FileFacts* facts_of_first) {
  if (map.arrays.empty() && map.texts.empty()) return std::nullopt;
  std::string place = first_data_file(map, path);
  std::error_code failed;
  if (place != path && std::filesystem::is_directory(path, failed)) {
    place = path;
    facts_of_first = nullptr;
  }
  const auto identity = facts_of_first != nullptr ? facts_of_first->identity : identity_of(place);
  return identity ? std::optional(KnownFile{std::move(place), *identity}) : std::nullopt;
}

void set_known_file(FileMap& map, const std::optional<KnownFile>& known) {
  const auto shared = known ? std::make_shared<const KnownFile>(*known) : nullptr;
  for (StoredArray& one : map.arrays) one.map.files.set_known(shared);
  for (StoredTexts& one : map.texts) one.array.map.files.set_known(shared);
}

bool is_seen_unrenamed(const std::string& path) {
  const auto opened = open_any(path);
  if (!opened || opened.value().map.arrays.empty()) return false;
  return opened.value().map.arrays.front().map.files.path(0) == incomplete_path(path);
}

}  // namespace weir::storage
