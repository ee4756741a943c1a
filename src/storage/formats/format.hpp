// A format: a header and an extent map per array.
//
//     lay out       one rank, once: header and room for all arrays    → FileMap
//     (move bytes)  every rank, through the extent maps alone
//     make room     one rank, before steps are added                  → FileMap
//     (move bytes)
//     commit        one rank, when the bytes of these steps are written
//     open          one process: a file of this format, whoever wrote it → FileMap
//
// A format keeps nothing open between two calls. Files are untrusted: whatever is in one, open()
// returns a value or an error, and allocates in proportion to the metadata that it read. The others
// are for files that this program laid out or opened.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/extent_map.hpp"
#include "storage/formats/file_description.hpp"

namespace weir::storage {

struct StoredArray {
  ArrayDescription description;
  ExtentMap map;
};

// An array that is there and cannot be moved by extents: compressed, in several pieces, of text.
struct RefusedArray {
  std::string name;
  std::string reason;
};

struct FileMap {
  std::vector<StoredArray> arrays;
  std::vector<GroupDescription> groups;  // those that have attributes
  std::vector<RefusedArray> refused;

  // Null when there is none.
  [[nodiscard]] const StoredArray* find(std::string_view name) const;
  // Fails with the reason for a refused array, and on names that are not there.
  [[nodiscard]] Result<const StoredArray*> get(std::string_view name) const;
};

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

  // Makes the file, replacing one that is there. The arrays of the result are in the order of the
  // description and described as there.
  virtual Result<FileMap> lay_out(const FileDescription& file, const std::string& path) const = 0;
  virtual Result<FileMap> open(const std::string& path) const = 0;
  // Room for `steps` steps in all, at least as many as there are, in every array that grows.
  virtual Result<FileMap> make_room(const std::string& path, std::int64_t steps) const = 0;
  // Readers see `steps` steps from here on. docs/formats.md says, format by format, what one sees
  // that opens the file between make_room() and commit().
  virtual Status commit(const std::string& path, std::int64_t steps) const = 0;
};

// Every format of this build; they live as long as the program.
[[nodiscard]] std::span<const Format* const> all_formats();
// Fails with the names of those there are.
[[nodiscard]] Result<const Format*> find_format(std::string_view name);

}  // namespace weir::storage
