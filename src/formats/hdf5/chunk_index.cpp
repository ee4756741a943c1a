#include "formats/hdf5/chunk_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::storage {
namespace {

std::string unreadable_index() { return "the index of its chunks cannot be read"; }

// Finds the first failure in the error stack of a failed H5Dread_chunk(): see
// is_said_to_be_absent().
extern "C" herr_t weir_hdf5_first_error(unsigned number, const H5E_error2_t* error,
                                        void* argument) {
  if (number != 0) return 0;
  const std::string_view function = error->func_name == nullptr ? "" : error->func_name;
  const std::string_view text = error->desc == nullptr ? "" : error->desc;
  *static_cast<bool*>(argument) =
      function == "H5D__chunk_direct_read" &&
      (text == "chunk address isn't defined" || text == "storage is not initialized");
  return 0;
}

// Returns whether H5Dread_chunk() failed because the chunk is not in the file. It returns the same
// value if the index cannot be read, but then another, inner function failed first. The library's
// error stack has the function's name. (H5Dget_chunk_info_by_coord() distinguishes the two cases by
// its return value; but before HDF5 1.14 it iterates over all chunks for a chunk that is not
// there.)
bool is_said_to_be_absent() {
  bool absent = false;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, weir_hdf5_first_error, &absent);
  return absent;
}

}  // namespace

// Lets the library read the chunk, while the driver records its place and moves no bytes. Returns
// false for a chunk that is not in the file, and if reading fails.
bool Hdf5ChunkIndex::read_nothing(const hsize_t* corner, Found& found) const {
  std::uint32_t skipped = 0;
  std::byte nothing{};
  driver_.begin_lookup();
#if H5_VERSION_GE(2, 0, 0)
  std::size_t room = SIZE_MAX;  // there is no room, and none is used
  const bool read = H5Dread_chunk2(dataset_, H5P_DEFAULT, corner, &skipped, &nothing, &room) >= 0;
#else
  const bool read = H5Dread_chunk(dataset_, H5P_DEFAULT, corner, &skipped, &nothing) >= 0;
#endif
  const auto place = driver_.end_lookup();
  if (!read || !place) return false;
  found.offset = static_cast<haddr_t>(place->offset);
  found.bytes = static_cast<hsize_t>(place->bytes);
  found.mask = skipped;
  return true;
}

RefusalReason Hdf5ChunkIndex::look_up(Found& found) const {
  const array::Indices coordinates = grid_.coordinates(found.chunk);
  std::array<hsize_t, array::max_dimensions> element{};
  for (int d = 0; d < coordinates.size(); ++d) {
    const std::int64_t corner = coordinates[d] * stored_[d];
    element.at(static_cast<std::size_t>(d)) = static_cast<hsize_t>(corner);
  }
  if (read_nothing(element.data(), found) || is_said_to_be_absent()) return std::nullopt;
  // Neither found nor certainly absent: the index is damaged, or the library uses other words.
  unsigned mask = 0;
  if (H5Dget_chunk_info_by_coord(dataset_, element.data(), &mask, &found.offset, &found.bytes) <
      0) {
    return unreadable_index();
  }
  found.mask = mask;
  return std::nullopt;
}

RefusalReason Hdf5ChunkIndex::for_each_in_file(std::int64_t from, std::int64_t to,
                                               const Visit& visit) const {
  if (from >= to) return std::nullopt;
  const bool looks_up = to - from <= most_looked_up;
  // Counting iterates over the whole index. It saves looking up a grid that is mostly empty. It is
  // omitted for new steps, so that a step costs the same however many there are.
  std::optional<hsize_t> left;
  if (!looks_up || from == 0) {
    hsize_t in_file = 0;
    if (RefusalReason reason = count_in_file(in_file)) return reason;
    left = in_file;
  }
  if (!looks_up && *left > static_cast<hsize_t>(most_counted)) {
    return fmt::format(
        "{} of its {} chunks are in the file; a grid of more than {} chunks can be read only if at "
        "most {} are in the file",
        std::uint64_t{*left}, to - from, most_looked_up, most_counted);
  }
  if (!looks_up) {
    std::vector<Found> all;
    if (RefusalReason reason = count_through(*left, all)) return reason;
    for (const Found& found : all) {
      if (found.chunk < from || found.chunk >= to) continue;
      if (RefusalReason reason = visit(found)) return reason;
    }
    return std::nullopt;
  }
  for (std::int64_t chunk = from; chunk < to && left != 0; ++chunk) {
    Found found{chunk};
    if (RefusalReason reason = look_up(found)) return reason;
    if (!found.in_file()) continue;
    if (RefusalReason reason = visit(found)) return reason;
    if (left) --*left;
  }
  return std::nullopt;
}

RefusalReason Hdf5ChunkIndex::count_in_file(hsize_t& in_file) const {
  const Hdf5Handle space(H5Dget_space(dataset_));  // HDF5 1.10 does not take H5S_ALL
  if (H5Dget_num_chunks(dataset_, space.id(), &in_file) < 0) return unreadable_index();
  return std::nullopt;
}

// Returns all chunks of the index, in ascending order.
RefusalReason Hdf5ChunkIndex::count_through(hsize_t in_file, std::vector<Found>& all) const {
  const Hdf5Handle space(H5Dget_space(dataset_));
  for (hsize_t number = 0; number < in_file; ++number) {
    std::array<hsize_t, array::max_dimensions + 1> element{};
    Found found;
    unsigned mask = 0;
    if (H5Dget_chunk_info(dataset_, space.id(), number, element.data(), &mask, &found.offset,
                          &found.bytes) < 0) {
      return unreadable_index();
    }
    found.mask = mask;
    array::Indices coordinates(grid_.counts().size());
    bool in_grid = found.in_file();
    for (int d = 0; d < coordinates.size(); ++d) {
      const hsize_t at = element.at(static_cast<std::size_t>(d)) / static_cast<hsize_t>(stored_[d]);
      in_grid = in_grid && at < static_cast<hsize_t>(grid_.counts()[d]);
      if (in_grid) coordinates[d] = static_cast<std::int64_t>(at);
    }
    if (!in_grid) continue;  // a killed run left it behind the array's extents
    found.chunk = grid_.number(coordinates);
    all.push_back(found);
  }
  std::sort(all.begin(), all.end(),
            [](const Found& a, const Found& b) { return a.chunk < b.chunk; });
  return std::nullopt;
}

}  // namespace weir::storage
