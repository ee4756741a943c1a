#include "array/chunk_places.hpp"

#include <algorithm>
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

void ChunkTable::add(std::int64_t chunk, const ChunkPlace& place) {
  if (!runs_.empty()) {
    Run& last = runs_.back();
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
  runs_.push_back({.first = chunk, .chunks = 1, .place = place, .distance = 0});
}

std::optional<ChunkPlace> ChunkTable::place_of(std::int64_t chunk) const {
  auto run =
      std::upper_bound(runs_.begin(), runs_.end(), chunk,
                       [](std::int64_t number, const Run& one) { return number < one.first; });
  if (run == runs_.begin()) return std::nullopt;
  --run;
  const std::int64_t place = chunk - run->first;
  if (place >= run->chunks) return std::nullopt;
  return ChunkPlace{run->place.file, run->place.offset + place * run->distance};
}

ChunkTable ChunkTable::of(std::vector<Run> runs) {
  ChunkTable table;
  table.runs_ = std::move(runs);
  return table;
}

namespace {

// Returns the first run that contains this chunk or a later chunk.
auto run_from(const std::vector<ChunkTable::Run>& runs, std::int64_t chunk) {
  return std::lower_bound(runs.begin(), runs.end(), chunk,
                          [](const ChunkTable::Run& one, std::int64_t number) {
                            return one.first + one.chunks <= number;
                          });
}

}  // namespace

ChunkTable ChunkTable::part(std::int64_t first, std::int64_t chunks) const {
  ChunkTable part;
  for (auto run = run_from(runs_, first); run != runs_.end() && run->first < first + chunks;
       ++run) {
    const std::int64_t from = std::max(run->first, first);
    const std::int64_t to = std::min(run->first + run->chunks, first + chunks);
    Run cut = *run;
    cut.first = from - first;
    cut.chunks = to - from;
    cut.place.offset += (from - run->first) * run->distance;
    if (cut.chunks == 1) cut.distance = 0;
    part.runs_.push_back(cut);
  }
  return part;
}

void ChunkTable::cut(std::int64_t chunk) {
  auto behind = run_from(runs_, chunk);
  const bool in_part = behind != runs_.end() && behind->first < chunk;
  if (in_part) ++behind;
  runs_.erase(behind, runs_.end());
  if (!in_part) return;
  Run& last = runs_.back();
  last.chunks = chunk - last.first;
  if (last.chunks == 1) last.distance = 0;
}

void ChunkTable::append(const ChunkTable& part, std::int64_t first) {
  for (const Run& run : part.runs_) {
    for (std::int64_t chunk = 0; chunk < run.chunks; ++chunk) {
      add(first + run.first + chunk, {run.place.file, run.place.offset + chunk * run.distance});
    }
  }
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
