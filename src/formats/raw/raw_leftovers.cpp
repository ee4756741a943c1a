#include "formats/raw/raw_leftovers.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "formats/format.hpp"
#include "formats/format_by_content.hpp"
#include "formats/raw/raw_document.hpp"
#include "system/file.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/text_file.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t longest_note = 64;
constexpr std::size_t beginning = 1024;  // of a document, in bytes

// Returns the text of PATH.json; "" if there is none, or if it cannot be a document of Weir.
Result<std::string> document_beside(const std::string& path) {
  const std::string document = sidecar_path(path);
  struct stat information {};
  if (::stat(document.c_str(), &information) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::string();
    return system_failure("stat", document, -1, errno);
  }
  const bool possible = S_ISREG(information.st_mode) &&
                        std::cmp_less_equal(information.st_size, most_raw_document_bytes);
  return possible ? read_text_file(document, most_raw_document_bytes) : std::string();
}

// Returns whether the data that a document describes are in PATH itself.
bool describes(const std::string& text, const std::string& path) {
  const auto file = parse_raw_file(text, sidecar_path(path));
  return file && file.value().placement.layout == FileLayout::shared;
}

// ---- The note beside a document: which file will be at PATH in place of the document's ----------

constexpr const char* note_suffix = ".replaced";  // after the name of the document

std::string note_path(const std::string& path) {
  return committed_path(sidecar_path(path)) + note_suffix;
}

std::string note_of(const std::string& file) {
  struct stat information {};
  if (::stat(file.c_str(), &information) != 0) return "";
  return fmt::format("by inode {}\n", information.st_ino);
}

bool is_noted(const std::string& path) {
  if (!is_on_disk(note_path(path))) return false;
  const auto note = read_text_file(note_path(path), longest_note);
  return note && !note.value().empty() && note.value() == note_of(path);
}

Status write_note(const std::string& path, StepDurability durability) {
  const bool durable = durability != StepDurability::none;
  Status written = replace_file(note_path(path), note_of(incomplete_path(path)), durable);
  return written.ok() && durable ? sync_folder(folder_of(note_path(path))) : written;
}

// Returns whether PATH begins as a file of another format. Other programs replace a raw file
// without removing its document. But the numbers of a raw file may also begin with NetCDF's four
// bytes, so a file that begins in this way has to be opened as such to be certain.
bool begins_as_other_format(const std::string& path) {
  const auto name = format_by_content(path, Signature::at_the_beginning);
  if (!name || name.value().empty()) return false;
  if (name.value() == "hdf5") return true;
  const auto format = find_format(name.value());
  return format && format.value()->open(path).ok();
}

}  // namespace

bool is_weirs_document(const std::string& path) {
  const auto has_name = [](const Result<std::string>& text) {
    return text && text.value().find("\"weir-raw\"") != std::string::npos;
  };
  // The name of the format is looked for where Weir writes it, and wherever else it may be.
  return has_name(read_text_file(sidecar_path(path), beginning)) || has_name(document_beside(path));
}

std::string data_of(const RawFile& file, const std::string& path) {
  if (!file.renaming) return path;
  const std::string temporary = incomplete_path(path);
  return is_on_disk(temporary) ? temporary : path;
}

Status finish_raw_renaming(const std::string& path, RawFile& file) {
  if (!file.renaming) return {};
  const bool renamed = data_of(file, path) == path;
  file.renaming = false;
  auto text = raw_file_json(file);
  if (!text) return text.error();
  HeaderUpdate update{.made = {""}, .changes = {}};
  if (!renamed) update.changes.emplace_back(Publication{});
  update.changes.emplace_back(SidecarReplacement{sidecar_path(""), std::move(text).value()});
  // The new document is durable because the old one is.
  return commit(path, update, StepDurability::step);
}

Status finish_raw_renaming(const std::string& path) {
  const auto text = document_beside(path);
  if (!text) return text.error();
  auto file = parse_raw_file(text.value(), sidecar_path(path));
  return file ? finish_raw_renaming(path, file.value()) : Status();
}

Result<bool> announce_replacement(const std::string& path, StepDurability durability) {
  const auto text = document_beside(path);
  if (!text) return text.error();
  if (text.value().empty() || !describes(text.value(), path)) return false;
  if (Status noted = write_note(path, durability); !noted.ok()) return noted.error();
  return true;
}

Status end_replacement(const std::string& path, StepDurability durability) {
  const std::string document = sidecar_path(path);
  if (Status removed = remove_file(document); !removed.ok()) return removed;
  // The note is removed last, because it shows that a document that still exists is not valid.
  if (durability != StepDurability::none) {
    if (Status synced = sync_folder(folder_of(document)); !synced.ok()) return synced;
  }
  return remove_file(note_path(path));
}

bool has_other_format(const std::string& path) {
  // The content is checked last, because that takes many messages on a parallel file system. Any
  // note makes the check necessary: in a copy of the files the inode differs.
  if (!is_on_disk(note_path(path)) && is_weirs_document(path)) return begins_as_other_format(path);
  const auto format = format_by_content(path);
  return format && !format.value().empty();
}

bool is_replaced_document(const std::string& path) {
  return is_noted(path) && is_on_disk(sidecar_path(path)) && has_other_format(path);
}

Status drop_replaced_document(const std::string& path) {
  if (!is_on_disk(note_path(path))) return {};
  if (is_replaced_document(path)) return end_replacement(path, StepDurability::none);
  return remove_file(note_path(path));
}

Status remove_document(const std::string& path) {
  const std::string document = sidecar_path(path);
  struct stat about {};
  if (::lstat(document.c_str(), &about) != 0 && errno == ENOENT) {
    return remove_file(document + note_suffix);
  }
  if (Status dropped = drop_replaced_document(path); !dropped.ok()) return dropped;
  return remove_file(document);
}

}  // namespace weir::storage
