// Where the bytes of one array lie in files, as a value: what a format's library or header was
// asked once, so that whoever moves bytes needs neither again.
//
//     dense      the whole array packed in its order from an offset on
//     records    index i of dimension 0 is dense at an offset and i strides: NetCDF's record
//                variables, whose records lie between those of other variables
//     chunks     each chunk of a grid is dense somewhere: in closed form (slots, shards) or by a
//     table
//     encoded    chunks in as many bytes as encoding took: encoded_chunks.hpp
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
#include "storage/formats/encoded_chunks.hpp"
#include "storage/known_file.hpp"

namespace weir::storage {

// The byte order of the numbers in the file. Memory is little-endian.
enum class ByteOrder : std::uint8_t { little, big };

using ExtentPlace = array::ChunkPlace;

// ---- Which files ------------------------------------------------------------------------------

// The paths of a map's files: one path, or a prefix and the file's number, or a prefix and the
// coordinates of the file's number in a grid ("PREFIX/0/3/1").
class DataFiles {
 public:
  // All that it is, for whoever passes it on.
  // NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
  struct Parts {
    std::string prefix;
    std::int64_t files = 1;
    bool numbered = false;
    array::Indices counts = {};  // of files in a grid; none: not in one
    char separator = '/';
    std::int64_t bytes_when_made = 0;
    std::vector<std::string> directories = {};  // of numbered files

    friend bool operator==(const Parts&, const Parts&) = default;
  };
  // NOLINTEND(readability-redundant-member-init)

  static DataFiles one(std::string path);
  // "PREFIX.0" and so on. With directories file n lies, under its name there, in number n mod their
  // count; a relative one begins at the prefix's folder.
  static DataFiles numbered(std::string prefix, std::int64_t files,
                            std::vector<std::string> directories = {});
  // `counts` files along each dimension, numbered in row-major order; `separator` precedes each
  // coordinate but the first, which follows the prefix.
  static DataFiles in_grid(std::string prefix, const array::Indices& counts, char separator);
  static DataFiles of(Parts parts) { return DataFiles(std::move(parts)); }

  [[nodiscard]] const Parts& parts() const { return parts_; }
  [[nodiscard]] std::int64_t files() const { return parts_.files; }
  [[nodiscard]] std::string path(std::int64_t file) const;
  // 0: the files are there and as long as they have to be. Else a file may be missing, in which
  // case all its elements have the fill value, and who writes into it first makes it so long.
  [[nodiscard]] std::int64_t bytes_when_made() const { return parts_.bytes_when_made; }
  // Whether each file has coordinates. Such files of a step that is begun again are made anew.
  [[nodiscard]] bool are_in_grid() const { return !parts_.counts.empty(); }
  void set_bytes_when_made(std::int64_t bytes) { parts_.bytes_when_made = bytes; }
  // These files where what their paths begin with has another name; others are as they were.
  [[nodiscard]] DataFiles renamed(const std::string& from, const std::string& to) const;
  // The file or folder that the map was read from or made for: data files that are opened later are
  // compared with it. Null: they are not. It lives as long as this value.
  [[nodiscard]] const KnownFile* known() const { return known_.get(); }
  void set_known(std::shared_ptr<const KnownFile> known) { known_ = std::move(known); }
  void set_known_of(const DataFiles& other) { known_ = other.known_; }

  // Whether both have the same paths.
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
  std::int64_t offset = 0;  // of record 0
  std::int64_t stride = 0;  // bytes
  friend bool operator==(const RecordExtents&, const RecordExtents&) = default;
};

struct ChunkExtents {
  array::ChunkGrid grid;
  // The extents that every chunk has in the file: those at upper edges are stored whole, with
  // elements outside the array. Nothing: a chunk is packed in the extents it has in the array.
  std::optional<array::Indices> stored_extents;
  array::ChunkPlaces places;

  // Nothing: the chunk is not in the file, its elements have the fill value.
  [[nodiscard]] std::optional<ExtentPlace> place_of(std::int64_t chunk) const;
  // The extents of a chunk as it is stored.
  [[nodiscard]] array::Indices extents_of(std::int64_t chunk) const;
  friend bool operator==(const ChunkExtents&, const ChunkExtents&) = default;
};

struct ExtentMap {
  array::Shape shape;
  array::ElementType type;
  array::Order order = array::Order::row_major;  // of the array, or inside each chunk
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
  // Where the element at an index of the array begins, or nothing when it is in no file or encoded.
  // For single values: who moves arrays walks over the extents above.
  [[nodiscard]] std::optional<ExtentPlace> place_of(const array::Indices& index) const;
  friend bool operator==(const ExtentMap&, const ExtentMap&) = default;
};

// The bytes of the single numbers that a byte swap reverses: 8 for complex128 and float64, 1 where
// there is nothing to swap.
[[nodiscard]] std::int64_t bytes_swapped_together(const array::ElementType& type);

// The bytes of a box of these extents; nothing when they do not fit into 63 bits.
[[nodiscard]] std::optional<std::int64_t> bytes_of(const array::Indices& extents,
                                                   const array::ElementType& type);

}  // namespace weir::storage
