// The calls of include/weir/files.h that make a file.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checksums/sums_file.hpp"
#include "files/description_json.hpp"
#include "files/file_handle.hpp"
#include "formats/open_any.hpp"
#include "formats/stored_attributes.hpp"
#include "formats/zarr/replace_store.hpp"
#include "sections/encoded_section.hpp"
#include "sections/encoded_writer.hpp"
#include "sections/write_section.hpp"
#include "system/incomplete.hpp"

using weir::Result;
using weir::Status;
using weir::array::Section;
using weir::files::array_of;
using weir::files::check_place;
using weir::files::no_handle;
using weir::files::report;
using weir::files::reported;
using weir::files::Request;
using weir::files::request_of;
using weir::storage::DataFileCache;
using weir::storage::StepDurability;
using weir::storage::StoredArray;

namespace {

// Fails unless the section consists of whole chunks. A chunk written in two parts would get two
// places in the file, and only the last place counts.
Status check_whole_chunks(const Section& section, const weir::storage::EncodedChunks& chunks) {
  for (int d = 0; d < section.dimensions(); ++d) {
    const std::int64_t chunk = chunks.grid.chunk_extents()[d];
    const std::int64_t end = section.start[d] + section.count[d];
    const bool whole = section.start[d] % chunk == 0 && section.stride[d] == 1 &&
                       (end % chunk == 0 || end == chunks.grid.shape().extent(d));
    if (!whole) {
      return weir::invalid_argument(
          fmt::format("compressed chunks of this format can be written only whole: dimension {} "
                      "has chunks of {}",
                      d, chunk));
    }
  }
  return {};
}

// Writes chunks that are encoded and appended to the file. The file's header learns their places
// when the file is committed.
Status write_to_table(weir_files& file, std::int64_t array, const Request& request,
                      const void* data) {
  const StoredArray& stored = file.map.arrays[static_cast<std::size_t>(array)];
  if (Status whole = check_whole_chunks(request.section, *stored.map.encoded()); !whole.ok()) {
    return whole;
  }
  weir::storage::EncodedWriter writer(
      stored.map, file.data_files, [&](std::int64_t bytes) -> Result<std::int64_t> {
        const std::lock_guard lock(file.mutex);
        return std::exchange(file.free_from, file.free_from + bytes);
      });
  Status status = weir::storage::write_encoded_section(stored, request.section,
                                                       static_cast<const std::byte*>(data),
                                                       request.memory, file.data_files, writer);
  if (!status.ok()) return status;
  const std::lock_guard lock(file.mutex);
  for (const auto& one : writer.take_written())
    file.written.push_back({array, one.chunk, one.place});
  return {};
}

Status check_being_made(const weir_files& file) {
  if (file.unpublished) return {};
  return weir::invalid_argument(
      "the file was opened or is committed: only a new file that is not committed can be written");
}

// Writes the checksums beside the file under its temporary name, before the file gets its own name.
Status write_sums(weir_files& file) {
  const std::string beside = weir::storage::incomplete_sums_path(file.path);
  if (!file.sums) return weir::storage::remove_sums(beside, StepDurability::none);
  const auto runs =
      file.sums->runs(file.map, weir::storage::incomplete_path(file.path), file.data_files);
  if (!runs) return runs.error();
  const std::int64_t steps = file.map.steps().value_or(1);
  return weir::storage::replace_sums(beside, weir::storage::sums_frame(steps, runs.value()),
                                     StepDurability::step);
}

// Returns whether the fill value has to be written into elements that the program does not write.
// The room for an array is zeros, and an encoded chunk is always written whole.
bool has_fill_to_write(const StoredArray& array) {
  const auto& fill = array.description.fill;
  return array.map.encoded() == nullptr &&
         std::any_of(fill.begin(), fill.end(), [](std::byte one) { return one != std::byte{0}; });
}

// Writes the fill value to all elements of the array that are not settled. The caller holds the
// mutex.
Status fill_rest(weir_files& file, std::size_t array) {
  const StoredArray& stored = file.map.arrays[array];
  auto rest = weir::array::Section::of(stored.map.shape.box());
  std::int64_t& settled = file.settled[array];
  rest.start[0] = settled;
  rest.count[0] -= settled;
  if (rest.empty()) return {};
  settled += rest.count[0];
  return weir::storage::write_fill(stored, rest, file.data_files);
}

// Prepares the array for the writing of a section. An array that is written in order, from one end
// to the other, is written only once. If sections come in another order, the fill value is written
// first.
Status settle(weir_files& file, std::size_t array, const weir::array::Section& section) {
  const StoredArray& stored = file.map.arrays[array];
  if (!has_fill_to_write(stored) || section.empty()) return {};
  const std::lock_guard lock(file.mutex);
  std::int64_t& settled = file.settled[array];
  weir::array::Section rows = weir::array::Section::of(stored.map.shape.box());
  rows.start[0] = settled;
  rows.count[0] = section.count[0];
  if (section.start[0] != settled || !(section == rows)) return fill_rest(file, array);
  settled += section.count[0];
  return {};
}

Status fill_all_rests(weir_files& file) {
  const std::lock_guard lock(file.mutex);
  for (std::size_t i = 0; i < file.map.arrays.size(); ++i) {
    if (!has_fill_to_write(file.map.arrays[i])) continue;
    if (Status filled = fill_rest(file, i); !filled.ok()) return filled;
  }
  return {};
}

// Puts the new folder in the place of the old one. The new folder's checksums are still beside it
// under their temporary name; those of the old folder are removed.
Status replace_store(const weir_files& file) {
  Status removed =
      weir::storage::remove_sums(weir::storage::sums_path(*file.replaced), StepDurability::none);
  return removed.ok() ? weir::storage::replace_zarr_store(*file.replaced) : removed;
}

}  // namespace

int weir_files_create(const char* path, const char* format, const char* description,
                      weir_files** file) {
  return reported([&]() -> Status {
    if (Status place = check_place(file); !place.ok()) return place;
    if (path == nullptr || format == nullptr || description == nullptr) {
      return weir::invalid_argument("path, format or description is null: give all three");
    }
    const auto found = weir::storage::find_format(format);
    if (!found) return found.error();
    auto parsed = weir::files::parse_description(description);
    if (!parsed) return parsed.error();
    weir::storage::FileDescription& asked = parsed.value().description;
    weir::storage::AttributesChanged changed;
    if (parsed.value().leave_out_attributes) {
      changed = weir::storage::leave_out_attributes(asked, *found.value());
    }
    auto lock = weir::storage::WriterLock::take(path);
    if (!lock) return lock.error();
    const bool replaces = parsed.value().replaces && found.value()->abilities().is_folder &&
                          weir::storage::is_zarr_store(path);
    const std::string made_at = replaces ? weir::storage::replacing_path(path) : std::string(path);
    auto room = found.value()->lay_out(asked, made_at);
    if (!room) return room.error();
    room.value().map.left_out = std::move(changed.left_out);
    const std::string place = weir::storage::incomplete_path(made_at);
    weir::storage::set_known_file(room.value().map,
                                  weir::storage::known_file_of(room.value().map, place));
    auto made = std::make_unique<weir_files>(
        made_at, found.value()->name(), std::move(room.value().map), DataFileCache::Use::writing);
    made->description =
        weir::files::description_json(found.value()->name(), made->map, changed.retyped);
    made->unpublished = std::move(room.value().update);
    made->free_from = room.value().free_from;
    made->lock = std::move(lock).value();
    made->made = weir::storage::identity_of(place);
    if (replaces) made->replaced = path;
    made->settled.assign(made->map.arrays.size(), 0);
    if (parsed.value().checksum != weir::storage::Checksum::none) {
      made->sums.emplace(made->map.arrays.size());
    }
    *file = made.release();
    return {};
  });
}

int weir_files_write(weir_files* file, int64_t array, const int64_t* start, const int64_t* count,
                     const int64_t* stride, const void* data, const int64_t* strides) {
  const StoredArray* const stored = array_of(file, array);
  if (stored == nullptr) return WEIR_FILES_E_ARGUMENT;
  return reported([&]() -> Status {
    if (Status making = check_being_made(*file); !making.ok()) return making;
    const auto request = request_of(*stored, start, count, stride, data, strides);
    if (!request) return request.error();
    const auto* const encoded = stored->map.encoded();
    if (encoded != nullptr && !request.value().section.empty() &&
        std::holds_alternative<weir::storage::EncodedTable>(encoded->places)) {
      return write_to_table(*file, array, request.value(), data);
    }
    Status settled = settle(*file, static_cast<std::size_t>(array), request.value().section);
    if (!settled.ok()) return settled;
    auto sums = weir::storage::WrittenSums::of_one_write();
    const bool summed = file->sums && encoded == nullptr;
    Status written = weir::storage::write_section(
        *stored, request.value().section, static_cast<const std::byte*>(data),
        request.value().memory, file->data_files, weir::storage::serial_buffer_bytes,
        summed ? &sums : nullptr);
    if (written.ok() && summed) file->sums->add(array, sums);
    return written;
  });
}

int weir_files_commit(weir_files* file) {
  if (file == nullptr) return report(no_handle());
  return reported([&]() -> Status {
    if (Status making = check_being_made(*file); !making.ok()) return making;
    if (weir::storage::identity_of(weir::storage::incomplete_path(file->path)) != file->made) {
      weir::Error error = weir::invalid_argument(
          "another run has removed or replaced this unfinished file: create it again when that run "
          "has ended");
      error.file = weir::storage::incomplete_path(file->path);
      return error;
    }
    if (Status filled = fill_all_rests(*file); !filled.ok()) return filled;
    if (Status durable = file->data_files.sync(); !durable.ok()) return durable;
    if (!file->written.empty()) {
      const auto format = weir::storage::find_format(file->format);
      if (!format) return format.error();
      const weir::storage::Room room{file->map, *file->unpublished, file->free_from};
      auto entered = format.value()->enter_chunks(file->path, room, file->map.steps().value_or(1),
                                                  file->written);
      if (!entered) return entered.error();
      file->unpublished = std::move(entered).value();
      file->written.clear();
    }
    if (Status summed = write_sums(*file); !summed.ok()) return summed;
    Status committed =
        weir::storage::commit(file->path, *file->unpublished, weir::storage::StepDurability::step);
    if (committed.ok() && file->replaced) committed = replace_store(*file);
    if (committed.ok() || weir::storage::is_seen_unrenamed(file->path)) file->unpublished.reset();
    if (committed.ok() && file->sums) {
      // The file is committed whether or not this succeeds; if it fails, the file's checksums are
      // unknown.
      (void)weir::storage::rename_sums(
          weir::storage::incomplete_sums_path(file->path),
          weir::storage::sums_path(file->replaced.value_or(file->path)), StepDurability::step);
    }
    if (!file->unpublished) file->lock.release();
    return committed;
  });
}
