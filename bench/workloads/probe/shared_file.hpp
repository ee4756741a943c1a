// A file that the ranks of a host write together, in rows assigned round-robin, like ranks that
// each write their own rows of an array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "measurement/failure.hpp"
#include "measurement/meeting.hpp"
#include "system/file.hpp"
#include "workloads/probe/cells.hpp"

namespace weir::bench::probe {

// The size fits into the buffers of every probe.
inline constexpr std::int64_t shared_file_bytes = 4 * MiB;

class SharedFile {
 public:
  SharedFile(FailureGuard& guard, std::string path) : guard_(guard), path_(std::move(path)) {}

  // Creates the file and writes it in one piece; called on one rank. Writing rows into a file that
  // was written in large pieces is the most expensive case (Linux keeps the file in large folios),
  // and a program that rewrites an array may encounter it.
  Status make(std::byte* image);
  // Opens the existing file.
  Status open();
  // Writes `count` rows with the same bytes, every `writers`-th row from `first` on. After the end
  // of the file it continues at its beginning.
  Status write_rows(std::int64_t count, int first, int writers, const std::byte* row, Times* times);
  Status sync();

 private:
  FailureGuard& guard_;
  std::string path_;
  std::optional<storage::File> file_;
};

}  // namespace weir::bench::probe
