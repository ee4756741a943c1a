#include "array/chunk_places.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace weir::array {

ChunkPlace ShardSlots::place_of(const Indices& chunk) const {
  std::int64_t shard = 0;
  std::int64_t slot = 0;
  for (int d = 0; d < chunk.size(); ++d) {
    shard = shard * shards[d] + chunk[d] / chunks_per_shard[d];
    slot = slot * chunks_per_shard[d] + chunk[d] % chunks_per_shard[d];
  }
  return {shard, offset + slot * slot_bytes};
}

namespace {

using Run = ChunkTable::Run;

constexpr std::size_t words_per_run = 5;
constexpr std::size_t most_runs = 1024;  // in a block

// The runs of a block, in ascending order.
class BlockRuns {
 public:
  explicit BlockRuns(const WordBlock& block) : words_(block.words()) {}
  [[nodiscard]] std::size_t size() const { return words_.size() / words_per_run; }
  [[nodiscard]] Run operator[](std::size_t number) const {
    const auto word = words_.subspan(number * words_per_run, words_per_run);
    return {word[0], word[1], {word[2], word[3]}, word[4]};
  }
  // Returns the first chunk behind a run.
  [[nodiscard]] std::int64_t end(std::size_t number) const {
    return words_[number * words_per_run] + words_[number * words_per_run + 1];
  }
  // Returns the number of the first run that contains this chunk or a later one.
  [[nodiscard]] std::size_t number_from(std::int64_t chunk) const {
    std::size_t low = 0;
    std::size_t high = size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (end(middle) <= chunk) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  std::span<const std::int64_t> words_;
};

WordBlock block_of(std::span<const Run> runs) {
  std::vector<std::int64_t> words;
  words.reserve(runs.size() * words_per_run);
  for (const Run& one : runs) {
    words.insert(words.end(),
                 {one.first, one.chunks, one.place.file, one.place.offset, one.distance});
  }
  return WordBlock(std::move(words));
}

// Returns the number of the first block that contains this chunk or a later one.
std::size_t block_from(const WordBlocks& blocks, std::int64_t chunk) {
  const auto all = blocks.all();
  const auto found = std::ranges::partition_point(all, [&](const WordBlock& block) {
    const BlockRuns runs(block);
    return runs.end(runs.size() - 1) <= chunk;
  });
  return static_cast<std::size_t>(found - all.begin());
}

// Adds a run to earlier runs, as if its chunks were added one after the other.
void add_run(std::vector<Run>& runs, const Run& run) {
  for (std::int64_t chunk = 0; chunk < run.chunks; ++chunk) {
    ChunkTable::add(runs, run.first + chunk,
                    {run.place.file, run.place.offset + chunk * run.distance});
    Run& last = runs.back();
    if (last.chunks < 2 || last.distance != run.distance) continue;
    last.chunks += run.chunks - chunk - 1;
    return;
  }
}

// Removes this many chunks from the beginning of a run. Returns whether any are left.
bool skip(Run& run, std::int64_t chunks) {
  run.first += chunks;
  run.chunks -= chunks;
  run.place.offset += chunks * run.distance;
  return run.chunks > 0;
}

}  // namespace

// Visits the runs of a table in order, cut to its chunks and numbered as they are.
class ChunkTable::Walk {
 public:
  explicit Walk(const ChunkTable& table)
      : table_(table), block_(block_from(table.blocks_, table.first_)) {
    if (block_ < table.blocks_.size())
      run_ = BlockRuns(table.blocks_[block_]).number_from(table.first_);
  }
  // Returns the next run; nothing after the last one.
  std::optional<Run> next() {
    if (block_ == table_.blocks_.size()) return std::nullopt;
    const BlockRuns runs(table_.blocks_[block_]);
    Run run = runs[run_];
    const std::int64_t before = std::max<std::int64_t>(0, table_.first_ - run.first);
    run.first += before - table_.first_;
    if (run.first >= table_.chunks_) return std::nullopt;
    if (++run_ == runs.size()) {
      ++block_;
      run_ = 0;
    }
    run.chunks = std::min(run.chunks - before, table_.chunks_ - run.first);
    run.place.offset += before * run.distance + table_.offset_;
    if (run.chunks == 1) run.distance = 0;
    return run;
  }

 private:
  const ChunkTable& table_;
  std::size_t block_;
  std::size_t run_ = 0;
};

void ChunkTable::add(std::vector<Run>& runs, std::int64_t chunk, const ChunkPlace& place) {
  if (!runs.empty()) {
    Run& last = runs.back();
    const bool follows = chunk == last.first + last.chunks && place.file == last.place.file;
    if (follows && last.chunks == 1) {
      last.distance = place.offset - last.place.offset;
      last.chunks = 2;
      return;
    }
    if (follows && place.offset == last.place.offset + last.chunks * last.distance) {
      ++last.chunks;
      return;
    }
  }
  runs.push_back({.first = chunk, .chunks = 1, .place = place, .distance = 0});
}

ChunkTable ChunkTable::of(const std::vector<Run>& runs) {
  ChunkTable table;
  table.append(runs, 0);
  return table;
}

void ChunkTable::add(std::int64_t chunk, const ChunkPlace& place) {
  append(std::vector<Run>{{.first = chunk, .chunks = 1, .place = place, .distance = 0}}, 0);
}

void ChunkTable::append(const std::vector<Run>& runs, std::int64_t first) {
  if (runs.empty()) return;
  const bool is_part = first_ != 0 || offset_ != 0 || chunks_ != ChunkTable().chunks_;
  if (is_part) *this = of(this->runs());
  std::vector<WordBlock> blocks(blocks_.all().begin(), blocks_.all().end());
  std::vector<Run> last;
  last.reserve(most_runs);
  if (!blocks.empty()) {
    const BlockRuns known(blocks.back());
    for (std::size_t number = 0; number < known.size(); ++number) last.push_back(known[number]);
    blocks.pop_back();
  }
  for (Run run : runs) {
    run.first += first;
    add_run(last, run);
    // The last run stays, since it may still get longer.
    while (last.size() > most_runs) {
      blocks.push_back(block_of(std::span(last).first(most_runs)));
      last.erase(last.begin(), last.begin() + most_runs);
    }
  }
  blocks.push_back(block_of(last));
  blocks_ = WordBlocks(std::move(blocks));
}

void ChunkTable::cut(std::int64_t chunk) {
  const std::size_t number = block_from(blocks_, first_ + chunk);
  if (chunk >= chunks_ || number == blocks_.size()) return;
  // The block that the cut divides is made anew.
  std::vector<Run> kept;
  const BlockRuns runs(blocks_[number]);
  for (std::size_t run = 0; run < runs.size() && runs[run].first < first_ + chunk; ++run) {
    kept.push_back(runs[run]);
    Run& last = kept.back();
    last.chunks = std::min(last.chunks, first_ + chunk - last.first);
    if (last.chunks == 1) last.distance = 0;
  }
  std::vector<WordBlock> blocks(blocks_.all().begin(),
                                blocks_.all().begin() + static_cast<std::ptrdiff_t>(number));
  if (!kept.empty()) blocks.push_back(block_of(kept));
  blocks_ = WordBlocks(std::move(blocks));
}

std::optional<ChunkPlace> ChunkTable::place_of(std::int64_t chunk) const {
  if (chunk < 0 || chunk >= chunks_) return std::nullopt;
  const std::int64_t stored = first_ + chunk;
  const std::size_t number = block_from(blocks_, stored);
  if (number == blocks_.size()) return std::nullopt;
  const BlockRuns runs(blocks_[number]);
  const Run run = runs[runs.number_from(stored)];
  if (stored < run.first) return std::nullopt;
  return ChunkPlace{run.place.file,
                    run.place.offset + (stored - run.first) * run.distance + offset_};
}

std::int64_t ChunkTable::size() const {
  std::int64_t chunks = 0;
  Walk walk(*this);
  while (const auto run = walk.next()) chunks += run->chunks;
  return chunks;
}

std::int64_t ChunkTable::files() const {
  std::int64_t files = 1;
  Walk walk(*this);
  while (const auto run = walk.next()) files = std::max(files, run->place.file + 1);
  return files;
}

std::optional<Run> ChunkTable::first_run() const { return Walk(*this).next(); }

std::vector<ChunkTable::Run> ChunkTable::runs() const {
  std::vector<Run> all;
  Walk walk(*this);
  while (const auto run = walk.next()) all.push_back(*run);
  return all;
}

ChunkTable ChunkTable::part(std::int64_t first, std::int64_t chunks, std::int64_t offset) const {
  ChunkTable part = *this;
  part.first_ += first;
  part.chunks_ = std::max<std::int64_t>(0, std::min(chunks, chunks_ - first));
  part.offset_ += offset;
  return part;
}

bool operator==(const ChunkTable& a, const ChunkTable& b) {
  if (a.blocks_.is_copy_of(b.blocks_) && a.first_ == b.first_ && a.chunks_ == b.chunks_ &&
      a.offset_ == b.offset_) {
    return true;
  }
  // Equal tables may differ in their runs, since a part of a table may begin within a run.
  ChunkTable::Walk of_a(a);
  ChunkTable::Walk of_b(b);
  auto one = of_a.next();
  auto other = of_b.next();
  while (one && other) {
    const std::int64_t chunks = std::min(one->chunks, other->chunks);
    const bool is_same = one->first == other->first && one->place == other->place &&
                         (chunks == 1 || one->distance == other->distance);
    if (!is_same) return false;
    if (!skip(*one, chunks)) one = of_a.next();
    if (!skip(*other, chunks)) other = of_b.next();
  }
  return !one && !other;
}

std::optional<ChunkPlace> place_of(const ChunkPlaces& places, const ChunkGrid& grid,
                                   std::int64_t chunk) {
  if (const auto* slots = std::get_if<SlotsInTurn>(&places)) return slots->place_of(chunk);
  if (const auto* shards = std::get_if<ShardSlots>(&places)) {
    return shards->place_of(grid.coordinates(chunk));
  }
  return std::get<ChunkTable>(places).place_of(chunk);
}

}  // namespace weir::array
