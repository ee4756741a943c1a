#include "storage/formats/zarr/store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "storage/engines/file.hpp"
#include "storage/engines/slices.hpp"
#include "storage/formats/file_replacement.hpp"
#include "storage/formats/zarr/v2_store.hpp"
#include "storage/formats/zarr/walk.hpp"

namespace weir::storage {
namespace {

constexpr const char* document_name = "zarr.json";

Error corrupt(const std::string& file, std::string what) {
  Error error = invalid_argument(std::move(what));
  error.code = ErrorCode::corrupt;
  error.file = file;
  return error;
}

const ZarrJson* member(const ZarrJson& from, const char* name) {
  if (!from.is_object()) return nullptr;
  const auto found = from.find(name);
  return found == from.end() ? nullptr : &*found;
}

bool is_node(const ZarrJson& document, const char* type) {
  const ZarrJson* const found = member(document, "node_type");
  return found != nullptr && found->is_string() && *found == type;
}

Result<ZarrJson> read_document(const std::string& file, std::size_t most) {
  auto document = read_zarr_json(file, most);
  if (!document) return document;
  const ZarrJson* const version = member(document.value(), "zarr_format");
  if (version == nullptr || *version != 3) return corrupt(file, "it is no document of Zarr v3");
  return document;
}

Result<std::optional<ZarrJson>> read_node(const std::string& folder) {
  std::error_code failed;
  const std::string file = folder + document_name;
  if (!std::filesystem::is_regular_file(file, failed)) return std::optional<ZarrJson>();
  auto document = read_document(file, most_zarr_document_bytes);
  if (!document) return document.error();
  return std::optional(std::move(document).value());
}

Status write_text(const File& file, std::string text) {
  const Slice slice{reinterpret_cast<std::byte*>(text.data()),
                    static_cast<std::int64_t>(text.size())};
  std::int64_t calls = 0;
  return write_slices(file, {&slice, 1}, 0, calls);
}

}  // namespace

std::string zarr_folder(const std::string& path, const std::string& name) {
  return path + "/" + (name.empty() ? "" : name + "/");
}

Status write_zarr_text(const std::string& folder, const std::string& text) {
  const std::string name = folder + document_name;
  auto file = begin_replacement(name);
  if (!file) return file.error();
  Status written = write_text(file.value(), text);
  return written.ok() ? finish_replacement(file.value(), name, false) : written;
}

std::string zarr_text(const ZarrJson& document) {
  return document.dump(2, ' ', false, ZarrJson::error_handler_t::replace) + "\n";
}

std::string zarr_root_text(const ZarrDocuments& documents) {
  ZarrJson root = documents.at("");
  ZarrJson all = ZarrJson::object();
  for (const auto& [name, document] : documents) {
    if (!name.empty()) all[name] = document;
  }
  if (is_node(root, "group")) {
    root["consolidated_metadata"] = {
        {"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(all)}};
  }
  return zarr_text(root);
}

Status announce_zarr_step(const std::string& path, const std::string& root_text) {
  auto file = begin_replacement(zarr_folder(path, "") + document_name);
  if (!file) return file.error();
  Status written = write_text(file.value(), root_text);
  return written.ok() ? file.value().close() : written;
}

bool zarr_step_announced(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(replacement_path(zarr_folder(path, "") + document_name), failed);
}

bool is_zarr_array(const ZarrJson& document) { return is_node(document, "array"); }

Result<ZarrDocuments> read_zarr_documents(const std::string& path, const ZarrLimits& limits) {
  if (is_zarr_v2(path)) return read_zarr_v2_documents(path, limits);
  const std::string file = zarr_folder(path, "") + document_name;
  auto root = read_document(file, most_zarr_root_bytes);
  if (!root) return root.error();
  ZarrDocuments documents;
  ZarrJson consolidated;
  if (const auto found = root.value().find("consolidated_metadata"); found != root.value().end()) {
    consolidated = std::move(*found);
    root.value().erase(found);
  }
  if (const ZarrJson* const all = member(consolidated, "metadata");
      all != nullptr && all->is_object()) {
    if (all->size() > limits.nodes) return too_many_zarr_nodes(file, limits);
    ZarrJson& nodes = consolidated["metadata"];
    for (auto node = nodes.begin(); node != nodes.end(); ++node) {
      if (!node.key().empty()) documents[node.key()] = std::move(node.value());
    }
  } else if (is_node(root.value(), "group")) {
    if (Status walked = walk_zarr_folders(path, limits, read_node, documents); !walked.ok())
      return walked.error();
  }
  documents[""] = std::move(root).value();
  return documents;
}

}  // namespace weir::storage
