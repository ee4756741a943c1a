// A format: a header and an extent map per array.
//
//     lay out       one rank, once: header and room for all arrays    → Room
//     (move bytes)  every rank, through the extent maps alone
//     commit        one rank, when these bytes are written: the file gets its name
//     make room     one rank, before steps are added                  → Room
//     (move bytes)
//     commit        one rank, when the bytes of these steps are written
//     drop steps    one rank, in place of adding some                 → update to commit
//     add           one rank, between steps: arrays and attributes    → update to commit
//     enter chunks  one rank, before commit, where encoded chunks got places in the file
//     open          one process: a file of this format, whoever wrote it → FileMap
//
// commit() is the same for all formats: header_update.hpp. A run that is killed at any point leaves
// the last committed file, and beside or behind it what was unfinished.
//
// A format keeps nothing open between two calls. Files are untrusted: whatever is in one, open()
// returns a value or an error, and allocates in proportion to the metadata that it read. The others
// are for files that this program laid out or opened.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/extent_map.hpp"
#include "storage/formats/file_description.hpp"
#include "storage/formats/header_update.hpp"

namespace weir::storage {

struct Additions;  // additions.hpp

struct StoredArray {
  ArrayDescription description;
  ExtentMap map;
};

// An array of texts of any length. Its bytes are moved by src/storage/texts/read_texts.hpp alone,
// by one process; collective calls have it not.
struct StoredTexts {
  // In HDF5 files elements are references to the texts, records of `heap_reference_bytes`; in Zarr
  // chunks are encoded, and decode to as many bytes as their texts take. The array has no fill.
  StoredArray array;
  // NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
  std::string fill = {};  // what elements have that were never written
  // In HDF5 files, the offset that references count from.
  std::optional<std::int64_t> heap_base = {};
  // NOLINTEND(readability-redundant-member-init)
};
inline constexpr std::int64_t heap_reference_bytes = 16;

// An array that is there and cannot be moved by extents: in several pieces, of compounds.
struct RefusedArray {
  std::string name;
  std::string reason;
};

struct FileMap {
  std::vector<StoredArray> arrays;
  std::vector<StoredTexts> texts;        // arrays of texts of any length
  std::vector<GroupDescription> groups;  // those that have attributes
  std::vector<RefusedArray> refused;
  std::vector<AttributeLeftOut> left_out;  // of arrays that are there and of groups

  // Null when there is none.
  [[nodiscard]] const StoredArray* find(std::string_view name) const;
  // Fails with the reason for a refused array, and on names that are not there.
  [[nodiscard]] Result<const StoredArray*> get(std::string_view name) const;
  // The steps that every array that grows has: the least of them, where one is ahead of others.
  // Nothing when none grows.
  [[nodiscard]] std::optional<std::int64_t> steps() const;
};

// Where bytes go that readers do not see yet, and what makes them see these.
struct Room {
  FileMap map;
  HeaderUpdate update;
  // From here on in the file the bytes of encoded chunks may be written whose places are a table
  // (EncodedTable): by anybody, one after the other, in any order. Whoever does so keeps the list
  // for enter_chunks(). -1 where chunks are files of their own or in shards.
  std::int64_t free_from = -1;
  // A killed commit left chunks behind the file's steps, which the update takes away.
  bool has_leftovers = false;
};

// An encoded chunk that was written where nobody sees it yet.
struct WrittenChunk {
  std::int64_t array = 0;  // its number in the map
  std::int64_t chunk = 0;
  EncodedPlace place;

  friend bool operator==(const WrittenChunk&, const WrittenChunk&) = default;
};

// What the data files of a map that lay_out() gave are called when the first commit to `path` was
// made: whoever has them open goes on using them.
[[nodiscard]] DataFiles committed_files(const std::string& path, const DataFiles& laid_out);

// What was opened, in the order and the words of the description that it was laid out by: a
// column-major array, which most files hold with its extents reversed, is that again.
[[nodiscard]] Result<FileMap> described_as(const FileDescription& file, FileMap opened);

class Format {
 public:
  Format() = default;
  Format(const Format&) = delete;
  Format& operator=(const Format&) = delete;
  virtual ~Format() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual FormatAbilities abilities() const = 0;

  // An attribute's value as it is in a file of the format, perhaps in another type; fails on one
  // that the format cannot hold. `array` is the type of the array that has the attribute; null for
  // a group.
  [[nodiscard]] virtual Result<Attribute::Value> stored_attribute(
      const Attribute& attribute, const array::ElementType* array) const = 0;

  // Makes the file under a temporary name (incomplete.hpp), which the maps have and the first
  // commit takes away; a file that is there at `path` stays until then. The arrays of the result
  // are in the order of the description and described as there.
  virtual Result<Room> lay_out(const FileDescription& file, const std::string& path) const = 0;
  virtual Result<FileMap> open(const std::string& path) const = 0;
  // Room for `steps` steps in all, at least as many as there are, in every array that grows.
  // Nothing that readers see changes. What an earlier run left unfinished is removed, so one run at
  // a time may add steps to a file, and its last room is the one to commit.
  virtual Result<Room> make_room(const std::string& path, std::int64_t steps) const = 0;
  // Makes room as make_room() does, for a caller that knows the maps of the file's first
  // `known_steps` steps, as they were opened and committed since: what they say is not asked again,
  // so that a step costs the same however many there are. Arrays that are not among them, or differ
  // in more than steps, are read.
  virtual Result<Room> make_room_behind(const std::string& path, std::int64_t steps,
                                        const FileMap& known, std::int64_t known_steps) const;
  // By one rank, after encoded chunks were written from room.free_from on and before the commit:
  // the update to commit instead of the room's, with which readers find these chunks. Of a chunk
  // that is there several times the last one counts. Nothing that readers see changes; a chunk that
  // an earlier commit put into the file may be overwritten by the commit, when it is as long as
  // before.
  virtual Result<HeaderUpdate> enter_chunks(const std::string& path, const Room& room,
                                            std::int64_t steps,
                                            std::span<const WrittenChunk> chunks) const;
  // By one rank, between steps: the update after which the file has more arrays, which hold their
  // fill value, and other attributes. What a killed run left unfinished is removed before.
  // Additions are what add_to_file() has checked; arrays that grow have as many steps as the file.
  virtual Result<HeaderUpdate> add(const std::string& path, const Additions& added) const = 0;
  // By one rank: the update after which readers see the first `steps` steps alone, at most as many
  // as there are. What is then left of the others clear_unfinished() removes. `before`: as many
  // steps as any array may have had when a drop began that was killed; at least as many as there
  // are. drop_steps.hpp has all of it.
  virtual Result<HeaderUpdate> drop_steps(const std::string& path, std::int64_t steps,
                                          std::int64_t before) const = 0;
  // By one rank, in place of commit() or after a drop: removes what was laid out and written for
  // steps from `steps` on, which is as many as are committed. What a killed commit left may stay
  // for make_room().
  virtual Status clear_unfinished(const std::string& path, std::int64_t steps) const = 0;
  // What a killed run left in a file that opens, besides arrays with more steps than others, and
  // which arrays are refused as the file is damaged ("array NAME: REASON"): a line each.
  virtual Result<std::vector<std::string>> unfinished(const std::string& path) const = 0;
};

// Every format of this build; they live as long as the program.
[[nodiscard]] std::span<const Format* const> all_formats();
// Fails with the names of those there are.
[[nodiscard]] Result<const Format*> find_format(std::string_view name);

}  // namespace weir::storage
