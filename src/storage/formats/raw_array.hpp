// What a raw array on disk is: its description, which lies beside the data as NAME.json.
//
// The data are elements in native (little-endian) form and nothing else. Contiguous: the whole
// array in one file, from `offset` on. Chunked: chunk c of the grid (numbered in row-major order)
// is in the slot c div `files` of one of the files: one of each `files` consecutive chunks is in
// each, in an order that turns from group to group by `turn` (array/declustering.hpp), so that
// sections spread over the files. Every slot has room for a whole chunk, and a chunk at the array's
// upper edge fills the beginning of its slot, packed in its own extents. Elements inside a chunk
// are in `order`.
//
// Several files may lie in several directories, file n in number n mod their count. A relative one
// is taken from the folder of the document and cannot leave it, so an array without absolute ones
// can be moved as a whole and its document leads nowhere else. Nothing may be reached by "..".
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
#include "storage/formats/extent_map.hpp"
#include "storage/striping.hpp"

namespace weir::storage {

// At most so many directories has an array.
inline constexpr std::int64_t most_directories = std::int64_t{1} << 12;
// Fails on a name that a document cannot carry: empty, too long, leading upwards, not in UTF-8.
[[nodiscard]] Status check_directory_name(const std::string& name);

// Into which files the chunks go. They are read alike; only the number of files differs.
enum class FileLayout : std::uint8_t { shared, per_aggregator, per_rank };

struct RawArray {
  array::Shape shape;
  array::ElementType type;
  array::Order order = array::Order::row_major;
  std::int64_t offset = 0;  // of the first element or slot in each file, in bytes
  std::optional<array::Indices> chunk_extents = std::nullopt;  // nothing: contiguous
  // Why these chunks; one line. The initializer lets gcc take it as left out on purpose.
  std::string chunk_reason = {};  // NOLINT(readability-redundant-member-init)
  FileLayout layout = FileLayout::shared;
  std::int64_t files = 1;  // 1 when shared
  // The turn by which declustering() finds the file of a chunk; 0: chunk c is in file c mod
  // `files`.
  std::uint64_t turn = 0;
  // Where the files lie in turn; none: beside the document.
  std::vector<std::string> directories = {};  // NOLINT(readability-redundant-member-init)
  // How new files are to lie on their storage; documents have no word of it.
  Striping striping = {};  // NOLINT(readability-redundant-member-init)

  // The grid of chunks; of one chunk, the whole array, when contiguous.
  [[nodiscard]] Result<array::ChunkGrid> grid() const;
  // The declustering of chunks to files; chunk c is in slot c div `files` of its file, whatever the
  // turn.
  [[nodiscard]] array::Declustering declustering() const {
    return array::Declustering::turning(files, turn);
  }
  // Fails on what cannot be: a negative offset, chunks of another number of dimensions or below 1,
  // several files without chunks, no file, more than 2^20, files that end beyond 2^63 - 1 bytes,
  // directories for a shared file, more than 2^12, or with a name that a document cannot carry.
  [[nodiscard]] Status check() const;

  friend bool operator==(const RawArray&, const RawArray&) = default;
};

// No description needs more; a parser should not be made to read gigabytes.
inline constexpr std::size_t most_document_bytes = std::size_t{1} << 20;

// The document NAME.json, and back. `source` names the document in errors: one line each, whatever
// the text is (other types, negative or huge numbers, unknown versions and keys are refused).
[[nodiscard]] std::string raw_array_json(const RawArray& array);
[[nodiscard]] Result<RawArray> parse_raw_array(std::string_view text, const std::string& source);

// The path of the document, and of data file `number`: PATH itself when shared, else PATH.NUMBER or
// the same name in the file's directory.
[[nodiscard]] std::string sidecar_path(const std::string& path);
[[nodiscard]] DataFiles data_files(const RawArray& array, const std::string& path);
// Where its elements lie. The array is one that check() finds well.
[[nodiscard]] ExtentMap extent_map_of(const RawArray& array, const std::string& path);
[[nodiscard]] std::string data_path(const RawArray& array, const std::string& path,
                                    std::int64_t number);

}  // namespace weir::storage
