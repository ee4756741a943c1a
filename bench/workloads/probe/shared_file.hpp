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

class SharedFile {
 public:
  SharedFile(FailureGuard& guard, std::string path) : guard_(guard), path_(std::move(path)) {}

  // Opens the file, making it where it is not there yet.
  Status open();
  // Writes `count` rows, every `writers`-th from row `first` on, over and over the same bytes.
  Status write_rows(std::int64_t count, int first, int writers, const std::byte* row, Times* times);
  Status sync();

 private:
  FailureGuard& guard_;
  std::string path_;
  std::optional<storage::File> file_;
};

}  // namespace weir::bench::probe
