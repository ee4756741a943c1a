// Checksums of a file with steps, stored next to it in PATH.sums (checksums/sums_file.hpp). Each
// rank computes checksums of what it writes. At the end of a step, rank 0 merges the checksums of
// all ranks, four bytes per MiB, and writes them before the commit. Blocks whose parts do not fit
// together, because they were written twice or in very many parts, are read again, each by one
// rank. Readers get all checksums when the file is opened.
//
// clang-format off
//   load ─► cut ─► collect ─► gather ─► enter ─► the commit ─► note_commit
//            ▲                                                     │
//            └──────────────────────── next step ◄─────────────────┘
// clang-format on
//
// A frame that was entered for a step that is not committed, because the run was killed or the
// commit failed, is cut off before the next one is entered. Whether there may be one is known
// without reading PATH.sums if it is as note_commit() left it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "checksums/block_sums.hpp"
#include "checksums/file_state.hpp"
#include "checksums/sum_book.hpp"
#include "common/status.hpp"
#include "stored/file_map.hpp"

namespace weir::aggregation {

class StepSums {
 public:
  using Runs = std::vector<storage::NamedRun>;

  // `path` is the file's path after its first step, and `ranks` their number in the session.
  StepSums(std::string path, const FileSettings& settings, bool writable, int ranks);

  // Returns whether further steps get checksums; the result is equal on all ranks.
  [[nodiscard]] bool are_kept() const { return are_kept_; }

  // Collective. Begins to verify what is read, by `text`: the content of PATH.sums, as rank 0 read
  // it, which may be empty. `map` has the arrays in their order and must outlive them.
  Status load(CollectiveState& state, std::string text, std::int64_t steps,
              const storage::FileMap& map, OpenArrays arrays);
  // Starts or stops the collection of checksums of what this rank writes to an array.
  void collect(OpenArray& array, bool is_written) const;
  // Collective. Adds to `runs`, on rank 0, the checksums of what all ranks wrote in the step, if
  // any are kept. The file is still under its unfinished name if it is not published; a stager may
  // have what was written.
  Status gather(CollectiveState& state, const storage::FileMap& map, OpenArrays arrays,
                bool is_published, bool is_staged, Runs& runs) const;

  // The following functions are called by rank 0.

  // Called before a step is begun in a file of `steps` steps: removes what a killed run left of a
  // step that was not committed. If PATH.sums cannot be extended, no more frames are entered.
  Status cut(std::int64_t steps);
  // Called before the commit that gives the file `steps` steps. Without checksums, the old ones of
  // a file that gets its name by the commit are removed.
  Status enter(std::int64_t steps, const Runs& runs, bool is_published);
  // Called after the commit by this process; the file was published before it or not.
  void note_commit(bool was_published);
  // Called after the commit by a stager, which has named the checksums.
  void note_stored();
  // Called when others may have changed PATH.sums: the next cut() reads it.
  void forget() { as_ = std::nullopt; }

 private:
  [[nodiscard]] bool are_wanted() const {
    return settings_.checksum && *settings_.checksum != storage::Checksum::none;
  }
  [[nodiscard]] bool may_be_rewritten(const OpenArray& array) const {
    return settings_.rewrite && !array.origin().grows;
  }
  [[nodiscard]] Status forget_rewritten(storage::SumBook book, std::int64_t steps,
                                        OpenArrays arrays) const;
  Status sum_again(CollectiveState& state, OpenArrays arrays, bool is_published, bool is_staged,
                   std::vector<std::int64_t> blocks, std::vector<std::int64_t>& numbers) const;
  void name_runs(const std::map<std::int64_t, storage::BlockSums>& sums,
                 const storage::FileMap& map, bool is_published, Runs& named) const;

  std::string path_;
  FileSettings settings_;
  bool writable_;
  std::int64_t most_loose_;  // parts of blocks that this rank keeps
  bool are_kept_;
  bool can_be_extended_ = true;  // on rank 0
  // The state of PATH.sums, on rank 0, when its frames were last known to be those of the committed
  // steps.
  std::optional<storage::FileState> as_;
};

}  // namespace weir::aggregation
