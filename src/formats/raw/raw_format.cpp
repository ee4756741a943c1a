// The document is the header: readers see the steps that it contains. It is replaced as a whole, by
// renaming, so a step is committed by one renaming. A new file is committed in three parts: its
// document is renamed into place first, and says that the data still have their temporary name;
// then the data are renamed; then the document is written again without that mark. A process that
// opens the file meanwhile finds the data under either name, and the next run that changes the file
// completes what was left.
#include "formats/raw/raw_format.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "checksums/sums_file.hpp"
#include "common/checked.hpp"
#include "formats/additions.hpp"
#include "formats/attribute_json.hpp"
#include "formats/dimension_names.hpp"
#include "formats/new_file.hpp"
#include "formats/raw/raw_document.hpp"
#include "formats/raw/raw_file.hpp"
#include "formats/raw/raw_leftovers.hpp"
#include "formats/reading_limits.hpp"
#include "formats/stored_attributes.hpp"
#include "sections/write_section.hpp"
#include "system/file.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"
#include "system/text_file.hpp"
#include "system/unfollowed_file.hpp"

namespace weir::storage {
namespace {

Result<std::int64_t> length_of(const std::string& path) {
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0) return system_failure("stat", path, -1, errno);
  if (!S_ISREG(information.st_mode)) {
    return Error(ErrorCode::corrupt, "is no file, as the document of a raw file tells", path);
  }
  return std::int64_t{information.st_size};
}

// Fails if the file was cut off: its lost elements would read as zeros if the file were lengthened.
Status check_has(const File& file, std::int64_t bytes) {
  struct stat information {};
  if (::fstat(file.descriptor(), &information) != 0) {
    return system_failure("stat", file.path(), -1, errno);
  }
  if (information.st_size >= bytes) return {};
  return Error(ErrorCode::corrupt,
               fmt::format("the file has {} bytes, its document tells of {}: it was cut off, and "
                           "gets no steps until it is whole",
                           std::int64_t{information.st_size}, bytes),
               file.path());
}

Status write_zeros(const File& file, const RawRange& range) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  std::vector<std::byte> zeros(static_cast<std::size_t>(std::min(piece, range.bytes)));
  for (std::int64_t done = 0; done < range.bytes; done += piece) {
    const Slice slice{zeros.data(), std::min(piece, range.bytes - done)};
    std::int64_t calls = 0;
    Status written = write_slices(file, {&slice, 1}, range.offset + done, calls);
    if (!written.ok()) return written;
  }
  return {};
}

// Reads the document. A text that is longer than any document is too long to be parsed.
Result<RawFile> read_document(const std::string& path) {
  const auto limits = reading_limits();
  if (!limits) return limits.error();
  const std::size_t most = std::min(most_raw_document_bytes, limits.value().document_bytes);
  const auto text = read_text_file(sidecar_path(path), most);
  if (!text) return text.error();
  if (most < most_raw_document_bytes && text.value().size() > most) {
    return Error(ErrorCode::unsupported,
                 fmt::format("the document has more than {} bytes: it is damaged, or "
                             "WEIR_READ_BYTES has to allow more",
                             most),
                 sidecar_path(path));
  }
  return parse_raw_file(text.value(), sidecar_path(path));
}

// Fails if a data file is shorter than the document tells. Of several files, one in each directory
// and the last are looked at.
Status check_lengths(const RawFile& file, const std::string& data) {
  const DataFiles paths = file.data_files(data);
  const auto check = [&](std::int64_t number) -> Status {
    const std::string path = paths.path(number);
    const auto length = length_of(path);
    if (!length) return length.error();
    const std::int64_t expected = file.data_bytes(number);
    if (length.value() >= expected) return {};
    return Error(
        ErrorCode::corrupt,
        fmt::format("the file has {} bytes, its document tells of {}", length.value(), expected),
        path);
  };
  const auto directories = std::max<std::int64_t>(1, std::ssize(file.placement.directories));
  const std::int64_t last = paths.files() - 1;
  Status status = check(last);
  for (std::int64_t n = 0; status.ok() && n < std::min(directories, last); ++n) status = check(n);
  return status;
}

Status check_for_raw(const FileDescription& file) {
  for (const ArrayDescription& one : file.arrays) {
    if (one.type.kind() == array::ElementKind::record && !one.fill.empty()) {
      return invalid_argument(fmt::format("array \"{}\": the format raw has no fill values of {}",
                                          one.name, one.type.name()));
    }
  }
  return {};
}

// Fails if the document's name is used by something that does not belong to a raw file.
Status check_is_of_raw(const std::string& path) {
  const std::string document = sidecar_path(path);
  if (!is_on_disk(document) || is_weirs_document(path)) return {};
  return Error(ErrorCode::corrupt,
               "this name is needed for a raw file's document, and is something else; remove it or "
               "give another name",
               document);
}

// Makes a new, empty data file. An earlier file of this name is removed instead of emptied. A
// process that has the file of an earlier array open keeps that file, and emptying a file would not
// change its striping. `by_user`: the user gave the name, which may be a link that stays. Other
// names can be guessed, so a link there may be another user's, and is removed itself.
Result<File> make_data_file(const std::string& name, bool by_user, const Striping& striping) {
  if (striping.empty()) {
    auto made = make_unfollowed(name);
    if (made || made.error().system_error != EEXIST) return made;
  }
  const std::string place = by_user ? committed_path(name) : name;
  Status cleared = remove_file(place);
  if (cleared.ok()) cleared = make_striped_file(place, striping);
  if (!cleared.ok()) return cleared.error();
  return striping.empty() ? make_unfollowed(place) : open_unfollowed(place);
}

// Makes the data files of an array that is written in place, with their names and their full length
// (without taking up space). An earlier document is removed before, and the new one is written
// after them, so that an array with a document has its files.
Status make_data_files(const RawFile& file, const std::string& path, const Striping& striping) {
  Status removed = remove_document(path);
  // The checksums of an earlier file would declare the new data damaged.
  if (removed.ok()) removed = remove_sums(sums_path(path), StepDurability::none);
  if (!removed.ok()) return removed;
  const DataFiles paths = file.data_files(path);
  for (std::int64_t number = 0; number < paths.files(); ++number) {
    const std::string name = paths.path(number);
    auto data = make_data_file(name, name == path, striping);
    if (!data) return data.error();
    Status made = data.value().set_length(file.data_bytes(number));
    if (made.ok()) made = data.value().close();
    if (!made.ok()) return made;
  }
  return {};
}

struct Documents {
  std::string renaming;  // valid while the data have their temporary name
  std::string renamed;
};

Result<Documents> documents_of(RawFile file) {
  file.renaming = true;
  auto renaming = raw_file_json(file);
  if (!renaming) return renaming.error();
  file.renaming = false;
  auto renamed = raw_file_json(file);
  if (!renamed) return renamed.error();
  return Documents{std::move(renaming).value(), std::move(renamed).value()};
}

class RawFormat final : public Format {
 public:
  [[nodiscard]] std::string_view name() const override { return "raw"; }

  [[nodiscard]] FormatAbilities abilities() const override { return raw_abilities(); }

  Result<Attribute::Value> stored_attribute(const Attribute& attribute,
                                            const array::ElementType* /*array*/) const override {
    if (Status fine = check_has_json_form(attribute); !fine.ok()) return fine.error();
    return attribute.value;
  }

  Result<Room> lay_out(const FileDescription& given, const std::string& path) const override {
    const FileDescription description = given.in_place ? given : with_dimension_names(given);
    if (Status fine = check_description(description, abilities(), name()); !fine.ok()) {
      return fine.error();
    }
    if (Status fine = check_for_raw(description); !fine.ok()) return fine.error();
    if (Status fine = check_stored_attributes(description, *this); !fine.ok()) return fine.error();
    auto file = place_raw_arrays(description);
    if (!file) return file.error();
    if (description.in_place) return lay_out_in_place(file.value(), path, description.striping);
    const auto texts = documents_of(file.value());
    if (!texts) return texts.error();
    if (Status clear = check_is_of_raw(path); !clear.ok()) return clear.error();
    const std::string place = incomplete_path(path);
    auto data = make_incomplete_file(path, description.striping);
    if (!data) return data.error();
    Status made = data.value().set_length(file.value().data_bytes());
    if (made.ok()) made = data.value().close();
    if (!made.ok()) return made.error();
    Room room{file.value().map(place), {.made = {""}, .changes = {}}};
    room.update.changes.emplace_back(SidecarReplacement{sidecar_suffix, texts.value().renaming});
    room.update.changes.emplace_back(Publication{});
    room.update.changes.emplace_back(SidecarReplacement{sidecar_suffix, texts.value().renamed});
    return room;
  }

  Result<FileMap> open(const std::string& path) const override {
    const auto file = read_document(path);
    if (!file) return file.error();
    const std::string data = data_of(file.value(), path);
    if (Status whole = check_lengths(file.value(), data); !whole.ok()) return whole.error();
    return file.value().map(data);
  }

  Result<Room> make_room(const std::string& path, std::int64_t steps) const override {
    auto file = growing_file(path);
    if (!file) return file.error();
    if (Status finished = finish_raw_renaming(path, file.value()); !finished.ok()) {
      return finished.error();
    }
    const std::int64_t now = file.value().steps().value();
    RawFile longer = file.value();
    const Status possible = longer.set_steps(steps);
    if (steps < now || !possible.ok()) {
      return invalid_argument(
          fmt::format("{} steps for a file that has {}{}{}", steps, now, possible.ok() ? "" : ": ",
                      possible.ok() ? "" : possible.error().message),
          path);
    }
    auto text = raw_file_json(longer);
    if (!text) return text.error();
    auto data = File::open(path, {.read = true, .write = true});
    if (!data) return data.error();
    if (Status whole = check_has(data.value(), file.value().data_bytes()); !whole.ok()) {
      return whole.error();
    }
    Status done = clear_behind(data.value(), file.value());
    if (done.ok()) done = data.value().set_length(longer.data_bytes());
    if (done.ok()) done = data.value().close();
    if (done.ok() && is_on_disk(announced(path))) done = clear_last_chunks(file.value(), path);
    if (done.ok()) done = announce(path, text.value());
    if (!done.ok()) return done.error();
    return Room{
        longer.map(path),
        {.made = {""}, .changes = {SidecarReplacement{sidecar_suffix, std::move(text).value()}}}};
  }

  Result<HeaderUpdate> drop_steps(const std::string& path, std::int64_t steps,
                                  std::int64_t /*before*/) const override {
    auto file = growing_file(path);
    if (!file) return file.error();
    if (Status finished = finish_raw_renaming(path, file.value()); !finished.ok()) {
      return finished.error();
    }
    if (Status possible = file.value().set_steps(steps); !possible.ok()) return possible.error();
    auto text = raw_file_json(file.value());
    if (!text) return text.error();
    return HeaderUpdate{.made = {},
                        .changes = {SidecarReplacement{sidecar_suffix, std::move(text).value()}}};
  }

  Result<HeaderUpdate> add(const std::string& path, const Additions& added) const override {
    auto file = read_document(path);
    if (!file) return file.error();
    if (file.value().placement.layout != FileLayout::shared) {
      return invalid_argument(
          "the file's only array lies in several data files, and nothing can be added to it: "
          "convert it to a raw file with weir convert",
          path);
    }
    if (Status fine = check_for_raw({.arrays = added.arrays}); !fine.ok()) return fine.error();
    if (Status finished = finish_raw_renaming(path, file.value()); !finished.ok()) {
      return finished.error();
    }
    RawFile larger = file.value();
    if (Status placed = add_raw_arrays(larger, added.arrays); !placed.ok()) return placed.error();
    enter_attributes(added.attributes, larger);
    auto document = raw_file_json(larger);
    if (!document) return document.error();
    if (!added.arrays.empty()) {
      if (Status made = make_places(path, file.value(), larger); !made.ok()) return made.error();
    } else if (is_on_disk(announced(path)) && file.value().steps()) {
      // The update removes the mark of an unfinished step.
      Status cleared = clear_last_chunks(file.value(), path);
      if (!cleared.ok()) return cleared.error();
    }
    return HeaderUpdate{
        .made = {""}, .changes = {SidecarReplacement{sidecar_suffix, std::move(document).value()}}};
  }

  Status clear_unfinished(const std::string& path, std::int64_t /*steps*/) const override {
    auto file = growing_file(path);
    if (!file) return file.error();
    auto data = File::open(data_of(file.value(), path), {.read = true, .write = true});
    if (!data) return data.error();
    Status done = clear_behind(data.value(), file.value());
    if (done.ok()) done = data.value().close();
    if (done.ok()) done = clear_last_chunks(file.value(), path);
    if (!done.ok()) return done;
    return remove_file(announced(path));
  }

  Result<std::vector<std::string>> unfinished(const std::string& path) const override {
    std::vector<std::string> lines;
    const auto file = read_document(path);
    if (!file) return file.error();
    if (file.value().placement.layout != FileLayout::shared) return lines;
    const std::string data = data_of(file.value(), path);
    if (file.value().renaming) {
      lines.push_back(fmt::format("its document was not written for the last time: the data are {}",
                                  printable(data)));
    } else if (is_on_disk(announced(path))) {
      lines.push_back(
          fmt::format("{} lies beside the document: a step that was not committed",
                      printable(std::filesystem::path(announced(path)).filename().string())));
    }
    const auto length = length_of(data);
    if (!length) return length.error();
    const std::int64_t behind = length.value() - file.value().data_bytes();
    if (behind > 0) {
      lines.push_back(
          fmt::format("{} bytes after the last of {} steps: a step that was not committed", behind,
                      file.value().steps().value_or(0)));
    }
    return lines;
  }

 private:
  static Result<Room> lay_out_in_place(const RawFile& file, const std::string& path,
                                       const Striping& striping) {
    auto text = raw_file_json(file);
    if (!text) return text.error();
    Status made = check_is_of_raw(path);
    if (made.ok()) made = make_data_files(file, path, striping);
    if (!made.ok()) return made.error();
    return Room{
        file.map(path),
        {.made = {}, .changes = {SidecarReplacement{sidecar_suffix, std::move(text).value()}}}};
  }

  static void enter_attributes(const std::vector<GroupDescription>& owners, RawFile& file) {
    for (const GroupDescription& owner : owners) {
      const auto array =
          std::find_if(file.arrays.begin(), file.arrays.end(),
                       [&](const RawFileArray& one) { return one.description.name == owner.name; });
      if (array != file.arrays.end()) {
        set_attributes(array->description.attributes, owner.attributes);
        continue;
      }
      auto group = std::find_if(file.groups.begin(), file.groups.end(),
                                [&](const auto& one) { return one.name == owner.name; });
      if (group == file.groups.end()) {
        group = file.groups.insert(group, GroupDescription{.name = owner.name});
      }
      set_attributes(group->attributes, owner.attributes);
    }
  }

  // Makes places in the data file for those arrays that `larger` has in addition to those of
  // `file`.
  static Status make_places(const std::string& path, const RawFile& file, const RawFile& larger) {
    auto data = File::open(path, {.read = true, .write = true});
    if (!data) return data.error();
    if (Status whole = check_has(data.value(), file.data_bytes()); !whole.ok()) return whole;
    Status done = clear_behind(data.value(), file);
    if (done.ok()) done = data.value().set_length(larger.data_bytes());
    if (done.ok()) done = data.value().close();
    if (done.ok() && file.steps() && is_on_disk(announced(path))) {
      done = clear_last_chunks(file, path);
    }
    if (!done.ok()) return done;
    FileMap map = larger.map(path);
    std::vector<StoredArray> fresh;
    for (std::size_t i = file.arrays.size(); i < map.arrays.size(); ++i) {
      if (!map.arrays[i].description.grows) fresh.push_back(std::move(map.arrays[i]));
    }
    return write_fills_of(fresh);
  }

  // Removes what was written behind the last step and not committed. After it is cut off, the place
  // reads as zeros.
  static Status clear_behind(const File& data, const RawFile& file) {
    Status done = data.set_length(file.data_bytes());
    for (const RawRange& range : unused_in_last_record(file)) {
      if (done.ok()) done = write_zeros(data, range);
    }
    return done;
  }

  // Clears what a killed run wrote of later steps into chunks that hold committed steps.
  static Status clear_last_chunks(const RawFile& file, const std::string& path) {
    const std::int64_t now = file.steps().value();
    DataFileCache files(DataFileCache::Use::writing);
    for (std::size_t i = 0; i < file.arrays.size(); ++i) {
      const ArrayDescription& about = file.arrays[i].description;
      if (!about.grows || !about.chunk_extents) continue;
      const auto end = checked_round_up(now, (*about.chunk_extents)[0]);
      if (!end || *end == now) continue;
      RawFile longer = file;
      if (Status possible = longer.set_steps(*end); !possible.ok()) return possible;
      const FileMap map = longer.map(path);
      array::Section section = array::Section::of(map.arrays[i].map.shape.box());
      section.start[0] = now;
      section.count[0] = *end - now;
      Status cleared = write_fill(map.arrays[i], section, files);
      if (!cleared.ok()) return cleared;
    }
    return {};
  }

  static Result<RawFile> growing_file(const std::string& path) {
    auto file = read_document(path);
    if (file && !file.value().steps()) {
      return invalid_argument("no array of this file grows", path);
    }
    return file;
  }

  // While a step is being written, the next document lies beside the one that readers see. It shows
  // that a run was killed even if the step lies in an existing record. The commit renames it.
  static std::string announced(const std::string& path) {
    return replacement_path(committed_path(sidecar_path(path)));
  }
  static Status announce(const std::string& path, std::string text) {
    return write_replacement(committed_path(sidecar_path(path)), std::move(text));
  }
};

}  // namespace

Status sync_raw_names(const std::string& path, const DataFiles& files) {
  if (Status synced = sync_path(sidecar_path(path)); !synced.ok()) return synced;
  std::set<std::string> folders = {folder_of(sidecar_path(path))};
  const auto directories = std::max<std::int64_t>(1, std::ssize(files.parts().directories));
  for (std::int64_t number = 0; number < std::min(files.files(), directories); ++number) {
    folders.insert(folder_of(files.path(number)));
  }
  for (const std::string& folder : folders) {
    if (Status synced = sync_folder(folder); !synced.ok()) return synced;
  }
  return {};
}

const Format* raw_format() {
  static const RawFormat format;
  return &format;
}

}  // namespace weir::storage
