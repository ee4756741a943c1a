#include "formats/hdf5/hdf5_format.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <sstream>
#include <utility>

#include "common/checked.hpp"
#include "common/page.hpp"
#include "formats/additions.hpp"
#include "formats/dimension_names.hpp"
#include "formats/file_map_message.hpp"
#include "formats/hdf5/add_objects.hpp"
#include "formats/hdf5/add_steps.hpp"
#include "formats/hdf5/attributes.hpp"
#include "formats/hdf5/datasets.hpp"
#include "formats/hdf5/dimension_scales.hpp"
#include "formats/hdf5/enter_chunks.hpp"
#include "formats/hdf5/filters.hpp"
#include "formats/hdf5/read_elsewhere.hpp"
#include "formats/hdf5/read_file.hpp"
#include "formats/hdf5/write_driver.hpp"
#include "formats/new_file.hpp"
#include "formats/reading_limits.hpp"
#include "formats/sandbox_program.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {
namespace {

// ---- Laying out -------------------------------------------------------------------------------

// Metadata of a file that are kept for the next one with the same description.
constexpr std::int64_t most_kept_for_next = 1 << 20;

// Links are kept in order of creation, so that tools list arrays in the order of the description.
// Objects have no times, so that files of the same content have the same bytes.
Hdf5Handle creation_in_order(hid_t what) {
  Hdf5Handle creation(H5Pcreate(what));
  H5Pset_link_creation_order(creation.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  H5Pset_obj_track_times(creation.id(), false);
  return creation;
}

Status make_groups(hid_t file, const FileDescription& description, const std::string& path) {
  const Hdf5Handle creation = creation_in_order(H5P_GROUP_CREATE);
  for (const std::string& name : all_groups(description)) {
    const Hdf5Handle group(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
    if (!group.ok()) return hdf5_failure("create group \"" + name + '"', path, ErrorCode::io);
  }
  for (const GroupDescription& one : description.groups) {
    const std::string name = "/" + one.name;
    const Hdf5Handle group(H5Oopen(file, name.c_str(), H5P_DEFAULT));
    if (Status written = write_hdf5_attributes(group.id(), one.attributes, path); !written.ok()) {
      return written;
    }
  }
  return {};
}

// Chooses chunks. HDF5 has no contiguous dataset that grows or is filtered. Without a codec a step
// is one chunk, so that it is dense in the file and any part of it can be read by itself; but a
// chunk must have less than 4 GiB.
FileDescription with_chunks(FileDescription file) {
  for (ArrayDescription& one : file.arrays) {
    if (one.chunk_extents || (!one.grows && one.codecs.empty())) continue;
    const array::Indices step = extents_of_one_chunk(one);
    const auto bytes = bytes_of(step, one.type);
    const bool is_dense = one.codecs.empty() && bytes && *bytes <= UINT32_MAX;
    one.chunk_extents = is_dense ? step : chunk_extents_of(one);
  }
  return file;
}

// Returns the bytes of all arrays together; the largest number on overflow.
std::int64_t bytes_of_all(const FileDescription& description) {
  std::optional<std::int64_t> sum = 0;
  for (const ArrayDescription& one : description.arrays) {
    const auto bytes = bytes_of(one.shape.extents(), one.type);
    sum = sum && bytes ? checked_add(*sum, *bytes) : std::nullopt;
  }
  return sum.value_or(INT64_MAX);
}

// Returns the blocks as those of a file of this length. A hole between two of them that is shorter
// than a page is filled with zeros, so that few calls write them.
LaidOutBytes laid_out(const Hdf5Blocks& blocks, std::int64_t length) {
  LaidOutBytes all{.blocks = {}, .length = length};
  for (const auto& [offset, bytes] : blocks) {
    LaidOutBytes::Block* const last = all.blocks.empty() ? nullptr : &all.blocks.back();
    const std::int64_t end =
        last == nullptr ? 0 : last->offset + static_cast<std::int64_t>(last->bytes.size());
    if (last == nullptr || offset - end >= page_bytes) {
      all.blocks.push_back({offset, bytes});
      continue;
    }
    last->bytes.resize(static_cast<std::size_t>(offset - last->offset));
    last->bytes.insert(last->bytes.end(), bytes.begin(), bytes.end());
  }
  return all;
}

// Makes the file; `kept` becomes the blocks that were written, unless they were many.
Status make_file(const FileDescription& description, const std::string& path,
                 std::optional<Hdf5Blocks>& kept) {
  Hdf5Writing writing(Hdf5Writing::Writes::reach_the_file, description.alignment);
  writing.keep_blocks(most_kept_for_next);
  const Hdf5Handle access = writing.access();
  const Hdf5Handle creation = creation_in_order(H5P_FILE_CREATE);
  Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()));
  if (!file.ok()) return writing.failure("create the file", path, ErrorCode::io);
  writing.expect_arrays(static_cast<std::int64_t>(description.arrays.size()),
                        bytes_of_all(description));
  if (Status made = make_groups(file.id(), description, path); !made.ok()) return made;
  for (const ArrayDescription& one : description.arrays) {
    if (one.grows) writing.share_next_header();
    if (Status made = make_hdf5_dataset(file.id(), one, path); !made.ok()) return made;
  }
  if (Status made = write_hdf5_dimensions(file.id(), description, path, writing); !made.ok())
    return made;
  if (Status set = keep_hdf5_alignment(file.id(), description.alignment, path); !set.ok()) {
    return set;
  }
  if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::io);
  if (writing.refused() != 0) return system_failure("write", path, -1, writing.refused());
  kept = writing.take_kept();
  return {};
}

// ---- Reading ------------------------------------------------------------------------------------

Result<std::string> ask_about(const std::string& path, Hdf5Question question) {
  const auto limits = reading_limits();
  if (!limits) return limits.error();
  return read_hdf5_elsewhere(find_sandbox_program("weir-hdf5-header"), path, question,
                             limits.value().header);
}

// ---- The format -------------------------------------------------------------------------------

class Hdf5Format final : public Format {
 public:
  [[nodiscard]] std::string_view name() const override { return "hdf5"; }

  [[nodiscard]] FormatAbilities abilities() const override {
    static constexpr std::array<std::string_view, 4> suffixes = {".h5", ".hdf5", ".he5", ".nc4"};
    return {.suffixes = suffixes,
            .several_arrays = true,
            .groups = true,
            .attributes = true,
            .dimension_names = true,
            .dense = true,
            .chunks = true,
            .growing = true,
            .fill = true,
            .codecs = hdf5_codecs()};
  }

  // A list of one text is stored as NetCDF-4 stores texts, and read without the list.
  Result<Attribute::Value> stored_attribute(const Attribute& attribute,
                                            const array::ElementType* /*array*/) const override {
    const auto* const texts = std::get_if<std::vector<std::string>>(&attribute.value);
    if (texts != nullptr && texts->size() == 1) return Attribute::Value(texts->front());
    return attribute.value;
  }

  Result<Room> lay_out(const FileDescription& given, const std::string& path) const override {
    const FileDescription file = with_dimension_names(given);
    if (Status fine = check_description(file, abilities(), name()); !fine.ok()) return fine.error();
    if (Status fine = check_hdf5_dimensions(file); !fine.ok()) return fine.error();
    const Hdf5Silence silence;
    const FileDescription made = with_chunks(file);
    // The library then finds an empty file.
    auto empty = make_incomplete_file(path, file.striping);
    if (!empty) return empty.error();
    if (Status closed = empty.value().close(); !closed.ok()) return closed.error();
    const std::string place = incomplete_path(path);
    std::optional<Hdf5Blocks> kept;
    if (Status status = make_file(made, place, kept); !status.ok()) return status.error();
    auto opened = read_hdf5_file(place);
    if (!opened) return opened.error();
    auto map = described_as(made, std::move(opened).value());
    if (!map) return map.error();
    struct stat information {};
    if (::stat(place.c_str(), &information) != 0) return system_failure("stat", place, -1, errno);
    Room room{std::move(map).value(), publication_of({""}), information.st_size};
    if (kept) room.laid_out = laid_out(*kept, information.st_size);
    return room;
  }

  Result<FileMap> open(const std::string& path) const override {
    // HDF5 1.10 crashes on some damaged heaps, and can never close some damaged files.
    const auto message = ask_about(path, Hdf5Question::header);
    if (!message) return message.error();
    auto map = parse_file_map(message.value());
    if (map) return map;
    Error error = map.error();
    error.file = path;
    return error;
  }

  Result<Room> make_room(const std::string& path, std::int64_t steps) const override {
    const Hdf5Silence silence;
    return add_hdf5_steps(path, steps, {});
  }

  Result<Room> make_room_behind(const std::string& path, std::int64_t steps, const FileMap& known,
                                std::int64_t known_steps) const override {
    const Hdf5Silence silence;
    return add_hdf5_steps(path, steps, Hdf5Known(known, known_steps));
  }

  Result<HeaderUpdate> enter_chunks(const std::string& path, const Room& room, std::int64_t steps,
                                    std::span<const WrittenChunk> chunks) const override {
    if (chunks.empty()) return room.update;
    const Hdf5Silence silence;
    return enter_hdf5_chunks(path, room, steps, chunks);
  }

  Result<HeaderUpdate> drop_steps(const std::string& path, std::int64_t steps,
                                  std::int64_t before) const override {
    const Hdf5Silence silence;
    return drop_hdf5_steps(path, steps, before);
  }

  Result<HeaderUpdate> add(const std::string& path, const Additions& added) const override {
    const Hdf5Silence silence;
    if (Status fine = check_hdf5_dimensions({.arrays = added.arrays}); !fine.ok()) {
      return fine.error();
    }
    Additions made = added;
    made.arrays = with_chunks({.arrays = added.arrays}).arrays;
    return add_to_hdf5(path, made);
  }

  Status clear_unfinished(const std::string& path, std::int64_t steps) const override {
    const Hdf5Silence silence;
    return clear_unfinished_hdf5_steps(path, steps);
  }

  Result<std::vector<std::string>> unfinished(const std::string& path) const override {
    const auto answer = ask_about(path, Hdf5Question::unfinished);
    if (!answer) return answer.error();
    std::vector<std::string> lines;
    std::istringstream all(answer.value());
    for (std::string line; std::getline(all, line);) lines.push_back(std::move(line));
    return lines;
  }
};

}  // namespace

const Format* hdf5_format() {
  static const Hdf5Format format;
  return &format;
}

}  // namespace weir::storage
