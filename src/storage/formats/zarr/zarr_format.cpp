#include "storage/formats/zarr/zarr_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "storage/formats/zarr/shards.hpp"
#include "storage/formats/zarr/store.hpp"

namespace weir::storage {
namespace {

// Chunk by chunk a file; `folder` ends with '/'.
ExtentMap chunk_file_map(const ZarrArray& array, const std::string& folder) {
  const ArrayDescription& about = array.description;
  const auto grid = array::ChunkGrid::create(about.shape, *about.chunk_extents).value();
  const std::int64_t slot_bytes = bytes_of(*about.chunk_extents, about.type).value();
  std::string scalar_key = array.key_prefix.empty() ? "0" : "c";
  DataFiles files =
      array.scalar ? DataFiles::one(folder + std::move(scalar_key))
                   : DataFiles::in_grid(folder + array.key_prefix, grid.counts(), array.separator);
  files.set_bytes_when_made(slot_bytes);
  return {.shape = about.shape,
          .type = about.type,
          .order = about.order,
          .byte_order = array.byte_order,
          .files = std::move(files),
          .extents =
              ChunkExtents{grid, about.chunk_extents,
                           SlotsInTurn{std::max<std::int64_t>(1, grid.chunks()), 0, slot_bytes}}};
}

Result<ExtentMap> map_of(const ZarrArray& array, const std::string& folder) {
  if (array.description.shard_extents) return zarr_shard_map(array, folder);
  return chunk_file_map(array, folder);
}

// Without chunks asked for: one of the whole array, or one of each step.
FileDescription with_chunks(FileDescription file) {
  for (ArrayDescription& one : file.arrays) {
    if (one.chunk_extents) continue;
    one.chunk_extents = one.shape.extents();
    for (std::int64_t& extent : *one.chunk_extents) extent = std::max<std::int64_t>(1, extent);
    if (one.grows) (*one.chunk_extents)[0] = 1;
  }
  return file;
}

Status check_for_zarr(const FileDescription& file, const std::string& path) {
  for (const ArrayDescription& one : file.arrays) {
    if (one.type.kind() == array::ElementKind::record) {
      Error error = invalid_argument(
          fmt::format("array \"{}\": the format zarr has no type {}", one.name, one.type.name()));
      error.code = ErrorCode::unsupported;
      return error;
    }
    if (Status fine = check_zarr_attributes(one.attributes); !fine.ok()) return fine;
    // A node's name is that of a folder, and its own document's and data's are in there.
    if (last_part(one.name).starts_with("__") || last_part(one.name) == "zarr.json") {
      return invalid_argument(fmt::format("\"{}\" is no name for an array in Zarr", one.name));
    }
  }
  for (const GroupDescription& one : file.groups) {
    if (Status fine = check_zarr_attributes(one.attributes); !fine.ok()) return fine;
  }
  std::error_code failed;
  if (std::filesystem::exists(path, failed) && !std::filesystem::is_empty(path, failed)) {
    Error error = invalid_argument("there is something already; remove it or give another name");
    error.file = path;
    return error;
  }
  return {};
}

ZarrDocuments documents_of(const FileDescription& file) {
  ZarrDocuments documents;
  documents[""] = zarr_group_document({});
  for (const std::string& name : all_groups(file)) documents[name] = zarr_group_document({});
  for (const GroupDescription& one : file.groups) {
    documents[one.name] = zarr_group_document(one.attributes);
  }
  for (const ArrayDescription& one : file.arrays) documents[one.name] = zarr_array_document(one);
  return documents;
}

// The arrays of documents; `steps` many in those that grow, or as many as there are.
struct Opened {
  FileMap map;
  std::vector<ZarrArray> arrays;  // those of map.arrays
};

Opened opened(const ZarrDocuments& documents, const std::string& path) {
  Opened found;
  for (const auto& [name, document] : documents) {
    if (!is_zarr_array(document)) {
      auto attributes = zarr_attributes(document);
      if (!attributes.empty()) found.map.groups.push_back({name, std::move(attributes)});
      continue;
    }
    auto parsed = parse_zarr_array(document, name);
    if (auto* const reason = std::get_if<std::string>(&parsed)) {
      found.map.refused.push_back({name, std::move(*reason)});
      continue;
    }
    ZarrArray& array = std::get<ZarrArray>(parsed);
    auto map = map_of(array, zarr_folder(path, name));
    std::optional<std::string> reason;
    if (!map) {
      reason = map.error().message;
    } else if (array.description.shard_extents) {
      reason = read_zarr_shards(array, map.value());
    }
    if (reason) {
      found.map.refused.push_back({name, *std::move(reason)});
      continue;
    }
    found.map.arrays.push_back({array.description, std::move(map).value()});
    found.arrays.push_back(std::move(array));
  }
  return found;
}

class ZarrFormat final : public Format {
 public:
  [[nodiscard]] std::string_view name() const override { return "zarr"; }

  [[nodiscard]] FormatAbilities abilities() const override {
    return {.several_arrays = true,
            .groups = true,
            .attributes = true,
            .dimension_names = true,
            .chunks = true,
            .shards = true,
            .growing = true,
            .column_major_chunks = true,
            .fill = true};
  }

  Result<FileMap> lay_out(const FileDescription& description,
                          const std::string& path) const override {
    if (Status fine = check_description(description, abilities(), name()); !fine.ok()) {
      return fine.error();
    }
    if (Status fine = check_for_zarr(description, path); !fine.ok()) return fine.error();
    const FileDescription file = with_chunks(description);
    FileMap map;
    map.groups = file.groups;
    std::vector<ZarrArray> arrays;
    for (const ArrayDescription& one : file.arrays) {
      arrays.push_back({.description = one});
      auto made = map_of(arrays.back(), zarr_folder(path, one.name));
      if (!made) return made.error();
      map.arrays.push_back({one, std::move(made).value()});
    }
    const ZarrDocuments documents = documents_of(file);
    for (const auto& [node, document] : documents) {
      std::error_code failed;
      std::filesystem::create_directories(zarr_folder(path, node), failed);
      if (failed) return system_failure("mkdir", zarr_folder(path, node), -1, failed.value());
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (!arrays[i].description.shard_extents) continue;
      if (Status made = make_zarr_shards(arrays[i], map.arrays[i].map, 0); !made.ok()) {
        return made.error();
      }
    }
    // Documents last, and the root's after all others: what it names is there.
    for (const auto& [node, document] : documents) {
      if (node.empty()) continue;
      Status written = write_zarr_document(zarr_folder(path, node), document);
      if (!written.ok()) return written.error();
    }
    if (Status written = write_zarr_root(path, documents); !written.ok()) return written.error();
    return map;
  }

  Result<FileMap> open(const std::string& path) const override {
    const auto documents = read_zarr_documents(path);
    if (!documents) return documents.error();
    return opened(documents.value(), path).map;
  }

  // Chunk files are made by whoever writes them first; shards and their indices here.
  Result<FileMap> make_room(const std::string& path, std::int64_t steps) const override {
    const auto documents = read_zarr_documents(path);
    if (!documents) return documents.error();
    Opened found = opened(documents.value(), path);
    for (std::size_t i = 0; i < found.arrays.size(); ++i) {
      ZarrArray& array = found.arrays[i];
      StoredArray& stored = found.map.arrays[i];
      if (!array.description.grows) continue;
      const std::int64_t now = array.description.shape.extent(0);
      array::Indices extents = array.description.shape.extents();
      extents[0] = steps;
      const auto shape = array::Shape::create(extents);
      if (steps < now || !shape) return cannot_have(array.description.name, steps, now);
      array.description.shape = shape.value();
      auto map = map_of(array, zarr_folder(path, array.description.name));
      if (!map) return map.error();
      if (array.description.shard_extents && steps > now) {
        if (!array.index_at_end || !array.index_summed) {
          return cannot_have(array.description.name, steps, now);
        }
        const std::int64_t row = now / (*array.description.shard_extents)[0];
        if (Status made = make_zarr_shards(array, map.value(), row); !made.ok()) {
          return made.error();
        }
      }
      stored = {array.description, std::move(map).value()};
    }
    return found.map;
  }

  // The root's document last: who reads by consolidated documents sees all arrays' steps at once.
  Status commit(const std::string& path, std::int64_t steps) const override {
    auto documents = read_zarr_documents(path);
    if (!documents) return documents.error();
    for (auto& [name, document] : documents.value()) {
      if (!is_zarr_array(document)) continue;
      const auto parsed = parse_zarr_array(document, name);
      const auto* const array = std::get_if<ZarrArray>(&parsed);
      if (array == nullptr || !array->description.grows) continue;
      const std::int64_t now = array->description.shape.extent(0);
      if (steps < now) return cannot_have(name, steps, now);
      document["shape"][0] = steps;
      if (name.empty()) continue;
      if (Status written = write_zarr_document(zarr_folder(path, name), document); !written.ok()) {
        return written;
      }
    }
    return write_zarr_root(path, documents.value());
  }

 private:
  static Error cannot_have(const std::string& name, std::int64_t steps, std::int64_t now) {
    return invalid_argument(
        fmt::format("{} steps of array \"{}\", which has {}", steps, printable(name), now));
  }
};

}  // namespace

const Format* zarr_format() {
  static const ZarrFormat format;
  return &format;
}

}  // namespace weir::storage
