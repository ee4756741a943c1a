#include "formats/zarr/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "formats/json_of_others.hpp"
#include "system/text_file.hpp"

namespace weir::storage {
namespace {

class Walk {
 public:
  Walk(const std::string& root, const ZarrLimits& limits, const ZarrNodeReader& read_node,
       ZarrDocuments& documents)
      : root_(root), limits_(limits), read_node_(read_node), documents_(documents) {}

  Status into(const std::string& group, int depth) {
    if (depth > ZarrLimits::most_groups_deep) {
      return Error(ErrorCode::corrupt, "its groups are nested too deeply", root_);
    }
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(zarr_folder(root_, group), failed), end;
         !failed && entry != end; entry.increment(failed)) {
      if (++entries_ > limits_.entries) {
        return Error(ErrorCode::corrupt,
                     fmt::format("its folders have more than {} entries", limits_.entries), root_);
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
    auto document = read_node_(zarr_folder(root_, name));
    if (!document) return document.error();
    if (!document.value()) return {};
    if (documents_.size() >= limits_.nodes) return too_many_zarr_nodes(root_, limits_);
    const auto type = document.value()->find("node_type");
    const bool is_group = type != document.value()->end() && *type == "group";
    documents_[name] = *std::move(document).value();
    return is_group ? into(name, depth + 1) : Status();
  }

  const std::string& root_;
  const ZarrLimits& limits_;
  const ZarrNodeReader& read_node_;
  ZarrDocuments& documents_;
  std::size_t entries_ = 0;
};

}  // namespace

Result<ZarrJson> read_zarr_json(const std::string& file, std::size_t most, std::size_t& left) {
  const auto text = read_text_file(file, std::min(most, left));
  if (!text) return text.error();
  if (text.value().size() > left) {
    return Error(ErrorCode::unsupported,
                 "the documents of the folder, up to this one, have more bytes than are read: the "
                 "folder is damaged, or WEIR_READ_BYTES has to allow more",
                 file);
  }
  left -= text.value().size();
  if (text.value().size() > most) {
    return Error(ErrorCode::corrupt,
                 fmt::format("it has more than {} bytes, which is the limit for a document", most),
                 file);
  }
  auto document = parse_json_of_others(text.value());
  if (!document || !document->is_object()) {
    return Error(
        ErrorCode::corrupt,
        fmt::format("it is not a JSON document with one object, or has more than {} levels",
                    most_json_levels),
        file);
  }
  return *std::move(document);
}

Error too_many_zarr_nodes(const std::string& file, const ZarrLimits& limits) {
  return Error(ErrorCode::corrupt,
               fmt::format("it has more than {} arrays and groups", limits.nodes), file);
}

Status walk_zarr_folders(const std::string& root, const ZarrLimits& limits,
                         const ZarrNodeReader& read_node, ZarrDocuments& documents) {
  return Walk(root, limits, read_node, documents).into("", 0);
}

}  // namespace weir::storage
