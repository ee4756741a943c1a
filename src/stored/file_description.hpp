// Description of a file's content, to be made or found: named arrays with types, shapes and
// attributes, in groups. It is the same for all formats; a format refuses, by name, what it cannot
// express.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/element_type.hpp"
#include "array/per_dimension.hpp"
#include "array/shape.hpp"
#include "codecs/codec.hpp"
#include "common/status.hpp"
#include "stored/attribute.hpp"
#include "system/striping.hpp"

namespace weir::storage {

// NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
// An attribute that is not taken over: Weir has no value for it, or the format no place.
struct AttributeLeftOut {
  std::string owner;  // an array or group; "" is the file itself
  std::string name;   // "" stands for all attributes beyond the number that is read
  std::string reason;

  friend bool operator==(const AttributeLeftOut&, const AttributeLeftOut&) = default;
};

// The attributes of one object of a file.
struct AttributesFound {
  std::vector<Attribute> shown;
  std::vector<AttributeLeftOut> left_out;
};

struct ArrayDescription {
  // Groups are separated by '/', without one at the beginning: "fields/velocity".
  std::string name;
  array::Shape shape;
  array::ElementType type = {};
  // One element without dimensions. `shape` then has one dimension of extent 1.
  bool is_scalar = false;
  // Formats that only have row-major order store a column-major array with its extents reversed, as
  // their Fortran interfaces do; programs that open the file see it in that form.
  array::Order order = array::Order::row_major;
  // The array grows along dimension 0, whose extent here is the number of existing steps.
  bool grows = false;
  std::optional<array::Indices> chunk_extents = std::nullopt;
  // Extents, in elements, of the chunks that share a file; multiples of chunk_extents.
  std::optional<array::Indices> shard_extents = std::nullopt;
  // One name per dimension, or empty.
  std::vector<std::string> dimension_names = {};
  // The bytes of one element in memory, or empty. Readers see this element where nothing was
  // allocated; allocated bytes that were never written are zeros.
  std::vector<std::byte> fill = {};
  std::vector<Attribute> attributes = {};
  // Codecs that each chunk passes before it is stored; without codecs chunks are stored as in
  // memory. Without chunk_extents, chunk_extents_of() chooses them.
  Pipeline codecs = {};
  // Says why these chunks were chosen, for people; one line or empty. Only raw files keep it, and
  // ranks do not send it to each other.
  std::string chunk_reason = {};

  friend bool operator==(const ArrayDescription&, const ArrayDescription&) = default;
};

struct GroupDescription {
  std::string name;  // "" is the file itself
  std::vector<Attribute> attributes = {};

  friend bool operator==(const GroupDescription&, const GroupDescription&) = default;
};

// Says how chunks are divided into data files. Arrays are read in the same way; only the number of
// files differs.
enum class FileLayout : std::uint8_t { shared, per_aggregator, per_rank };

// The data files of a file that consists of one array without steps.
struct Placement {
  FileLayout layout = FileLayout::shared;
  std::int64_t files = 1;  // 1 if shared
  // Rotation by which array::Declustering finds the file of a chunk; 0: chunk c is in file c mod
  // `files`. A file that is laid out gets the best one for its chunks.
  std::uint64_t turn = 0;
  // Directories to which the files are assigned in turn; empty: all lie beside the header.
  std::vector<std::string> directories = {};

  friend bool operator==(const Placement&, const Placement&) = default;
};

struct FileDescription {
  std::vector<ArrayDescription> arrays;
  // Groups with attributes or without arrays. All other groups follow from the arrays' names.
  std::vector<GroupDescription> groups = {};
  // Arrays of at least this many bytes begin at a multiple of it, such as a stripe or a lock block,
  // where the format leaves a choice. 1: anywhere; 0: as alignment_of() chooses.
  std::int64_t alignment = 0;
  // Striping of the file, or of all files of a folder.
  Striping striping = {};
  // With a value, the only array is written in place: readers see it as soon as its file is laid
  // out, and it has no first step.
  std::optional<Placement> in_place = std::nullopt;

  friend bool operator==(const FileDescription&, const FileDescription&) = default;
};
// NOLINTEND(readability-redundant-member-init)

// Returns the number of which the offset of a place for `bytes` bytes should be a multiple; 1 if
// any offset will do. If `asked` is 0, large blocks of the system's page cache lie as in a file
// with nothing but these bytes; this leaves holes of at most a sixteenth of the length. A block of
// the page cache cannot begin in the middle of a larger block, and transfers from small blocks take
// up to twice as long.
[[nodiscard]] std::int64_t alignment_of(std::int64_t asked, std::int64_t bytes);

// Says what a format can express.
struct FormatAbilities {
  std::span<const std::string_view> suffixes = {};  // of the names of its files: ".h5"
  bool several_arrays = false;
  bool groups = false;
  bool attributes = false;
  bool dimension_names = false;
  bool dense = false;
  bool chunks = false;
  bool shards = false;
  bool growing = false;
  bool column_major_chunks = false;
  bool fill = false;
  bool utf32 = false;  // as elements of arrays
  bool scalars_in_chunks = false;
  bool in_place = false;       // FileDescription::in_place
  bool is_folder = false;      // its files are folders, replaced as replace_store.hpp describes
  bool records_growth = true;  // files tell which arrays have steps, whoever made them
  std::span<const std::string_view> codecs = {};  // their names
};

// Fails on descriptions that no format or not this one can express: names that are empty, occur
// twice or name both a group and an array, with control characters or parts "." and ".."; one
// dimension name with two lengths; chunks, shards and fill values that do not fit the array; more
// than 65536 arrays. `format` is named in errors.
[[nodiscard]] Status check_description(const FileDescription& file,
                                       const FormatAbilities& abilities, std::string_view format);

// Fails unless the name is valid for an array or group: parts of printable characters between '/',
// none of them "." or "..", so that no name leads out of the file's folder.
[[nodiscard]] Status check_name(std::string_view name);
// Fails on names and lengths of attributes that no format stores. `owner` is named in errors.
[[nodiscard]] Status check_attribute(const Attribute& attribute, const std::string& owner);

// Returns whether chunks have to be chosen for the array: none were given, but the format or a
// codec needs them.
[[nodiscard]] bool wants_chunks(const ArrayDescription& one, const FormatAbilities& abilities);
// Returns the chunk extents of an array that needs chunks: the given ones, or others of a suitable
// size.
[[nodiscard]] array::Indices chunk_extents_of(const ArrayDescription& one);
// Returns the extents of a chunk that holds the whole array, or one step.
[[nodiscard]] array::Indices extents_of_one_chunk(const ArrayDescription& one);

// Return what precedes the last '/' ("" if there is none), and what follows it.
[[nodiscard]] std::string group_of(const std::string& name);
[[nodiscard]] std::string last_part(const std::string& name);
// Returns all groups that contain arrays or groups, each once, outer groups before inner ones,
// without "".
[[nodiscard]] std::vector<std::string> all_groups(const FileDescription& file);

// Returns a text as one short line without control characters, so that the content of files cannot
// forge output.
[[nodiscard]] std::string printable(std::string text);

}  // namespace weir::storage
