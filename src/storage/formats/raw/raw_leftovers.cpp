#include "storage/formats/raw/raw_leftovers.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "storage/formats/format.hpp"
#include "storage/formats/incomplete.hpp"
#include "storage/formats/raw/raw_document.hpp"
#include "storage/formats/raw_array.hpp"
#include "storage/text_file.hpp"

namespace weir::storage {
namespace {

bool is_on_disk(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

// Whether the data that a document tells of are in PATH itself.
bool describes(const std::string& text, const std::string& document, const std::string& path) {
  if (is_raw_file_json(text)) return parse_raw_file(text, document).ok();
  if (text.size() > most_document_bytes) return false;
  const auto array = parse_raw_array(text, document);
  return array && array.value().files == 1 && data_path(array.value(), path, 0) == path;
}

}  // namespace

std::string data_of(const RawFile& file, const std::string& path) {
  const std::string temporary = incomplete_path(path);
  return file.renaming && is_on_disk(temporary) ? temporary : path;
}

Status finish_raw_renaming(const std::string& path, RawFile& file) {
  if (!file.renaming) return {};
  const bool renamed = data_of(file, path) == path;
  file.renaming = false;
  HeaderUpdate update;
  if (!renamed) update.changes.emplace_back(Publication{});
  update.changes.emplace_back(SidecarReplacement{sidecar_path(""), raw_file_json(file)});
  return commit(path, update, StepDurability::none);
}

Status finish_raw_renaming(const std::string& path) {
  const std::string document = sidecar_path(path);
  if (!is_on_disk(document)) return {};
  const auto text = read_text_file(document, most_raw_file_document_bytes);
  if (!text) return text.error();
  if (!is_raw_file_json(text.value())) return {};
  auto file = parse_raw_file(text.value(), document);
  return file ? finish_raw_renaming(path, file.value()) : Status();
}

Status remove_raw_document(const std::string& path, StepDurability durability) {
  const std::string document = sidecar_path(path);
  if (!is_on_disk(document)) return {};
  const auto text = read_text_file(document, most_raw_file_document_bytes);
  if (!text) return text.error();
  if (!describes(text.value(), document, path)) return {};
  if (::unlink(document.c_str()) != 0 && errno != ENOENT) {
    return system_failure("unlink", document, -1, errno);
  }
  return durability == StepDurability::none ? Status() : sync_folder(folder_of(document));
}

}  // namespace weir::storage
