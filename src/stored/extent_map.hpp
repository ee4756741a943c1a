// The places of one array's bytes in files, as a value. A format's library or header is used once,
// to make the map; moving bytes needs neither again.
//
// clang-format off
//     dense      the whole array packed in its order, beginning at an offset
//     records    index i of dimension 0 is dense at an offset plus i strides: NetCDF's record
//                variables, whose records lie between those of other variables
//     chunks     each chunk of a grid is dense somewhere, by a formula (slots, shards) or a table
//     encoded    each chunk takes as many bytes as its encoding needed: encoded_chunks.hpp
// clang-format on
//
// Addresses are checked against overflow when a map is made: the last byte of every file has an
// offset below 2^63.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "array/chunk_grid.hpp"
#include "array/chunk_places.hpp"
#include "array/element_type.hpp"
#include "array/per_dimension.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "stored/encoded_chunks.hpp"
#include "system/known_file.hpp"

namespace weir::storage {

// Byte order of the numbers in the file. Memory is little-endian.
enum class ByteOrder : std::uint8_t { little, big };

using ExtentPlace = array::ChunkPlace;

// ---- Which files ------------------------------------------------------------------------------

// The paths of a map's files: one path, or a prefix and the file's number, or a prefix and the
// coordinates of the file's number in a grid ("PREFIX/0/3/1").
class DataFiles {
 public:
  // All members, for code that passes the value on.
  // NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
  struct Parts {
    std::string prefix;
    std::int64_t files = 1;
    bool numbered = false;
    array::Indices counts = {};  // number of files along each dimension of a grid; empty: no grid
    char separator = '/';
    std::int64_t bytes_when_made = 0;
    std::vector<std::string> directories = {};  // for numbered files

    friend bool operator==(const Parts&, const Parts&) = default;
  };
  // NOLINTEND(readability-redundant-member-init)

  static DataFiles one(std::string path);
  // Files "PREFIX.0" and so on. With directories, file n lies under its name in directory n modulo
  // their number; a relative directory begins at the prefix's folder.
  static DataFiles numbered(std::string prefix, std::int64_t files,
                            std::vector<std::string> directories = {});
  // Files in a grid: `counts` files along each dimension, numbered in row-major order. `separator`
  // precedes each coordinate except the first, which follows the prefix.
  static DataFiles in_grid(std::string prefix, const array::Indices& counts, char separator);
  static DataFiles of(Parts parts) { return DataFiles(std::move(parts)); }

  [[nodiscard]] const Parts& parts() const { return parts_; }
  [[nodiscard]] std::int64_t files() const { return parts_.files; }
  [[nodiscard]] std::string path(std::int64_t file) const;
  // 0: the files exist and have their full length. Otherwise a file may be missing: its elements
  // then have the fill value, and the first writer makes the file this long.
  [[nodiscard]] std::int64_t bytes_when_made() const { return parts_.bytes_when_made; }
  // Returns whether each file has coordinates. If a step is begun again, such files of the step are
  // made anew.
  [[nodiscard]] bool are_in_grid() const { return !parts_.counts.empty(); }
  void set_bytes_when_made(std::int64_t bytes) { parts_.bytes_when_made = bytes; }
  // Returns these files with `from`, the beginning of their paths, replaced by `to`. Files with
  // other paths are unchanged.
  [[nodiscard]] DataFiles renamed(const std::string& from, const std::string& to) const;
  // The file or folder from which the map was read, or for which it was made. Data files that are
  // opened later are compared with it; null: they are not compared. It lives as long as this value.
  [[nodiscard]] const KnownFile* known() const { return known_.get(); }
  void set_known(std::shared_ptr<const KnownFile> known) { known_ = std::move(known); }
  void set_known_of(const DataFiles& other) { known_ = other.known_; }

  // Returns whether both have the same paths.
  friend bool operator==(const DataFiles& a, const DataFiles& b) { return a.parts_ == b.parts_; }

 private:
  explicit DataFiles(Parts parts) : parts_(std::move(parts)) {}

  Parts parts_;
  std::shared_ptr<const KnownFile> known_;
};

// ---- Where chunks are -------------------------------------------------------------------------

using array::ChunkTable;
using array::ShardSlots;
using array::SlotsInTurn;

// ---- The map ----------------------------------------------------------------------------------

struct DenseExtents {
  std::int64_t offset = 0;
  friend bool operator==(const DenseExtents&, const DenseExtents&) = default;
};

struct RecordExtents {
  std::int64_t offset = 0;  // offset of record 0
  std::int64_t stride = 0;  // in bytes
  friend bool operator==(const RecordExtents&, const RecordExtents&) = default;
};

struct ChunkExtents {
  array::ChunkGrid grid;
  // Extents that every chunk has in the file: chunks at upper edges are stored whole, with elements
  // outside the array. Nothing: each chunk is packed in the extents that it has in the array.
  std::optional<array::Indices> stored_extents;
  array::ChunkPlaces places;

  // Returns the place of a chunk. Returns nothing if the chunk is in no file; its elements then
  // have the fill value.
  [[nodiscard]] std::optional<ExtentPlace> place_of(std::int64_t chunk) const;
  // Returns the extents of a chunk as it is stored.
  [[nodiscard]] array::Indices extents_of(std::int64_t chunk) const;
  friend bool operator==(const ChunkExtents&, const ChunkExtents&) = default;
};

struct ExtentMap {
  array::Shape shape;
  array::ElementType type;
  array::Order order = array::Order::row_major;  // order of the array, or inside each chunk
  ByteOrder byte_order = ByteOrder::little;
  DataFiles files;
  std::variant<DenseExtents, RecordExtents, ChunkExtents, EncodedChunks> extents;

  [[nodiscard]] const DenseExtents* dense() const { return std::get_if<DenseExtents>(&extents); }
  [[nodiscard]] const RecordExtents* records() const {
    return std::get_if<RecordExtents>(&extents);
  }
  [[nodiscard]] const ChunkExtents* chunks() const { return std::get_if<ChunkExtents>(&extents); }
  [[nodiscard]] const EncodedChunks* encoded() const {
    return std::get_if<EncodedChunks>(&extents);
  }
  // Returns how many bytes are reversed together between the file and memory, which is
  // little-endian: 1 for none.
  [[nodiscard]] std::int64_t swapped_together() const;
  // Returns where the element at an index of the array begins; nothing if it is in no file or
  // encoded. This is for single values; code that moves arrays iterates over the extents above.
  [[nodiscard]] std::optional<ExtentPlace> place_of(const array::Indices& index) const;
  friend bool operator==(const ExtentMap&, const ExtentMap&) = default;
};

// Returns the size of the single numbers whose bytes a byte swap reverses: 8 for complex128 and
// float64, 1 if there is nothing to swap.
[[nodiscard]] std::int64_t bytes_swapped_together(const array::ElementType& type);

// Returns the bytes of a box of these extents; nothing if they exceed 63 bits.
[[nodiscard]] std::optional<std::int64_t> bytes_of(const array::Indices& extents,
                                                   const array::ElementType& type);

}  // namespace weir::storage
