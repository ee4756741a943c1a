#include "formats/zarr/store.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "formats/json_of_others.hpp"
#include "formats/reading_limits.hpp"
#include "formats/zarr/v2_store.hpp"
#include "formats/zarr/walk.hpp"
#include "stored/file_description.hpp"
#include "system/file.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {
namespace {

constexpr const char* document_name = "zarr.json";

bool is_node(const ZarrJson& document, const char* type) {
  const ZarrJson* const found = json_member(document, "node_type");
  return found != nullptr && found->is_string() && *found == type;
}

Result<ZarrJson> read_document(const std::string& file, std::size_t most, std::size_t& left) {
  auto document = read_zarr_json(file, most, left);
  if (!document) return document;
  const ZarrJson* const version = json_member(document.value(), "zarr_format");
  if (version == nullptr || *version != 3) {
    return Error(ErrorCode::corrupt, "it is not a document of Zarr v3", file);
  }
  return document;
}

Result<std::optional<ZarrJson>> read_node(const std::string& folder, std::size_t& left) {
  std::error_code failed;
  const std::string file = folder + document_name;
  if (!std::filesystem::is_regular_file(file, failed)) return std::optional<ZarrJson>();
  auto document = read_document(file, most_zarr_document_bytes, left);
  if (!document) return document.error();
  return std::optional(std::move(document).value());
}

}  // namespace

std::string zarr_folder(const std::string& path, const std::string& name) {
  return path + "/" + (name.empty() ? "" : name + "/");
}

Status write_zarr_text(const std::string& folder, const std::string& text) {
  return replace_file(folder + document_name, text, false);
}

Status renew_zarr_text(const std::string& folder, const std::string& text) {
  Status renewed = replace_beside_announcement(folder + document_name, text, true);
  return renewed.ok() ? sync_folder(folder) : renewed;
}

std::string zarr_text(const ZarrJson& document) { return json_text_for_others(document); }

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
  Status written = write_replacement(zarr_folder(path, "") + document_name, root_text);
  // From here on, elements of the step may become durable at any time, and only the announcement
  // shows that they have to be removed.
  return written.ok() ? sync_folder(zarr_folder(path, "")) : written;
}

std::string zarr_announcement() { return replacement_path(document_name); }

bool zarr_step_announced(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(replacement_path(zarr_folder(path, "") + document_name), failed);
}

Status withdraw_zarr_step(const std::string& path) {
  const std::string announced = replacement_path(zarr_folder(path, "") + document_name);
  std::error_code failed;
  std::filesystem::remove(announced, failed);
  return failed ? system_failure("unlink", announced, -1, failed.value()) : Status();
}

bool is_zarr_array(const ZarrJson& document) { return is_node(document, "array"); }

namespace {

// Removes the consolidated documents from the root's document and returns them; nothing if there
// are none.
std::optional<ZarrDocuments> take_consolidated(ZarrJson& root) {
  const auto found = root.find("consolidated_metadata");
  if (found == root.end()) return std::nullopt;
  ZarrJson consolidated = std::move(*found);
  root.erase(found);
  const ZarrJson* const all = json_member(consolidated, "metadata");
  if (all == nullptr || !all->is_object()) return std::nullopt;
  ZarrDocuments documents;
  ZarrJson& nodes = consolidated["metadata"];
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    if (!node.key().empty()) documents[node.key()] = std::move(node.value());
  }
  return documents;
}

// Returns the documents of the step that is being written, or that a killed run left; empty if
// there is no such step, or if the commit is replacing the root's document at this moment.
ZarrDocuments announced_documents(const std::string& path) {
  std::size_t left = most_zarr_root_bytes;
  auto root = read_document(replacement_path(zarr_folder(path, "") + document_name),
                            most_zarr_root_bytes, left);
  if (!root) return {};
  return take_consolidated(root.value()).value_or(ZarrDocuments());
}

// NaN in documents is not equal to itself, so the texts are compared, too.
bool are_alike(const ZarrJson& one, const ZarrJson& other) {
  return one == other || zarr_text(one) == zarr_text(other);
}

// Returns the own documents that differ from the consolidated ones, by node.
ZarrDocuments differing_documents(const std::string& path, const ZarrDocuments& consolidated,
                                  std::size_t left) {
  ZarrDocuments differing;
  for (const auto& [name, document] : consolidated) {
    if (!check_name(name).ok()) continue;  // it might lead out of the folder
    auto own =
        read_document(zarr_folder(path, name) + document_name, most_zarr_document_bytes, left);
    if (!own) {
      // A store may have only consolidated documents.
      if (own.error().system_error != ENOENT) differing[name] = own.error().text();
    } else if (!are_alike(own.value(), document)) {
      differing[name] = std::move(own).value();
    }
  }
  return differing;
}

}  // namespace

Result<ZarrStore> read_zarr_store(const std::string& path, const ZarrLimits& limits) {
  constexpr int most_attempts = 3;  // repeated while another run commits steps
  const auto reading = reading_limits();
  if (!reading) return reading.error();
  if (is_zarr_v2(path)) {
    auto documents = read_zarr_v2_documents(path, limits);
    if (!documents) return documents.error();
    return ZarrStore{.documents = std::move(documents).value(), .of_uncommitted_step = {}};
  }
  const std::string file = zarr_folder(path, "") + document_name;
  std::size_t left = reading.value().document_bytes;
  auto root = read_document(file, most_zarr_root_bytes, left);
  if (!root) return root.error();
  for (int attempt = 1;; ++attempt) {
    ZarrStore store;
    auto consolidated = take_consolidated(root.value());
    if (!consolidated) {
      if (is_node(root.value(), "group")) {
        const auto read = [&](const std::string& folder) { return read_node(folder, left); };
        Status walked = walk_zarr_folders(path, limits, read, store.documents);
        if (!walked.ok()) return walked.error();
      }
      store.documents[""] = std::move(root).value();
      return store;
    }
    if (consolidated->size() > limits.nodes) return too_many_zarr_nodes(file, limits);
    ZarrDocuments differing =
        differing_documents(path, *consolidated, reading.value().document_bytes);
    if (!differing.empty()) {
      const ZarrDocuments announced = announced_documents(path);
      // A commit that has ended meanwhile has replaced the root's document.
      left = reading.value().document_bytes;
      auto again = read_document(file, most_zarr_root_bytes, left);
      if (!again) return again.error();
      ZarrJson now = again.value();
      const auto consolidated_now = take_consolidated(now);
      const bool changed = !consolidated_now || !are_alike(*consolidated_now, *consolidated) ||
                           !are_alike(now, root.value());
      if (changed && attempt < most_attempts) {
        root = std::move(again);
        continue;
      }
      for (auto& [name, document] : differing) {
        const auto found = announced.find(name);
        if (found != announced.end() && are_alike(found->second, document)) {
          store.of_uncommitted_step.push_back(name);
        } else {
          (*consolidated)[name] = std::move(document);
          store.root_is_older = true;
        }
      }
    }
    store.documents = *std::move(consolidated);
    store.documents[""] = std::move(root).value();
    return store;
  }
}

}  // namespace weir::storage
