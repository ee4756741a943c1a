#include "storage/formats/file_map_message.hpp"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace weir::storage {
namespace {

using Json = nlohmann::json;  // sent as CBOR: texts of files may be no UTF-8

Json numbers(const array::Indices& indices) {
  Json list = Json::array();
  for (const std::int64_t index : indices) list.push_back(index);
  return list;
}

array::Indices indices_of(const Json& list) {
  array::Indices indices;
  for (const Json& one : list) indices.push_back(one.get<std::int64_t>());
  return indices;
}

array::Shape shape_of(const Json& list) { return array::Shape::create(indices_of(list)).value(); }

Json bytes_of(const std::vector<std::byte>& bytes) {
  Json list = Json::array();
  for (const std::byte byte : bytes) list.push_back(std::to_integer<int>(byte));
  return list;
}

std::vector<std::byte> to_bytes(const Json& list) {
  std::vector<std::byte> bytes;
  for (const Json& one : list) bytes.push_back(static_cast<std::byte>(one.get<int>()));
  return bytes;
}

Json optional_numbers(const std::optional<array::Indices>& indices) {
  return indices ? numbers(*indices) : Json();
}

std::optional<array::Indices> optional_indices(const Json& list) {
  if (list.is_null()) return std::nullopt;
  return indices_of(list);
}

// ---- Attributes and descriptions ----------------------------------------------------------------

Json attributes_of(const std::vector<Attribute>& attributes) {
  Json list = Json::array();
  for (const Attribute& one : attributes) {
    Json value;
    if (const auto* text = std::get_if<std::string>(&one.value)) value = *text;
    if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&one.value)) {
      value = {{"integers", *whole}};
    }
    if (const auto* reals = std::get_if<std::vector<double>>(&one.value)) {
      value = {{"reals", *reals}};
    }
    list.push_back({one.name, value});
  }
  return list;
}

std::vector<Attribute> to_attributes(const Json& list) {
  std::vector<Attribute> attributes;
  for (const Json& one : list) {
    const Json& value = one.at(1);
    Attribute attribute{one.at(0).get<std::string>(), std::string()};
    if (value.is_string()) {
      attribute.value = value.get<std::string>();
    } else if (value.contains("integers")) {
      attribute.value = value.at("integers").get<std::vector<std::int64_t>>();
    } else {
      attribute.value = value.at("reals").get<std::vector<double>>();
    }
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

// Exactly, where pipeline_text() leaves out what users do not give.
Json json_of(const Pipeline& pipeline) {
  Json list = Json::array();
  for (const Codec& codec : pipeline) {
    Json one = {codec.index()};
    if (const auto* shuffle = std::get_if<ShuffleCodec>(&codec))
      one.push_back(shuffle->element_bytes);
    if (const auto* deflate = std::get_if<DeflateCodec>(&codec)) {
      one.insert(one.end(), {deflate->level, deflate->gzip});
    }
    if (const auto* zstd = std::get_if<ZstdCodec>(&codec)) {
      one.insert(one.end(), {zstd->level, zstd->checksum});
    }
    if (const auto* blosc = std::get_if<BloscCodec>(&codec)) {
      one.insert(one.end(),
                 {static_cast<int>(blosc->compressor), blosc->level,
                  static_cast<int>(blosc->shuffle), blosc->element_bytes, blosc->block_bytes});
    }
    if (const auto* blosc2 = std::get_if<Blosc2Codec>(&codec)) {
      one.insert(one.end(), {static_cast<int>(blosc2->compressor), blosc2->level,
                             static_cast<int>(blosc2->shuffle), blosc2->element_bytes});
    }
    if (const auto* zfp = std::get_if<ZfpCodec>(&codec)) {
      one.insert(one.end(), {zfp->tolerance, zfp->header, zfp->mode});
    }
    list.push_back(std::move(one));
  }
  return list;
}

Codec codec_of(const Json& one) {
  const auto number = [&](std::size_t i) { return one.at(i).get<int>(); };
  switch (one.at(0).get<std::size_t>()) {
    case 0:
      return ShuffleCodec{one.at(1).get<std::int64_t>()};
    case 1:
      return DeflateCodec{number(1), one.at(2).get<bool>()};
    case 2:
      return ZstdCodec{number(1), one.at(2).get<bool>()};
    case 3:
      return BloscCodec{static_cast<BloscCompressor>(number(1)), number(2),
                        static_cast<BloscShuffle>(number(3)), one.at(4).get<std::int64_t>(),
                        one.at(5).get<std::int64_t>()};
    case 4:
      return Blosc2Codec{static_cast<BloscCompressor>(number(1)), number(2),
                         static_cast<BloscShuffle>(number(3)), one.at(4).get<std::int64_t>()};
    case 5:
      return ZfpCodec{one.at(1).get<double>(), one.at(2).get<bool>(),
                      one.at(3).get<std::uint64_t>()};
    case 6:
      return Crc32cCodec{};
    default:
      return Fletcher32Codec{};
  }
}

Pipeline pipeline_of(const Json& list) {
  Pipeline pipeline;
  for (const Json& one : list) pipeline.push_back(codec_of(one));
  return pipeline;
}

Json json_of(const ArrayDescription& one) {
  return {{"name", one.name},
          {"shape", numbers(one.shape.extents())},
          {"type", one.type.name()},
          {"column", one.order == array::Order::column_major},
          {"grows", one.grows},
          {"chunks", optional_numbers(one.chunk_extents)},
          {"shards", optional_numbers(one.shard_extents)},
          {"dimensions", one.dimension_names},
          {"fill", bytes_of(one.fill)},
          {"codecs", json_of(one.codecs)},
          {"attributes", attributes_of(one.attributes)}};
}

array::Order order_of(const Json& json) {
  return json.at("column").get<bool>() ? array::Order::column_major : array::Order::row_major;
}

ArrayDescription description_of(const Json& json) {
  ArrayDescription one{
      .name = json.at("name").get<std::string>(),
      .shape = shape_of(json.at("shape")),
      .type = array::ElementType::parse(json.at("type").get<std::string>()).value()};
  one.order = order_of(json);
  one.grows = json.at("grows").get<bool>();
  one.chunk_extents = optional_indices(json.at("chunks"));
  one.shard_extents = optional_indices(json.at("shards"));
  one.dimension_names = json.at("dimensions").get<std::vector<std::string>>();
  one.fill = to_bytes(json.at("fill"));
  one.codecs = pipeline_of(json.at("codecs"));
  one.attributes = to_attributes(json.at("attributes"));
  return one;
}

// ---- Extent maps --------------------------------------------------------------------------------

Json json_of(const array::ChunkPlaces& places) {
  if (const auto* slots = std::get_if<array::SlotsInTurn>(&places)) {
    return {{"slots", {slots->files, slots->offset, slots->slot_bytes}}, {"turn", slots->turn}};
  }
  if (const auto* shards = std::get_if<array::ShardSlots>(&places)) {
    return {{"per_shard", numbers(shards->chunks_per_shard)},
            {"shards", numbers(shards->shards)},
            {"slots", {shards->offset, shards->slot_bytes}}};
  }
  Json runs = Json::array();
  for (const auto& run : std::get<array::ChunkTable>(places).runs()) {
    runs.push_back({run.first, run.chunks, run.place.file, run.place.offset, run.distance});
  }
  return {{"runs", std::move(runs)}};
}

array::ChunkPlaces places_of(const Json& json) {
  if (json.contains("runs")) {
    std::vector<array::ChunkTable::Run> runs;
    for (const Json& run : json.at("runs")) {
      runs.push_back({run.at(0).get<std::int64_t>(),
                      run.at(1).get<std::int64_t>(),
                      {run.at(2).get<std::int64_t>(), run.at(3).get<std::int64_t>()},
                      run.at(4).get<std::int64_t>()});
    }
    return array::ChunkTable::of(std::move(runs));
  }
  const Json& slots = json.at("slots");
  const auto slot = [&](std::size_t i) { return slots.at(i).get<std::int64_t>(); };
  if (json.contains("shards")) {
    return array::ShardSlots{indices_of(json.at("per_shard")), indices_of(json.at("shards")),
                             slot(0), slot(1)};
  }
  return array::SlotsInTurn{slot(0), slot(1), slot(2), json.at("turn").get<std::uint64_t>()};
}

Json json_of(const EncodedTable& table) {
  Json list = Json::array();
  for (const auto& [chunk, place] : table.entries()) {
    list.push_back({chunk, place.file, place.offset, place.bytes, place.skipped});
  }
  return list;
}

EncodedTable table_of(const Json& list) {
  std::vector<EncodedTable::Entry> entries;
  for (const Json& one : list) {
    entries.push_back({one.at(0).get<std::int64_t>(),
                       {one.at(1).get<std::int64_t>(), one.at(2).get<std::int64_t>(),
                        one.at(3).get<std::int64_t>(), one.at(4).get<std::uint32_t>()}});
  }
  return EncodedTable(std::move(entries));
}

Json json_of(const EncodedChunks& chunks) {
  Json json = {{"extents", numbers(chunks.grid.chunk_extents())},
               {"stored", numbers(chunks.stored_extents)},
               {"codecs", json_of(chunks.pipeline)}};
  if (const auto* table = std::get_if<EncodedTable>(&chunks.places))
    json["table"] = json_of(*table);
  if (const auto* shards = std::get_if<EncodedShards>(&chunks.places)) {
    json["table"] = json_of(shards->table);
    json["per_shard"] = numbers(shards->chunks_per_shard);
    json["shards"] = numbers(shards->shards);
    json["index"] = {shards->index_at_end, shards->index_summed};
  }
  return json;
}

EncodedChunks encoded_of(const Json& json, const array::Shape& shape) {
  EncodedChunks chunks{array::ChunkGrid::create(shape, indices_of(json.at("extents"))).value(),
                       indices_of(json.at("stored")), pipeline_of(json.at("codecs")),
                       FilePerChunk{}};
  if (json.contains("shards")) {
    chunks.places = EncodedShards{indices_of(json.at("per_shard")), indices_of(json.at("shards")),
                                  json.at("index").at(0).get<bool>(),
                                  json.at("index").at(1).get<bool>(), table_of(json.at("table"))};
  } else if (json.contains("table")) {
    chunks.places = table_of(json.at("table"));
  }
  return chunks;
}

Json json_of(const DataFiles& files) {
  const DataFiles::Parts& parts = files.parts();
  return {{"prefix", parts.prefix},
          {"files", parts.files},
          {"numbered", parts.numbered},
          {"counts", numbers(parts.counts)},
          {"separator", std::string(1, parts.separator)},
          {"bytes", parts.bytes_when_made},
          {"directories", parts.directories}};
}

DataFiles files_of(const Json& json) {
  return DataFiles::of({.prefix = json.at("prefix").get<std::string>(),
                        .files = json.at("files").get<std::int64_t>(),
                        .numbered = json.at("numbered").get<bool>(),
                        .counts = indices_of(json.at("counts")),
                        .separator = json.at("separator").get<std::string>().at(0),
                        .bytes_when_made = json.at("bytes").get<std::int64_t>(),
                        .directories = json.at("directories").get<std::vector<std::string>>()});
}

Json json_of(const ExtentMap& map) {
  Json json = {{"shape", numbers(map.shape.extents())},
               {"type", map.type.name()},
               {"column", map.order == array::Order::column_major},
               {"big", map.byte_order == ByteOrder::big},
               {"files", json_of(map.files)}};
  if (const auto* dense = map.dense()) {
    json["dense"] = dense->offset;
  } else if (const auto* records = map.records()) {
    json["records"] = {records->offset, records->stride};
  } else if (const auto* encoded = map.encoded()) {
    json["encoded"] = json_of(*encoded);
  } else {
    const ChunkExtents& chunks = *map.chunks();
    json["chunks"] = {{"extents", numbers(chunks.grid.chunk_extents())},
                      {"stored", optional_numbers(chunks.stored_extents)},
                      {"places", json_of(chunks.places)}};
  }
  return json;
}

ExtentMap map_of(const Json& json) {
  ExtentMap map{.shape = shape_of(json.at("shape")),
                .type = array::ElementType::parse(json.at("type").get<std::string>()).value(),
                .order = order_of(json),
                .byte_order = json.at("big").get<bool>() ? ByteOrder::big : ByteOrder::little,
                .files = files_of(json.at("files")),
                .extents = DenseExtents{}};
  if (json.contains("dense")) {
    map.extents = DenseExtents{json.at("dense").get<std::int64_t>()};
  } else if (json.contains("records")) {
    const Json& records = json.at("records");
    map.extents =
        RecordExtents{records.at(0).get<std::int64_t>(), records.at(1).get<std::int64_t>()};
  } else if (json.contains("encoded")) {
    map.extents = encoded_of(json.at("encoded"), map.shape);
  } else {
    const Json& chunks = json.at("chunks");
    map.extents =
        ChunkExtents{array::ChunkGrid::create(map.shape, indices_of(chunks.at("extents"))).value(),
                     optional_indices(chunks.at("stored")), places_of(chunks.at("places"))};
  }
  return map;
}

}  // namespace

std::string message_of(const FileMap& map) {
  Json json = {{"arrays", Json::array()}, {"groups", Json::array()}, {"refused", Json::array()}};
  for (const StoredArray& one : map.arrays) {
    json["arrays"].push_back({json_of(one.description), json_of(one.map)});
  }
  for (const GroupDescription& one : map.groups) {
    json["groups"].push_back({one.name, attributes_of(one.attributes)});
  }
  for (const RefusedArray& one : map.refused) json["refused"].push_back({one.name, one.reason});
  std::string message;
  Json::to_cbor(json, message);
  return message;
}

Result<FileMap> parse_file_map(std::string_view message) {
  try {
    const Json json = Json::from_cbor(message);
    FileMap map;
    for (const Json& one : json.at("arrays")) {
      map.arrays.push_back({description_of(one.at(0)), map_of(one.at(1))});
    }
    for (const Json& one : json.at("groups")) {
      map.groups.push_back({one.at(0).get<std::string>(), to_attributes(one.at(1))});
    }
    for (const Json& one : json.at("refused")) {
      map.refused.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>()});
    }
    return map;
  } catch (const std::exception& thrown) {
    return invalid_argument(fmt::format("a message about a file: {}", thrown.what()));
  }
}

}  // namespace weir::storage
