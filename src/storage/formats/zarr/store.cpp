#include "storage/formats/zarr/store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "storage/engines/file.hpp"
#include "storage/engines/slices.hpp"
#include "storage/formats/file_replacement.hpp"
#include "storage/text_file.hpp"

namespace weir::storage {
namespace {

constexpr const char* document_name = "zarr.json";
// A parser should not be made to read gigabytes; consolidated documents are one of all nodes.
constexpr std::size_t most_root_bytes = std::size_t{1} << 26;
constexpr std::size_t most_document_bytes = std::size_t{1} << 20;

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
  const auto text = read_text_file(file, most);
  if (!text) return text.error();
  if (text.value().size() > most) {
    return corrupt(file, fmt::format("it has over {} bytes, too many for a document", most));
  }
  auto document = parse_json(text.value());
  if (!document || !document->is_object()) {
    return corrupt(file, fmt::format("it is no JSON document of one object, or is over {} levels "
                                     "deep",
                                     most_json_levels));
  }
  const ZarrJson* const version = member(*document, "zarr_format");
  if (version == nullptr || *version != 3) return corrupt(file, "it is no document of Zarr v3");
  return *std::move(document);
}

Status write_text(const File& file, std::string text) {
  const Slice slice{reinterpret_cast<std::byte*>(text.data()),
                    static_cast<std::int64_t>(text.size())};
  std::int64_t calls = 0;
  return write_slices(file, {&slice, 1}, 0, calls);
}

Error too_many_nodes(const std::string& file, const ZarrLimits& limits) {
  return corrupt(file, fmt::format("it has over {} arrays and groups", limits.nodes));
}

// Nodes below a group, by folders that have a document.
class Walk {
 public:
  Walk(std::string root, const ZarrLimits& limits, ZarrDocuments& documents)
      : root_(std::move(root)), limits_(limits), documents_(documents) {}

  Status into(const std::string& group, int depth) {
    if (depth > ZarrLimits::most_groups_deep)
      return corrupt(root_, "its groups lie too deep in each other");
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(zarr_folder(root_, group), failed), end;
         !failed && entry != end; entry.increment(failed)) {
      if (++entries_ > limits_.entries) {
        return corrupt(root_, fmt::format("its folders have over {} entries", limits_.entries));
      }
      if (entry->is_symlink(failed) || !entry->is_directory(failed)) continue;
      std::string name = group.empty() ? "" : group + "/";
      name += entry->path().filename().string();
      if (Status found = visit(name, depth); !found.ok()) return found;
    }
    if (failed) return system_failure("read folder", root_, -1, failed.value());
    return {};
  }

 private:
  Status visit(const std::string& name, int depth) {
    std::error_code failed;
    const std::string file = zarr_folder(root_, name) + document_name;
    if (!std::filesystem::is_regular_file(file, failed)) return {};
    auto document = read_document(file, most_document_bytes);
    if (!document) return document.error();
    if (documents_.size() >= limits_.nodes) return too_many_nodes(root_, limits_);
    const bool group = is_node(document.value(), "group");
    documents_[name] = std::move(document).value();
    return group ? into(name, depth + 1) : Status();
  }

  std::string root_;
  const ZarrLimits& limits_;
  ZarrDocuments& documents_;
  std::size_t entries_ = 0;
};

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
  const std::string file = zarr_folder(path, "") + document_name;
  auto root = read_document(file, most_root_bytes);
  if (!root) return root.error();
  ZarrDocuments documents;
  ZarrJson consolidated;
  if (const auto found = root.value().find("consolidated_metadata"); found != root.value().end()) {
    consolidated = std::move(*found);
    root.value().erase(found);
  }
  if (const ZarrJson* const all = member(consolidated, "metadata");
      all != nullptr && all->is_object()) {
    if (all->size() > limits.nodes) return too_many_nodes(file, limits);
    ZarrJson& nodes = consolidated["metadata"];
    for (auto node = nodes.begin(); node != nodes.end(); ++node) {
      if (!node.key().empty()) documents[node.key()] = std::move(node.value());
    }
  } else if (is_node(root.value(), "group")) {
    if (Status walked = Walk(path, limits, documents).into("", 0); !walked.ok())
      return walked.error();
  }
  documents[""] = std::move(root).value();
  return documents;
}

}  // namespace weir::storage
