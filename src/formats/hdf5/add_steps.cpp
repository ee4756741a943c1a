#include "formats/hdf5/add_steps.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/checked.hpp"
#include "formats/hdf5/attributes.hpp"
#include "formats/hdf5/chunk_index.hpp"
#include "formats/hdf5/dimension_scales.hpp"
#include "formats/hdf5/header_changes.hpp"
#include "formats/hdf5/read_file.hpp"
#include "formats/hdf5/write_driver.hpp"
#include "sections/write_section.hpp"
#include "stored/array_change.hpp"
#include "system/file.hpp"
#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

struct Growing {
  std::string name;
  std::vector<hsize_t> sizes;
};

// Returns nothing if the dataset does not grow along its first dimension.
std::optional<Growing> growing(hid_t dataset, const std::string& name) {
  const Hdf5Handle space(H5Dget_space(dataset));
  const int dimensions = H5Sget_simple_extent_ndims(space.id());
  if (dimensions < 1) return std::nullopt;
  std::vector<hsize_t> sizes(static_cast<std::size_t>(dimensions));
  std::vector<hsize_t> most(sizes.size());
  if (H5Sget_simple_extent_dims(space.id(), sizes.data(), most.data()) != dimensions ||
      most.front() != H5S_UNLIMITED) {
    return std::nullopt;
  }
  return Growing{name, std::move(sizes)};
}

// Says why an array cannot get steps, and the options of weir convert that make a file whose array
// can.
struct NoRoom {
  std::string reason;
  std::string options = {};
};

std::string index_of(H5D_chunk_index_t index) {
  if (index == H5D_CHUNK_IDX_BTREE) {
    return "a B-tree of version 1, as in files with the format before HDF5 1.10 (the default of "
           "NetCDF-4 and h5py)";
  }
  if (index == H5D_CHUNK_IDX_BT2) {
    return "a B-tree of version 2, as where several dimensions are unlimited";
  }
  return "not an extensible array";
}

// Returns options for chunks of one step each.
std::string options_for_one_step(const std::vector<hsize_t>& chunk, const std::string& name) {
  std::string text = " --chunks " + name + "=1";
  for (std::size_t d = 1; d < chunk.size(); ++d) {
    text += fmt::format(",{}", std::uint64_t{chunk[d]});
  }
  return text;
}

// Only an extensible array of chunks gets longer without moving its contents. And only if it is
// allocated early and never filled does a new extent allocate it and do nothing else.
std::optional<NoRoom> cannot_grow_safely(hid_t dataset, const std::string& name) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  H5D_chunk_index_t index = H5D_CHUNK_IDX_BTREE;
  if (H5Dget_chunk_index_type(dataset, &index) < 0 || index != H5D_CHUNK_IDX_EARRAY) {
    return NoRoom{fmt::format("the index of its chunks is {}, which a killed run could damage",
                              index_of(index))};
  }
  // Encoded chunks are entered in the index when they have a place, by the process that commits the
  // step.
  if (H5Pget_nfilters(creation.id()) > 0) {
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    const int dimensions = H5Pget_chunk(creation.id(), H5S_MAX_RANK, chunk.data());
    if (dimensions > 0 && chunk.front() == 1) return std::nullopt;
    // The library writes a rewritten chunk where it was, or where another chunk was.
    return NoRoom{
        fmt::format("its compressed chunks hold {} steps each, so steps that have ended would be "
                    "rewritten with each new step",
                    std::uint64_t{chunk.front()}),
        options_for_one_step({chunk.begin(), chunk.begin() + std::max(0, dimensions)}, name)};
  }
  H5D_alloc_time_t allocated = H5D_ALLOC_TIME_ERROR;
  H5D_fill_time_t filled = H5D_FILL_TIME_ERROR;
  if (H5Pget_alloc_time(creation.id(), &allocated) < 0 || allocated != H5D_ALLOC_TIME_EARLY ||
      H5Pget_fill_time(creation.id(), &filled) < 0 || filled != H5D_FILL_TIME_NEVER) {
    return NoRoom{"its chunks have no filter, and only HDF5's library can allocate them"};
  }
  return std::nullopt;
}

Result<std::vector<Growing>> find_growing(hid_t file, const Hdf5Objects& objects,
                                          const std::string& path) {
  std::vector<Growing> all;
  for (const std::string& name : objects.datasets) {
    const Hdf5Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
    auto one = growing(dataset.id(), name);
    if (!one) continue;
    // A dimension without data has no chunks.
    if (is_hdf5_dimension_only(dataset.id())) {
      all.push_back(*std::move(one));
      continue;
    }
    if (const auto no_room = cannot_grow_safely(dataset.id(), name)) {
      return Error(ErrorCode::unsupported,
                   fmt::format("steps cannot be added to \"{}\": {}; weir convert{} writes a file "
                               "to which steps can be added",
                               printable(name), no_room->reason, printable(no_room->options)),
                   path);
    }
    all.push_back(*std::move(one));
  }
  if (all.empty()) return invalid_argument("no array of this file has steps", path);
  return all;
}

// Returns whether a dataset has chunks whose index cannot be read.
bool has_damaged_index(hid_t dataset) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  if (H5Pget_layout(creation.id()) != H5D_CHUNKED) return false;
  hsize_t all = 0;
  const Hdf5Handle space(H5Dget_space(dataset));
  return H5Sget_simple_extent_npoints(space.id()) > 0 &&
         H5Dget_num_chunks(dataset, space.id(), &all) < 0;
}

// Returns how many chunks of an array that grows lie behind its last step; nothing if there are
// none.
std::optional<std::uint64_t> chunks_behind_extent(hid_t dataset) {
  const auto one = growing(dataset, "");
  if (!one || is_hdf5_dimension_only(dataset) || cannot_grow_safely(dataset, "")) {
    return std::nullopt;
  }
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  std::vector<hsize_t> chunk(one->sizes.size());
  const auto dimensions = static_cast<int>(chunk.size());
  if (H5Pget_chunk(creation.id(), dimensions, chunk.data()) != dimensions) return std::nullopt;
  hsize_t inside = 1;
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    if (chunk[d] == 0) return std::nullopt;
    inside *= one->sizes[d] / chunk[d] + (one->sizes[d] % chunk[d] == 0 ? 0 : 1);
  }
  hsize_t all = 0;
  const Hdf5Handle space(H5Dget_space(dataset));  // HDF5 1.10 does not take H5S_ALL
  if (H5Dget_num_chunks(dataset, space.id(), &all) < 0 || all <= inside) return std::nullopt;
  return all - inside;
}

// Returns how many more steps fit into the last chunks of an array that grows.
hsize_t steps_left_in_chunk(hid_t dataset) {
  const auto one = growing(dataset, "");
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  if (!one || H5Pget_layout(creation.id()) != H5D_CHUNKED) return 0;
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  if (H5Pget_chunk(creation.id(), H5S_MAX_RANK, chunk.data()) <= 0 || chunk.front() == 0) return 0;
  const hsize_t in_last = one->sizes.front() % chunk.front();
  return in_last == 0 ? 0 : chunk.front() - in_last;
}

// Returns whether the index has encoded chunks of steps from `steps` on, which the array did not
// have before. A killed commit entered such chunks.
Result<bool> has_chunks_from(hid_t dataset, hsize_t steps, Hdf5Writing& writing) {
  const auto now = growing(dataset, "");
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  if (!now || H5Pget_nfilters(creation.id()) <= 0) return false;
  const auto dimensions = static_cast<int>(now->sizes.size());
  std::vector<hsize_t> chunk(now->sizes.size());
  if (H5Pget_chunk(creation.id(), dimensions, chunk.data()) != dimensions) return false;
  array::Indices extents;
  array::Indices stored;
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    extents.push_back(static_cast<std::int64_t>(now->sizes[d]));
    stored.push_back(static_cast<std::int64_t>(chunk[d]));
  }
  const auto shape = array::Shape::create(extents);
  if (!shape) return shape.error();
  const auto grid = array::ChunkGrid::create(shape.value(), stored);
  if (!grid) return grid.error();
  bool found = false;
  const Hdf5ChunkIndex index(writing, dataset, grid.value(), stored);
  const auto stop_there = [&](const Hdf5ChunkIndex::Found&) -> RefusalReason {
    found = true;
    return "one is enough";
  };
  const std::int64_t chunks = grid.value().chunks();
  for (std::int64_t at = chunks_of_steps(grid.value(), static_cast<std::int64_t>(steps));
       at < chunks && !found; at += Hdf5ChunkIndex::most_looked_up) {
    const std::int64_t end = std::min(chunks, at + Hdf5ChunkIndex::most_looked_up);
    const RefusalReason reason = index.for_each_in_file(at, end, stop_there);
    if (reason && !found) return invalid_argument(*reason);
  }
  return found;
}

enum class Leftovers : std::uint8_t { there_are_none, may_be_there };

// Gives an array more steps. An array that a killed run left a step ahead keeps that step. Chunks
// that it left behind the array's steps would appear in the next step where nothing is written, so
// they are removed from the index, which the library does when an array gets shorter. Returns
// whether there were any.
Result<bool> extend(hid_t file, const Growing& one, hsize_t steps, Hdf5Writing& writing,
                    const std::string& path, Leftovers leftovers) {
  if (one.sizes.front() >= steps) return false;
  std::vector<hsize_t> longer = one.sizes;
  longer.front() = steps;
  const Hdf5Handle dataset(H5Dopen2(file, one.name.c_str(), H5P_DEFAULT));
  bool done = H5Dset_extent(dataset.id(), longer.data()) >= 0;
  Result<bool> left = false;
  if (done && leftovers == Leftovers::may_be_there) {
    left = has_chunks_from(dataset.id(), one.sizes.front(), writing);
    if (!left) return invalid_argument(left.error().message, path);
  }
  if (left.value()) {
    done = H5Dset_extent(dataset.id(), one.sizes.data()) >= 0 &&
           H5Dset_extent(dataset.id(), longer.data()) >= 0;
  }
  if (done) return left;
  return hdf5_failure("make room for steps in \"" + one.name + '"', path, ErrorCode::io);
}

struct Extended {
  std::map<std::string, std::int64_t> steps_before;  // by the names of the arrays that grow
  bool had_leftovers = false;
};

// Gives all arrays that grow this number of steps.
Result<Extended> extend_listed(hid_t file, Hdf5Writing& writing, const Hdf5Objects& objects,
                               const std::string& path, std::int64_t steps, Leftovers leftovers) {
  writing.set_alignment(kept_hdf5_alignment(file));
  if (about_hdf5_file(file, path, writing.end(), writing).user_block > 0) {
    return invalid_argument(
        "the file begins with a user block, so steps cannot be added; weir convert writes a file "
        "to which steps can be added",
        path);
  }
  const auto all = find_growing(file, objects, path);
  if (!all) return all.error();
  const auto least = std::min_element(
      all.value().begin(), all.value().end(),
      [](const Growing& a, const Growing& b) { return a.sizes.front() < b.sizes.front(); });
  if (static_cast<hsize_t>(steps) < least->sizes.front()) {
    return invalid_argument(
        fmt::format("steps is {}, but \"{}\" has {} steps", steps, printable(least->name),
                    std::uint64_t{least->sizes.front()}),
        path);
  }
  Extended extended;
  for (const Growing& one : all.value()) {
    extended.steps_before.emplace(one.name, static_cast<std::int64_t>(one.sizes.front()));
    const auto had = extend(file, one, static_cast<hsize_t>(steps), writing, path, leftovers);
    if (!had) return had.error();
    extended.had_leftovers = extended.had_leftovers || had.value();
  }
  return extended;
}

// Clears what a killed run wrote of later steps into chunks that hold committed steps.
Status clear_last_chunks(const FileMap& map, const std::map<std::string, std::int64_t>& steps) {
  DataFileCache files(DataFileCache::Use::writing);
  for (const StoredArray& one : map.arrays) {
    const auto before = steps.find(one.description.name);
    const ChunkExtents* const chunks = one.map.chunks();
    if (before == steps.end() || chunks == nullptr || !chunks->stored_extents) continue;
    const auto end = checked_round_up(before->second, (*chunks->stored_extents)[0]);
    const std::int64_t last = std::min(end.value_or(INT64_MAX), one.map.shape.extent(0));
    if (last <= before->second) continue;
    array::Box behind = one.map.shape.box();
    behind.lower[0] = before->second;
    behind.extent[0] = last - before->second;
    array::ChunksMeeting meeting(chunks->grid, array::Region(array::Section::of(behind)));
    for (std::int64_t chunk = 0; meeting.next(chunk);) {
      if (!chunks->place_of(chunk)) continue;  // it has the fill value anyway
      const array::Box part = array::intersect(chunks->grid.box(chunk), behind);
      Status cleared = write_fill(one, array::Section::of(part), files);
      if (!cleared.ok()) return cleared;
    }
  }
  return {};
}

}  // namespace

std::int64_t kept_hdf5_alignment(hid_t file) {
  std::int64_t alignment = 0;
  const Hdf5Handle root(H5Oopen(file, "/", H5P_DEFAULT));
  if (H5Aexists(root.id(), hdf5_alignment_attribute) <= 0) return alignment;
  const Hdf5Handle attribute(H5Aopen(root.id(), hdf5_alignment_attribute, H5P_DEFAULT));
  const Hdf5Handle space(H5Aget_space(attribute.id()));
  if (H5Sget_simple_extent_npoints(space.id()) != 1 ||
      H5Aread(attribute.id(), H5T_NATIVE_INT64, &alignment) < 0) {
    return 0;
  }
  return std::max<std::int64_t>(0, alignment);
}

Status set_hdf5_length(const std::string& path, std::int64_t committed, std::int64_t bytes) {
  auto file = File::open(path, {.read = true, .write = true});
  if (!file) return file.error();
  Status sized = file.value().set_length(committed);
  if (sized.ok()) sized = file.value().set_length(bytes);
  if (!sized.ok()) return sized;
  return file.value().close();
}

Result<Room> add_hdf5_steps(const std::string& path, std::int64_t steps, Hdf5Known known) {
  if (steps < 0) return invalid_argument(fmt::format("steps is {}: give 0 or more", steps));
  // Here the library opens the file by its own driver, which a signal may interrupt.
  const htri_t is_hdf5 = uninterrupted([&] {
    errno = 0;
    return H5Fis_hdf5(path.c_str());
  });
  if (is_hdf5 <= 0) {
    if (const auto readable = File::open(path, {}); !readable) return readable.error();
    return hdf5_failure("open the file", path, ErrorCode::corrupt);
  }
  Hdf5Writing writing(Hdf5Writing::Writes::are_caught, 1);
  const Hdf5Handle access = writing.access();
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id()));
  if (!file.ok()) return writing.failure("open the file", path, ErrorCode::io);
  const std::int64_t committed = writing.end();
  const auto objects = list_hdf5_objects(file.id(), path);
  if (!objects) return objects.error();
  // The last change of a commit cuts the file at its end.
  const auto leftovers =
      writing.length() == committed ? Leftovers::there_are_none : Leftovers::may_be_there;
  auto extended = extend_listed(file.id(), writing, objects.value(), path, steps, leftovers);
  if (!extended) return extended.error();
  Hdf5File about = about_hdf5_file(file.id(), path, writing.end(), writing);
  const std::map<std::string, std::int64_t> steps_before = extended.value().steps_before;
  about.steps_before = std::move(extended.value().steps_before);
  about.known = std::move(known);
  Room room;
  room.has_leftovers = extended.value().had_leftovers;
  room.map = read_hdf5_objects(file.id(), objects.value(), about);
  if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::io);
  if (writing.end() > INT64_MAX - hdf5_marker_bytes) {
    return invalid_argument(fmt::format("{} steps end beyond 2^63 bytes", steps), path);
  }
  auto changes = hdf5_header_changes(writing.caught(), path, committed);
  if (!changes) return changes.error();
  room.update.made.emplace_back("");
  room.update.changes = std::move(changes).value();
  room.update.changes.emplace_back(FileEnd{writing.end()});
  room.free_from = writing.end();
  const std::int64_t longer = writing.end() + hdf5_marker_bytes;
  if (Status set = set_hdf5_length(path, committed, longer); !set.ok()) return set.error();
  if (leftovers == Leftovers::may_be_there) {
    Status cleared = clear_last_chunks(room.map, steps_before);
    if (!cleared.ok()) return cleared.error();
  }
  return room;
}

Result<HeaderUpdate> drop_hdf5_steps(const std::string& path, std::int64_t steps,
                                     std::int64_t before) {
  Hdf5Writing writing(Hdf5Writing::Writes::are_caught, 1);
  const Hdf5Handle access = writing.access();
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id()));
  if (!file.ok()) return hdf5_failure("open the file", path, ErrorCode::io);
  const std::int64_t committed = writing.end();
  const auto objects = list_hdf5_objects(file.id(), path);
  if (!objects) return objects.error();
  const auto all = find_growing(file.id(), objects.value(), path);
  if (!all) return all.error();
  for (const Growing& one : all.value()) {
    const Hdf5Handle dataset(H5Dopen2(file.id(), one.name.c_str(), H5P_DEFAULT));
    std::vector<hsize_t> sizes = one.sizes;
    bool done = true;
    if (sizes.front() < static_cast<hsize_t>(before)) {
      // A drop that was killed made the array shorter, and may have left chunks in its index. The
      // library removes them only when it makes the array shorter itself.
      sizes.front() = static_cast<hsize_t>(before);
      done = H5Dset_extent(dataset.id(), sizes.data()) >= 0;
    }
    sizes.front() = static_cast<hsize_t>(steps);
    if (!done || H5Dset_extent(dataset.id(), sizes.data()) < 0) {
      return hdf5_failure("drop steps of \"" + one.name + '"', path, ErrorCode::io);
    }
  }
  if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::io);
  auto changes = hdf5_header_changes(writing.caught(), path, committed, Hdf5Commit::of_fewer_steps);
  if (!changes) return changes.error();
  // A file that is shorter than its superblock says cannot be opened.
  changes.value().emplace_back(DurabilityPoint{});
  changes.value().emplace_back(FileEnd{.bytes = writing.end(), .drops_steps = true});
  return HeaderUpdate{.made = {}, .changes = std::move(changes).value()};
}

Status clear_unfinished_hdf5_steps(const std::string& path, std::int64_t steps) {
  Hdf5Writing writing(Hdf5Writing::Writes::are_caught, 1);
  const Hdf5Handle access = writing.access();
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()));
  if (!file.ok()) return hdf5_failure("open the file", path, ErrorCode::corrupt);
  const std::int64_t committed = writing.end();
  const std::int64_t length = writing.length();
  const auto objects = list_hdf5_objects(file.id(), path);
  if (!objects) return objects.error();
  bool has_chunks_behind = false;
  hsize_t in_last_chunks = 0;
  for (const std::string& name : objects.value().datasets) {
    const Hdf5Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT));
    has_chunks_behind = has_chunks_behind || chunks_behind_extent(dataset.id()).value_or(0) > 0;
    in_last_chunks = std::max(in_last_chunks, steps_left_in_chunk(dataset.id()));
  }
  if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::corrupt);
  if (in_last_chunks > 0) {
    // Making room for the steps of these chunks clears them; the room is not committed.
    Status marked = set_hdf5_length(path, committed, committed + hdf5_marker_bytes);
    if (!marked.ok()) return marked;
    const auto room = add_hdf5_steps(path, steps + static_cast<std::int64_t>(in_last_chunks), {});
    if (!room) return room.error();
  }
  const std::int64_t end = has_chunks_behind ? committed + hdf5_marker_bytes : committed;
  if (in_last_chunks == 0 && length == end) return {};
  return set_hdf5_length(path, committed, end);
}

Result<std::vector<std::string>> unfinished_hdf5_steps(const std::string& path) {
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0) return system_failure("stat", path, -1, errno);
  Hdf5Writing writing(Hdf5Writing::Writes::are_caught, 1);
  const Hdf5Handle access = writing.access();
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()));
  if (!file.ok()) return writing.failure("open the file", path, ErrorCode::corrupt);
  std::vector<std::string> lines;
  if (information.st_size > writing.end()) {
    lines.push_back(fmt::format("{} bytes after the end of the file: a commit that did not finish",
                                information.st_size - writing.end()));
  }
  const auto objects = list_hdf5_objects(file.id(), path);
  if (!objects) return objects.error();
  for (const std::string& name : objects.value().datasets) {
    const Hdf5Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT));
    if (dataset.ok() && has_damaged_index(dataset.id())) {
      lines.push_back(
          fmt::format("array {}: the index of its chunks cannot be read", printable(name)));
      continue;
    }
    if (const auto chunks = chunks_behind_extent(dataset.id())) {
      lines.push_back(
          fmt::format("{} chunks after the steps of array \"{}\": a commit that did not finish",
                      *chunks, printable(name)));
    }
  }
  if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::corrupt);
  return lines;
}

Status extend_hdf5_arrays(hid_t file, Hdf5Writing& writing, const std::string& path,
                          std::int64_t steps, const Room& room) {
  const auto objects = list_hdf5_objects(file, path);
  if (!objects) return objects.error();
  const auto leftovers = room.has_leftovers ? Leftovers::may_be_there : Leftovers::there_are_none;
  const auto extended = extend_listed(file, writing, objects.value(), path, steps, leftovers);
  return extended ? Status() : extended.error();
}

Status keep_hdf5_alignment(hid_t file, std::int64_t alignment, const std::string& path) {
  if (alignment == 0) return {};
  const Hdf5Handle root(H5Oopen(file, "/", H5P_DEFAULT));
  return write_hdf5_attributes(
      root.id(), {{hdf5_alignment_attribute, std::vector<std::int64_t>{alignment}}}, path);
}

}  // namespace weir::storage
