#include "formats/zarr/v2_store.hpp"

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "formats/reading_limits.hpp"
#include "formats/zarr/v2_documents.hpp"
#include "formats/zarr/walk.hpp"
#include "stored/file_description.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {
namespace {

constexpr const char* array_document = ".zarray";
constexpr const char* group_document = ".zgroup";
constexpr const char* attributes_document = ".zattrs";
constexpr const char* consolidated_document = ".zmetadata";

// Reads a document. Returns nothing if the file does not exist.
Result<std::optional<Json>> read_if_there(const std::string& file, std::size_t most,
                                          std::size_t& left) {
  auto document = read_zarr_json(file, most, left);
  if (document) return std::optional(std::move(document).value());
  if (document.error().system_error == ENOENT) return std::optional<Json>();
  return document.error();
}

// Returns a node's v3 document from the three documents that it may have; nothing if it is not a
// node.
std::optional<Json> node_of(const Json* array, const Json* group, const Json* attributes) {
  if (array != nullptr) return v3_of_v2_array(*array, attributes);
  if (group != nullptr) return v3_of_v2_group(attributes);
  return std::nullopt;
}

Result<std::optional<Json>> read_v2_node(const std::string& folder, std::size_t& left) {
  std::array<std::optional<Json>, 3> found;
  std::size_t which = 0;
  for (const char* const name : {array_document, group_document, attributes_document}) {
    auto document = read_if_there(folder + name, most_zarr_document_bytes, left);
    if (!document) return document.error();
    found.at(which++) = std::move(document).value();
  }
  const auto there = [&](std::size_t number) {
    return found.at(number) ? &*found.at(number) : nullptr;
  };
  return node_of(there(0), there(1), there(2));
}

// The parts of a key such as "fields/density/.zarray": the node's name, and which of its documents
// it is.
struct Place {
  std::string node;
  std::string_view document;
};

Place place_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  if (slash == std::string_view::npos) return {"", key};
  return {std::string(key.substr(0, slash)), key.substr(slash + 1)};
}

struct Node {
  const Json* array = nullptr;
  const Json* group = nullptr;
  const Json* attributes = nullptr;
};

// Replaces the copies of documents by the nodes' own documents, because programs that changed these
// may not have renewed the copies. For nodes without own documents the copies are valid.
Status take_own_documents(const std::string& path, ZarrDocuments& documents, std::size_t left) {
  for (auto& [name, document] : documents) {
    if (!name.empty() && !check_name(name).ok()) continue;  // it might lead out of the folder
    auto own = read_v2_node(zarr_folder(path, name), left);
    if (!own) {
      if (name.empty()) return own.error();
      document = own.error().text();
    } else if (own.value()) {
      document = *std::move(own).value();
    }
  }
  return {};
}

Result<ZarrDocuments> consolidated(const Json& document, const std::string& file,
                                   const ZarrLimits& limits) {
  const auto metadata = document.find("metadata");
  std::map<std::string, Node> nodes;
  if (metadata != document.end() && metadata->is_object()) {
    for (auto one = metadata->begin(); one != metadata->end(); ++one) {
      const Place place = place_of(one.key());
      Node& node = nodes[place.node];
      if (place.document == array_document) node.array = &*one;
      if (place.document == group_document) node.group = &*one;
      if (place.document == attributes_document) node.attributes = &*one;
    }
  }
  if (nodes.size() > limits.nodes + 1) return too_many_zarr_nodes(file, limits);
  ZarrDocuments documents;
  for (const auto& [name, node] : nodes) {
    if (auto found = node_of(node.array, node.group, node.attributes)) {
      documents[name] = *std::move(found);
    }
  }
  if (documents.find("") == documents.end()) documents[""] = v3_of_v2_group(nullptr);
  return documents;
}

}  // namespace

bool is_zarr_v2(const std::string& path) {
  const std::string folder = zarr_folder(path, "");
  if (is_on_disk(folder + "zarr.json")) return false;
  return is_on_disk(folder + array_document) || is_on_disk(folder + group_document) ||
         is_on_disk(folder + consolidated_document);
}

Result<ZarrDocuments> read_zarr_v2_documents(const std::string& path, const ZarrLimits& limits) {
  const std::string folder = zarr_folder(path, "");
  const auto reading = reading_limits();
  if (!reading) return reading.error();
  std::size_t left = reading.value().document_bytes;
  const auto all = read_if_there(folder + consolidated_document, most_zarr_root_bytes, left);
  if (!all) return all.error();
  if (all.value()) {
    auto copies = consolidated(*all.value(), folder + consolidated_document, limits);
    if (!copies) return copies;
    Status taken = take_own_documents(path, copies.value(), reading.value().document_bytes);
    return taken.ok() ? std::move(copies) : taken.error();
  }
  ZarrDocuments documents;
  auto root = read_v2_node(folder, left);
  if (!root) return root.error();
  Json found = std::move(root).value().value_or(v3_of_v2_group(nullptr));
  if (!is_zarr_array(found)) {
    const auto read = [&](const std::string& at) { return read_v2_node(at, left); };
    Status walked = walk_zarr_folders(path, limits, read, documents);
    if (!walked.ok()) return walked.error();
  }
  documents[""] = std::move(found);
  return documents;
}

}  // namespace weir::storage
