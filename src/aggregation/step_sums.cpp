#include "aggregation/step_sums.hpp"

#include <cstddef>
#include <cstring>
#include <memory>

#include "checksums/block_owner.hpp"
#include "checksums/sum_again.hpp"
#include "checksums/sums_file.hpp"
#include "system/incomplete.hpp"

namespace weir::aggregation {
namespace {

// Limit on the parts of blocks that all ranks keep in order to merge them with the parts of other
// ranks (checksums/block_sums.hpp), in addition to one for each block and rank: 40 MiB on rank 0.
// With more ranks than this, no rank keeps such parts: blocks of several parts are read again.
constexpr std::int64_t most_loose_parts = 1 << 20;

std::string text_of(const std::vector<std::int64_t>& numbers) {
  std::string text(numbers.size() * sizeof(std::int64_t), '\0');
  if (!numbers.empty()) std::memcpy(text.data(), numbers.data(), text.size());
  return text;
}

std::vector<std::int64_t> numbers_of(const std::string& text) {
  std::vector<std::int64_t> numbers(text.size() / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), text.data(), text.size());
  return numbers;
}

}  // namespace

StepSums::StepSums(std::string path, const FileSettings& settings, bool writable, int ranks)
    : path_(std::move(path)),
      settings_(settings),
      writable_(writable),
      most_loose_(most_loose_parts / ranks),
      are_kept_(writable && are_wanted()) {}

Status StepSums::load(CollectiveState& state, std::string text, std::int64_t steps,
                      const storage::FileMap& map, OpenArrays arrays) {
  are_kept_ = writable_ && are_wanted();
  if (text.empty()) return {};
  auto parsed = storage::parse_sums(text, steps);
  text.resize(static_cast<std::size_t>(parsed.counted_bytes));
  if (settings_.rewrite && !text.empty()) {
    Result<std::string> rest = std::string();
    if (state.rank == 0) {
      Status forgotten = forget_rewritten(std::move(parsed.book), steps, arrays);
      if (!forgotten.ok()) {
        rest = forgotten.error();
      } else if (auto read = storage::read_sums(storage::sums_path(path_))) {
        rest = std::move(read).value();
      }
    }
    auto told = told_by_rank_0(state, rest, "the remaining checksums");
    if (!told) return told.error();
    text = std::move(told).value();
  }
  const bool has_some = !text.empty();  // some may have been forgotten
  const auto known =
      std::make_shared<const storage::KnownSums>(path_, storage::parse_sums(text, steps).book);
  // Checksums for another block size than ours are verified, but not extended.
  are_kept_ = writable_ && (settings_.checksum ? are_wanted() : has_some) &&
              known->book().block_bytes() == storage::sum_block_bytes;
  for (const auto& one : arrays) {
    if (!may_be_rewritten(*one)) one->sums().verify(known, map);
  }
  return {};
}

// Called by rank 0 before anything is written: if the run is killed, arrays have unknown checksums
// instead of wrong ones.
Status StepSums::forget_rewritten(storage::SumBook book, std::int64_t steps,
                                  OpenArrays arrays) const {
  for (const auto& one : arrays) {
    if (!may_be_rewritten(*one) || one->encoded() != nullptr) continue;
    for (const auto& place : one->sums().places().places()) {
      const auto name = storage::name_below(path_, one->map().files.path(place.file));
      if (name) book.forget(*name, place.begin, place.end);
    }
  }
  return storage::replace_sums(storage::sums_path(path_), storage::sums_frame(steps, book.runs()),
                               settings_.durability, book.block_bytes());
}

void StepSums::collect(OpenArray& array, bool is_written) const {
  if (are_kept_ && is_written && array.encoded() == nullptr) {
    array.sums().collect(static_cast<std::size_t>(most_loose_));
  } else {
    array.sums().collect_nothing();
  }
}

Status StepSums::gather(CollectiveState& state, const storage::FileMap& map, OpenArrays arrays,
                        bool is_published, bool is_staged, Runs& runs) const {
  if (!are_kept_) return {};
  std::vector<std::int64_t> mine;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const storage::BlockSums* const written = arrays[i]->sums().written();
    if (written != nullptr) written->tell(static_cast<std::int64_t>(i), mine);
  }
  const auto all = gather_at_rank_0(state, mine, "the checksums of a step");
  if (!all) return all.error();
  const auto told = storage::BlockSums::told(all.value());
  name_runs(told, map, is_published, runs);
  // Each entry consists of array, file and offset.
  std::vector<std::int64_t> again;
  for (const auto& [array, written] : told) {
    for (const auto& block : written.unclear()) {
      again.insert(again.end(), {array, block.file, block.begin});
    }
  }
  std::vector<std::int64_t> numbers;
  Status summed = sum_again(state, arrays, is_published, is_staged, std::move(again), numbers);
  if (!summed.ok()) return summed;
  name_runs(storage::BlockSums::told(numbers), map, is_published, runs);
  return {};
}

// `blocks` and `numbers` matter only on rank 0.
Status StepSums::sum_again(CollectiveState& state, OpenArrays arrays, bool is_published,
                           bool is_staged, std::vector<std::int64_t> blocks,
                           std::vector<std::int64_t>& numbers) const {
  // On several nodes, a rank sees the writes of others only if they were made durable. Unknown
  // checksums are better than wrong ones.
  const bool seen =
      state.group->nodes() == 1 || settings_.durability != storage::StepDurability::none;
  if (!seen) blocks.clear();
  std::string text = text_of(blocks);
  if (Status shared = share(state, text, "blocks to be summed again"); !shared.ok()) return shared;
  if (text.empty()) return {};
  blocks = numbers_of(text);
  Status status;
  if (is_staged) status = state.staging->stager().drain();
  if (is_staged && state.staging->has_several()) status = agree_on(state, status);
  std::vector<std::int64_t> mine;
  std::optional<storage::BlockSums> sums;
  for (std::size_t at = 0, block = 0; status.ok() && at + 3 <= blocks.size(); at += 3, ++block) {
    if (static_cast<std::int64_t>(block) % state.ranks != state.rank) continue;
    sums.emplace(static_cast<std::size_t>(most_loose_parts));
    OpenArray& array = *arrays[static_cast<std::size_t>(blocks[at])];
    array.turn(Direction::read);  // a stager, by which the array may be written, reads nothing
    status = storage::sum_again(
        array.sums().places(), {blocks[at + 1], blocks[at + 2]},
        [&](std::int64_t file, std::int64_t offset, const storage::Slice& slice) {
          storage::FileTraffic traffic;
          return array.files().read(file, {&slice, 1}, offset, traffic);
        },
        *sums);
    sums->tell(blocks[at], mine);
  }
  // Closes the files again. A file that stayed open under its name before the commit would be
  // mistaken for the next file of that path.
  if (!is_published) {
    Status closed = close_files(arrays);
    if (status.ok()) status = std::move(closed);
  }
  if (Status agreed = agree_on(state, status); !agreed.ok()) {
    return agreed;
  }
  auto all = gather_at_rank_0(state, mine, "the checksums of a step");
  if (!all) return all.error();
  numbers = std::move(all).value();
  return {};
}

void StepSums::name_runs(const std::map<std::int64_t, storage::BlockSums>& sums,
                         const storage::FileMap& map, bool is_published, Runs& named) const {
  const std::string root = is_published ? path_ : storage::incomplete_path(path_);
  for (const auto& [array, written] : sums) {
    const storage::DataFiles& files = map.arrays[static_cast<std::size_t>(array)].map.files;
    for (storage::SummedRun& run : written.runs()) {
      const auto name = storage::name_below(root, files.path(run.file));
      if (name) named.push_back({*name, run.offset, run.bytes, std::move(run.sums)});
    }
  }
}

Status StepSums::cut(std::int64_t steps) {
  const std::string sums_file = storage::sums_path(path_);
  const auto now = storage::state_of_file(sums_file);
  if (now && now == as_) return {};
  const auto cut = storage::cut_sums(sums_file, steps);
  if (!cut) return cut.error();
  can_be_extended_ = cut.value();
  as_ = storage::state_of_file(sums_file);
  return {};
}

Status StepSums::enter(std::int64_t steps, const Runs& runs, bool is_published) {
  as_.reset();  // a commit that fails leaves a frame of a step that does not exist
  const std::string frame = storage::sums_frame(steps, runs);
  if (is_published) {
    if (!are_kept_ || !can_be_extended_) return {};
    return storage::append_sums(storage::sums_path(path_), frame, settings_.durability);
  }
  const std::string incomplete = storage::incomplete_sums_path(path_);
  return are_kept_ ? storage::replace_sums(incomplete, frame, settings_.durability)
                   : storage::remove_sums(incomplete, settings_.durability);
}

void StepSums::note_commit(bool was_published) {
  // The step is committed even if renaming fails; its checksums are then unknown.
  if (!was_published && are_kept_) {
    static_cast<void>(storage::rename_sums(storage::incomplete_sums_path(path_),
                                           storage::sums_path(path_), settings_.durability));
  }
  note_stored();
}

void StepSums::note_stored() { as_ = storage::state_of_file(storage::sums_path(path_)); }

}  // namespace weir::aggregation
