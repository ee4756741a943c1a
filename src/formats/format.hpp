// A format of files. It consists of a header and an extent map per array, and of these operations:
//
//     lay out       one rank, once: header and room for all arrays    → Room
//     (move bytes)  every rank, only by the extent maps
//     commit        one rank, when these bytes are written: the file gets its name
//     make room     one rank, before steps are added                  → Room
//     (move bytes)
//     commit        one rank, when the bytes of these steps are written
//     drop steps    one rank, instead of adding steps                 → update to commit
//     add           one rank, between steps: arrays and attributes    → update to commit
//     enter chunks  one rank, before commit, if encoded chunks got places in the file
//     open          one process: a file of this format, by any program   → FileMap
//
// commit() is the same for all formats: header_update.hpp. A run that is killed at any point leaves
// the last committed file, with unfinished parts beside it or behind its end.
//
// A format keeps nothing open between two calls. Files are untrusted: open() returns a value or an
// error whatever a file contains, and allocates in proportion to the metadata that it read. All
// other operations are for files that this program laid out or opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "formats/header_update.hpp"
#include "stored/file_description.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

struct Additions;  // additions.hpp

// All bytes of a file that has been laid out and has no bytes of arrays yet. It is the only data
// file.
struct LaidOutBytes {
  struct Block {
    std::int64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Block> blocks;  // apart from each other, in ascending order; all else is a hole
  std::int64_t length = 0;    // of the file
};

// The places of bytes that readers do not see yet, and the update that makes readers see them.
struct Room {
  FileMap map;
  HeaderUpdate update;
  // For encoded chunks whose places are kept in a table (EncodedTable): offset in the file from
  // which on their bytes may be written, one chunk after the other, by any process and in any
  // order, but not over chunks that enter_chunks() was told of before. The writer keeps the list
  // for enter_chunks(). -1 if chunks are files of their own or in shards.
  std::int64_t free_from = -1;
  // A killed commit left chunks behind the file's steps, which the update removes.
  bool has_leftovers = false;
  // By which KnownLayout makes the next file; nothing where lay_out() itself is as fast.
  std::optional<LaidOutBytes> laid_out = {};  // NOLINT(readability-redundant-member-init)
};

// An encoded chunk that was written where readers do not see it yet.
struct WrittenChunk {
  std::int64_t array = 0;  // number of the array in the map
  std::int64_t chunk = 0;
  EncodedPlace place;

  friend bool operator==(const WrittenChunk&, const WrittenChunk&) = default;
};

// Returns `opened` in the order and form of the description by which the file was laid out. In
// particular, a column-major array, which most files store with its extents reversed, is
// column-major again.
[[nodiscard]] Result<FileMap> described_as(const FileDescription& file, FileMap opened);

class Format {
 public:
  Format() = default;
  Format(const Format&) = delete;
  Format& operator=(const Format&) = delete;
  virtual ~Format() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual FormatAbilities abilities() const = 0;

  // Returns an attribute's value as a file of the format stores it, perhaps in another type. Fails
  // if the format cannot hold it. `array` is the type of the array that has the attribute; null for
  // a group.
  [[nodiscard]] virtual Result<Attribute::Value> stored_attribute(
      const Attribute& attribute, const array::ElementType* array) const = 0;

  // Makes the file under a temporary name (incomplete.hpp), which is also in the maps; the first
  // commit renames it. An existing file at `path` stays until then. The arrays of the result have
  // the order and the descriptions of `file`.
  virtual Result<Room> lay_out(const FileDescription& file, const std::string& path) const = 0;
  virtual Result<FileMap> open(const std::string& path) const = 0;
  // Makes room for `steps` steps in all, at least as many as there are, in every array that grows.
  // Readers see no change. Leftovers of an earlier run are removed. Only one run at a time may add
  // steps to a file, and its last room is the one to commit.
  virtual Result<Room> make_room(const std::string& path, std::int64_t steps) const = 0;
  // Makes room as make_room() does, for a caller that knows the maps of the file's first
  // `known_steps` steps, as they were opened and have been committed since. These maps are not read
  // again, so that a step costs the same however many there are. Arrays that are not in `known`, or
  // differ in more than steps, are read.
  virtual Result<Room> make_room_behind(const std::string& path, std::int64_t steps,
                                        const FileMap& known, std::int64_t known_steps) const;
  // Returns the update to commit instead of the room's, with which readers find the chunks. Called
  // by one rank, after encoded chunks were written from room.free_from on and before the commit. If
  // a chunk occurs several times the last one counts. Readers see no change. The commit may
  // overwrite a chunk that an earlier commit put into the file, if the chunk has the same length as
  // before.
  virtual Result<HeaderUpdate> enter_chunks(const std::string& path, const Room& room,
                                            std::int64_t steps,
                                            std::span<const WrittenChunk> chunks) const;
  // Returns the update after which the file has more arrays, which hold their fill value, and other
  // attributes. Called by one rank, between steps. Leftovers of a killed run are removed first.
  // add_to_file() has checked the additions; arrays that grow have as many steps as the file.
  virtual Result<HeaderUpdate> add(const std::string& path, const Additions& added) const = 0;
  // Returns the update after which readers see only the first `steps` steps, at most as many as
  // there are. Called by one rank. clear_unfinished() removes what is then left of the other steps.
  // `before`: the largest number of steps that any array may have had at the beginning of a drop
  // that was killed; at least as many as there are. drop_steps.hpp describes the whole procedure.
  virtual Result<HeaderUpdate> drop_steps(const std::string& path, std::int64_t steps,
                                          std::int64_t before) const = 0;
  // Removes what was laid out and written for steps from `steps` on; `steps` is the number of
  // committed steps. Called by one rank, in place of commit() or after a drop. Leftovers of a
  // killed commit may stay until make_room().
  virtual Status clear_unfinished(const std::string& path, std::int64_t steps) const = 0;
  // Returns a line for each thing that a killed run left in a file that opens, except arrays with
  // more steps than others, and for each array that is refused because the file is damaged ("array
  // NAME: REASON").
  virtual Result<std::vector<std::string>> unfinished(const std::string& path) const = 0;
};

// Returns every format of this build; they live as long as the program.
[[nodiscard]] std::span<const Format* const> all_formats();
// Returns the format of this name. An error lists the existing names.
[[nodiscard]] Result<const Format*> find_format(std::string_view name);
// Returns the format whose files have names that end as the path does, whatever the case of its
// letters and slashes behind it. An error lists the known suffixes.
[[nodiscard]] Result<const Format*> format_by_suffix(std::string_view path);

}  // namespace weir::storage
