#include "readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>

#include "array/section.hpp"
#include "codecs/chunk_coder.hpp"
#include "codecs/codec.hpp"
#include "formats/cdf/cdf_layout.hpp"
#include "formats/cdf/header.hpp"
#include "formats/format.hpp"
#include "formats/json_of_others.hpp"
#include "formats/raw/raw_document.hpp"
#include "formats/test_description.hpp"
#include "formats/zarr/document.hpp"
#include "formats/zarr/shards.hpp"
#include "sections/chunk_texts.hpp"
#include "sections/read_section.hpp"
#include "sections/read_texts.hpp"
#include "seeds.hpp"

namespace weir::fuzz {
namespace {

using Complaint = std::optional<std::string>;
using Input = std::span<const std::byte>;

// A reader may hold so much of a chunk or element; what a file says is longer is not read here.
constexpr std::int64_t most_element_bytes = 1 << 16;

std::string_view as_text(Input bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void put_file(const std::string& path, Input bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// ---- What every map has to keep ---------------------------------------------------------------

// `file_bytes`: of the one file that all arrays are in; nothing where a file may be missing or
// shorter, which reading says.
Complaint check_place(const storage::StoredArray& one, const array::Indices& index,
                      std::optional<std::int64_t> file_bytes) {
  const auto place = one.map.place_of(index);
  if (!place) return std::nullopt;
  const std::int64_t bytes = one.map.type.bytes();
  if (place->offset < 0 || place->offset > INT64_MAX - bytes) {
    return fmt::format("an element is at offset {}", place->offset);
  }
  if (place->file < 0 || place->file >= one.map.files.files()) {
    return fmt::format("an element is in file {} of {}", place->file, one.map.files.files());
  }
  if (file_bytes && place->offset + bytes > *file_bytes) {
    return fmt::format("an element at offset {} ends behind the file, {} bytes long", place->offset,
                       *file_bytes);
  }
  return std::nullopt;
}

Complaint check_encoded(const storage::StoredArray& one, const storage::EncodedChunks& chunks,
                        std::int64_t chunk, std::optional<std::int64_t> file_bytes) {
  const auto place = chunks.place_of(chunk);
  if (!place) return std::nullopt;
  // -1: to the end of the file.
  const std::int64_t bytes = std::max<std::int64_t>(0, place->bytes);
  if (place->offset < 0 || place->bytes < -1 || place->offset > INT64_MAX - bytes) {
    return fmt::format("chunk {} has {} bytes at offset {}", chunk, place->bytes, place->offset);
  }
  if (place->file < 0 || place->file >= one.map.files.files()) {
    return fmt::format("chunk {} is in file {} of {}", chunk, place->file, one.map.files.files());
  }
  if (file_bytes && place->offset + bytes > *file_bytes) {
    return fmt::format("chunk {} ends behind the file, {} bytes long", chunk, *file_bytes);
  }
  return std::nullopt;
}

Complaint check_element(const storage::StoredArray& one, const array::Indices& index,
                        std::optional<std::int64_t> file_bytes, bool read) {
  if (auto complaint = check_place(one, index, file_bytes)) return complaint;
  const std::int64_t bytes = one.map.type.bytes();
  if (!read || bytes > most_element_bytes) return std::nullopt;
  const array::Box box{index, array::Indices(index.size(), 1)};
  const auto memory = array::Layout::packed(box.extent, bytes, array::Order::row_major);
  if (!memory) return "a single element has no layout: " + memory.error().text();
  Bytes element(static_cast<std::size_t>(bytes));
  storage::DataFileCache files(storage::DataFileCache::Use::reading);
  static_cast<void>(
      storage::read_section(one, array::Section::of(box), element.data(), memory.value(), files));
  return std::nullopt;
}

Complaint check_array(const storage::StoredArray& one, std::optional<std::int64_t> file_bytes,
                      bool read) {
  const storage::ArrayDescription& about = one.description;
  const array::Shape& shape = one.map.shape;
  if (about.shape != shape) return "description and map have different shapes";
  if (about.type != one.map.type) return "description and map have different types";
  for (const auto* chunks : {&about.chunk_extents, &about.shard_extents}) {
    if (*chunks && (*chunks)->size() != shape.dimensions()) return "chunks of other dimensions";
  }
  if (!about.fill.empty() && static_cast<std::int64_t>(about.fill.size()) != about.type.bytes()) {
    return "a fill value of another size";
  }
  if (!shape.bytes(one.map.type)) return "more than 2^63 bytes";
  if (shape.elements() == 0) return std::nullopt;
  if (const auto* const chunks = one.map.encoded()) {
    for (const std::int64_t chunk : {std::int64_t{0}, chunks->grid.chunks() - 1}) {
      if (auto complaint = check_encoded(one, *chunks, chunk, file_bytes)) return complaint;
    }
  }
  array::Indices last = shape.extents();
  array::Indices middle = last;
  for (std::int64_t& index : last) --index;
  for (std::int64_t& index : middle) index /= 2;
  for (const array::Indices& index : {array::Indices(shape.dimensions()), middle, last}) {
    if (auto complaint = check_element(one, index, file_bytes, read)) {
      return about.name + ": " + *complaint;
    }
  }
  return std::nullopt;
}

Complaint check_texts(const storage::StoredTexts& texts) {
  constexpr std::int64_t most_texts = 256;
  const array::Shape& shape = texts.array.map.shape;
  if (shape.elements() == 0 || shape.elements() > most_texts) return std::nullopt;
  storage::DataFileCache files(storage::DataFileCache::Use::reading);
  const auto read = storage::read_texts(texts, array::Section::of(shape.box()), files);
  if (read && read.value().count() != shape.elements()) return "another number of texts";
  return std::nullopt;
}

Complaint check_map(const storage::FileMap& map, std::optional<std::int64_t> file_bytes,
                    bool read) {
  constexpr std::size_t most_arrays = 32;
  for (std::size_t i = 0; i < std::min(map.arrays.size(), most_arrays); ++i) {
    if (auto complaint = check_array(map.arrays[i], file_bytes, read)) return complaint;
  }
  for (std::size_t i = 0; read && i < std::min(map.texts.size(), most_arrays); ++i) {
    if (auto complaint = check_texts(map.texts[i])) return complaint;
  }
  if (const auto steps = map.steps(); steps && *steps < 0) return "fewer than no steps";
  return std::nullopt;
}

Complaint open_and_check(std::string_view format, const std::string& path) {
  const auto map = storage::find_format(format).value()->open(path);
  return map ? check_map(map.value(), std::nullopt, true) : std::nullopt;
}

// ---- The readers ------------------------------------------------------------------------------

// In memory, and without the data that would follow: an offset may be anywhere in a file, and
// behind the end of one that was cut off.
Complaint read_cdf(Input bytes, const std::string& /*folder*/) {
  const auto parsed = storage::parse_cdf_header(bytes, "file");
  if (!parsed.header) return std::nullopt;
  for (const std::int64_t length : {static_cast<std::int64_t>(bytes.size()), INT64_MAX}) {
    const auto map = storage::cdf_map_of(parsed.header.value(), "file", length);
    if (auto complaint = check_map(map, std::nullopt, false)) return complaint;
  }
  return std::nullopt;
}

// A document, and data that are as long as it says, up to what is sparse.
Complaint read_raw_file(Input bytes, const std::string& folder) {
  const std::string path = folder + "/raw";
  const auto parsed = storage::parse_raw_file(as_text(bytes), "document");
  if (parsed) {
    const storage::RawFile& file = parsed.value();
    const auto again = storage::parse_raw_file(storage::raw_file_json(file).value(), "again");
    if (!again || again.value().arrays != file.arrays ||
        again.value().placement != file.placement) {
      return "what was read is written as something else";
    }
    const storage::DataFiles paths = file.data_files("/folder/name");
    for (const std::int64_t number : {std::int64_t{0}, paths.files() - 1}) {
      if (paths.path(number).find("/..") != std::string::npos) {
        return "its data lie above its folder";
      }
      if (file.data_bytes(number) < 0) return "a data file of a negative length";
    }
    constexpr std::int64_t most_data_bytes = std::int64_t{1} << 40;
    const std::int64_t data_bytes = file.data_bytes();
    put_file(path, {});
    if (data_bytes <= most_data_bytes) {
      std::filesystem::resize_file(path, static_cast<std::uintmax_t>(data_bytes));
    }
    const bool is_whole = file.placement.layout == storage::FileLayout::shared;
    if (auto complaint =
            check_map(file.map(path), is_whole ? std::optional(data_bytes) : std::nullopt, false)) {
      return complaint;
    }
  }
  put_file(path + ".json", bytes);
  return open_and_check("raw", path);
}

Complaint read_zarr(Input bytes, const std::string& folder) {
  put_file(folder + "/zarr.json", bytes);
  return open_and_check("zarr", folder);
}

Complaint read_zarr_array(Input bytes, const std::string& /*folder*/) {
  const auto document = storage::parse_json_of_others(as_text(bytes));
  if (!document) return std::nullopt;
  static_cast<void>(storage::zarr_attributes(*document, "", {}));
  const auto parsed = storage::parse_zarr_array(*document, "name", {});
  const auto* array = std::get_if<storage::ZarrArray>(&parsed);
  if (array == nullptr || !array->description.shard_extents) return std::nullopt;
  const auto map = storage::zarr_shard_map(*array, "/folder/");
  if (!map) return std::nullopt;
  return check_array({array->description, map.value()}, std::nullopt, false);
}

// The first of the shards of an array whose document is good; also without the checksum of the
// index, which hardly any bytes have, and with chunks of any length.
Complaint read_zarr_shard(Input bytes, const std::string& folder) {
  for (const bool summed : {true, false}) {
    for (const bool encoded : {false, true}) {
      storage::ZarrArray array{.description = shards_description(), .index_summed = summed};
      if (encoded) array.description.codecs = {storage::Crc32cCodec()};
      auto map = storage::zarr_shard_map(array, folder + "/");
      if (!map) return "the array in shards has no map: " + map.error().text();
      put_file(map.value().files.path(0), bytes);
      if (storage::read_zarr_shards(array, map.value())) continue;
      const storage::StoredArray one{array.description, std::move(map).value()};
      if (auto complaint = check_array(one, std::nullopt, true)) return complaint;
    }
  }
  return std::nullopt;
}

// As consolidated metadata of a store of v2.
Complaint read_zarr_v2(Input bytes, const std::string& folder) {
  const std::string store = folder + "/v2";
  std::filesystem::create_directories(store);
  put_file(store + "/.zmetadata", bytes);
  return open_and_check("zarr", store);
}

Complaint read_hdf5(Input bytes, const std::string& folder) {
  put_file(folder + "/a.h5", bytes);
  return open_and_check("hdf5", folder + "/a.h5");
}

// The first byte says which codecs, the others are a chunk of 8 x 32 elements as they left it.
Complaint read_codec(Input bytes, const std::string& /*folder*/) {
  const auto pipelines = codec_pipelines();
  if (bytes.empty()) return std::nullopt;
  const auto words = pipelines[static_cast<std::size_t>(bytes[0]) % pipelines.size()];
  const auto pipeline = storage::parse_pipeline(words);
  if (!pipeline) return std::nullopt;
  auto coder = storage::ChunkCoder::create(pipeline.value(), codec_chunk());
  if (!coder) return std::nullopt;
  Bytes chunk(static_cast<std::size_t>(coder.value().chunk_bytes()));
  static_cast<void>(coder.value().decode({bytes.subspan(1), 0}, chunk));
  return std::nullopt;
}

Complaint read_words(Input bytes, const std::string& /*folder*/) {
  const auto pipeline = storage::parse_pipeline(as_text(bytes));
  if (!pipeline) return std::nullopt;
  if (!storage::check_pipeline(pipeline.value(), codec_chunk()).ok()) return std::nullopt;
  const auto text = storage::pipeline_text(pipeline.value());
  const auto again = storage::parse_pipeline(text);
  if (!again || again.value() != pipeline.value()) return "read back otherwise: " + text;
  return std::nullopt;
}

// The bytes are a chunk of Zarr, and a file of references to a heap in the same file.
Complaint read_texts(Input bytes, const std::string& folder) {
  constexpr std::int64_t most_texts = 16;
  for (std::int64_t count = 1; count <= most_texts; ++count) {
    const auto texts = storage::parse_text_chunk(bytes, count);
    if (!texts) continue;
    const auto* const begin = reinterpret_cast<const char*>(bytes.data());
    for (const std::string_view one : *texts) {
      const auto at = one.data() - begin;
      if (at < 0 || at + std::ssize(one) > std::ssize(bytes)) return "a text outside its chunk";
    }
  }
  const auto references = std::min(most_texts, std::ssize(bytes) / storage::heap_reference_bytes);
  if (references == 0) return std::nullopt;
  put_file(folder + "/heap", bytes);
  const array::Shape shape = storage::shape_of({references});
  const auto type = array::ElementType::record(storage::heap_reference_bytes).value();
  const storage::StoredTexts texts{{{.name = "a", .shape = shape, .type = type},
                                    {.shape = shape,
                                     .type = type,
                                     .files = storage::DataFiles::one(folder + "/heap"),
                                     .extents = storage::DenseExtents{0}}},
                                   "fill",
                                   0};
  return check_texts(texts);
}

constexpr std::array readers{
    Reader{"cdf", read_cdf, cdf_seeds},
    Reader{"codec", read_codec, codec_seeds},
    Reader{"conversation", read_conversation, conversation_seeds},
    Reader{"filled_block", read_filled_block, filled_block_seeds},
    Reader{"frame", read_frame, frame_seeds},
    Reader{"hdf5", read_hdf5, hdf5_seeds},
    Reader{"journal", read_journal, journal_seeds},
    Reader{"message", read_message, message_seeds},
    Reader{"raw_file", read_raw_file, raw_file_seeds, true},
    Reader{"record", read_record, record_seeds},
    Reader{"texts", read_texts, texts_seeds},
    Reader{"words", read_words, words_seeds},
    Reader{"zarr", read_zarr, zarr_seeds, true},
    Reader{"zarr_array", read_zarr_array, zarr_array_seeds, true},
    Reader{"zarr_shard", read_zarr_shard, zarr_shard_seeds},
    Reader{"zarr_v2", read_zarr_v2, zarr_v2_seeds, true},
};

}  // namespace

const Reader* find_reader(std::string_view name) {
  if (name == "hdf5" && !storage::find_format(name)) return nullptr;
  const auto* const found =
      std::find_if(readers.begin(), readers.end(), [&](const Reader& r) { return r.name == name; });
  return found == readers.end() ? nullptr : found;
}

std::span<const Reader> all_readers() { return readers; }

}  // namespace weir::fuzz
