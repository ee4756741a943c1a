// The description of a raw array on disk, which lies beside the data as NAME.json.
//
// The data are elements in native (little-endian) form and nothing else. Contiguous: the whole
// array is in one file, from `offset` on. Chunked: chunk c of the grid (numbered in row-major
// order) is in slot c div `files` of one of the files. Of each group of `files` consecutive chunks,
// one is in each file; the order is rotated from group to group by `turn` (array/declustering.hpp),
// so that sections spread over the files. Every slot has room for a whole chunk; a chunk at the
// array's upper edge fills the beginning of its slot, packed in its own extents. Elements inside a
// chunk are in `order`.
//
// Several files may lie in several directories: file n in directory n mod their number. A relative
// directory begins at the folder of the document and cannot leave it. An array without absolute
// directories can therefore be moved as a whole, and its document leads nowhere else. No name may
// contain "..".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array/chunk_grid.hpp"
#include "array/declustering.hpp"
#include "array/element_type.hpp"
#include "array/per_dimension.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "stored/extent_map.hpp"
#include "system/striping.hpp"

namespace weir::storage {

// Largest number of directories of an array.
inline constexpr std::int64_t most_directories = std::int64_t{1} << 12;
// Fails on a name that a document cannot hold: empty, too long, leading upwards, or not in UTF-8.
[[nodiscard]] Status check_directory_name(const std::string& name);

// How chunks are divided into files. Arrays are read in the same way; only the number of files
// differs.
enum class FileLayout : std::uint8_t { shared, per_aggregator, per_rank };

struct RawArray {
  array::Shape shape;
  array::ElementType type;
  array::Order order = array::Order::row_major;
  std::int64_t offset = 0;  // offset of the first element or slot in each file, in bytes
  std::optional<array::Indices> chunk_extents = std::nullopt;  // nothing: contiguous
  // Why these chunks were chosen; one line. With the initializer, gcc does not warn about omitting
  // it.
  std::string chunk_reason = {};  // NOLINT(readability-redundant-member-init)
  FileLayout layout = FileLayout::shared;
  std::int64_t files = 1;  // 1 when shared
  // The rotation by which declustering() finds the file of a chunk; 0: chunk c is in file c mod
  // `files`.
  std::uint64_t turn = 0;
  // Directories to which the files are assigned in turn; empty: all lie beside the document.
  std::vector<std::string> directories = {};  // NOLINT(readability-redundant-member-init)
  // Striping of new files; not stored in documents.
  Striping striping = {};  // NOLINT(readability-redundant-member-init)

  // Returns the grid of chunks; if contiguous, a grid of one chunk, the whole array.
  [[nodiscard]] Result<array::ChunkGrid> grid() const;
  // Returns the assignment of chunks to files. Chunk c is in slot c div `files` of its file,
  // whatever the rotation.
  [[nodiscard]] array::Declustering declustering() const {
    return array::Declustering::turning(files, turn);
  }
  // Fails on invalid values: a negative offset, chunks with another number of dimensions or extents
  // below 1, several files without chunks, no file, more than 2^20 files, files that end beyond
  // 2^63 - 1 bytes, directories for a shared file, more than 2^12 directories, or one with a name
  // that a document cannot hold.
  [[nodiscard]] Status check() const;

  friend bool operator==(const RawArray&, const RawArray&) = default;
};

// No description needs more. The limit keeps the parser from reading gigabytes.
inline constexpr std::size_t most_document_bytes = std::size_t{1} << 20;

// Convert to and from the document NAME.json. `source` names the document in errors, which are one
// line each whatever the text is (other types, negative or huge numbers, unknown versions and keys
// are refused).
[[nodiscard]] std::string raw_array_json(const RawArray& array);
[[nodiscard]] Result<RawArray> parse_raw_array(std::string_view text, const std::string& source);

// Return the path of the document, and of data file `number`: PATH itself when shared, else
// PATH.NUMBER, in the file's directory.
[[nodiscard]] std::string sidecar_path(const std::string& path);
[[nodiscard]] DataFiles data_files(const RawArray& array, const std::string& path);
// Returns where the array's elements lie. check() must have accepted the array.
[[nodiscard]] ExtentMap extent_map_of(const RawArray& array, const std::string& path);
[[nodiscard]] std::string data_path(const RawArray& array, const std::string& path,
                                    std::int64_t number);

}  // namespace weir::storage
