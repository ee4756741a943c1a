#include "formats/drop_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "checksums/sums_file.hpp"
#include "formats/format.hpp"
#include "formats/header_update.hpp"
#include "formats/open_any.hpp"
#include "system/file.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/text_file.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t longest_note = 32;

Status write_note(const std::string& path, std::int64_t before, StepDurability durability) {
  const std::string note = drop_note_path(path);
  const bool durable = durability != StepDurability::none;
  Status named = replace_file(note, std::to_string(before), durable);
  if (!named.ok()) return named;
  return durable ? sync_folder(folder_of(note)) : Status();
}

// Does the work after the note was made, even if part of it has been done before.
Status carry_out(const Format& format, const std::string& path, std::int64_t steps,
                 std::int64_t before, StepDurability durability) {
  auto update = format.drop_steps(path, steps, before);
  if (!update) return update.error();
  if (Status dropped = commit(path, update.value(), durability); !dropped.ok()) return dropped;
  if (Status cleared = format.clear_unfinished(path, steps); !cleared.ok()) return cleared;
  if (const auto cut = cut_sums(sums_path(path), steps); !cut) return cut.error();
  return remove_file(drop_note_path(path));
}

}  // namespace

std::string drop_note_path(const std::string& path) { return committed_path(path) + ".weir_drop"; }

Status drop_steps(const std::string& path, std::int64_t steps, StepDurability durability) {
  if (Status finished = finish_drop(path, durability); !finished.ok()) return finished;
  const auto opened = open_any(path);
  if (!opened) return opened.error();
  const auto now = opened.value().map.steps();
  if (!now)
    return invalid_argument("no array of the file has steps: there is no step to drop", path);
  if (steps < 0 || steps > *now) {
    return invalid_argument(
        fmt::format("steps is {}, but the file has {} steps: give 0 to {}", steps, *now, *now),
        path);
  }
  const auto format = find_format(opened.value().format);
  if (!format) return format.error();
  // A killed commit may have left an array ahead of the others.
  std::int64_t before = *now;
  for (const StoredArray& one : opened.value().map.arrays) {
    if (one.description.grows) before = std::max(before, one.map.shape.extent(0));
  }
  // A drop that is refused must not leave a note.
  const auto possible = format.value()->drop_steps(opened.value().path, steps, before);
  if (!possible) return possible.error();
  if (Status noted = write_note(opened.value().path, before, durability); !noted.ok()) return noted;
  return carry_out(*format.value(), opened.value().path, steps, before, durability);
}

Status finish_drop(const std::string& path, StepDurability durability) {
  if (!is_on_disk(drop_note_path(path))) return {};
  const auto note = read_text_file(drop_note_path(path), longest_note);
  if (!note) return note.error();
  const auto opened = open_any(path);
  if (!opened) return opened.error();
  const auto now = opened.value().map.steps();
  const auto format = find_format(opened.value().format);
  if (!format) return format.error();
  std::int64_t before = 0;
  const char* const end = note.value().data() + note.value().size();
  const auto number = std::from_chars(note.value().data(), end, before);
  // Another file may have replaced the one to which the note belongs.
  if (!now || number.ec != std::errc() || number.ptr != end || before < *now) {
    return remove_file(drop_note_path(path));
  }
  return carry_out(*format.value(), opened.value().path, *now, before, durability);
}

}  // namespace weir::storage
