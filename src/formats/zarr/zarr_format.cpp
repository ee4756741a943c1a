#include "formats/zarr/zarr_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "array/number_theory.hpp"
#include "formats/additions.hpp"
#include "formats/attribute_json.hpp"
#include "formats/dimension_names.hpp"
#include "formats/stored_attributes.hpp"
#include "formats/zarr/codec_json.hpp"
#include "formats/zarr/contents.hpp"
#include "formats/zarr/fill_text.hpp"
#include "formats/zarr/leftovers.hpp"
#include "formats/zarr/shards.hpp"
#include "formats/zarr/store.hpp"
#include "formats/zarr/v2_store.hpp"
#include "formats/zarr/walk.hpp"
#include "sections/write_section.hpp"
#include "stored/array_change.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {
namespace {

FileDescription with_chunks(FileDescription file) {
  for (ArrayDescription& one : file.arrays) {
    one.chunk_extents = chunk_extents_of(one);
    for (Codec& codec : one.codecs) {
      if (auto* const zfp = std::get_if<ZfpCodec>(&codec)) zfp->header = true;
    }
  }
  return file;
}

Status check_for_zarr(const FileDescription& file) {
  for (const ArrayDescription& one : file.arrays) {
    if (one.type.kind() == array::ElementKind::record) {
      return Error(
          ErrorCode::unsupported,
          fmt::format("array \"{}\": the format zarr has no type {}", one.name, one.type.name()));
    }
    if (const auto missing = zarr_fill_of_text(one);
        missing && !one.fill.empty() && *missing != one.fill) {
      return invalid_argument(
          fmt::format("array \"{}\": its fill value differs from its attribute \"_FillValue\", but "
                      "Zarr stores only one of them: give the same value",
                      one.name));
    }
    // A node's name is the name of a folder, which must not collide with the files of its parent's
    // folder.
    if (last_part(one.name).starts_with("__") || last_part(one.name) == "zarr.json") {
      return invalid_argument(
          fmt::format("\"{}\" cannot be the name of an array in Zarr", one.name));
    }
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
  put_zarr_own(file, documents[""]);
  return documents;
}

Error no_steps_in_v2(const std::string& path) {
  return Error(ErrorCode::unsupported,
               "Weir cannot add steps to a folder of Zarr v2: weir convert writes it as Zarr v3",
               path);
}

// Fails if plain chunks are looked up one by one because an index is damaged: see
// read_zarr_shards().
Status check_shards_are_whole(const ArrayDescription& about, const ExtentMap& map,
                              const std::string& path) {
  if (map.encoded() == nullptr || !about.codecs.empty()) return {};
  return Error(ErrorCode::corrupt,
               fmt::format("array \"{}\": the index of a shard is damaged, so steps and arrays "
                           "cannot be added; weir check names the shard",
                           printable(about.name)),
               path);
}

class ZarrFormat final : public Format {
 public:
  [[nodiscard]] std::string_view name() const override { return "zarr"; }

  [[nodiscard]] FormatAbilities abilities() const override { return zarr_abilities(zarr_codecs()); }

  Result<Attribute::Value> stored_attribute(const Attribute& attribute,
                                            const array::ElementType* array) const override {
    if (Status fine = check_zarr_attribute(attribute, array); !fine.ok()) return fine.error();
    return attribute.value;
  }

  // Readers such as xarray cannot open a store in which a dimension has no name.
  Result<Room> lay_out(const FileDescription& given, const std::string& path) const override {
    const FileDescription description = with_dimension_names(given);
    if (Status fine = check_description(description, abilities(), name()); !fine.ok()) {
      return fine.error();
    }
    if (Status fine = check_for_zarr(description); !fine.ok()) return fine.error();
    if (Status fine = check_stored_attributes(description, *this); !fine.ok()) return fine.error();
    const FileDescription file = with_chunks(description);
    const std::string place = incomplete_path(path);
    Room room{.map = {}, .update = publication_of({})};
    room.map.groups = file.groups;
    std::vector<ZarrArray> arrays;
    for (const ArrayDescription& one : file.arrays) {
      arrays.push_back({.description = one});
      auto made = zarr_map(arrays.back(), zarr_folder(place, one.name));
      if (!made) return made.error();
      room.map.arrays.push_back({one, std::move(made).value()});
    }
    if (Status made = make_incomplete_folder(path, description.striping); !made.ok()) {
      return made.error();
    }
    const ZarrDocuments documents = documents_of(file);
    for (const auto& [node, document] : documents) {
      std::error_code failed;
      std::filesystem::create_directories(zarr_folder(place, node), failed);
      if (failed) return system_failure("mkdir", zarr_folder(place, node), -1, failed.value());
      Status written = write_zarr_text(
          zarr_folder(place, node), node.empty() ? zarr_root_text(documents) : zarr_text(document));
      if (!written.ok()) return written.error();
      room.update.made.push_back(node);
      room.update.made.push_back(node + (node.empty() ? "" : "/") + "zarr.json");
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (room.map.arrays[i].map.chunks() == nullptr || !arrays[i].description.shard_extents)
        continue;
      Status made = make_zarr_shards(arrays[i], room.map.arrays[i].map, 0);
      if (!made.ok()) return made.error();
      add_shards(room.map.arrays[i].map, 0, place, room.update.made);
    }
    return room;
  }

  Result<FileMap> open(const std::string& path) const override {
    const auto store = read_zarr_store(path);
    if (!store) return store.error();
    return zarr_contents(store.value().documents, path).map;
  }

  // Chunk files are made by the process that writes them first; shards and their indices are made
  // here. The update replaces the root's document last, so readers of that document see all arrays'
  // steps at once.
  Result<Room> make_room(const std::string& path, std::int64_t steps) const override {
    return room_for_steps(path, steps, std::nullopt);
  }

  Result<Room> make_room_behind(const std::string& path, std::int64_t steps,
                                const FileMap& /*known*/, std::int64_t known_steps) const override {
    return room_for_steps(path, steps, known_steps);
  }

  // The root's document is replaced last, as for a step, so readers of that document see all at
  // once.
  Result<HeaderUpdate> add(const std::string& path, const Additions& added) const override {
    auto cleared = cleared_store(path, std::nullopt);
    if (!cleared) return cleared.error();
    ZarrDocuments& documents = cleared.value().documents;
    if (is_zarr_array(documents.at(""))) {
      return invalid_argument(
          "the folder is a single array without a group, so nothing can be added to it: convert "
          "it");
    }
    FileDescription fresh{.arrays = added.arrays};
    if (Status fine = check_for_zarr(fresh); !fine.ok()) return fine.error();
    fresh = with_chunks(std::move(fresh));
    Nodes nodes;
    Status entered = enter_arrays(fresh, path, documents, nodes);
    if (!entered.ok()) return entered.error();
    enter_attributes(added.attributes, documents, nodes);
    fresh.groups = added.attributes;
    put_zarr_own(fresh, documents.at(""));
    HeaderUpdate update;
    for (const std::string& name : nodes) {
      if (name.empty()) continue;
      std::error_code failed;
      if (std::filesystem::create_directories(zarr_folder(path, name), failed)) {
        update.made.push_back(group_of(name));
      }
      if (failed) return system_failure("mkdir", zarr_folder(path, name), -1, failed.value());
      update.changes.emplace_back(
          DocumentReplacement{name + "/zarr.json", zarr_text(documents.at(name))});
    }
    if (Status made = make_shards_of(fresh.arrays, path, update.made); !made.ok()) {
      return made.error();
    }
    update.made.emplace_back("");
    update.made.push_back(zarr_announcement());
    update.changes.emplace_back(DurabilityPoint{});
    std::string root = zarr_root_text(documents);
    if (Status told = announce_zarr_step(path, root); !told.ok()) return told.error();
    update.changes.emplace_back(DocumentReplacement{"zarr.json", std::move(root), true});
    return update;
  }

  // The root's document is replaced first, so readers of that document see fewer steps of all
  // arrays.
  Result<HeaderUpdate> drop_steps(const std::string& path, std::int64_t steps,
                                  std::int64_t /*before*/) const override {
    if (is_zarr_v2(path)) return no_steps_in_v2(path);
    auto store = read_zarr_store(path);
    if (!store) return store.error();
    ZarrDocuments& documents = store.value().documents;
    if (Status read = check_all_are_read(documents, path); !read.ok()) return read.error();
    if (Status restored = restore_documents(store.value(), path); !restored.ok()) {
      return restored.error();
    }
    HeaderUpdate update;
    for (const ZarrArray& array : zarr_contents(documents, path).arrays) {
      if (!array.description.grows) continue;
      const std::string& name = array.description.name;
      if (Status whole = check_first_steps(array, steps, path); !whole.ok()) return whole.error();
      ZarrJson& document = documents.at(name);
      document["shape"][0] = steps;
      if (!name.empty()) {
        update.changes.emplace_back(DocumentReplacement{name + "/zarr.json", zarr_text(document)});
      }
    }
    update.changes.insert(
        update.changes.begin(),
        {DocumentReplacement{"zarr.json", zarr_root_text(documents)}, DurabilityPoint{}});
    return update;
  }

  Status clear_unfinished(const std::string& path, std::int64_t /*steps*/) const override {
    const auto store = read_zarr_store(path);
    if (!store) return store.error();
    // Chunks of an array whose document cannot be read would stay, and appear in the next step.
    if (Status read = check_all_are_read(store.value().documents, path); !read.ok()) return read;
    // Without the announcement the nodes' own documents would be valid.
    if (Status restored = restore_documents(store.value(), path); !restored.ok()) return restored;
    Status cleared = clear_later_steps(zarr_contents(store.value().documents, path), path);
    return cleared.ok() ? withdraw_zarr_step(path) : cleared;
  }

  Result<std::vector<std::string>> unfinished(const std::string& path) const override {
    const auto store = read_zarr_store(path);
    if (!store) return store.error();
    std::vector<std::string> lines;
    if (zarr_step_announced(path)) {
      lines.emplace_back("zarr.json.new is beside zarr.json: a step that was not committed");
    }
    const ZarrContents found = zarr_contents(store.value().documents, path);
    for (const RefusedArray& one : found.damaged) {
      lines.push_back(fmt::format("array {}: {}", printable(one.name), one.reason));
    }
    for (const ZarrArray& array : found.arrays) {
      const std::string& name = array.description.name;
      const auto later = later_files(array, zarr_folder(path, name));
      if (!later) return later.error();
      if (!later.value().empty()) {
        lines.push_back(fmt::format(
            "{} files after the last of {} steps of array \"{}\": a step that was not committed",
            later.value().size(), array.description.shape.extent(0), printable(name)));
      }
    }
    return lines;
  }

 private:
  // Makes the shards for the file's existing steps, for arrays in shards that are not encoded.
  // Other files of chunks may be missing; their elements then have the fill value.
  static Status make_shards_of(const std::vector<ArrayDescription>& arrays, const std::string& path,
                               std::vector<std::string>& names) {
    std::vector<StoredArray> made;
    for (const ArrayDescription& one : arrays) {
      if (!one.shard_extents || !one.codecs.empty()) continue;
      const ZarrArray array{.description = one};
      auto map = zarr_map(array, zarr_folder(path, one.name));
      if (!map) return map.error();
      Status laid = make_zarr_shards(array, map.value(), 0);
      if (!laid.ok()) return laid;
      add_shards(map.value(), 0, path, names);
      made.push_back({one, std::move(map).value()});
    }
    return write_fills_of(made);
  }

  struct ClearedStore {
    ZarrDocuments documents;
    ZarrContents found;
  };

  // Returns the committed store, after removing what a killed run left. `known_steps` is the number
  // of steps that the caller knows each growing array to have; nothing: the caller accepts any
  // number.
  static Result<ClearedStore> cleared_store(const std::string& path,
                                            std::optional<std::int64_t> known_steps) {
    if (is_zarr_v2(path)) return no_steps_in_v2(path);
    auto store = read_zarr_store(path);
    if (!store) return store.error();
    ZarrDocuments& documents = store.value().documents;
    ZarrContents found = zarr_contents(documents, path);
    // The root's document would otherwise get a copy of an unknown document.
    if (Status read = check_all_are_read(documents, path); !read.ok()) return read.error();
    for (std::size_t i = 0; i < found.arrays.size(); ++i) {
      const ZarrArray& array = found.arrays[i];
      const std::int64_t now = array.description.shape.extent(0);
      if (!array.description.grows) continue;
      Status whole = check_shards_are_whole(array.description, found.map.arrays[i].map, path);
      if (!whole.ok()) return whole.error();
      if (known_steps && now != *known_steps) {
        return has_other_steps(path, array.description.name, now, *known_steps);
      }
    }
    remove_folder_mark(path);
    if (Status restored = restore_documents(store.value(), path); !restored.ok()) {
      return restored.error();
    }
    if (zarr_step_announced(path)) {
      if (Status cleared = clear_later_steps(found, path); !cleared.ok()) return cleared.error();
      found = zarr_contents(documents, path);  // the indices of shards may have changed
    }
    if (store.value().root_is_older) {
      Status renewed = renew_zarr_text(zarr_folder(path, ""), zarr_root_text(documents));
      if (!renewed.ok()) return renewed.error();
    }
    return ClearedStore{std::move(documents), std::move(found)};
  }

  // Names of nodes that are new or have changed attributes.
  using Nodes = std::set<std::string>;

  static Status enter_arrays(const FileDescription& added, const std::string& path,
                             ZarrDocuments& documents, Nodes& nodes) {
    for (const std::string& group : all_groups(added)) {
      if (documents.emplace(group, zarr_group_document({})).second) nodes.insert(group);
    }
    for (const ArrayDescription& one : added.arrays) {
      // Existing elements in the folder would become elements of the array.
      if (is_on_disk(zarr_folder(path, one.name)) && has_elements(zarr_folder(path, one.name))) {
        return invalid_argument(
            fmt::format("the folder for the new array \"{}\" already exists and has files that "
                        "belong to no array: remove it or give another name",
                        printable(one.name)),
            zarr_folder(path, one.name));
      }
      documents[one.name] = zarr_array_document(one);
      nodes.insert(one.name);
    }
    return {};
  }

  static bool has_elements(const std::string& folder) {
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
      if (!entry->path().filename().string().starts_with("zarr.json")) return true;
    }
    return static_cast<bool>(failed);
  }

  static void enter_attributes(const std::vector<GroupDescription>& owners,
                               ZarrDocuments& documents, Nodes& nodes) {
    for (const GroupDescription& one : owners) {
      ZarrJson& document = documents.emplace(one.name, zarr_group_document({})).first->second;
      ZarrJson& attributes = document["attributes"];
      if (!attributes.is_object()) attributes = ZarrJson::object();
      attributes.update(attributes_json(one.attributes));
      nodes.insert(one.name);
    }
  }

  // `known_steps` has the same meaning as in cleared_store().
  static Result<Room> room_for_steps(const std::string& path, std::int64_t steps,
                                     std::optional<std::int64_t> known_steps) {
    auto cleared = cleared_store(path, known_steps);
    if (!cleared) return cleared.error();
    ZarrDocuments& documents = cleared.value().documents;
    ZarrContents& found = cleared.value().found;
    Room room;
    for (std::size_t i = 0; i < found.arrays.size(); ++i) {
      ZarrArray& array = found.arrays[i];
      if (!array.description.grows) continue;
      const std::string name = array.description.name;
      auto map = extend(array, steps, zarr_folder(path, name));
      if (!map) return map.error();
      const std::int64_t now = found.map.arrays[i].map.shape.extent(0);
      if (map.value().chunks() != nullptr && array.description.shard_extents) {
        add_shards(map.value(), new_shard_row(array, now), path, room.update.made);
      }
      room.update.made.push_back(name);
      found.map.arrays[i] = {array.description, std::move(map).value()};
      ZarrJson& document = documents.at(name);
      document["shape"][0] = steps;
      if (name.empty()) continue;
      room.update.changes.emplace_back(
          DocumentReplacement{name + "/zarr.json", zarr_text(document)});
    }
    if (room.update.made.empty()) {
      return invalid_argument("no array of this file has steps", path);
    }
    room.map = std::move(found.map);
    // The announcement is made first, because it tells readers to which step the arrays' own
    // documents belong.
    room.update.made.emplace_back("");
    room.update.made.push_back(zarr_announcement());
    room.update.changes.emplace_back(DurabilityPoint{});
    std::string root = zarr_root_text(documents);
    if (Status told = announce_zarr_step(path, root); !told.ok()) return told.error();
    room.update.changes.emplace_back(DocumentReplacement{"zarr.json", std::move(root), true});
    return room;
  }

  // Returns the map of an array with more steps, and changes its description accordingly.
  static Result<ExtentMap> extend(ZarrArray& array, std::int64_t steps, const std::string& folder) {
    ArrayDescription& about = array.description;
    const std::int64_t now = about.shape.extent(0);
    const auto shape = with_steps(about.shape, steps);
    if (steps < now || !shape) return cannot_have(about.name, steps, now);
    about.shape = shape.value();
    auto map = zarr_map(array, folder);
    if (!map || !about.shard_extents || steps == now) return map;
    if (map.value().encoded() != nullptr) {
      if (auto reason = read_zarr_shards(array, map.value())) {
        return invalid_argument(fmt::format("array \"{}\": {}", printable(about.name), *reason));
      }
      return map;
    }
    if (!array.index_at_end || !array.index_summed) return cannot_have(about.name, steps, now);
    const std::int64_t row = new_shard_row(array, now);
    if (auto reason = check_zarr_shards(array, map.value(), now / (*about.shard_extents)[0], row)) {
      return invalid_argument(fmt::format("no space for {} steps of array \"{}\": {}", steps,
                                          printable(about.name), *reason));
    }
    if (Status made = make_zarr_shards(array, map.value(), row); !made.ok()) return made.error();
    return map;
  }

  // Fails unless leftovers of dropped steps can be cleared in shards that hold other steps.
  static Status check_first_steps(ZarrArray array, std::int64_t steps, const std::string& path) {
    ArrayDescription& about = array.description;
    if (!about.shard_extents || !about.codecs.empty()) return {};
    const auto shape = with_steps(about.shape, steps);
    if (!shape) return shape.error();
    about.shape = shape.value();
    auto map = zarr_map(array, zarr_folder(path, about.name));
    if (!map) return map.error();
    if (auto reason = read_zarr_shards(array, map.value())) return invalid_argument(*reason);
    return check_shards_are_whole(about, map.value(), path);
  }

  // Returns the first row of shards without steps, if there are this many steps.
  static std::int64_t new_shard_row(const ZarrArray& array, std::int64_t steps) {
    return array::divide_up(steps, (*array.description.shard_extents)[0]);
  }

  // Restores the committed documents of nodes whose own documents belong to a step that is not
  // committed.
  static Status restore_documents(const ZarrStore& store, const std::string& path) {
    for (const std::string& name : store.of_uncommitted_step) {
      Status restored =
          renew_zarr_text(zarr_folder(path, name), zarr_text(store.documents.at(name)));
      if (!restored.ok()) return restored;
    }
    return {};
  }

  // Adds the names of shards, relative to the file's path.
  static void add_shards(const ExtentMap& map, std::int64_t first_row, const std::string& path,
                         std::vector<std::string>& names) {
    const auto& slots = std::get<ShardSlots>(map.chunks()->places);
    const std::int64_t rows = std::max<std::int64_t>(1, slots.shards[0]);
    for (std::int64_t shard = map.files.files() / rows * first_row; shard < map.files.files();
         ++shard) {
      names.push_back(map.files.path(shard).substr(path.size() + 1));
    }
  }

  // Fails if a document is a text, the reason why it could not be read.
  static Status check_all_are_read(const ZarrDocuments& documents, const std::string& path) {
    for (const auto& [name, document] : documents) {
      if (document.is_string()) return Error(ErrorCode::corrupt, document.get<std::string>(), path);
    }
    return {};
  }

  static Error has_other_steps(const std::string& path, const std::string& name, std::int64_t now,
                               std::int64_t known) {
    Error error = invalid_argument(
        fmt::format("the document of array \"{}\" has {} steps, but this run expects {}: another "
                    "program has added or removed steps; give all arrays with steps the same "
                    "number of steps, and open the file again",
                    printable(name), now, known));
    error.file = path;
    return error;
  }

  static Error cannot_have(const std::string& name, std::int64_t steps, std::int64_t now) {
    return invalid_argument(
        fmt::format("steps is {}, but array \"{}\" has {} steps", steps, printable(name), now));
  }
};

}  // namespace

const Format* zarr_format() {
  static const ZarrFormat format;
  return &format;
}

}  // namespace weir::storage
