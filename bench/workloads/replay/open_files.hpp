// The files that a rank has open while it replays, and the order of the calls that it makes
// together with the other ranks of its copy of the program.
//
// A file is open together if all ranks of the program opened it in one call, and each rank replays
// one of them. Collective calls on it, making it durable and closing it are collective then. All
// other calls go through an opening of the rank's own, since a view that one rank sets for a call
// must not concern the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "interfaces/interface.hpp"
#include "workloads/replay/record.hpp"

namespace weir::bench::replay {

struct OpenFile {
  std::unique_ptr<File> together;  // null unless it is open together
  std::unique_ptr<File> own;       // of a file that is open together: null before it is needed
  bool is_together = false;
  bool writes = false;
  bool written = false;  // since it was opened
};

class OpenFiles {
 public:
  OpenFile& add(std::int64_t file, OpenFile opened) {
    return files_[file].emplace_back(std::move(opened));
  }
  // Returns the latest opening with which the file can be written, or read; null if there is none.
  [[nodiscard]] OpenFile* find(std::int64_t file, bool write);
  // Returns the latest such opening of all ranks together.
  [[nodiscard]] OpenFile* find_together(std::int64_t file, bool write);
  // Returns the latest opening, which a call that closes the file ends.
  [[nodiscard]] OpenFile* last(std::int64_t file);
  void remove_last(std::int64_t file) { files_[file].pop_back(); }
  // Returns a file that is open, with the least number; -1 if there is none.
  [[nodiscard]] std::int64_t any_open() const;

 private:
  std::map<std::int64_t, std::vector<OpenFile>> files_;
};

// Returns a number that is equal for ranks which make the same calls together in the same order:
// the others would wait for each other for ever.
[[nodiscard]] std::uint64_t order_together(const RankRecord& record);

}  // namespace weir::bench::replay
