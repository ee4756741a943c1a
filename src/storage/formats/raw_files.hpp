// The files of a raw array: made by one rank, opened by each process on its first transfer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "common/status.hpp"
#include "storage/engines/cold_reading.hpp"
#include "storage/engines/engine.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/slices.hpp"
#include "storage/formats/raw_array.hpp"

namespace weir::storage {

// Makes the data files, empty and then of their full size (without taking up space), and the
// document, last: an array whose document is there has its files. The directories are there
// already. For one rank.
Status create_raw_files(const RawArray& array, const std::string& path);
// Reads the document and compares the sizes of the last file and of one in each directory with it.
// For one rank.
Result<RawArray> open_raw_files(const std::string& path);

class RawFiles {
 public:
  RawFiles(RawArray array, std::string path, bool writable);

  [[nodiscard]] const RawArray& array() const { return array_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool writable() const { return writable_; }

  // Where a chunk begins.
  struct Place {
    std::int64_t file = 0;
    std::int64_t offset = 0;
  };
  [[nodiscard]] Place place_of_chunk(std::int64_t chunk) const;

  // Moves a contiguous range of a file, opening it when this is its first transfer.
  Status write(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
               FileTraffic& traffic);
  // Fails with short_transfer where the file ends early.
  Status read(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
              FileTraffic& traffic);

  // Whether pages of the file, or of any, were lately found not to be in memory when it was read.
  [[nodiscard]] bool cold(std::int64_t file) const;
  [[nodiscard]] bool cold() const;

  // Makes what this process wrote durable.
  Status sync();
  // Closes all files; the first error.
  Status close();
  [[nodiscard]] std::int64_t open_files() const { return static_cast<std::int64_t>(open_.size()); }

 private:
  struct Open {
    File file;
    ColdReading reading;
  };
  Result<Open*> opened(std::int64_t number);

  RawArray array_;
  std::string path_;
  bool writable_;
  std::int64_t slot_bytes_ = 0;
  std::map<std::int64_t, Open> open_;
  std::set<std::int64_t> written_;  // since the last sync
};

}  // namespace weir::storage
