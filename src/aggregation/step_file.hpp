// A file of a standard format with its arrays and steps, as a Collective has it open.
//
//   create ─► in a step ─► end_step ─► between steps ─► begin_step ─► in a step ─► …
//                 │           │                            ▲
//                 └── fails ──┴──► between steps, nothing committed
//                 └── abort_step ──► between steps, nothing committed and nothing left in the file;
//                                    a file in its first step is gone
//
// Rank 0 alone calls the format: it lays the file out, makes room for a step, and commits it when
// the bytes of all ranks are written (and durable, where that is asked for). What the others need,
// where the arrays' bytes live, it tells them as a value. No rank opens a file before it moves
// bytes, so only aggregators do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/layout_broadcast.hpp"
#include "storage/formats/file_version.hpp"
#include "storage/formats/format.hpp"
#include "storage/formats/writer_lock.hpp"
#include "storage/sums/block_sums.hpp"
#include "storage/sums/file_state.hpp"
#include "storage/sums/sum_book.hpp"

namespace weir::aggregation {

// The table of an array's encoded chunks; null where they are files of their own or in shards, or
// there are none.
[[nodiscard]] storage::EncodedTable* chunk_table_of(storage::ExtentMap& map);

// Parts of blocks that a rank keeps to put them together with those of others, besides one for each
// block (storage/sums/block_sums.hpp).
[[nodiscard]] std::int64_t loose_parts_of_each(int ranks);

// Lives no longer than its Collective, and its arrays no longer than itself.
class StepFile {
 public:
  // Collective, and so are all below that take the state. The file is in its first step.
  static Result<std::unique_ptr<StepFile>> create(CollectiveState& state, const std::string& path,
                                                  const storage::FileDescription& description,
                                                  const FileSettings& settings, const Asked* asked);
  // The format is what the file's content says; settings.format has no meaning.
  static Result<std::unique_ptr<StepFile>> open(CollectiveState& state, const std::string& path,
                                                const FileSettings& settings, bool writable,
                                                const Asked* asked);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& format() const { return format_; }
  [[nodiscard]] bool writable() const { return writable_; }
  // Descriptions, attributes, and what cannot be read; in the order of array().
  [[nodiscard]] const storage::FileMap& map() const { return map_; }
  [[nodiscard]] std::int64_t arrays() const { return static_cast<std::int64_t>(arrays_.size()); }
  [[nodiscard]] OpenArray& array(std::int64_t number) {
    return *arrays_[static_cast<std::size_t>(number)];
  }
  // Committed ones; of a file in which nothing grows 1, or 0 before its first step has ended.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] bool in_step() const { return in_step_; }
  // Whether readers see it: its first step has ended, or it was opened.
  [[nodiscard]] bool is_published() const { return published_; }
  // The numbers of the arrays that no rank wrote in the last step that ended, in their order; none
  // once another one has begun. The same on all ranks.
  [[nodiscard]] const std::vector<std::int64_t>& unwritten() const { return unwritten_; }
  // Selects the step that requests move of arrays that grow, between steps: at first it is the
  // last. The call is local, but all ranks must have selected the same step when a request begins.
  Status select_step(std::int64_t step);

  Status begin_step(CollectiveState& state, const Asked* asked);
  Status end_step(CollectiveState& state);
  Status abort_step(CollectiveState& state);
  Status drop_steps(CollectiveState& state, std::int64_t steps);
  Status extend(CollectiveState& state, const storage::Additions& added, const Asked* asked);
  Status close(CollectiveState& state);

 private:
  StepFile(std::string path, std::string format, const FileSettings& settings, bool writable)
      : path_(std::move(path)),
        format_(std::move(format)),
        settings_(settings),
        writable_(writable) {}

  [[nodiscard]] CallFingerprint fingerprint(const char* call) const;
  void open_arrays(CollectiveState& state, const topology::FileTargets& targets);
  // The array of map_ that has none open yet.
  void open_array(CollectiveState& state, const topology::FileTargets& targets);
  [[nodiscard]] Status may_be_extended() const;
  Result<LayoutBroadcast> added_layout(CollectiveState& state, const storage::Additions& added);
  Status take_added(CollectiveState& state, const storage::Additions& added, LayoutBroadcast told);
  // Whether a step that begins may write the array.
  [[nodiscard]] bool is_of_step(const OpenArray& array) const {
    return array.origin().grows || !published_ || added_.contains(array.number());
  }
  [[nodiscard]] Result<ArrayChanges> changes_to(const storage::FileMap& map,
                                                std::int64_t kept) const;
  void take_changes(const ArrayChanges& changes);
  void lengthen_arrays(std::int64_t steps);
  // Arrays that do not grow belong to the first step: changing them later would change steps that
  // are committed.
  void refuse_writing_between_steps();
  [[nodiscard]] Status can_be_tried_again() const;
  [[nodiscard]] Status begin_writing(CollectiveState& state);
  [[nodiscard]] Status check_is_unchanged() const;
  void note_version();
  Result<StepPlaces> room_for_step(CollectiveState& state);
  void enter_step(std::int64_t step);
  void find_kinds(CollectiveState& state);
  void leave_step(bool is_committed);
  [[nodiscard]] Status clear_step();
  void select_last_step();
  [[nodiscard]] Status may_keep(std::int64_t steps) const;
  Result<StepPlaces> without_later_steps(CollectiveState& state, std::int64_t steps);
  [[nodiscard]] Status written_durably(const storage::SyncedHere& synced_here);
  [[nodiscard]] Status close_files();
  // Encoded chunks (step_file_chunks.cpp): six numbers for each that was written in a step, and
  // until the commit, which compares them, six with the totals of each rank.
  using WrittenChunks = std::vector<std::int64_t>;
  Status give_places(CollectiveState& state);
  // Takes the chunks that this rank wrote.
  [[nodiscard]] Status take_own_chunks(WrittenChunks& mine);
  // This rank's become those of all ranks, on rank 0.
  Status gather_chunks(CollectiveState& state, WrittenChunks& chunks);
  [[nodiscard]] Status commit(const CollectiveState& state, WrittenChunks& chunks);
  Status take_chunks(CollectiveState& state, WrittenChunks& chunks);
  // Collective. Moves the places of chunks that all ranks know into memory that the ranks of each
  // node share, once they are many.
  Status share_places(CollectiveState& state);
  // Collective (step_file_fill.cpp). Arrays whose fill value is not zeros get it in the step that
  // has begun; on failure the step has not.
  Status write_fills(CollectiveState& state);
  [[nodiscard]] Status write_own_fills(const CollectiveState& state) const;
  [[nodiscard]] storage::DataFileCache::Closing closing() const;
  // Checksums of arrays (step_file_sums.cpp).
  using SummedArrays = std::vector<storage::NamedRun>;
  // `text`: of the file of checksums, as rank 0 read it.
  Status load_sums(CollectiveState& state, std::string text);
  [[nodiscard]] bool may_be_rewritten(const OpenArray& array) const;
  [[nodiscard]] Status forget_rewritten(storage::SumBook book) const;
  void collect_sums(bool in_step);
  Status gather_sums(CollectiveState& state, SummedArrays& sums);
  Status sum_again(CollectiveState& state, std::vector<std::int64_t> blocks,
                   std::vector<std::int64_t>& numbers);
  void name_runs(const std::map<std::int64_t, storage::BlockSums>& arrays,
                 SummedArrays& named) const;
  [[nodiscard]] Status cut_sums();
  [[nodiscard]] Status commit_with_sums(const CollectiveState& state, WrittenChunks& chunks,
                                        const SummedArrays& sums);

  std::string path_;
  std::string format_;
  FileSettings settings_;
  bool writable_;
  storage::FileMap map_;
  std::vector<std::unique_ptr<OpenArray>> arrays_;
  std::uint64_t number_ = 0;
  bool has_steps_ = false;  // an array grows
  // The numbers of arrays without steps that were added and not written in a step that has ended.
  std::set<std::uint64_t> added_;
  bool published_ = true;         // it has its name
  bool has_lost_header_ = false;  // what was laid out for its first step may be lost
  std::int64_t steps_ = 0;        // committed
  const std::shared_ptr<StepAccount> account_ = std::make_shared<StepAccount>();
  bool in_step_ = false;
  bool has_chunk_tables_ = false;  // of encoded chunks, which a commit changes
  bool has_sums_ = false;          // steps from now on get checksums
  bool adds_sums_ = true;          // on rank 0: what is there can be added to
  // On rank 0: PATH.sums when the frames in it were last known to be those of the committed steps.
  std::optional<storage::FileState> sums_as_;
  std::vector<std::int64_t> unwritten_;  // arrays, in the last step that ended
  std::int64_t most_loose_ = 0;          // parts of blocks that this rank keeps
  storage::Room room_;                   // on rank 0: what commits the step
  // On rank 0: held from the first step that this run begins until the file is closed.
  storage::WriterLock lock_;
  storage::FileVersion version_;  // on rank 0: as this run opened, laid out or last changed it
};

}  // namespace weir::aggregation
