// A file that the ranks of a host write together, in rows that take turns, as ranks do that write
// the rows of an array by themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "measurement/failure.hpp"
#include "measurement/meeting.hpp"
#include "storage/engines/file.hpp"
#include "workloads/probe/cells.hpp"

namespace weir::bench::probe {

// Fits into the buffers of every probe.
inline constexpr std::int64_t shared_file_bytes = 4 * MiB;

class SharedFile {
 public:
  SharedFile(FailureGuard& guard, std::string path) : guard_(guard), path_(std::move(path)) {}

  // Makes the file and writes it in one piece, for one rank: to write rows into a file that was
  // written in large pieces is what costs most (Linux keeps it in large folios), and what an array
  // that is written again may meet.
  Status make(std::byte* image);
  // Opens the file that is there.
  Status open();
  // Writes `count` rows, every `writers`-th from row `first` on, over and over the same bytes.
  // The file begins anew where it ends.
  Status write_rows(std::int64_t count, int first, int writers, const std::byte* row, Times* times);
  Status sync();

 private:
  FailureGuard& guard_;
  std::string path_;
  std::optional<storage::File> file_;
};

}  // namespace weir::bench::probe
