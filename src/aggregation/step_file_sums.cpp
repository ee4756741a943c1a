// Checksums of a file with steps, stored next to it in PATH.sums (checksums/sums_file.hpp). Each
// rank computes checksums of what it writes. At the end of a step, rank 0 merges the checksums of
// all ranks, four bytes per MiB, and writes them before the commit. Blocks whose parts do not fit
// together, because they were written twice or in very many parts, are read again, each by one
// rank. Readers get all checksums when the file is opened.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "aggregation/step_file.hpp"
#include "checksums/block_owner.hpp"
#include "checksums/sum_again.hpp"
#include "checksums/sums_file.hpp"
#include "system/incomplete.hpp"

namespace weir::aggregation {
namespace {

// Limit on the loose parts of all ranks, in addition to one for each block and rank: 40 MiB on rank
// 0.
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

std::int64_t loose_parts_of_each(int ranks) {
  // With more than a million ranks, no rank keeps loose parts: blocks of several parts are read
  // again.
  return most_loose_parts / ranks;
}

Status StepFile::load_sums(CollectiveState& state, std::string text) {
  if (text.empty()) {
    has_sums_ = writable_ && settings_.checksum && *settings_.checksum != storage::Checksum::none;
    return {};
  }
  auto parsed = storage::parse_sums(text, steps_);
  text.resize(static_cast<std::size_t>(parsed.counted_bytes));
  if (settings_.rewrite && !text.empty()) {
    Result<std::string> rest = std::string();
    if (state.rank == 0) {
      if (Status forgotten = forget_rewritten(std::move(parsed.book)); !forgotten.ok()) {
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
      std::make_shared<const storage::KnownSums>(path_, storage::parse_sums(text, steps_).book);
  const bool asked_for =
      settings_.checksum ? *settings_.checksum != storage::Checksum::none : has_some;
  // Checksums for another block size than ours are verified, but not extended.
  has_sums_ = writable_ && asked_for && known->book().block_bytes() == storage::sum_block_bytes;
  for (const auto& one : arrays_) {
    if (!may_be_rewritten(*one)) one->sums().verify(known, map_);
  }
  return {};
}

bool StepFile::may_be_rewritten(const OpenArray& array) const {
  return settings_.rewrite && !array.origin().grows;
}

// Called by rank 0 before anything is written: if the run is killed, arrays have unknown checksums
// instead of wrong ones.
Status StepFile::forget_rewritten(storage::SumBook book) const {
  for (const auto& one : arrays_) {
    if (!may_be_rewritten(*one) || one->encoded() != nullptr) continue;
    for (const auto& place : one->sums().places().places()) {
      const auto name = storage::name_below(path_, one->map().files.path(place.file));
      if (name) book.forget(*name, place.begin, place.end);
    }
  }
  return storage::replace_sums(storage::sums_path(path_), storage::sums_frame(steps_, book.runs()),
                               settings_.durability, book.block_bytes());
}

// Arrays that do not grow are written in one step only: the first step in which they exist.
void StepFile::collect_sums(bool in_step) {
  for (const auto& one : arrays_) {
    const bool written = in_step && is_of_step(*one);
    if (has_sums_ && written && one->encoded() == nullptr) {
      one->sums().collect(static_cast<std::size_t>(most_loose_));
    } else {
      one->sums().collect_nothing();
    }
  }
}

Status StepFile::gather_sums(CollectiveState& state, SummedArrays& sums) {
  std::vector<std::int64_t> mine;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const storage::BlockSums* const written = arrays_[i]->sums().written();
    if (written != nullptr) written->tell(static_cast<std::int64_t>(i), mine);
  }
  const auto all = gather_at_rank_0(state, mine, "the checksums of a step");
  if (!all) return all.error();
  const auto arrays = storage::BlockSums::told(all.value());
  name_runs(arrays, sums);
  // Each entry consists of array, file and offset.
  std::vector<std::int64_t> again;
  for (const auto& [array, written] : arrays) {
    for (const auto& block : written.unclear()) {
      again.insert(again.end(), {array, block.file, block.begin});
    }
  }
  std::vector<std::int64_t> numbers;
  if (Status summed = sum_again(state, std::move(again), numbers); !summed.ok()) return summed;
  name_runs(storage::BlockSums::told(numbers), sums);
  return {};
}

// `blocks` and `numbers` matter only on rank 0.
Status StepFile::sum_again(CollectiveState& state, std::vector<std::int64_t> blocks,
                           std::vector<std::int64_t>& numbers) {
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
  if (is_staged(state)) status = state.staging->stager().drain();
  if (is_staged(state) && state.staging->has_several()) status = agree_on(state, status);
  std::vector<std::int64_t> mine;
  std::optional<storage::BlockSums> sums;
  for (std::size_t at = 0, block = 0; status.ok() && at + 3 <= blocks.size(); at += 3, ++block) {
    if (static_cast<std::int64_t>(block) % state.ranks != state.rank) continue;
    sums.emplace(static_cast<std::size_t>(most_loose_parts));
    OpenArray& array = *arrays_[static_cast<std::size_t>(blocks[at])];
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
  if (!published_) {
    Status closed = close_files();
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

void StepFile::name_runs(const std::map<std::int64_t, storage::BlockSums>& arrays,
                         SummedArrays& named) const {
  const std::string root = published_ ? path_ : storage::incomplete_path(path_);
  for (const auto& [array, written] : arrays) {
    const storage::DataFiles& files = map_.arrays[static_cast<std::size_t>(array)].map.files;
    for (storage::SummedRun& run : written.runs()) {
      const auto name = storage::name_below(root, files.path(run.file));
      if (name) named.push_back({*name, run.offset, run.bytes, std::move(run.sums)});
    }
  }
}

// Called by rank 0 before another step: removes what a killed run left of a step that was not
// committed. The file is read only if it has changed since this file's last commit.
Status StepFile::cut_sums() {
  const std::string sums_file = storage::sums_path(path_);
  const auto now = storage::state_of_file(sums_file);
  if (now && now == sums_as_) return {};
  const auto cut = storage::cut_sums(sums_file, steps_);
  if (!cut) return cut.error();
  adds_sums_ = cut.value();
  sums_as_ = storage::state_of_file(sums_file);
  return {};
}

// Called by rank 0.
Status StepFile::commit_with_sums(CollectiveState& state, WrittenChunks& chunks,
                                  const SummedArrays& sums) {
  if (Status unchanged = writer_.check_is_unchanged(published_); !unchanged.ok()) return unchanged;
  const std::string committed = storage::sums_path(path_);
  const std::string incomplete = storage::incomplete_sums_path(path_);
  const std::string frame = storage::sums_frame(steps_ + 1, sums);
  sums_as_.reset();  // a commit that fails leaves a frame of a step that does not exist
  Status entered;
  if (!published_) {
    entered = has_sums_ ? storage::replace_sums(incomplete, frame, settings_.durability)
                        : storage::remove_sums(incomplete, settings_.durability);
  } else if (has_sums_ && adds_sums_) {
    entered = storage::append_sums(committed, frame, settings_.durability);
  }
  if (!entered.ok()) return entered;
  if (has_chunk_tables_) {
    entered =
        chunks.enter(*storage::find_format(format_).value(), path_, state.ranks, steps_ + 1, room_);
    if (!entered.ok()) return entered;
  }
  if (is_staged(state)) return hand_commit_over(state);
  Status done = storage::commit(path_, room_.update, settings_.durability);
  writer_.note_version(published_ || done.ok() ? path_ : storage::incomplete_path(path_));
  if (!done.ok()) return done;
  // The step is committed even if renaming fails; its checksums are then unknown.
  if (!published_ && has_sums_) {
    (void)storage::rename_sums(incomplete, committed, settings_.durability);
  }
  sums_as_ = storage::state_of_file(committed);
  return {};
}

}  // namespace weir::aggregation
