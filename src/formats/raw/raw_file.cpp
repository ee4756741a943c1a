#include "formats/raw/raw_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <utility>

#include "array/number_theory.hpp"
#include "common/checked.hpp"
#include "common/page.hpp"
#include "formats/text_bytes.hpp"
#include "stored/array_change.hpp"

namespace weir::storage {
namespace {

using array::divide_up;

constexpr std::int64_t least_alignment = 64;
constexpr std::int64_t most_steps_in_record = std::int64_t{1} << 20;
constexpr std::int64_t most_files = std::int64_t{1} << 20;
constexpr std::size_t longest_directory = 3072;  // leaves room for a file name within system limits
// Chunks that are not at equal distances need a table with an entry for each record, which all
// ranks receive at each step. This limit for all arrays together is about 10 MiB.
constexpr std::int64_t most_places_in_tables = std::int64_t{1} << 18;

std::int64_t steps_of(const ArrayDescription& one) { return one.shape.extent(0); }

// Returns the steps per chunk of an array that grows; for a dense array, all steps of a record.
std::int64_t steps_per_chunk(const ArrayDescription& one, std::int64_t steps_in_record) {
  return one.chunk_extents ? (*one.chunk_extents)[0] : steps_in_record;
}

// Returns the extents of a stored chunk. A dense array that grows has one chunk for each record.
array::Indices stored_chunk(const ArrayDescription& one, std::int64_t steps_in_record) {
  array::Indices extents = one.shape.extents();
  for (int d = 0; d < extents.size(); ++d) {
    extents[d] = std::max<std::int64_t>(1, extents[d]);
    if (one.chunk_extents) extents[d] = std::min(extents[d], (*one.chunk_extents)[d]);
  }
  extents[0] = steps_per_chunk(one, steps_in_record);
  return extents;
}

// Returns the number of chunks that begin at the same step.
std::int64_t chunks_in_row(const ArrayDescription& one, const array::Indices& chunk) {
  std::int64_t chunks = 1;
  for (int d = 1; d < chunk.size(); ++d) chunks *= divide_up(one.shape.extent(d), chunk[d]);
  return chunks;
}

// Returns the bytes of an array in a record; nothing on overflow.
std::optional<std::int64_t> bytes_in_record(const ArrayDescription& one,
                                            std::int64_t steps_in_record) {
  const array::Indices chunk = stored_chunk(one, steps_in_record);
  const auto slot = bytes_of(chunk, one.type);
  if (!slot) return slot;
  const auto row = checked_multiply(*slot, chunks_in_row(one, chunk));
  return row ? checked_multiply(*row, steps_in_record / steps_per_chunk(one, steps_in_record))
             : row;
}

// Returns the bytes of an array that does not grow in a data file, by default in the one that holds
// most of it; nothing on overflow.
std::optional<std::int64_t> fixed_bytes(const ArrayDescription& one,
                                        const Placement& placement = {},
                                        std::optional<std::int64_t> file = std::nullopt) {
  if (!one.chunk_extents) return one.shape.elements() * one.type.bytes();
  const auto grid = array::ChunkGrid::create(one.shape, *one.chunk_extents);
  if (!grid) return std::nullopt;
  const auto slot = bytes_of(grid.value().chunk_extents(), one.type);
  const std::int64_t chunks = grid.value().chunks();
  std::int64_t slots = chunks / placement.files;
  const auto last_of = [&](std::int64_t number) {
    return array::Declustering::turning(placement.files, placement.turn).number(number, slots);
  };
  if (chunks % placement.files > 0 && (!file || last_of(*file) < chunks)) ++slots;
  return slot ? checked_multiply(*slot, slots) : slot;
}

Error too_long(const std::string& name) {
  return invalid_argument(
      fmt::format("array \"{}\" ends beyond 2^63 bytes in a raw file", printable(name)));
}

ExtentMap map_of_fixed(const RawFileArray& one, const Placement& placement, ExtentMap map) {
  if (!one.description.chunk_extents) {
    map.extents = DenseExtents{one.offset};
    return map;
  }
  const auto grid = array::ChunkGrid::create(map.shape, *one.description.chunk_extents).value();
  const std::int64_t slot = bytes_of(grid.chunk_extents(), map.type).value();
  map.extents = ChunkExtents{grid, std::nullopt,
                             SlotsInTurn{placement.files, one.offset, slot, placement.turn}};
  return map;
}

// Maps chunks to places in records, by a formula if there is no gap between the chunks of two
// records.
ExtentMap map_of_chunks(const RawFileArray& one, const RawRecords& records, ExtentMap map) {
  const array::Indices stored = stored_chunk(one.description, records.steps);
  const auto grid = array::ChunkGrid::create(map.shape, stored).value();
  const std::int64_t slot = bytes_of(stored, map.type).value();
  const std::int64_t first = records.offset + one.offset;
  const std::int64_t chunks =
      records.steps / stored[0] * chunks_in_row(one.description, stored);  // number in a record
  ChunkExtents extents{grid, stored, SlotsInTurn{1, first, slot}};
  if (chunks * slot != records.bytes && grid.chunks() > chunks) {
    std::vector<ChunkTable::Run> runs;
    runs.reserve(static_cast<std::size_t>(divide_up(grid.chunks(), chunks)));
    for (std::int64_t from = 0; from < grid.chunks(); from += chunks) {
      const std::int64_t offset = first + from / chunks * records.bytes;
      runs.push_back({from, std::min(chunks, grid.chunks() - from), {0, offset}, slot});
    }
    extents.places = ChunkTable::of(runs);
  }
  map.extents = std::move(extents);
  return map;
}

// Consecutive records of one length, with one step in each: those of the steps first <= s < end.
struct RecordsInTurn {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// Returns, in order, the records of a file with later records.
std::vector<RecordsInTurn> all_records(const RawFile& file) {
  const std::int64_t steps = file.steps().value_or(0);
  std::vector<RecordsInTurn> all = {{0, steps, file.records.offset, file.records.bytes}};
  for (const RawLaterRecords& one : file.later) {
    all.back().end = std::min(one.first_step, steps);
    all.push_back({one.first_step, steps, one.offset, one.bytes});
  }
  return all;
}

// Maps chunks of one step to places in records of several lengths. A dense step is one chunk.
ExtentMap map_of_later(const RawFileArray& one, const RawFile& file, ExtentMap map) {
  const array::Indices stored = stored_chunk(one.description, 1);
  const auto grid = array::ChunkGrid::create(map.shape, stored).value();
  const std::int64_t slot = bytes_of(stored, map.type).value();
  const std::int64_t chunks = chunks_in_row(one.description, stored);
  std::vector<ChunkTable::Run> runs;
  for (const RecordsInTurn& records : all_records(file)) {
    if (records.first < one.from_step || records.first >= records.end || chunks == 0) continue;
    const std::int64_t first = records.offset + one.offset;
    if (chunks == 1) {
      runs.push_back({records.first, records.end - records.first, {0, first}, records.bytes});
      continue;
    }
    for (std::int64_t step = records.first; step < records.end; ++step) {
      const std::int64_t offset = first + (step - records.first) * records.bytes;
      runs.push_back({step * chunks, chunks, {0, offset}, slot});
    }
  }
  map.extents = ChunkExtents{grid, stored, ChunkTable::of(runs)};
  return map;
}

std::optional<std::int64_t> common_multiple(std::int64_t a, std::int64_t b) {
  return checked_multiply(a / std::gcd(a, b), b);
}

// Returns the number of which the offset of an array of this size is a multiple.
std::optional<std::int64_t> unit_of(std::int64_t bytes, std::int64_t asked) {
  return common_multiple(bytes >= page_bytes ? page_bytes : least_alignment,
                         alignment_of(asked, bytes));
}

// Puts an array behind those that end at `end`. `unit` becomes a multiple of the array's alignment.
Status put(RawFileArray& one, const std::optional<std::int64_t>& bytes, std::int64_t alignment,
           std::int64_t& end, std::int64_t& unit) {
  const auto own = bytes ? unit_of(*bytes, alignment) : bytes;
  const auto common = own ? common_multiple(unit, *own) : own;
  const auto place = own ? checked_round_up(end, *own) : own;
  const auto behind = place ? checked_add(*place, *bytes) : place;
  if (!behind || !common) return too_long(one.description.name);
  one.offset = *place;
  end = *behind;
  unit = *common;
  return {};
}

}  // namespace

const FormatAbilities& raw_abilities() {
  static constexpr std::array<std::string_view, 1> suffixes = {".raw"};
  static const FormatAbilities abilities{.suffixes = suffixes,
                                         .several_arrays = true,
                                         .groups = true,
                                         .attributes = true,
                                         .dimension_names = true,
                                         .dense = true,
                                         .chunks = true,
                                         .growing = true,
                                         .column_major_chunks = true,
                                         .fill = true,
                                         .utf32 = true,
                                         .in_place = true};
  return abilities;
}

std::optional<std::int64_t> RawFile::steps() const {
  for (const RawFileArray& one : arrays) {
    if (one.description.grows) return steps_of(one.description);
  }
  return std::nullopt;
}

Status RawFile::set_steps(std::int64_t steps) {
  for (RawFileArray& one : arrays) {
    if (!one.description.grows) continue;
    const auto shape = with_steps(one.description.shape, steps);
    if (!shape) return shape.error();
    one.description.shape = shape.value();
  }
  for (RawLaterRecords& one : later) {
    if (one.first_step <= steps) continue;
    for (RawFileArray& array : arrays) {
      if (array.from_step == one.first_step) array.from_step = steps;
    }
    one.first_step = steps;
  }
  // Only the last of the records that begin at one step have all arrays in them.
  const auto is_last = [](const RawLaterRecords& a, const RawLaterRecords& b) {
    return a.first_step == b.first_step;
  };
  const auto kept = std::unique(later.rbegin(), later.rend(), is_last);
  later.erase(later.begin(), kept.base());
  if (!later.empty() && later.front().first_step == 0) {
    records.offset = later.front().offset;
    records.bytes = later.front().bytes;
    later.erase(later.begin());
  }
  return check();
}

std::int64_t RawFile::data_bytes(std::int64_t file) const {
  std::int64_t end = 0;
  for (const RawFileArray& one : arrays) {
    if (one.description.grows) continue;
    end = std::max(end, one.offset + fixed_bytes(one.description, placement, file).value());
  }
  const std::int64_t all = steps().value_or(0);
  if (!later.empty()) {
    for (const RecordsInTurn& one : all_records(*this)) {
      if (one.first >= one.end) continue;
      end = std::max(end, one.offset + (one.end - one.first) * one.bytes);
    }
    return end;
  }
  if (all == 0) return end;
  return std::max(end, records.offset + divide_up(all, records.steps) * records.bytes);
}

Status check_directory_name(const std::string& name) {
  const auto wrong = [&](const char* rule) {
    return invalid_argument(fmt::format("directory '{}': {}", printable(name), rule));
  };
  if (name.empty()) return wrong("give a name; the folder of the array itself is \"./\"");
  if (name.size() > longest_directory) return wrong("its name is too long");
  if (std::any_of(name.begin(), name.end(),
                  [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return wrong("a name has no control characters");
  }
  for (const auto& part : std::filesystem::path(name)) {
    if (part == "..") return wrong("a name may not lead upwards (..); give it in full");
  }
  if (!utf32_of_utf8(name)) {
    return wrong("its name is not in UTF-8, as the array's document needs it");
  }
  return {};
}

Status RawFile::check_placement() const {
  const std::int64_t files = placement.files;
  const std::vector<std::string>& directories = placement.directories;
  if (files < 1 || files > most_files) {
    return invalid_argument(fmt::format("{} files: give 1 to {}", files, most_files));
  }
  const bool is_shared = placement.layout == FileLayout::shared;
  if (files > 1 && (is_shared || arrays.empty() || !arrays.front().description.chunk_extents)) {
    return invalid_argument(fmt::format(
        "{} files: only chunks are spread over files, in the layout per-aggregator or per-rank",
        files));
  }
  if (!is_shared && (arrays.size() != 1 || arrays.front().description.grows)) {
    return invalid_argument(
        fmt::format("{} files of {} arrays: only one array without steps is spread over files",
                    files, arrays.size()));
  }
  if (!directories.empty() && is_shared) {
    return invalid_argument(fmt::format(
        "{} directories for one shared file: they are for the layouts per-aggregator and per-rank",
        directories.size()));
  }
  if (directories.size() > std::size_t{most_directories}) {
    return invalid_argument(
        fmt::format("{} directories: give at most {}", directories.size(), most_directories));
  }
  for (const std::string& name : directories) {
    if (Status possible = check_directory_name(name); !possible.ok()) return possible;
  }
  return {};
}

Status RawFile::check_later() const {
  if (later.size() > most_later_records || (!later.empty() && records.steps != 1)) {
    return invalid_argument(
        fmt::format("its records change their length {} times, with {} steps in each: at most {} "
                    "times, with one step in each",
                    later.size(), records.steps, most_later_records));
  }
  const std::int64_t all = steps().value_or(0);
  std::int64_t before = 0;
  std::int64_t bytes_before = records.bytes;
  for (const RawLaterRecords& one : later) {
    const auto bytes = checked_multiply(all, one.bytes);
    if (one.offset < 0 || one.bytes < bytes_before || one.first_step <= before ||
        one.first_step > all || !bytes || !checked_add(*bytes, one.offset)) {
      return invalid_argument("its later records are none");
    }
    before = one.first_step;
    bytes_before = one.bytes;
  }
  return {};
}

std::int64_t RawFile::bytes_of_record(std::int64_t step) const {
  std::int64_t bytes = records.bytes;
  for (const RawLaterRecords& one : later) {
    if (one.first_step <= step) bytes = one.bytes;
  }
  return bytes;
}

Status RawFile::check() const {
  FileDescription described;
  described.groups = groups;
  for (const RawFileArray& one : arrays) described.arrays.push_back(one.description);
  if (Status fine = check_description(described, raw_abilities(), "raw"); !fine.ok()) return fine;
  const bool possible = records.offset >= 0 && records.bytes >= 0 && records.steps >= 1 &&
                        records.steps <= most_steps_in_record;
  if (!possible) return invalid_argument("its records are none");
  if (Status fine = check_later(); !fine.ok()) return fine;
  if (Status fine = check_placement(); !fine.ok()) return fine;
  const std::int64_t all = steps().value_or(0);
  const std::int64_t count = divide_up(all, records.steps);
  const auto bytes = checked_multiply(count, records.bytes);
  if (!bytes || !checked_add(*bytes, records.offset)) return too_long("of records");
  std::int64_t in_tables = 0;
  for (const RawFileArray& one : arrays) {
    const ArrayDescription& about = one.description;
    if (one.offset < 0) return invalid_argument("an offset is negative");
    const auto own =
        about.grows ? bytes_in_record(about, records.steps) : fixed_bytes(about, placement);
    const auto end = own ? checked_add(*own, one.offset) : own;
    if (!end) return too_long(about.name);
    if (!about.grows) continue;
    const std::int64_t chunk = steps_per_chunk(about, records.steps);
    const bool begins =
        one.from_step == 0 ||
        std::any_of(later.begin(), later.end(), [&](const RawLaterRecords& beginning) {
          return beginning.first_step == one.from_step;
        });
    if (!begins) return invalid_argument("an array begins at a step at which no records do");
    if (steps_of(about) != all || records.steps % chunk != 0 ||
        *end > bytes_of_record(one.from_step)) {
      return invalid_argument(fmt::format(
          "array \"{}\" does not lie in records of {} steps and {} bytes, or has other steps",
          printable(about.name), records.steps, records.bytes));
    }
    if (!later.empty() && chunks_in_row(about, stored_chunk(about, 1)) <= 1) {
      in_tables += std::ssize(later) + 1;
      if (in_tables <= most_places_in_tables) continue;
    }
    const bool by_table =
        !later.empty() || ((about.chunk_extents || records.steps > 1) && *own != records.bytes);
    if (by_table && count > most_places_in_tables - in_tables) {
      return invalid_argument(
          fmt::format("array \"{}\": with its chunks in {} records those of all arrays that grow "
                      "would be in over {} places, which a raw file cannot have; give chunks of "
                      "more steps, or begin another file",
                      printable(about.name), count, most_places_in_tables));
    }
    if (by_table) in_tables += count;
  }
  return {};
}

DataFiles RawFile::data_files(const std::string& data) const {
  if (placement.layout == FileLayout::shared) return DataFiles::one(data);
  return DataFiles::numbered(data, placement.files, placement.directories);
}

FileMap RawFile::map(const std::string& data) const {
  FileMap made;
  made.groups = groups;
  made.left_out = left_out;
  made.arrays.reserve(arrays.size());
  for (const RawFileArray& one : arrays) {
    const ArrayDescription& about = one.description;
    ExtentMap map{.shape = about.shape,
                  .type = about.type,
                  .order = about.order,
                  .files = data_files(data),
                  .extents = RecordExtents{records.offset + one.offset, records.bytes}};
    if (!about.grows) {
      map = map_of_fixed(one, placement, std::move(map));
    } else if (!later.empty()) {
      map = map_of_later(one, *this, std::move(map));
    } else if (about.chunk_extents || records.steps > 1) {
      map = map_of_chunks(one, records, std::move(map));
    }
    made.arrays.push_back({about, std::move(map)});
  }
  return made;
}

namespace {

// Places arrays behind those that already have a place: first those from number `first_new` on that
// do not grow, then records for all arrays that grow, of which no step is in the file.
Status place_from(RawFile& file, std::size_t first_new, std::int64_t alignment) {
  std::int64_t end = 0;
  std::int64_t unit = 1;
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    RawFileArray& one = file.arrays[i];
    const ArrayDescription& about = one.description;
    if (!about.grows && i < first_new) {
      end = std::max(end, one.offset + fixed_bytes(about).value());
    } else if (!about.grows) {
      Status put_there = put(one, fixed_bytes(about), alignment, end, unit);
      if (!put_there.ok()) return put_there;
    } else if (about.chunk_extents) {
      const std::int64_t chunk = (*about.chunk_extents)[0];
      const auto together = common_multiple(file.records.steps, chunk);
      if (!together || *together > most_steps_in_record) {
        return invalid_argument(
            fmt::format("array \"{}\": with its chunks of {} steps a record of a raw file would "
                        "have over {} steps; give chunks of fewer",
                        about.name, chunk, most_steps_in_record));
      }
      file.records.steps = *together;
    }
  }
  std::int64_t record_end = 0;
  unit = 1;  // a multiple of all alignments, so that each array is aligned in every record
  for (RawFileArray& one : file.arrays) {
    if (!one.description.grows) continue;
    const auto bytes = bytes_in_record(one.description, file.records.steps);
    Status put_there = put(one, bytes, alignment, record_end, unit);
    if (!put_there.ok()) return put_there;
  }
  const auto first = checked_round_up(end, unit);
  const auto bytes = checked_round_up(record_end, unit);
  if (!first || !bytes) return too_long("of records");
  file.records.offset = *first;
  file.records.bytes = *bytes;
  return file.check();
}

// Places added arrays behind the file's steps.
Status place_later(RawFile& file, const std::vector<ArrayDescription>& added) {
  const std::int64_t steps = file.steps().value();
  std::int64_t end = file.data_bytes();
  std::int64_t record_end = file.bytes_of_record(steps);
  std::int64_t unit = 1;
  for (const RawFileArray& one : file.arrays) {
    if (!one.description.grows) continue;
    const auto bytes = bytes_in_record(one.description, 1);
    const auto own = bytes ? unit_of(*bytes, 0) : bytes;
    const auto common = own ? common_multiple(unit, *own) : own;
    if (!common) return too_long(one.description.name);
    unit = *common;
  }
  std::int64_t units_of_fixed = 1;
  for (const ArrayDescription& one : added) {
    RawFileArray placed{one, 0};
    if (one.grows) placed.from_step = steps;
    Status put_there = one.grows ? put(placed, bytes_in_record(one, 1), 0, record_end, unit)
                                 : put(placed, fixed_bytes(one), 0, end, units_of_fixed);
    if (!put_there.ok()) return put_there;
    file.arrays.push_back(std::move(placed));
  }
  const auto first = checked_round_up(end, unit);
  const auto bytes = checked_round_up(record_end, unit);
  if (!first || !bytes) return too_long("of records");
  // Records that hold no step yet are replaced.
  if (!file.later.empty() && file.later.back().first_step == steps) file.later.pop_back();
  file.later.push_back({steps, *first, *bytes});
  return file.check();
}

}  // namespace

Result<RawFile> place_raw_arrays(const FileDescription& file) {
  RawFile placed;
  placed.groups = file.groups;
  for (const ArrayDescription& one : file.arrays) placed.arrays.push_back({one, 0});
  if (file.in_place) placed.placement = *file.in_place;
  if (Status fine = place_from(placed, 0, file.alignment); !fine.ok()) return fine.error();
  if (placed.placement.files > 1) {
    const ArrayDescription& about = placed.arrays.front().description;
    const auto grid = array::ChunkGrid::create(about.shape, *about.chunk_extents).value();
    placed.placement.turn =
        array::Declustering::for_grid(grid, 1, placed.placement.files).turn_per_group();
  }
  return placed;
}

Status add_raw_arrays(RawFile& file, const std::vector<ArrayDescription>& added) {
  if (added.empty()) return {};
  if (file.steps().value_or(0) == 0) {
    const std::size_t first_new = file.arrays.size();
    for (const ArrayDescription& one : added) file.arrays.push_back({one, 0});
    return place_from(file, first_new, 0);
  }
  std::int64_t together = file.records.steps;
  for (const ArrayDescription& one : added) {
    if (one.grows && one.chunk_extents) together = std::max(together, (*one.chunk_extents)[0]);
  }
  if (together == 1) return place_later(file, added);
  return invalid_argument(
      fmt::format("array \"{}\": chunks of the file or of this array hold {} steps, and a raw file "
                  "with steps gets new arrays only where each holds one",
                  added.front().name, together));
}

std::vector<RawRange> unused_in_last_record(const RawFile& file) {
  std::vector<RawRange> ranges;
  const std::int64_t together = file.records.steps;
  const std::int64_t steps = file.steps().value_or(0);
  if (steps % together == 0) return ranges;
  const std::int64_t record = file.records.offset + steps / together * file.records.bytes;
  for (const RawFileArray& one : file.arrays) {
    if (!one.description.grows) continue;
    const std::int64_t all = bytes_in_record(one.description, together).value();
    // For an array in chunks, only the chunks without any step in the file are unused.
    const std::int64_t unit =
        one.description.chunk_extents ? steps_per_chunk(one.description, together) : 1;
    const std::int64_t used = divide_up(steps % together, unit) * unit;
    const std::int64_t used_bytes = all / together * used;
    ranges.push_back({record + one.offset + used_bytes, all - used_bytes});
  }
  return ranges;
}

}  // namespace weir::storage
