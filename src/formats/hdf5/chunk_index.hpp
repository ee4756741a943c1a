// Reads, in one pass, the index by which the library finds the chunks of a dataset.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "array/chunk_grid.hpp"
#include "formats/hdf5/library.hpp"
#include "formats/hdf5/write_driver.hpp"

namespace weir::storage {

// Says why an array is refused; nothing: it is accepted.
using RefusalReason = std::optional<std::string>;

class Hdf5ChunkIndex {
 public:
  // Largest number of chunks that are looked up by their places in the grid. Looking up a chunk
  // takes about a microsecond, whether it is in the file or not. This limit keeps it below half of
  // the time that reading a header may take (sandbox_process.hpp).
  static constexpr std::int64_t most_looked_up = std::int64_t{1} << 24;
  // A larger grid is read by asking for the first chunk that is in the file, the second and so on,
  // if there are at most this many. HDF5 before 1.14 counts from the first chunk for each of them,
  // so the time grows with the square of their number.
  static constexpr std::int64_t most_counted = 8192;

  // The index of a dataset that is open through the driver. `grid` and `stored`, the extents with
  // which chunks are stored, must outlive this object.
  Hdf5ChunkIndex(Hdf5Writing& driver, hid_t dataset, const array::ChunkGrid& grid,
                 const array::Indices& stored)
      : driver_(driver), dataset_(dataset), grid_(grid), stored_(stored) {}

  struct Found {
    std::int64_t chunk = 0;
    haddr_t offset = HADDR_UNDEF;  // offset in the file; HADDR_UNDEF: the chunk is not there
    hsize_t bytes = 0;
    std::uint32_t mask = 0;  // bit i: filter i was not applied

    [[nodiscard]] bool in_file() const { return offset != HADDR_UNDEF; }
  };

  // Finds the place of found.chunk.
  [[nodiscard]] RefusalReason look_up(Found& found) const;

  using Visit = std::function<RefusalReason(const Found&)>;
  // Visits the chunks from <= c < to that are in the file, in ascending order, until a visit
  // returns a reason to refuse the array. Refuses grids and indices beyond the limits above. With
  // `from` above 0, the time does not depend on the number of earlier chunks.
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
