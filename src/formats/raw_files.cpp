#include "formats/raw_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "checksums/sums_file.hpp"
#include "formats/header_update.hpp"
#include "system/file.hpp"
#include "system/incomplete.hpp"
#include "system/text_file.hpp"

namespace weir::storage {
namespace {

std::int64_t bytes_per_slot(const RawArray& array) {
  if (!array.chunk_extents) return array.shape.elements() * array.type.bytes();
  std::int64_t bytes = array.type.bytes();
  const auto grid = array.grid();
  for (const std::int64_t extent : grid.value().chunk_extents()) bytes *= extent;
  return bytes;
}

// Returns the size of a complete data file.
std::int64_t bytes_of_file(const RawArray& array, std::int64_t number) {
  if (!array.chunk_extents) return array.offset + bytes_per_slot(array);
  const std::int64_t chunks = array.grid().value().chunks();
  const std::int64_t whole = chunks / array.files;
  const bool has_more =
      chunks % array.files > 0 && array.declustering().number(number, whole) < chunks;
  const std::int64_t slots = has_more ? whole + 1 : whole;
  return array.offset + slots * bytes_per_slot(array);
}

// Returns the files whose sizes are compared with the document: one in each directory, and the
// last.
std::vector<std::int64_t> looked_at(const RawArray& array) {
  const auto directories = static_cast<std::int64_t>(array.directories.size());
  std::vector<std::int64_t> numbers = {0};
  for (std::int64_t n = 1; n < std::min(directories, array.files); ++n) numbers.push_back(n);
  if (numbers.back() < array.files - 1) numbers.push_back(array.files - 1);
  return numbers;
}

// Writes the document by renaming, so that a killed run leaves either none or all of it.
Status write_document(const RawArray& array, const std::string& path) {
  HeaderUpdate update;
  update.changes.emplace_back(
      DocumentReplacement{path.substr(path.find_last_of('/') + 1), raw_array_json(array)});
  return commit(folder_of(path), update, StepDurability::none);
}

}  // namespace

Status create_raw_files(const RawArray& array, const std::string& path) {
  if (Status possible = array.check(); !possible.ok()) return possible;
  const std::string document = sidecar_path(path);
  if (Status removed = remove_file(document); !removed.ok()) return removed;
  // The checksums of an earlier file would declare the new data damaged.
  if (Status removed = remove_sums(sums_path(path), StepDurability::none); !removed.ok()) {
    return removed;
  }
  for (std::int64_t number = 0; number < array.files; ++number) {
    const std::string name = data_path(array, path, number);
    // The file is removed instead of emptied. A process that has the file of an earlier array open
    // keeps that file, and emptying a file would not change its striping.
    if (Status removed = remove_file(committed_path(name)); !removed.ok()) return removed;
    if (!array.striping.empty()) {
      if (Status made = make_striped_file(name, array.striping); !made.ok()) return made;
    }
    auto file = File::open(name, {.read = false, .write = true, .create = true, .truncate = true});
    if (!file) return file.error();
    Status sized = file.value().set_length(bytes_of_file(array, number));
    if (!sized.ok()) return sized;
    if (Status closed = file.value().close(); !closed.ok()) return closed;
  }
  return write_document(array, document);
}

Status sync_raw_names(const RawArray& array, const std::string& path) {
  const std::string document = sidecar_path(path);
  if (Status synced = sync_path(document); !synced.ok()) return synced;
  std::set<std::string> folders = {folder_of(document)};
  const auto directories = static_cast<std::int64_t>(array.directories.size());
  const std::int64_t differing = std::min(array.files, std::max<std::int64_t>(1, directories));
  for (std::int64_t number = 0; number < differing; ++number) {
    folders.insert(folder_of(data_path(array, path, number)));
  }
  for (const std::string& folder : folders) {
    if (Status synced = sync_folder(folder); !synced.ok()) return synced;
  }
  return {};
}

Result<RawArray> open_raw_files(const std::string& path) {
  const std::string document = sidecar_path(path);
  const auto text = read_text_file(document, most_document_bytes);
  if (!text) return text.error();
  auto array = parse_raw_array(text.value(), document);
  if (!array) return array;
  for (const std::int64_t number : looked_at(array.value())) {
    const std::string name = data_path(array.value(), path, number);
    struct stat information {};
    if (::stat(name.c_str(), &information) != 0) return system_failure("stat", name, -1, errno);
    if (!S_ISREG(information.st_mode)) {
      return Error(ErrorCode::corrupt, "is no file, as the document of an array tells", name);
    }
    const std::int64_t expected = bytes_of_file(array.value(), number);
    if (information.st_size < expected) {
      return Error(ErrorCode::corrupt,
                   fmt::format("the file has {} bytes, its document tells of {}",
                               std::int64_t{information.st_size}, expected),
                   name);
    }
  }
  return array;
}

}  // namespace weir::storage
