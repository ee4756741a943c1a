#include "formats/hdf5/enter_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "formats/hdf5/add_steps.hpp"
#include "formats/hdf5/chunk_index.hpp"
#include "formats/hdf5/header_changes.hpp"
#include "formats/hdf5/library.hpp"
#include "formats/hdf5/write_driver.hpp"
#include "system/file.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

std::int64_t end_of(std::span<const WrittenChunk> chunks) {
  std::int64_t end = 0;
  for (const WrittenChunk& one : chunks) end = std::max(end, one.place.offset + one.place.bytes);
  return end;
}

class Entering {
 public:
  Entering(hid_t file, Hdf5Writing& writing, const std::string& path, const FileMap& map)
      : file_(file), writing_(writing), path_(path), map_(map) {}

  Status enter(const WrittenChunk& one) {
    const StoredArray& array = map_.arrays[static_cast<std::size_t>(one.array)];
    if (!open(one)) return failed(array, one.chunk);
    const EncodedChunks& chunks = *array.map.encoded();
    const array::Indices coordinates = chunks.grid.coordinates(one.chunk);
    std::array<hsize_t, array::max_dimensions> corner{};
    for (int d = 0; d < coordinates.size(); ++d) {
      corner.at(static_cast<std::size_t>(d)) =
          static_cast<hsize_t>(coordinates[d]) * static_cast<hsize_t>(chunks.stored_extents[d]);
    }
    const auto bytes = static_cast<std::size_t>(one.place.bytes);
    const auto write = [&](const void* from) {
      return H5Dwrite_chunk(dataset_.id(), H5P_DEFAULT, one.place.skipped, corner.data(), bytes,
                            from) >= 0;
    };
    // The driver does not use this byte.
    const std::byte nothing{};
    writing_.give_data_place(one.place.offset);
    const bool written = write(&nothing);
    if (writing_.take_data_place() && written) return {};
    if (!written) return failed(array, one.chunk);
    elsewhere_.emplace(one.array, one.chunk);
    // The chunk was in the file before and stays where it was, or it replaces another chunk.
    std::vector<std::byte> moved(bytes);
    const auto file = File::open(path_, {});
    if (!file) return file.error();
    const Slice slice{moved.data(), one.place.bytes};
    std::int64_t count = 0;
    std::int64_t calls = 0;
    Status read = read_slices(file.value(), {&slice, 1}, one.place.offset, count, calls);
    if (!read.ok()) return read;
    return count == one.place.bytes && write(moved.data()) ? Status() : failed(array, one.chunk);
  }

  // Checks, after the last chunk, whether readers will find all chunks where their bytes are.
  Status check(std::span<const WrittenChunk> chunks) {
    // A dataset that is open remembers the last chunk that was entered, and HDF5 1.10.8 then gives
    // all bits set as the filter mask of a dataset's only chunk. A dataset that was opened again
    // has what the file has.
    dataset_ = {};
    number_ = -1;
    // If a chunk occurs several times, only the last one counts.
    std::vector<const WrittenChunk*> last;
    last.reserve(chunks.size());
    for (const WrittenChunk& one : chunks) last.push_back(&one);
    const auto number = [](const WrittenChunk* one) { return std::pair(one->array, one->chunk); };
    std::ranges::stable_sort(last, {}, number);
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (i + 1 < last.size() && number(last[i]) == number(last[i + 1])) continue;
      if (Status found = check(*last[i]); !found.ok()) return found;
    }
    return {};
  }

 private:
  // Opens the dataset of the chunk's array.
  bool open(const WrittenChunk& one) {
    if (one.array != number_) {
      const auto& description = map_.arrays[static_cast<std::size_t>(one.array)].description;
      dataset_ = Hdf5Handle(H5Dopen2(file_, description.name.c_str(), H5P_DEFAULT));
      number_ = one.array;
    }
    return dataset_.ok();
  }

  Status check(const WrittenChunk& one) {
    const StoredArray& array = map_.arrays[static_cast<std::size_t>(one.array)];
    if (!open(one)) return failed(array, one.chunk);
    const EncodedChunks& chunks = *array.map.encoded();
    Hdf5ChunkIndex::Found found{one.chunk};
    const Hdf5ChunkIndex index(writing_, dataset_.id(), chunks.grid, chunks.stored_extents);
    if (const RefusalReason reason = index.look_up(found)) return failed(array, one.chunk);
    const bool is_there = found.in_file() && std::cmp_equal(found.bytes, one.place.bytes) &&
                          found.mask == one.place.skipped;
    const bool is_in_place = std::cmp_equal(found.offset, one.place.offset) ||
                             elsewhere_.contains({one.array, one.chunk});
    if (is_there && is_in_place) return {};
    Error error;
    error.code = ErrorCode::corrupt;
    error.file = path_;
    error.message = fmt::format(
        "internal error: chunk {} of \"{}\" was stored ({} bytes at {}), but the index of its "
        "chunks {}, so the step is not committed; please report this line",
        one.chunk, array.description.name, one.place.bytes, one.place.offset,
        found.in_file() ? fmt::format("has {} bytes at {}", found.bytes, found.offset)
                        : "lacks it");
    return error;
  }

  [[nodiscard]] Status failed(const StoredArray& array, std::int64_t chunk) const {
    return hdf5_failure(fmt::format("enter chunk {} of \"{}\"", chunk, array.description.name),
                        path_, ErrorCode::io);
  }

  hid_t file_;
  Hdf5Writing& writing_;
  const std::string& path_;
  const FileMap& map_;
  Hdf5Handle dataset_;
  std::int64_t number_ = -1;
  // Chunks that are not where they were written: by array and chunk.
  std::set<std::pair<std::int64_t, std::int64_t>> elsewhere_;
};

// Makes a file at least as long as its header says.
Status lengthen(const std::string& path, std::int64_t bytes) {
  auto file = File::open(path, {.read = true, .write = true});
  if (!file) return file.error();
  if (Status longer = file.value().lengthen(bytes); !longer.ok()) return longer;
  return file.value().close();
}

}  // namespace

Result<HeaderUpdate> enter_hdf5_chunks(const std::string& path, const Room& room,
                                       std::int64_t steps, std::span<const WrittenChunk> chunks) {
  const bool unpublished =
      std::any_of(room.update.changes.begin(), room.update.changes.end(),
                  [](const HeaderChange& one) { return std::holds_alternative<Publication>(one); });
  const std::string place = unpublished ? incomplete_path(path) : committed_path(path);
  // A file without its final name may change at once, because no process reads it.
  Hdf5Writing writing(
      unpublished ? Hdf5Writing::Writes::reach_the_file : Hdf5Writing::Writes::are_caught, 1);
  const Hdf5Handle access = writing.access();
  Hdf5Handle file(H5Fopen(place.c_str(), H5F_ACC_RDWR, access.id()));
  if (!file.ok()) return writing.failure("open the file", place, ErrorCode::io);
  const std::int64_t committed = writing.end();
  if (!unpublished) {
    // Everything is then in the place that it had when room was made.
    Status extended = extend_hdf5_arrays(file.id(), writing, place, steps, room);
    if (!extended.ok()) return extended.error();
  }
  writing.set_end(std::max(writing.end(), end_of(chunks)));
  {
    Entering entering(file.id(), writing, place, room.map);
    for (const WrittenChunk& one : chunks) {
      if (Status entered = entering.enter(one); !entered.ok()) return entered.error();
    }
    if (Status found = entering.check(chunks); !found.ok()) return found.error();
  }
  if (!file.close()) return hdf5_failure("close the file", place, ErrorCode::io);
  if (writing.refused() != 0) return system_failure("write", place, -1, writing.refused());
  if (unpublished) return room.update;
  auto changes = hdf5_header_changes(writing.caught(), place, committed);
  if (!changes) return changes.error();
  changes.value().emplace_back(FileEnd{writing.end()});
  // One additional byte shows that the commit is not complete.
  if (Status longer = lengthen(place, writing.end() + 1); !longer.ok()) return longer.error();
  return HeaderUpdate{.made = {""}, .changes = std::move(changes).value()};
}

}  // namespace weir::storage
