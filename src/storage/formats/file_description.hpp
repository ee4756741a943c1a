// What is to be in a file, or what one holds: named arrays with types, shapes, attributes, in
// groups. The same for all formats; what a format cannot express it refuses by name.
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
#include "common/status.hpp"
#include "storage/codecs/codec.hpp"
#include "storage/formats/attribute.hpp"
#include "storage/striping.hpp"

namespace weir::storage {

// NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
// An attribute that is not taken over: one that Weir has no value for, or a format no place.
struct AttributeLeftOut {
  std::string owner;  // an array or group; "" is the file itself
  std::string name;   // "" stands for all those beyond the number that is read
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
  // One element without dimensions. The shape is then that of one dimension of extent 1.
  bool is_scalar = false;
  // Formats that only know row-major order hold a column-major array with its extents reversed, as
  // their Fortran interfaces do; whoever opens the file sees it so.
  array::Order order = array::Order::row_major;
  // Along dimension 0, whose extent here is the number of steps there are.
  bool grows = false;
  std::optional<array::Indices> chunk_extents = std::nullopt;
  // Chunks that share a file, in elements; multiples of chunk_extents.
  std::optional<array::Indices> shard_extents = std::nullopt;
  // One per dimension, or none.
  std::vector<std::string> dimension_names = {};
  // One element as in memory, or nothing. Readers see it where nothing was allocated; allocated
  // bytes that were never written are zeros.
  std::vector<std::byte> fill = {};
  std::vector<Attribute> attributes = {};
  // What is done to the bytes of each chunk before they are stored; none: chunks are as in memory.
  // Without chunk_extents some are chosen (chunk_extents_of()).
  Pipeline codecs = {};

  friend bool operator==(const ArrayDescription&, const ArrayDescription&) = default;
};

struct GroupDescription {
  std::string name;  // "" is the file itself
  std::vector<Attribute> attributes = {};

  friend bool operator==(const GroupDescription&, const GroupDescription&) = default;
};

struct FileDescription {
  std::vector<ArrayDescription> arrays;
  // The groups with attributes or without arrays; the others follow from the arrays' names.
  std::vector<GroupDescription> groups = {};
  // Arrays of at least this many bytes begin at a multiple of it, where the format leaves a choice:
  // stripes, blocks of locks. 1: anywhere; 0: as alignment_of() has it.
  std::int64_t alignment = 0;
  // How the file is to lie on its storage, or all files of a folder.
  Striping striping = {};
};
// NOLINTEND(readability-redundant-member-init)

// What places for so many bytes are multiples of: 1 where anything will do. With nothing asked for,
// large blocks of the system's page cache lie as those of a file of bytes alone do, for at most a
// sixteenth of the length in holes: a block cannot begin in the middle of a larger one, and out of
// small ones transfers take up to twice as long.
[[nodiscard]] std::int64_t alignment_of(std::int64_t asked, std::int64_t bytes);

// What a format can express.
struct FormatAbilities {
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
  bool utf32 = false;  // as elements
  bool scalars_in_chunks = false;
  std::span<const std::string_view> codecs = {};  // their names
};

// Fails on what no format or not this one has: names that are empty, twice there, both group and
// array, with control characters or parts "." and ".."; one dimension name with two lengths;
// chunks, shards and fill values that do not fit the array; more than 65536 arrays. `format` is for
// errors.
[[nodiscard]] Status check_description(const FileDescription& file,
                                       const FormatAbilities& abilities, std::string_view format);

// Whether a name is one of an array or group: parts of printable characters between '/', none of
// them "." or "..", so that no name leads out of the file's folder.
[[nodiscard]] Status check_name(std::string_view name);
// Fails on names and lengths of attributes that no format stores. `owner` is for the error.
[[nodiscard]] Status check_attribute(const Attribute& attribute, const std::string& owner);

// Whether chunks have to be chosen for the array, as none were given and the format or a codec has
// nothing else.
[[nodiscard]] bool wants_chunks(const ArrayDescription& one, const FormatAbilities& abilities);
// The chunks of an array that has to have some: those asked for, or of a suitable size.
[[nodiscard]] array::Indices chunk_extents_of(const ArrayDescription& one);
// The whole array as a chunk, or one step.
[[nodiscard]] array::Indices extents_of_one_chunk(const ArrayDescription& one);

// What precedes the last '/', "" when there is none, and what follows it.
[[nodiscard]] std::string group_of(const std::string& name);
[[nodiscard]] std::string last_part(const std::string& name);
// All groups above arrays and groups, each once, those above before those below; "" is left out.
[[nodiscard]] std::vector<std::string> all_groups(const FileDescription& file);

// One line, without control characters and not long: what files say must not forge output.
[[nodiscard]] std::string printable(std::string text);

}  // namespace weir::storage
