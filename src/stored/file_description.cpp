#include "stored/file_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "array/chunk_grid.hpp"
#include "array/suitable_chunks.hpp"
#include "common/page.hpp"
#include "stored/extent_map.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t most_arrays = 65536;
constexpr std::size_t most_attributes = 1024;
constexpr std::size_t most_attribute_bytes = 32768;
constexpr std::size_t most_name_bytes = 255;

Status check_part(std::string_view part, std::string_view whole) {
  const bool printable_only =
      std::all_of(part.begin(), part.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (part.empty() || part == "." || part == ".." || part.size() > most_name_bytes ||
      !printable_only) {
    return invalid_argument(
        fmt::format("\"{}\" is not a valid name: give 1 to {} bytes without control characters, "
                    "with '/' after groups, and not \".\" or \"..\"",
                    printable(std::string(whole)), most_name_bytes));
  }
  return {};
}

Status check_attributes(const std::vector<Attribute>& attributes, const std::string& owner) {
  std::set<std::string> names;
  if (attributes.size() > most_attributes) {
    return invalid_argument(fmt::format("\"{}\" has {} attributes: give at most {}", owner,
                                        attributes.size(), most_attributes));
  }
  for (const Attribute& one : attributes) {
    if (Status fine = check_attribute(one, owner); !fine.ok()) return fine;
    if (!names.insert(one.name).second) {
      return invalid_argument(
          fmt::format("attribute \"{}\" of \"{}\" is defined twice", one.name, owner));
    }
  }
  return {};
}

Status check_chunks(const ArrayDescription& one) {
  if (one.shard_extents && !one.chunk_extents) {
    return invalid_argument(
        fmt::format("array \"{}\" has shards but no chunks: give chunks", one.name));
  }
  if (!one.chunk_extents) return {};
  const auto grid = array::ChunkGrid::create(one.shape, *one.chunk_extents);
  if (!grid) return grid.error();
  if (!bytes_of(*one.chunk_extents, one.type)) {
    return invalid_argument(fmt::format("array \"{}\": a chunk of {} has more than 2^63 bytes",
                                        one.name, array::extents_text(*one.chunk_extents)));
  }
  if (!one.shard_extents) return {};
  if (one.shard_extents->size() != one.shape.dimensions()) {
    return invalid_argument(fmt::format("array \"{}\": shards have {} dimensions", one.name,
                                        one.shard_extents->size()));
  }
  for (int d = 0; d < one.shape.dimensions(); ++d) {
    const std::int64_t shard = (*one.shard_extents)[d];
    if (shard < 1 || shard % (*one.chunk_extents)[d] != 0) {
      return invalid_argument(fmt::format(
          "array \"{}\": a shard's extent {} along dimension {} is not a multiple of a chunk's {}",
          one.name, shard, d, (*one.chunk_extents)[d]));
    }
  }
  return {};
}

Status check_codecs(const ArrayDescription& one) {
  if (one.codecs.empty()) return {};
  const array::Indices extents = chunk_extents_of(one);
  ChunkForm form{.type = one.type, .extents = {}};
  for (int depth = 0; depth < extents.size(); ++depth) {
    form.extents.push_back(extents[array::dimension_at_depth(one.order, extents.size(), depth)]);
  }
  Status fine = check_pipeline(one.codecs, form);
  if (!fine.ok()) {
    fine.error().message = fmt::format("array \"{}\": {}", one.name, fine.error().message);
  }
  return fine;
}

Status check_array(const ArrayDescription& one) {
  if (Status fine = check_name(one.name); !fine.ok()) return fine;
  if (auto bytes = one.shape.bytes(one.type); !bytes) return bytes.error();
  if (one.grows && one.order != array::Order::row_major) {
    return invalid_argument(
        fmt::format("array \"{}\" has steps along dimension 0, which must be the slowest "
                    "dimension: give row-major order",
                    one.name));
  }
  if (one.is_scalar && (one.shape.extents() != array::Indices{1} || one.grows ||
                        !one.dimension_names.empty() || one.shard_extents)) {
    return invalid_argument(
        fmt::format("array \"{}\" is a single element without dimensions: give no dimension names, "
                    "steps or shards",
                    one.name));
  }
  if (!one.dimension_names.empty() &&
      one.dimension_names.size() != static_cast<std::size_t>(one.shape.dimensions())) {
    return invalid_argument(
        fmt::format("array \"{}\" has {} dimensions, but {} dimension names are given", one.name,
                    one.shape.dimensions(), one.dimension_names.size()));
  }
  for (const std::string& name : one.dimension_names) {
    if (Status fine = check_part(name, name); !fine.ok()) return fine;
    if (name.find('/') != std::string::npos) {
      return invalid_argument(fmt::format("dimension \"{}\" has a '/' in its name", name));
    }
  }
  if (!one.fill.empty() && one.fill.size() != static_cast<std::size_t>(one.type.bytes())) {
    return invalid_argument(
        fmt::format("array \"{}\": the fill value has {} bytes, but the type is {}", one.name,
                    one.fill.size(), one.type.name()));
  }
  if (Status fine = check_chunks(one); !fine.ok()) return fine;
  if (Status fine = check_codecs(one); !fine.ok()) return fine;
  return check_attributes(one.attributes, one.name);
}

// Checks that dimensions of one name have one length, and that either all or none of them grow.
Status check_dimensions(const FileDescription& file) {
  struct Length {
    std::int64_t extent = 0;
    bool grows = false;
  };
  std::map<std::string, Length> lengths;
  for (const ArrayDescription& one : file.arrays) {
    for (std::size_t d = 0; d < one.dimension_names.size(); ++d) {
      const Length here{one.shape.extent(static_cast<int>(d)), one.grows && d == 0};
      const auto [found, fresh] = lengths.emplace(one.dimension_names[d], here);
      if (!fresh && (found->second.extent != here.extent || found->second.grows != here.grows)) {
        return invalid_argument(
            fmt::format("dimension \"{}\" has another length in array \"{}\" than in an earlier "
                        "array: {} and {}, or has steps in only one of them",
                        one.dimension_names[d], one.name, here.extent, found->second.extent));
      }
    }
  }
  return {};
}

Status check_able(const FileDescription& file, const FormatAbilities& able,
                  std::string_view format) {
  const auto lacks = [&](const std::string& name, std::string_view what) -> Error {
    Error error = invalid_argument(
        fmt::format("array \"{}\": the format {} does not support {}", name, format, what));
    error.code = ErrorCode::unsupported;
    return error;
  };
  if (!able.several_arrays && file.arrays.size() != 1) {
    return invalid_argument(
        fmt::format("{} arrays are defined in a file of the format {}, which can hold one",
                    file.arrays.size(), format));
  }
  if (file.in_place && (!able.in_place || file.arrays.size() != 1 || file.arrays.front().grows)) {
    return invalid_argument(
        fmt::format("a file of {} arrays in the format {} is written in place from its beginning: "
                    "only a raw file of one array without steps can be",
                    file.arrays.size(), format));
  }
  const bool group_attributes =
      std::any_of(file.groups.begin(), file.groups.end(),
                  [](const GroupDescription& one) { return !one.attributes.empty(); });
  if (group_attributes && !able.attributes) return lacks("", "attributes");
  if (!all_groups(file).empty() && !able.groups) return lacks(all_groups(file).front(), "groups");
  for (const ArrayDescription& one : file.arrays) {
    if (!one.attributes.empty() && !able.attributes) return lacks(one.name, "attributes");
    if (!one.dimension_names.empty() && !able.dimension_names) {
      return lacks(one.name, "dimension names");
    }
    if (one.chunk_extents && !able.chunks) return lacks(one.name, "chunks");
    if (one.is_scalar && (one.chunk_extents || !one.codecs.empty()) && !able.scalars_in_chunks) {
      return lacks(one.name, "chunks of arrays without dimensions");
    }
    if (one.shard_extents && !able.shards) return lacks(one.name, "shards");
    if (one.grows && !able.growing) return lacks(one.name, "arrays that grow");
    if (!one.fill.empty() && !able.fill) return lacks(one.name, "fill values");
    if (one.type.kind() == array::ElementKind::utf32 && !able.utf32) {
      return lacks(one.name, fmt::format("type {}; give text[BYTES], of UTF-8", one.type.name()));
    }
    for (const Codec& codec : one.codecs) {
      const std::string_view codec_is = codec_name(codec);
      if (std::find(able.codecs.begin(), able.codecs.end(), codec_is) != able.codecs.end())
        continue;
      return lacks(one.name,
                   fmt::format("codec {}; {}", codec_is,
                               able.codecs.empty()
                                   ? "give none"
                                   : fmt::format("it has {}", fmt::join(able.codecs, ", "))));
    }
    const bool in_chunks = one.chunk_extents || !one.codecs.empty();
    if (in_chunks && one.order == array::Order::column_major && !able.column_major_chunks) {
      return lacks(one.name, "column-major chunks; give the extents reversed, in row-major order");
    }
  }
  return {};
}

}  // namespace

Status check_name(std::string_view name) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = name.find('/', begin);
    const std::string_view part = name.substr(begin, end - begin);
    if (Status fine = check_part(part, name); !fine.ok()) return fine;
    if (end == std::string_view::npos) return {};
    begin = end + 1;
  }
}

Status check_attribute(const Attribute& attribute, const std::string& owner) {
  if (Status fine = check_part(attribute.name, attribute.name); !fine.ok()) return fine;
  if (attribute.name.find('/') != std::string::npos) {
    return invalid_argument(
        fmt::format("attribute \"{}\" of \"{}\" has a '/' in its name", attribute.name, owner));
  }
  const auto has_null = [](const std::string& text) {
    return text.find('\0') != std::string::npos;
  };
  const auto* const text = std::get_if<std::string>(&attribute.value);
  const auto* const texts = std::get_if<std::vector<std::string>>(&attribute.value);
  if ((text != nullptr && has_null(*text)) ||
      (texts != nullptr && std::any_of(texts->begin(), texts->end(), has_null))) {
    return invalid_argument(fmt::format(
        "attribute \"{}\" of \"{}\" contains a null character, which texts in files cannot",
        attribute.name, owner));
  }
  const std::size_t bytes = attribute_bytes(attribute.value);
  if (bytes > most_attribute_bytes) {
    return invalid_argument(
        fmt::format("attribute \"{}\" of \"{}\" has {} bytes, but at most {} can be stored: use an "
                    "array instead",
                    attribute.name, owner, bytes, most_attribute_bytes));
  }
  return {};
}

std::int64_t alignment_of(std::int64_t asked, std::int64_t bytes) {
  if (asked > 0) return bytes >= asked ? asked : 1;
  constexpr std::int64_t largest_block = 2 << 20;  // largest block of Linux's page cache
  constexpr std::int64_t least_share = 16;
  std::int64_t alignment = largest_block;
  while (alignment > bytes / least_share) alignment /= 2;
  return alignment >= page_bytes ? alignment : 1;
}

Status check_description(const FileDescription& file, const FormatAbilities& abilities,
                         std::string_view format) {
  if (file.arrays.size() > most_arrays || file.groups.size() > most_arrays) {
    return invalid_argument(
        fmt::format("{} arrays and {} groups are defined in one file: give at most {} of each",
                    file.arrays.size(), file.groups.size(), most_arrays));
  }
  if (file.alignment < 0) {
    return invalid_argument(fmt::format(
        "alignment is {}: give at least 1, or 0 to let the format choose", file.alignment));
  }
  std::set<std::string> names;
  for (const ArrayDescription& one : file.arrays) {
    if (Status fine = check_array(one); !fine.ok()) return fine;
    if (!names.insert(one.name).second) {
      return invalid_argument(fmt::format("array \"{}\" is defined twice", one.name));
    }
  }
  std::set<std::string> groups;
  for (const GroupDescription& one : file.groups) {
    if (!one.name.empty()) {
      if (Status fine = check_name(one.name); !fine.ok()) return fine;
    }
    if (!groups.insert(one.name).second) {
      return invalid_argument(fmt::format("group \"{}\" is defined twice", one.name));
    }
    if (Status fine = check_attributes(one.attributes, one.name); !fine.ok()) return fine;
  }
  for (const std::string& group : all_groups(file)) {
    if (names.contains(group)) {
      return invalid_argument(fmt::format("\"{}\" is both an array and a group", group));
    }
  }
  if (Status fine = check_dimensions(file); !fine.ok()) return fine;
  return check_able(file, abilities, format);
}

bool wants_chunks(const ArrayDescription& one, const FormatAbilities& abilities) {
  return !one.chunk_extents && abilities.chunks && (!abilities.dense || !one.codecs.empty());
}

array::Indices chunk_extents_of(const ArrayDescription& one) {
  return one.chunk_extents
             ? *one.chunk_extents
             : array::suitable_chunks(one.shape.extents(), one.order, one.type.bytes());
}

array::Indices extents_of_one_chunk(const ArrayDescription& one) {
  array::Indices extents = one.shape.extents();
  for (std::int64_t& extent : extents) extent = std::max<std::int64_t>(1, extent);
  if (one.grows) extents[0] = 1;
  return extents;
}

std::string group_of(const std::string& name) {
  const auto slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

std::vector<std::string> all_groups(const FileDescription& file) {
  std::vector<std::string> groups;
  std::set<std::string> known = {""};
  const auto add = [&](const std::string& whole) {
    for (std::size_t end = 0; end != std::string::npos && !whole.empty();) {
      end = whole.find('/', end == 0 ? 0 : end + 1);
      const std::string group = whole.substr(0, end);
      if (known.insert(group).second) groups.push_back(group);
    }
  };
  for (const GroupDescription& one : file.groups) add(one.name);
  for (const ArrayDescription& one : file.arrays) add(group_of(one.name));
  return groups;
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  constexpr std::size_t longest_shown = 512;
  if (text.size() > longest_shown) text.resize(longest_shown);
  return text;
}

}  // namespace weir::storage
