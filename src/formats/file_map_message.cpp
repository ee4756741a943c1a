#include "formats/file_map_message.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "common/checked.hpp"

// The form of the messages: numbers of 8 bytes, and texts preceded by their lengths, without names.
// A file may have tens of thousands of arrays, and all ranks wait for the message. Packing and
// unpacking use the same functions.

namespace weir::storage {
namespace {

class Packing {
 public:
  static constexpr bool packs = true;

  Packing() { message_.reserve(usual_bytes); }
  void number(const std::int64_t& number) {
    message_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void text(const std::string& text) {
    number(std::ssize(text));
    message_ += text;
  }
  [[nodiscard]] std::string take() { return std::move(message_); }

 private:
  static constexpr std::size_t usual_bytes = 1024;  // more than the message about one array has

  std::string message_;
};

class Unpacking {
 public:
  static constexpr bool packs = false;

  explicit Unpacking(std::string_view message) : left_(message) {}
  void number(std::int64_t& number) {
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
  }
  void text(std::string& text) {
    std::int64_t bytes = 0;
    number(bytes);
    text = take(bytes);
  }
  // Reads the number of items that follow, of which each takes 8 bytes or more.
  [[nodiscard]] std::size_t count() {
    std::int64_t items = 0;
    number(items);
    if (items < 0 || items > std::ssize(left_) / 8) throw std::runtime_error("a list is too long");
    return static_cast<std::size_t>(items);
  }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

 private:
  std::string_view take(std::int64_t bytes) {
    if (bytes < 0 || bytes > std::ssize(left_)) throw std::runtime_error("it ends early");
    const std::string_view taken = left_.substr(0, static_cast<std::size_t>(bytes));
    left_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view left_;
};

template <typename>
inline constexpr bool is_vector = false;
template <typename Item>
inline constexpr bool is_vector<std::vector<Item>> = true;
template <typename>
inline constexpr bool is_optional = false;
template <typename Item>
inline constexpr bool is_optional<std::optional<Item>> = true;
template <typename>
inline constexpr bool is_variant = false;
template <typename... Kinds>
inline constexpr bool is_variant<std::variant<Kinds...>> = true;

template <typename Value>
Value checked(Result<Value> made) {
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(made).value();
}

// Lists the fields of each type once, for packing and for unpacking.
template <typename Side>
class Message : public Side {
 public:
  using Side::Side;
  static constexpr bool packs = Side::packs;
  template <typename Value>
  using Seen = std::conditional_t<packs, const Value, Value>;

  void set_tables(Tables tables) { tables_ = tables; }

  template <typename Value>
  void pass(Value& value) {
    using Kind = std::remove_const_t<Value>;
    if constexpr (std::is_integral_v<Kind> || std::is_enum_v<Kind>) {
      // The sign of numbers of one byte is kept, too.
      // NOLINTNEXTLINE(bugprone-signed-char-misuse)
      auto number = static_cast<std::int64_t>(value);
      this->number(number);
      if constexpr (!packs) value = static_cast<Kind>(number);
    } else if constexpr (std::is_same_v<Kind, double>) {
      auto number = std::bit_cast<std::int64_t>(value);
      this->number(number);
      if constexpr (!packs) value = std::bit_cast<double>(number);
    } else if constexpr (std::is_same_v<Kind, float>) {
      auto number = static_cast<std::int64_t>(std::bit_cast<std::int32_t>(value));
      this->number(number);
      if constexpr (!packs) value = std::bit_cast<float>(static_cast<std::int32_t>(number));
    } else if constexpr (std::is_same_v<Kind, std::string>) {
      this->text(value);
    } else if constexpr (std::is_same_v<Kind, std::vector<EncodedTable::Entry>>) {
      pass_entries(value);
    } else if constexpr (is_vector<Kind>) {
      pass_list(value);
    } else if constexpr (is_optional<Kind>) {
      bool there = value.has_value();
      pass(there);
      if constexpr (!packs) {
        if (there) value.emplace();
      }
      if (there) pass(*value);
    } else if constexpr (is_variant<Kind>) {
      pass_kind(value);
    } else {
      fields(value);
    }
  }
  template <typename... Values>
  void pass(Values&... values) requires(sizeof...(Values) > 1) {
    (pass(values), ...);
  }

  void fields(Seen<FileMap>& file) {
    pass_all(
        file.arrays, [](auto& one) -> auto& { return one; });
    pass_all(
        file.texts, [](auto& one) -> auto& { return one.array; });
    for (auto& one : file.texts) pass(one.fill, one.heap_base);
    pass(file.groups, file.refused, file.left_out);
  }

 private:
  // `array_of` returns an item's StoredArray.
  template <typename List, typename ArrayOf>
  void pass_all(List& list, const ArrayOf& array_of) {
    if constexpr (packs) {
      this->number(std::ssize(list));
    } else {
      const std::size_t count = this->count();
      const array::Shape none = array::Shape::create({0}).value();
      const auto empty = [&] {
        return StoredArray{
            {.name = "", .shape = none},
            {.shape = none, .type = {}, .files = DataFiles::one(""), .extents = DenseExtents{}}};
      };
      list.reserve(count);
      for (std::size_t i = 0; i < count; ++i) list.push_back({empty()});
    }
    for (auto& item : list) {
      auto& one = array_of(item);
      pass(one.description.shape, one.description, one.map.shape, one.map);
    }
  }
  template <typename List>
  void pass_list(List& list) {
    if constexpr (packs) {
      this->number(std::ssize(list));
    } else {
      list.resize(this->count());
    }
    for (auto& item : list) pass(item);
  }
  template <typename Variant>
  void pass_kind(Variant& variant) {
    auto kind = static_cast<std::int64_t>(variant.index());
    this->number(kind);
    if constexpr (!packs)
      become<Variant>(variant, kind, std::make_index_sequence<kinds<Variant>>());
    std::visit([&](auto& value) { this->pass(value); }, variant);
  }
  template <typename Variant>
  static constexpr std::size_t kinds = std::variant_size_v<std::remove_const_t<Variant>>;
  template <typename Variant, std::size_t... numbers>
  static void become(Variant& variant, std::int64_t kind, std::index_sequence<numbers...> /*all*/) {
    const bool known = ((static_cast<std::size_t>(kind) == numbers &&
                         (variant.template emplace<numbers>(), true)) ||
                        ...);
    if (!known) throw std::runtime_error("an unknown kind");
  }

  // ---- Shapes and types ---------------------------------------------------------------------

  void fields(Seen<array::Indices>& indices) {
    if constexpr (packs) {
      this->number(indices.size());
      for (const std::int64_t one : indices) this->number(one);
    } else {
      const std::size_t count = this->count();
      if (count > array::max_dimensions) throw std::runtime_error("too many dimensions");
      indices = array::Indices();
      for (std::size_t i = 0; i < count; ++i) {
        std::int64_t one = 0;
        this->number(one);
        indices.push_back(one);
      }
    }
  }
  void fields(Seen<array::Shape>& shape) {
    array::Indices extents = shape.extents();
    pass(extents);
    if constexpr (!packs) shape = checked(array::Shape::create(extents));
  }
  void fields(Seen<array::ElementType>& type) {
    std::string name;
    if constexpr (packs) name = type.name();
    pass(name);
    if constexpr (!packs) type = checked(array::ElementType::parse(name));
  }

  // ---- Descriptions -------------------------------------------------------------------------

  void fields(Seen<ArrayDescription>& one) {
    pass(one.name, one.type, one.is_scalar, one.order, one.grows, one.chunk_extents,
         one.shard_extents, one.dimension_names, one.fill, one.attributes, one.codecs);
  }
  void fields(Seen<Attribute>& one) { pass(one.name, one.value); }
  void fields(Seen<GroupDescription>& one) { pass(one.name, one.attributes); }
  void fields(Seen<RefusedArray>& one) { pass(one.name, one.reason); }
  void fields(Seen<AttributeLeftOut>& one) { pass(one.owner, one.name, one.reason); }
  void fields(Seen<ShuffleCodec>& codec) { pass(codec.element_bytes); }
  void fields(Seen<DeflateCodec>& codec) { pass(codec.level, codec.gzip); }
  void fields(Seen<ZstdCodec>& codec) { pass(codec.level, codec.checksum); }
  void fields(Seen<BloscCodec>& codec) {
    pass(codec.compressor, codec.level, codec.shuffle, codec.element_bytes, codec.block_bytes);
  }
  void fields(Seen<Blosc2Codec>& codec) {
    pass(codec.compressor, codec.level, codec.shuffle, codec.element_bytes);
  }
  void fields(Seen<ZfpCodec>& codec) { pass(codec.tolerance, codec.header, codec.mode); }
  void fields(Seen<Crc32cCodec>& /*without parameters*/) {}
  void fields(Seen<Fletcher32Codec>& /*without parameters*/) {}
  void fields(Seen<LzfCodec>& /*without parameters*/) {}
  void fields(Seen<Lz4Codec>& codec) { pass(codec.block_bytes); }
  void fields(Seen<BitshuffleCodec>& codec) {
    pass(codec.compressor, codec.level, codec.element_bytes, codec.block_elements);
  }
  void fields(Seen<SzipCodec>& codec) {
    pass(codec.options, codec.pixels_per_block, codec.bits_per_pixel, codec.pixels_per_line);
  }
  void fields(Seen<DeltaCodec>& codec) { pass(codec.stored); }

  // ---- Steps that arrays get ----------------------------------------------------------------

  void fields(Seen<ArrayKept>& /*says all*/) {}
  void fields(Seen<ArrayGrown>& grown) {
    pass(grown.steps, grown.chunk_extents, grown.from_chunk, grown.runs, grown.entries);
  }
  void fields(Seen<ArrayMoved>& moved) { pass(moved.map.shape, moved.map); }

  // ---- Extent maps --------------------------------------------------------------------------

  // The map's shape has already been passed.
  void fields(Seen<ExtentMap>& map) {
    pass(map.type, map.order, map.byte_order);
    pass_files(map);
    auto kind = static_cast<std::int64_t>(map.extents.index());
    this->number(kind);
    if constexpr (!packs) {
      // What the message says of the chunks replaces this grid.
      const auto grid = [&] {
        return checked(
            array::ChunkGrid::create(map.shape, array::Indices(map.shape.dimensions(), 1)));
      };
      if (kind == 0) map.extents = DenseExtents{};
      if (kind == 1) map.extents = RecordExtents{};
      if (kind == 2) map.extents = ChunkExtents{grid(), {}, {}};
      if (kind == 3) map.extents = EncodedChunks{grid(), {}, {}, {}};
      if (kind < 0 || kind > 3) throw std::runtime_error("invalid extents");
    }
    std::visit([&](auto& extents) { pass_extents(extents, map.shape); }, map.extents);
  }
  void pass_files(Seen<ExtentMap>& map) {
    if constexpr (packs) {
      pass_parts(map.files.parts());
    } else {
      DataFiles::Parts parts;
      pass_parts(parts);
      map.files = DataFiles::of(std::move(parts));
    }
  }
  void pass_parts(Seen<DataFiles::Parts>& parts) {
    auto separator = static_cast<unsigned char>(parts.separator);
    pass(parts.prefix, parts.files, parts.numbered, parts.counts, separator, parts.bytes_when_made,
         parts.directories);
    if constexpr (!packs) {
      parts.separator = static_cast<char>(separator);
      check_grid(parts);
    }
  }
  // Each file has its own coordinates.
  static void check_grid(const DataFiles::Parts& parts) {
    std::optional<std::int64_t> files = 1;
    for (const std::int64_t count : parts.counts) {
      if (count < 0 || !files) throw std::runtime_error("an invalid grid of files");
      files = checked_multiply(*files, count);
    }
    if (parts.files < 0 || (!parts.counts.empty() && files != parts.files)) {
      throw std::runtime_error("a grid of another number of files");
    }
  }
  void pass_extents(Seen<DenseExtents>& dense, const array::Shape& /*all*/) { pass(dense.offset); }
  void pass_extents(Seen<RecordExtents>& records, const array::Shape& /*all*/) {
    pass(records.offset, records.stride);
  }
  void pass_extents(Seen<ChunkExtents>& chunks, const array::Shape& shape) {
    pass_grid(chunks.grid, shape);
    pass(chunks.stored_extents, chunks.places);
  }
  void pass_extents(Seen<EncodedChunks>& chunks, const array::Shape& shape) {
    pass_grid(chunks.grid, shape);
    pass(chunks.stored_extents, chunks.pipeline, chunks.places);
  }
  void pass_grid(Seen<array::ChunkGrid>& grid, const array::Shape& shape) {
    array::Indices extents = grid.chunk_extents();
    pass(extents);
    if constexpr (!packs) grid = checked(array::ChunkGrid::create(shape, extents));
  }
  void fields(Seen<array::SlotsInTurn>& slots) {
    pass(slots.files, slots.offset, slots.slot_bytes, slots.turn);
  }
  void fields(Seen<array::ShardSlots>& slots) {
    pass(slots.chunks_per_shard, slots.shards, slots.offset, slots.slot_bytes);
  }
  void fields(Seen<array::ChunkTable>& table) {
    if (tables_ == Tables::apart) {
      pass_lengths(table.blocks());
      return;
    }
    std::vector<array::ChunkTable::Run> runs;
    if constexpr (packs) runs = table.runs();
    pass(runs);
    if constexpr (!packs) table = array::ChunkTable::of(runs);
  }
  void fields(Seen<array::ChunkTable::Run>& run) {
    pass(run.first, run.chunks, run.place.file, run.place.offset, run.distance);
  }
  void fields(Seen<FilePerChunk>& /*says all*/) {}
  // Entries are passed by columns, because there may be millions; columns without information are
  // omitted.
  void fields(Seen<EncodedTable>& table) {
    if (tables_ == Tables::apart) {
      pass_lengths(table.blocks());
      return;
    }
    std::vector<EncodedTable::Entry> entries;
    if constexpr (packs) entries = table.entries();
    pass(entries);
    if constexpr (!packs) table = EncodedTable(std::move(entries));
  }
  void pass_lengths(Seen<array::WordBlocks>& blocks) {
    std::vector<std::int64_t> lengths;
    if constexpr (packs) {
      for (const array::WordBlock& one : blocks.all()) lengths.push_back(std::ssize(one.words()));
    }
    pass(lengths);
    if constexpr (!packs) {
      std::vector<array::WordBlock> missing;
      missing.reserve(lengths.size());
      for (const std::int64_t length : lengths) {
        if (length < 1) throw std::runtime_error("a block without words");
        missing.push_back(array::WordBlock::missing(static_cast<std::size_t>(length)));
      }
      blocks = array::WordBlocks(std::move(missing));
    }
  }
  template <typename Entries>
  void pass_entries(Entries& entries) {
    std::vector<std::int64_t> chunks;
    std::vector<std::int64_t> files;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> bytes;
    std::vector<std::int64_t> skipped;
    if constexpr (packs) {
      for (const EncodedTable::Entry& one : entries) {
        chunks.push_back(one.chunk);
        offsets.push_back(one.place.offset);
        bytes.push_back(one.place.bytes);
        if (one.place.file != 0) files.resize(entries.size());
        if (one.place.skipped != 0) skipped.resize(entries.size());
      }
      for (std::size_t i = 0; i < files.size(); ++i) files[i] = entries[i].place.file;
      for (std::size_t i = 0; i < skipped.size(); ++i) {
        skipped[i] = static_cast<std::int64_t>(entries[i].place.skipped);
      }
    }
    pass(chunks, files, offsets, bytes, skipped);
    if constexpr (!packs) {
      const std::size_t count = chunks.size();
      const auto fits = [&](const auto& column) {
        return column.empty() || column.size() == count;
      };
      if (offsets.size() != count || bytes.size() != count || !fits(files) || !fits(skipped)) {
        throw std::runtime_error("columns of different lengths");
      }
      entries.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        entries[i] = {chunks[i],
                      {.file = files.empty() ? 0 : files[i],
                       .offset = offsets[i],
                       .bytes = bytes[i],
                       .skipped = skipped.empty() ? 0 : static_cast<std::uint32_t>(skipped[i])}};
      }
    }
  }
  void fields(Seen<EncodedShards>& shards) {
    pass(shards.chunks_per_shard, shards.shards, shards.index_at_end, shards.index_summed,
         shards.table);
  }

  Tables tables_ = Tables::included;
};

template <typename Value>
std::string packed(const Value& value, Tables tables = Tables::included) {
  Message<Packing> message;
  message.set_tables(tables);
  message.pass(value);
  return message.take();
}

// Unpacks the message into `value`.
template <typename Value>
Status unpack(std::string_view message, Value& value, Tables tables = Tables::included) {
  try {
    Message<Unpacking> packed(message);
    packed.set_tables(tables);
    packed.pass(value);
    if (!packed.at_end()) throw std::runtime_error("it has bytes after its end");
    return {};
  } catch (const std::exception& thrown) {
    return invalid_argument(
        fmt::format("internal error in a message about a file: {}", thrown.what()));
  }
}

}  // namespace

std::string message_of(const FileMap& map, Tables tables) { return packed(map, tables); }
std::string message_of(const std::vector<ArrayChange>& changes) { return packed(changes); }

Result<FileMap> parse_file_map(std::string_view message, Tables tables) {
  FileMap map;
  if (Status parsed = unpack(message, map, tables); !parsed.ok()) return parsed.error();
  return map;
}

Result<std::vector<ArrayChange>> parse_array_changes(std::string_view message) {
  std::vector<ArrayChange> changes;
  if (Status parsed = unpack(message, changes); !parsed.ok()) return parsed.error();
  return changes;
}

}  // namespace weir::storage
