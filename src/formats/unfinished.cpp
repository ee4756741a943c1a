#include "formats/unfinished.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "formats/drop_steps.hpp"
#include "formats/format.hpp"
#include "formats/open_any.hpp"
#include "formats/raw/raw_document.hpp"
#include "formats/raw/raw_leftovers.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {
namespace {

// If a process is killed between two writes of a commit, some arrays have one more step than
// others.
void add_arrays_ahead(const FileMap& map, std::vector<std::string>& findings) {
  const auto steps = map.steps();
  if (!steps) return;
  for (const StoredArray& one : map.arrays) {
    if (!one.description.grows || one.map.shape.extent(0) == *steps) continue;
    findings.push_back(
        fmt::format("array \"{}\" has {} steps, but the file has {}: a commit that did not finish",
                    printable(one.description.name), one.map.shape.extent(0), *steps));
  }
}

}  // namespace

Result<std::vector<std::string>> find_unfinished(const std::string& path) {
  std::vector<std::string> findings;
  std::error_code failed;
  const std::string temporary = incomplete_path(path);
  const bool begun = std::filesystem::exists(temporary, failed);
  const auto tell_of_begun = [&] {
    findings.push_back(fmt::format(
        "{} is an unfinished file of a killed run, or of a run that is still writing it",
        printable(temporary)));
  };
  const bool there =
      std::filesystem::exists(path, failed) || std::filesystem::exists(sidecar_path(path), failed);
  if (begun && !there) {
    tell_of_begun();
    return findings;
  }
  const auto opened = open_any(path);
  if (!opened) return opened.error();
  const auto& arrays = opened.value().map.arrays;
  // The data of an existing raw file have this name until they are renamed.
  if (begun && (arrays.empty() || arrays.front().map.files.path(0) != temporary)) tell_of_begun();
  if (is_replaced_document(path)) {
    findings.push_back(
        fmt::format("{} belongs to an earlier raw file: remove it", printable(sidecar_path(path))));
  }
  if (is_on_disk(drop_note_path(path))) {
    findings.push_back(
        fmt::format("{} describes steps that a run was dropping", printable(drop_note_path(path))));
  }
  add_arrays_ahead(opened.value().map, findings);
  const auto format = find_format(opened.value().format);
  if (!format) return format.error();
  auto left = format.value()->unfinished(opened.value().path);
  if (!left) return left.error();
  for (std::string& line : left.value()) findings.push_back(std::move(line));
  return findings;
}

}  // namespace weir::storage
