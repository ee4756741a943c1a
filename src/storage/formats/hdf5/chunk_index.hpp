// The index by which the library finds the chunks of a dataset, asked in one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "array/chunk_grid.hpp"
#include "storage/formats/hdf5/library.hpp"
#include "storage/formats/hdf5/write_driver.hpp"

namespace weir::storage {

// Why an array is refused; nothing: it is not.
using RefusalReason = std::optional<std::string>;

class Hdf5ChunkIndex {
 public:
  // Looking up a chunk by its place in the grid takes about a microsecond, whether it is in the
  // file or not. So many are looked up, in less than half of the time that reading a header may
  // take (sandbox_process.hpp).
  static constexpr std::int64_t most_looked_up = std::int64_t{1} << 24;
  // A larger grid is read by asking for the first of the chunks that are in the file, the second
  // and so on, when these are not more. HDF5 before 1.14 counts from the first one for each, so the
  // time grows with the square of their number.
  static constexpr std::int64_t most_counted = 8192;

  // The index of a dataset that is open through the driver. The grid and the extents that chunks
  // are stored with outlive this.
  Hdf5ChunkIndex(Hdf5Writing& driver, hid_t dataset, const array::ChunkGrid& grid,
                 const array::Indices& stored)
      : driver_(driver), dataset_(dataset), grid_(grid), stored_(stored) {}

  struct Found {
    std::int64_t chunk = 0;
    haddr_t offset = HADDR_UNDEF;  // in the file; HADDR_UNDEF: it is not there
    hsize_t bytes = 0;
    std::uint32_t mask = 0;  // bit i: filter i was not applied

    [[nodiscard]] bool in_file() const { return offset != HADDR_UNDEF; }
  };

  // Finds out where found.chunk is.
  [[nodiscard]] RefusalReason look_up(Found& found) const;

  using Visit = std::function<RefusalReason(const Found&)>;
  // Visits the chunks from <= c < to that are in the file, in ascending order, until one is a
  // reason to refuse the array. Refuses grids and indices beyond the limits above. With `from`
  // above 0, the time does not depend on how many chunks there are before.
  [[nodiscard]] RefusalReason for_each_in_file(std::int64_t from, std::int64_t to,
                                               const Visit& visit) const;

 private:
  bool read_nothing(const hsize_t* corner, Found& found) const;
  [[nodiscard]] RefusalReason count_in_file(hsize_t& in_file) const;
  RefusalReason count_through(hsize_t in_file, std::vector<Found>& all) const;

  Hdf5Writing& driver_;
  hid_t dataset_;
  const array::ChunkGrid& grid_;
  const array::Indices& stored_;
};

}  // namespace weir::storage
