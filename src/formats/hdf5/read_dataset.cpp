#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "common/checked.hpp"
#include "formats/hdf5/attributes.hpp"
#include "formats/hdf5/chunk_index.hpp"
#include "formats/hdf5/datasets.hpp"
#include "formats/hdf5/dimension_scales.hpp"
#include "formats/hdf5/filters.hpp"
#include "formats/text_bytes.hpp"
#include "stored/array_change.hpp"

namespace weir::storage {
namespace {

using Reason = RefusalReason;
using Found = Hdf5ChunkIndex::Found;

struct Layout {
  array::Shape shape;
  bool is_scalar = false;
  bool grows = false;
  std::optional<array::Indices> chunk;  // extents as stored
  // All chunks are one block of the file, in row-major order (the HDF5 File Format Specification,
  // "Implicit Index"). The library chooses this for datasets that are allocated early and have no
  // filter and no unlimited dimension, in files for HDF5 1.10 and later.
  bool implicit_index = false;
};

std::optional<array::Indices> indices_of(const std::vector<hsize_t>& sizes) {
  array::Indices indices;
  for (const hsize_t size : sizes) {
    if (size > static_cast<hsize_t>(INT64_MAX)) return std::nullopt;
    indices.push_back(static_cast<std::int64_t>(size));
  }
  return indices;
}

// Refuses datasets that only the library could read, byte by byte.
Reason check_creation(const Hdf5File& file, hid_t creation) {
  if (H5Pget_external_count(creation) != 0) return "its data are in external files";
  switch (H5Pget_layout(creation)) {
    case H5D_CONTIGUOUS:
      break;
    case H5D_CHUNKED:
      if (file.user_block > 0) return "it has chunks, and the file has a user block";
      break;
    case H5D_COMPACT:
      return "it is compact: its data are in the header";
    case H5D_VIRTUAL:
      return "it is virtual: its data are in other datasets";
    default:
      return "its layout is unknown";
  }
  return std::nullopt;
}

std::variant<Layout, std::string> read_layout(const Hdf5File& file, hid_t dataset, hid_t creation) {
  const Hdf5Handle space(H5Dget_space(dataset));
  if (H5Sis_simple(space.id()) <= 0) return "its shape is not a simple dataspace";
  const int dimensions = H5Sget_simple_extent_ndims(space.id());
  if (dimensions < 0 || dimensions > array::max_dimensions) {
    return fmt::format("it has {} dimensions, but Weir reads at most {}", dimensions,
                       array::max_dimensions);
  }
  const auto count = static_cast<std::size_t>(dimensions);
  std::vector<hsize_t> sizes(count);
  std::vector<hsize_t> most(count);
  if (H5Sget_simple_extent_dims(space.id(), sizes.data(), most.data()) != dimensions) {
    return "its shape cannot be read";
  }
  // A scalar is an array of one element; an empty dataspace has no elements.
  const bool is_scalar = count == 0 && H5Sget_simple_extent_type(space.id()) == H5S_SCALAR;
  if (count == 0) sizes = {is_scalar ? 1U : 0U};
  const auto extents = indices_of(sizes);
  if (!extents) return "its shape does not fit into 63 bits";
  const auto shape = array::Shape::create(*extents);
  if (!shape) return shape.error().message;
  Layout layout{shape.value(), is_scalar, count > 0 && most.front() == H5S_UNLIMITED, std::nullopt};
  if (H5Pget_layout(creation) == H5D_CHUNKED) {
    std::vector<hsize_t> chunk(count);
    const bool alike = count > 0 && H5Pget_chunk(creation, dimensions, chunk.data()) == dimensions;
    layout.chunk = alike ? indices_of(chunk) : std::nullopt;
    if (!layout.chunk) return "its chunks have another number of dimensions";
    H5D_alloc_time_t when = H5D_ALLOC_TIME_ERROR;
    layout.implicit_index = file.superblock >= 3 && most == sizes &&
                            H5Pget_nfilters(creation) == 0 &&
                            H5Pget_alloc_time(creation, &when) >= 0 && when == H5D_ALLOC_TIME_EARLY;
  }
  return layout;
}

bool inside(const Hdf5File& file, haddr_t offset, std::int64_t bytes) {
  if (offset > static_cast<haddr_t>(INT64_MAX)) return false;
  const auto end = checked_add(static_cast<std::int64_t>(offset), bytes);
  return end && *end <= file.bytes;
}

using Places = std::variant<SlotsInTurn, ShardSlots, ChunkTable>;

// Chunks of an array that is not encoded, each of which takes the same number of bytes.
class PlainChunks {
 public:
  PlainChunks(const Hdf5File& file, const Hdf5ChunkIndex& index, const array::ChunkGrid& grid,
              std::int64_t slot_bytes)
      : file_(file), index_(index), grid_(grid), slot_bytes_(slot_bytes) {}

  // Adds the chunks from this one on to a table of the earlier chunks.
  Reason read_from(std::int64_t chunk, ChunkTable& table) const {
    std::vector<ChunkTable::Run> runs;
    Reason reason =
        index_.for_each_in_file(chunk, grid_.chunks(), [&](const Found& found) -> Reason {
          if (Reason wrong = check(found)) return wrong;
          ChunkTable::add(runs, found.chunk, {0, static_cast<std::int64_t>(found.offset)});
          return std::nullopt;
        });
    table.append(runs, 0);
    return reason;
  }

  // Finds the formula for the places. The last chunk and some of the others must agree with it.
  Reason read_block(Places& places) const {
    constexpr std::int64_t asked = 5;
    const std::int64_t last = grid_.chunks() - 1;
    SlotsInTurn slots{1, 0, slot_bytes_};
    for (std::int64_t i = 0; i <= asked; ++i) {
      const std::int64_t chunk = last / asked * i + (i == asked ? last % asked : 0);
      Found found{chunk};
      if (Reason reason = index_.look_up(found)) return reason;
      if (!found.in_file()) return fmt::format("chunk {} has no address", chunk);
      if (Reason wrong = check(found)) return wrong;
      const auto offset = static_cast<std::int64_t>(found.offset);
      if (i == 0) slots.offset = offset;
      if (slots.place_of(chunk).offset != offset) {
        return fmt::format("chunk {} is not in line with the other chunks", chunk);
      }
    }
    places = slots;
    return std::nullopt;
  }

 private:
  [[nodiscard]] Reason check(const Found& found) const {
    if (found.mask != 0 || found.bytes != static_cast<hsize_t>(slot_bytes_)) {
      return fmt::format("chunk {} is stored in {} bytes instead of {}", found.chunk,
                         std::uint64_t{found.bytes}, slot_bytes_);
    }
    if (!inside(file_, found.offset, slot_bytes_)) {
      return fmt::format("chunk {} lies outside the file", found.chunk);
    }
    return std::nullopt;
  }

  const Hdf5File& file_;
  const Hdf5ChunkIndex& index_;
  const array::ChunkGrid& grid_;
  std::int64_t slot_bytes_;
};

// Adds the chunks from <= c < to, encoded and of any length, to a table of the earlier chunks.
Reason read_encoded(const Hdf5File& file, const Hdf5ChunkIndex& index, std::int64_t from,
                    std::int64_t to, EncodedTable& table) {
  std::vector<EncodedTable::Entry> entries;
  Reason reason = index.for_each_in_file(from, to, [&](const Found& found) -> Reason {
    if (found.bytes > static_cast<hsize_t>(INT64_MAX) ||
        !inside(file, found.offset, static_cast<std::int64_t>(found.bytes))) {
      return fmt::format("chunk {} lies outside the file", found.chunk);
    }
    entries.push_back({found.chunk,
                       {.file = 0,
                        .offset = static_cast<std::int64_t>(found.offset),
                        .bytes = static_cast<std::int64_t>(found.bytes),
                        .skipped = found.mask}});
    return std::nullopt;
  });
  table.put(std::move(entries));
  return reason;
}

// The part of an array's chunks that was known before and has not changed.
template <typename Table>
struct KnownChunks {
  Table table;
  std::int64_t chunks = 0;  // the table has this many chunks, from the first on
};

// `chunks_of` returns a map's chunks of this kind, null if it has none.
template <typename Table, typename ChunksOf>
KnownChunks<Table> known_chunks(const Hdf5File& file, const std::string& name, const Layout& layout,
                                const array::ElementType& type, const array::ChunkGrid& grid,
                                const ChunksOf& chunks_of) {
  const ExtentMap* const map = file.known.find(name);
  const auto* const known = map == nullptr || map->type != type ? nullptr : chunks_of(*map);
  const auto* const table = known == nullptr ? nullptr : std::get_if<Table>(&known->places);
  if (table == nullptr || known->stored_extents != *layout.chunk) return {};
  const array::Indices& before = known->grid.shape().extents();
  const array::Indices& now = grid.shape().extents();
  if (before.size() != now.size() || !std::equal(before.begin() + 1, before.end(), now.begin() + 1))
    return {};
  const auto had = file.steps_before.find(name);
  const bool grows = had != file.steps_before.end();
  if (!grows && before != now) return {};
  KnownChunks<Table> found{*table, grid.chunks()};
  if (!grows) return found;
  found.chunks = chunks_of_steps(grid, std::min({had->second, file.known.steps(), before[0]}));
  found.table.cut(found.chunks);
  return found;
}

// Returns how many encoded chunks, from the first on, may be in the file. All later ones belong to
// steps that were just added.
std::int64_t chunks_to_ask(const Hdf5File& file, const std::string& name,
                           const array::ChunkGrid& grid) {
  const auto before = file.steps_before.find(name);
  return before == file.steps_before.end() ? grid.chunks() : chunks_of_steps(grid, before->second);
}

Reason read_chunks(const Hdf5File& file, hid_t dataset, const std::string& name,
                   const Layout& layout, const Pipeline& pipeline, ExtentMap& map) {
  const auto grid = array::ChunkGrid::create(layout.shape, *layout.chunk);
  if (!grid) return grid.error().message;
  const auto slot_bytes = bytes_of(*layout.chunk, map.type);
  if (!slot_bytes ||
      !checked_multiply(*slot_bytes, std::max<std::int64_t>(1, grid.value().chunks()))) {
    return "its chunks do not fit into 63 bits";
  }
  const Hdf5ChunkIndex index(*file.driver, dataset, grid.value(), *layout.chunk);
  if (!pipeline.empty()) {
    auto known = known_chunks<EncodedTable>(
        file, name, layout, map.type, grid.value(),
        [&](const ExtentMap& before) -> const EncodedChunks* {
          const EncodedChunks* const chunks = before.encoded();
          return chunks != nullptr && chunks->pipeline == pipeline ? chunks : nullptr;
        });
    Reason reason = read_encoded(file, index, known.chunks, chunks_to_ask(file, name, grid.value()),
                                 known.table);
    map.extents = EncodedChunks{grid.value(), *layout.chunk, pipeline, std::move(known.table)};
    return reason;
  }
  const PlainChunks plain(file, index, grid.value(), *slot_bytes);
  ChunkExtents chunks{grid.value(), layout.chunk, ChunkTable()};
  Reason reason;
  if (grid.value().chunks() > 0 && layout.implicit_index) {
    reason = plain.read_block(chunks.places);
  } else {
    auto known = known_chunks<ChunkTable>(file, name, layout, map.type, grid.value(),
                                          [](const ExtentMap& before) { return before.chunks(); });
    reason = plain.read_from(known.chunks, known.table);
    chunks.places = std::move(known.table);
  }
  map.extents = std::move(chunks);
  return reason;
}

Reason read_contiguous(const Hdf5File& file, hid_t dataset, const Layout& layout, ExtentMap& map) {
  const auto bytes = layout.shape.bytes(map.type);
  if (!bytes) return bytes.error().message;
  if (bytes.value() == 0) return std::nullopt;
  const haddr_t offset = H5Dget_offset(dataset);
  // If there is a user block, the library adds its length even to an undefined offset.
  if (offset == HADDR_UNDEF || H5Dget_storage_size(dataset) == 0) {
    // No element has been written yet: the map is one chunk that is not there.
    const auto whole = array::ChunkGrid::create(layout.shape, layout.shape.extents());
    map.extents = ChunkExtents{whole.value(), std::nullopt, ChunkTable()};
    return std::nullopt;
  }
  if (H5Dget_storage_size(dataset) < static_cast<hsize_t>(bytes.value()) ||
      !inside(file, offset, bytes.value())) {
    return "its data lie outside the file";
  }
  map.extents = DenseExtents{static_cast<std::int64_t>(offset)};
  return std::nullopt;
}

// `stored` is the type in the file. Text is read in that type because the library does not convert
// between ASCII and UTF-8.
std::vector<std::byte> read_fill(hid_t creation, hid_t stored, const array::ElementType& type) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  if (H5Pfill_value_defined(creation, &defined) < 0 || defined != H5D_FILL_VALUE_USER_DEFINED) {
    return {};
  }
  const bool is_text = type.kind() == array::ElementKind::text;
  const Hdf5Handle memory =
      is_text ? Hdf5Handle(H5Tcopy(stored)) : hdf5_type(type, ByteOrder::little);
  std::vector<std::byte> fill(static_cast<std::size_t>(type.bytes()));
  if (H5Pget_fill_value(creation, memory.id(), fill.data()) < 0) return {};
  return fill;
}

// Returns the fill value of texts of any length; "" if none is defined.
std::string read_text_fill(hid_t creation, hid_t stored) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  char* text = nullptr;
  if (H5Pfill_value_defined(creation, &defined) < 0 || defined != H5D_FILL_VALUE_USER_DEFINED ||
      H5Pget_fill_value(creation, stored, static_cast<void*>(&text)) < 0 || text == nullptr) {
    return {};
  }
  std::string fill = text;
  const Hdf5Handle one(H5Screate(H5S_SCALAR));
  H5Dvlen_reclaim(stored, one.id(), H5P_DEFAULT, static_cast<void*>(&text));
  return fill;
}

// Returns the type of records whose members an attribute of the dataset names as its compound does;
// nothing for other compounds.
std::optional<StoredType> read_record_type(hid_t dataset, hid_t type) {
  const auto text = read_hdf5_text_attribute(dataset, array::record_members_attribute);
  const auto record = array::ElementType::record(static_cast<std::int64_t>(H5Tget_size(type)));
  if (!text || !record) return std::nullopt;
  const auto members = array::parse_record_members(*text, record.value());
  if (!members) return std::nullopt;
  const Hdf5Handle named = hdf5_compound(members.value(), record.value().bytes());
  if (!named.ok() || H5Tequal(type, named.id()) <= 0) return std::nullopt;
  return StoredType{record.value()};
}

std::string why_no_type(hid_t type) {
  return H5Tget_class(type) == H5T_VLEN
             ? "its elements are lists of variable length"
             : "its elements are neither numbers nor texts of a type that Weir supports";
}

// Reads a dataset whose elements are stored in this type, without its fill value.
std::variant<StoredArray, std::string> read_stored(const Hdf5File& file, hid_t dataset,
                                                   hid_t creation, const StoredType& stored,
                                                   const std::string& name) {
  if (Reason reason = check_creation(file, creation)) return *reason;
  auto read = read_layout(file, dataset, creation);
  if (auto* reason = std::get_if<std::string>(&read)) return *reason;
  const Layout& layout = std::get<Layout>(read);

  StoredArray array{{.name = name,
                     .shape = layout.shape,
                     .type = stored.type,
                     .is_scalar = layout.is_scalar,
                     .grows = layout.grows},
                    {.shape = layout.shape,
                     .type = stored.type,
                     .byte_order = stored.byte_order,
                     .files = DataFiles::one(file.path),
                     .extents = DenseExtents{}}};
  if (layout.chunk) {
    auto filters = read_hdf5_filters(creation, {stored.type, *layout.chunk});
    if (auto* reason = std::get_if<std::string>(&filters)) return *reason;
    array.description.codecs = std::get<Pipeline>(filters);
    const bool numbers_encoded = !array.description.codecs.empty() &&
                                 std::holds_alternative<ZfpCodec>(array.description.codecs.front());
    if (numbers_encoded && stored.byte_order == ByteOrder::big) {
      return "its numbers are big-endian and encoded by zfp";
    }
  }
  const Reason reason =
      layout.chunk ? read_chunks(file, dataset, name, layout, array.description.codecs, array.map)
                   : read_contiguous(file, dataset, layout, array.map);
  if (reason) return *reason;
  array.description.chunk_extents = layout.chunk;
  if (!layout.is_scalar) {
    array.description.dimension_names =
        read_hdf5_dimensions(dataset, layout.shape.dimensions(), *file.scales);
  }
  return array;
}

}  // namespace

std::variant<StoredArray, StoredTexts, RefusedArray> read_hdf5_dataset(const Hdf5File& file,
                                                                       hid_t dataset,
                                                                       const std::string& name) {
  const auto refused = [&](std::string reason) {
    return RefusedArray{name, printable(std::move(reason))};
  };
  const Hdf5Handle type(H5Dget_type(dataset));
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  if (!type.ok() || !creation.ok()) return refused("its header cannot be read");
  const bool has_references = H5Tis_variable_str(type.id()) > 0;
  if (has_references && !file.wide) {
    return refused("its texts are of variable length, in a file whose offsets are not of 8 bytes");
  }
  auto stored =
      has_references
          ? std::optional(StoredType{array::ElementType::record(heap_reference_bytes).value()})
          : file.types.find(type.id());
  if (!stored && H5Tget_class(type.id()) == H5T_COMPOUND) {
    stored = read_record_type(dataset, type.id());
  }
  if (!stored) return refused(why_no_type(type.id()));
  auto read = read_stored(file, dataset, creation.id(), *stored, name);
  if (auto* reason = std::get_if<std::string>(&read)) return refused(*reason);
  StoredArray& array = std::get<StoredArray>(read);
  if (has_references) {
    std::string fill = read_text_fill(creation.id(), type.id());
    if (std::ssize(fill) > most_text_fill_bytes) return refused("its fill value is too long");
    return StoredTexts{std::move(array), std::move(fill), file.user_block};
  }
  array.description.fill = read_fill(creation.id(), type.id(), stored->type);
  return std::move(array);
}

}  // namespace weir::storage
