#include "stager/session_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "checksums/sums_file.hpp"
#include "formats/commit_progress.hpp"
#include "formats/format.hpp"
#include "formats/header_update.hpp"
#include "stager/described_arrays.hpp"
#include "stager/scarce_memory.hpp"
#include "stager/stored_paths.hpp"
#include "system/moved_all.hpp"

namespace weir::stager {
namespace {

// Memory of one call: ranges, and slices of all of them.
constexpr std::size_t most_slices = 1 << 16;

// Bytes of the slabs that the encoders of an array have at a time, unless one alone has more.
constexpr std::int64_t most_slab_bytes = std::int64_t{64} << 20;

// Chunks in a message to the stager of rank 0.
constexpr std::size_t most_told_chunks = std::size_t{1} << 16;

// Bytes of a job in one file from which on they may bypass the page cache: another descriptor of
// the file costs more than it saves where they are less.
constexpr std::int64_t least_direct_bytes = std::int64_t{1} << 20;

// Files that are open for writes past the page cache, of which each has two more descriptors.
constexpr std::size_t most_direct_files = 16;

// Returns what each of the parts of an encoding gets, in the order of arrival.
std::vector<std::vector<BlockExtent>> shares_of(std::span<const BlockExtent> extents,
                                                std::size_t parts, std::int64_t block_bytes) {
  std::vector<std::vector<BlockExtent>> shares(parts);
  for (BlockExtent left : extents) {
    while (left.bytes > 0) {
      const std::int64_t block = left.offset / block_bytes;
      BlockExtent one = left;
      one.bytes = std::min(left.bytes, block_bytes - left.offset % block_bytes);
      shares[static_cast<std::size_t>(block) % parts].push_back(one);
      left.at += one.bytes;
      left.offset += one.bytes;
      left.bytes -= one.bytes;
    }
  }
  return shares;
}

using Entries = std::vector<storage::EncodedTable::Entry>;

// The chunks of a step of one array, by all stagers.
struct TableChunks {
  storage::StoredArray array;
  Entries written = {};
};

// Sorts chunks by their numbers, and keeps the last place of each.
void keep_last(Entries& chunks) {
  const auto number = &storage::EncodedTable::Entry::chunk;
  std::ranges::stable_sort(chunks, {}, number);
  std::ranges::reverse(chunks);
  chunks.erase(
      std::unique(chunks.begin(), chunks.end(),
                  [](const auto& one, const auto& next) { return one.chunk == next.chunk; }),
      chunks.end());
  std::ranges::reverse(chunks);
}

// Sorts the chunks of all stagers. One that two stagers have encoded would lack what one of them
// was given: ranks hand over all parts of a chunk to the same one.
Status sort_chunks(TableChunks& all) {
  const auto number = &storage::EncodedTable::Entry::chunk;
  std::ranges::sort(all.written, {}, number);
  const auto twice = std::ranges::adjacent_find(all.written, {}, number);
  if (twice == all.written.end()) return {};
  return Error(
      ErrorCode::corrupt,
      fmt::format("internal error: two stagers have encoded chunk {} of \"{}\", so the step "
                  "is not committed; please report this line",
                  twice->chunk, all.array.description.name));
}

// Adds what another stager has told.
Status add_chunks(std::map<std::string_view, TableChunks>& arrays,
                  const transport::EncodedChunks& told) {
  auto known = arrays.find(told.encoded);
  if (known == arrays.end()) {
    auto array = described_array(told.encoded);
    if (!array) return array.error();
    known = arrays.emplace(told.encoded, TableChunks{std::move(array).value()}).first;
  }
  TableChunks& all = known->second;
  if (!are_possible(told, all.array)) {
    return Error(ErrorCode::corrupt, "another stager has told impossible places of chunks");
  }
  all.written.insert(all.written.end(), told.chunks.begin(), told.chunks.end());
  return {};
}

bool overlap(std::span<const BlockExtent> sorted) {
  return std::adjacent_find(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
           return a.offset + a.bytes > b.offset;
         }) != sorted.end();
}

// Returns how many of the extents, from the first one on, do not overlap.
std::size_t count_apart(std::span<const BlockExtent> extents) {
  std::map<std::int64_t, std::int64_t> ends;  // by offset
  for (std::size_t count = 0; count < extents.size(); ++count) {
    const BlockExtent& one = extents[count];
    if (one.bytes == 0) continue;
    const std::int64_t end = one.offset + one.bytes;
    const auto behind = ends.lower_bound(end);
    if (behind != ends.begin() && std::prev(behind)->second > one.offset) return count;
    ends.emplace_hint(behind, one.offset, end);
  }
  return extents.size();
}

}  // namespace

SessionFiles::SessionFiles(std::span<std::byte> memory, std::int64_t block_bytes,
                           const SpillFile* spill, const storage::RootFolder* root, WritesBy by,
                           int encoders)
    : memory_(memory),
      block_bytes_(block_bytes),
      spill_(spill),
      root_(root),
      by_(by),
      encoders_(encoders),
      files_(by == WritesBy::dropping ? storage::make_null_engine()
                                      : storage::make_background_engine()) {}

Status SessionFiles::execute(const Write& job) {
  Status done = read_back(job.spilled);
  if (done.ok()) done = write(job);
  read_back_ = {};  // until the next job, its memory is for others
  return done;
}

Status SessionFiles::read_back(std::span<const SpilledBlock> spilled) {
  read_to_.clear();
  std::size_t bytes = 0;
  for (const SpilledBlock& one : spilled) {
    read_to_.push_back(bytes);
    bytes += static_cast<std::size_t>(one.bytes);
  }
  read_back_.resize(bytes);
  for (std::size_t i = 0; i < spilled.size(); ++i) {
    const std::span<std::byte> to =
        std::span(read_back_).subspan(read_to_[i], static_cast<std::size_t>(spilled[i].bytes));
    if (Status got = spill_->get(spilled[i].slot, spilled[i].stamp, to); !got.ok()) return got;
  }
  return {};
}

std::byte* SessionFiles::data_of(const BlockExtent& extent) {
  if (!extent.is_spilled) return memory_.data() + extent.block * block_bytes_ + extent.at;
  const std::size_t begin = read_to_[static_cast<std::size_t>(extent.block)];
  return read_back_.data() + begin + static_cast<std::size_t>(extent.at);
}

Status SessionFiles::write(const Write& job) {
  // Each rank names a file itself. What several ranks wrote into one keeps its order, too.
  std::map<std::string_view, std::size_t> first_of_path;
  std::vector<std::size_t> same(job.files.size());
  for (std::size_t file = 0; file < job.files.size(); ++file) {
    same[file] = first_of_path.try_emplace(job.files[file].path, file).first->second;
  }
  std::vector<std::size_t> counts(job.files.size());
  for (const BlockExtent& extent : job.extents) ++counts[same[extent.file]];
  std::vector<std::vector<BlockExtent>> by_file(job.files.size());
  for (std::size_t file = 0; file < counts.size(); ++file) by_file[file].reserve(counts[file]);
  for (const BlockExtent& extent : job.extents) by_file[same[extent.file]].push_back(extent);
  for (std::size_t file = 0; file < by_file.size(); ++file) {
    if (by_file[file].empty()) continue;
    const transport::NameFile& named = job.files[file];
    Status written = named.encoded.empty() ? write_file(named, by_file[file])
                                           : write_encoded(named, by_file[file]);
    if (!written.ok()) return written;
  }
  return {};
}

Status SessionFiles::write_file(const transport::NameFile& named,
                                std::span<const BlockExtent> extents) {
  storage::Opening opening;
  opening.write = true;
  opening.bytes_when_made = named.bytes_when_made;
  opening.known = named.known ? &*named.known : nullptr;
  if (Status below = check_below(root_, named); !below.ok()) return below;
  close_removed(named.path);
  const auto file = files_.get(named.path, opening);
  if (!file) return file.error();
  written_.insert_or_assign(named.path, storage::identity_of(named.path));
  files_.written(named.path, storage::DataFileCache::Closing::leaves_to_sync);
  std::int64_t bytes = 0;
  for (const BlockExtent& one : extents) bytes += one.bytes;
  if (by_ != WritesBy::direct_io || bytes < least_direct_bytes) {
    return write_all(files_.engine(), *file.value(), extents);
  }
  const auto direct = open_direct(named.path, opening.known);
  if (!direct) return direct.error();
  return write_all(*direct_engine_, *direct.value(), extents);
}

Result<storage::EngineFile*> SessionFiles::open_direct(const std::string& path,
                                                       const storage::KnownFile* is_known) {
  const auto known = direct_files_.find(path);
  if (known != direct_files_.end()) return known->second.get();
  if (direct_engine_ == nullptr) {
    direct_engine_ = storage::make_direct_engine(storage::make_background_engine());
  }
  if (direct_files_.size() == most_direct_files) direct_files_.clear();
  auto opened = direct_engine_->open(path, {.write = true, .known = is_known});
  if (!opened) return opened.error();
  return direct_files_.emplace(path, std::move(opened).value()).first->second.get();
}

Status SessionFiles::write_all(storage::Engine& engine, storage::EngineFile& file,
                               std::span<const BlockExtent> extents) {
  const auto sorted_of = [](std::span<const BlockExtent> some) {
    std::vector<BlockExtent> sorted(some.begin(), some.end());
    std::ranges::stable_sort(sorted, {}, &BlockExtent::offset);
    return sorted;
  };
  const std::vector<BlockExtent> all = sorted_of(extents);
  if (!overlap(all)) return write_ranges(engine, file, all);
  // What was written twice keeps its order: what overlaps extents before it is written after them.
  while (!extents.empty()) {
    const auto apart = extents.first(count_apart(extents));
    extents = extents.subspan(apart.size());
    if (Status one = write_ranges(engine, file, sorted_of(apart)); !one.ok()) return one;
  }
  return {};
}

// The chunks of a single stager lie one behind the other.
storage::EncodedWriter::PlaceSource SessionFiles::places_of(const transport::ChunkPlaces& step) {
  auto& free = free_space_[step.step];
  if (free == nullptr) {
    const std::int64_t region = step.stagers == 1
                                    ? std::numeric_limits<std::int64_t>::max() - step.free_from
                                    : step.region_bytes;
    free = std::make_shared<FreeSpace>(
        storage::FileSpaceAllocator(step.free_from, region, step.stagers, step.own));
  }
  return [free](std::int64_t bytes) {
    const std::lock_guard<std::mutex> guard(free->mutex);
    return free->space.take(bytes);
  };
}

Result<SessionFiles::Encoding> SessionFiles::encoding_of(const transport::NameFile& named) {
  if (Status below = check_below(root_, named); !below.ok()) return below.error();
  auto described = described_array(named.encoded);
  if (!described) return described.error();
  storage::StoredArray& array = described.value();
  const bool in_table = named.places.step != 0;
  if (!can_be_encoded(array, named.places)) {
    return Error(ErrorCode::unsupported,
                 "a stager encodes only chunks with files of their own, in shards with short rows, "
                 "or in one file within a step",
                 named.path);
  }
  const bool in_shards =
      std::holds_alternative<storage::EncodedShards>(array.map.encoded()->places);
  if (named.known) {
    array.map.files.set_known(std::make_shared<const storage::KnownFile>(*named.known));
  }
  std::vector<Encoding::Part> parts;
  do {
    auto engine = storage::DecodedEngine::create(
        array, in_shards ? storage::EncodedBlocks::shards : storage::EncodedBlocks::chunks,
        in_table ? places_of(named.places) : storage::EncodedWriter::PlaceSource(), nullptr,
        storage::DataFileCache::Closing::leaves_to_sync);
    if (!engine) return engine.error();
    auto file = engine.value()->open(named.path, {.write = true});
    if (!file) return file.error();
    parts.push_back({std::move(engine).value(), std::move(file).value()});
  } while (std::ssize(parts) < encoders_ &&
           std::ssize(parts) < most_slab_bytes / parts.front().engine->slabs().bytes());
  std::string path = in_table ? array.map.files.path(0) : std::string();
  return Encoding{std::move(parts), std::move(array), std::move(path)};
}

Status SessionFiles::write_encoded(const transport::NameFile& named,
                                   std::span<const BlockExtent> extents) {
  const std::pair key(named.encoded, named.places.step);
  auto found = encodings_.find(key);
  if (found == encodings_.end()) {
    auto made = encoding_of(named);
    if (!made) return with_file(made.error(), named.path);
    if (key.second != 0) {
      // A file has one step at a time, so the others with chunks here were given up.
      forget_steps([&](std::uint64_t step, const std::string& path) {
        return step != key.second && path == made.value().path;
      });
    }
    found = encodings_.emplace(key, std::move(made).value()).first;
  }
  std::vector<Encoding::Part>& parts = found->second.parts;
  const auto shares = shares_of(extents, parts.size(), parts.front().engine->slabs().block_bytes());
  std::vector<Status> ended(parts.size());
  const auto write = [&](std::size_t part) {
    ended[part] = with_memory([&] {
      storage::DecodedEngine& engine = *parts[part].engine;
      Status written = write_all(engine, *parts[part].file, shares[part]);
      // Chunks are complete in the files before anyone reads them there, or the step is given up.
      Status done = engine.end();
      return written.ok() ? done : written;
    });
  };
  {
    std::vector<std::jthread> threads;  // the first part is that of this one
    for (std::size_t part = 1; part < parts.size(); ++part) {
      if (shares[part].empty()) continue;
      try {
        threads.emplace_back(write, part);
      } catch (const std::system_error&) {  // there are no more threads
        write(part);
      }
    }
    write(0);
  }
  const auto failed = std::ranges::find_if(ended, [](const Status& one) { return !one.ok(); });
  return failed == ended.end() ? Status() : *failed;
}

Status SessionFiles::settle_encodings(storage::StepDurability durability, std::uint64_t step) {
  for (auto& [key, one] : encodings_) {
    if (durability == storage::StepDurability::none) break;
    if (key.second != 0 && key.second != step) continue;
    for (const Encoding::Part& part : one.parts) {
      storage::EngineFile* const file = part.file.get();
      if (Status synced = part.engine->sync({&file, 1}); !synced.ok()) {
        return with_file(synced.error(), file->path());
      }
    }
  }
  std::erase_if(encodings_, [](const auto& one) { return one.first.second == 0; });
  return {};
}

Status SessionFiles::take_written(Encoding& encoding) {
  for (const Encoding::Part& part : encoding.parts) {
    const auto entries = part.engine->take_written();
    if (!entries) return with_file(entries.error(), encoding.path);
    encoding.written.insert(encoding.written.end(), entries.value().begin(), entries.value().end());
  }
  keep_last(encoding.written);
  return {};
}

// What was entered once is not entered again if the commit has to be repeated: the chunks of a file
// that has not got its name are in its table by then.
Result<storage::HeaderUpdate> SessionFiles::update_of(const Commit& job) {
  const transport::CommitStep& step = job.step;
  const transport::EnteredChunks& chunks = step.chunks;
  if (chunks.step == 0) return step.update;
  if (entered_ && entered_->first == chunks.step) return entered_->second;
  const auto format = storage::find_format(chunks.format);
  if (!format) return format.error();
  std::map<std::string_view, TableChunks> arrays;  // by NameFile::encoded
  for (auto& [key, one] : encodings_) {
    if (key.second != chunks.step) continue;
    if (Status taken = take_written(one); !taken.ok()) return taken.error();
    arrays.emplace(key.first, TableChunks{one.array, one.written});
  }
  for (const auto& told : job.others) {
    if (Status added = add_chunks(arrays, *told); !added.ok()) {
      return with_file(added.error(), step.path);
    }
  }
  storage::Room room{
      .map = {}, .update = step.update, .free_from = 0, .has_leftovers = chunks.has_leftovers};
  std::vector<storage::WrittenChunk> written;
  for (auto& [encoded, one] : arrays) {
    const std::int64_t array = std::ssize(room.map.arrays);
    // The order does not depend on who has told first.
    if (Status sorted = sort_chunks(one); !sorted.ok()) return with_file(sorted.error(), step.path);
    for (const auto& [chunk, place] : one.written) written.push_back({array, chunk, place});
    room.map.arrays.push_back(std::move(one.array));
  }
  auto update = format.value()->enter_chunks(step.path, room, chunks.steps, written);
  if (!update) return update.error();
  entered_.emplace(chunks.step, update.value());
  return update;
}

void SessionFiles::forget_chunks(const transport::CommitStep& step) {
  if (step.chunks.step == 0) return;
  const std::string place = storage::place_of(step.path, step.update);
  forget_steps([&](std::uint64_t number, const std::string& path) {
    return number == step.chunks.step || path == place;
  });
  entered_.reset();
}

void SessionFiles::forget_steps(const IsOver& is_over) {
  std::erase_if(encodings_, [&](const auto& one) {
    const std::uint64_t step = one.first.second;
    if (step == 0 || !is_over(step, one.second.path)) return false;
    free_space_.erase(step);
    return true;
  });
}

void SessionFiles::close_removed(const std::string& path) {
  const auto before = written_.find(path);
  if (before == written_.end()) return;
  const auto now = storage::identity_of(path);
  if (now && now == before->second) return;
  direct_files_.erase(path);
  (void)files_.close(path);  // nobody can read what may be lost with it
}

// The extents ascend and do not overlap. Those that follow each other in the file are one range.
Status SessionFiles::write_ranges(storage::Engine& engine, storage::EngineFile& file,
                                  std::span<const BlockExtent> extents) {
  while (!extents.empty()) {
    const std::size_t count = std::min(extents.size(), most_slices);
    std::vector<storage::Slice> slices;
    slices.reserve(count);
    std::vector<storage::FileRange> ranges;
    std::int64_t end = -1;
    std::int64_t bytes = 0;
    std::size_t first = 0;
    const auto end_range = [&] {
      if (!ranges.empty()) {
        ranges.back().slices = std::span<const storage::Slice>(slices).subspan(first);
      }
      first = slices.size();
    };
    for (const BlockExtent& one : extents.first(count)) {
      if (one.offset != end) {
        end_range();
        ranges.push_back({&file, one.offset, {}});
      }
      slices.push_back({data_of(one), one.bytes});
      end = one.offset + one.bytes;
      bytes += one.bytes;
    }
    end_range();
    storage::FileTraffic traffic;
    Status written = engine.write(ranges, traffic);
    if (written.ok()) {
      written = storage::moved_all(bytes, traffic.moved, file.path(), extents.front().offset);
    }
    if (!written.ok()) return written;
    extents = extents.subspan(count);
  }
  return {};
}

// After this nothing of the step is left here: files may get other names, and other files their
// names.
Status SessionFiles::settle(storage::StepDurability durability, std::uint64_t step) {
  direct_files_.clear();
  if (Status settled = settle_encodings(durability, step); !settled.ok()) {
    Error lost = settled.error();
    lost.message += ": data of the step are lost";
    lost.system_error = 0;  // it is not repeated when there is space
    return lost;
  }
  if (durability != storage::StepDurability::none && !written_.empty()) {
    std::vector<std::string> paths;
    paths.reserve(written_.size());
    for (const auto& [path, identity] : written_) paths.push_back(path);
    if (Status synced = files_.sync(paths); !synced.ok()) {
      // The system drops data that it could not store, so this is not repeated when there is space.
      Error lost = synced.error();
      lost.message += ": data of the step are lost";
      lost.system_error = 0;
      return lost;
    }
  }
  for (const auto& [path, identity] : written_) {
    if (Status closed = files_.close(path); !closed.ok()) return closed;
  }
  written_.clear();
  return {};
}

Result<std::vector<transport::EncodedChunks>> SessionFiles::execute(const Seal& job) {
  const std::uint64_t step = job.step.chunk_step;
  if (Status settled = settle(job.step.durability, step); !settled.ok()) return settled.error();
  std::vector<transport::EncodedChunks> told;
  for (auto& [key, one] : encodings_) {
    if (step == 0 || key.second != step) continue;
    if (Status taken = take_written(one); !taken.ok()) return taken.error();
    for (std::span<const storage::EncodedTable::Entry> left = one.written; !left.empty();) {
      const auto part = left.first(std::min(left.size(), most_told_chunks));
      left = left.subspan(part.size());
      told.push_back({job.step.seal, key.first, {part.begin(), part.end()}});
    }
  }
  if (step != 0) {
    forget_steps([step](std::uint64_t one, const std::string& /*path*/) { return one == step; });
  }
  return told;
}

Status SessionFiles::execute(const Commit& job) {
  const transport::CommitStep& step = job.step;
  if (Status below = check_below(root_, step); !below.ok()) return below;
  if (Status settled = settle(step.durability, step.chunks.step); !settled.ok()) return settled;
  const auto update = update_of(job);
  if (!update) return update.error();
  if (Status done = storage::commit(step.path, update.value(), step.durability); !done.ok()) {
    return done;
  }
  forget_chunks(step);
  // The step is committed even if renaming fails; its checksums are then unknown.
  if (step.names_sums) {
    (void)storage::rename_sums(storage::incomplete_sums_path(step.path),
                               storage::sums_path(step.path), step.durability);
  }
  return {};
}

void SessionFiles::keep_lock(const std::string& path, storage::WriterLock lock) {
  const std::lock_guard<std::mutex> guard(mutex_);
  locks_.insert_or_assign(path, std::move(lock));
}

Status SessionFiles::take_lock(const std::string& path, const std::string& program) {
  if (Status below = root_ == nullptr ? Status() : root_->check(path); !below.ok()) return below;
  auto taken = storage::WriterLock::take(path, storage::WriterLock::Naming::at_once, program);
  if (!taken) return taken.error();
  keep_lock(path, std::move(taken).value());
  return {};
}

bool SessionFiles::has_lock(const std::string& path) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return locks_.contains(path);
}

void SessionFiles::release_lock(const std::string& path) {
  const std::lock_guard<std::mutex> guard(mutex_);
  locks_.erase(path);
}

}  // namespace weir::stager
