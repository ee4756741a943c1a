#include "stager/stored_paths.hpp"

#include <string>
#include <variant>

#include "formats/file_map_message.hpp"
#include "formats/header_update.hpp"
#include "system/incomplete.hpp"

namespace weir::stager {
namespace {

Status check_chunks(const storage::RootFolder& root, const storage::DataFiles& files) {
  const storage::DataFiles::Parts& parts = files.parts();
  // Coordinates and numbers, which follow, are no names that lead elsewhere.
  if (Status below = root.check(parts.prefix + "0"); !below.ok()) return below;
  for (const std::string& directory : parts.directories) {
    const bool is_absolute = directory.starts_with('/');
    const std::string folder =
        is_absolute ? directory : storage::folder_of(parts.prefix) + "/" + directory;
    if (Status below = root.check(folder + "/0"); !below.ok()) return below;
  }
  return {};
}

}  // namespace

Status check_below(const storage::RootFolder* root, const transport::NameFile& named) {
  if (root == nullptr) return {};
  if (named.encoded.empty()) return root->check(named.path);
  const auto map = storage::parse_file_map(named.encoded);
  if (!map) return map.error();
  for (const storage::StoredArray& array : map.value().arrays) {
    if (named.places.step != 0) {  // all chunks are in this file
      if (array.map.files.files() == 0) continue;
      if (Status below = root->check(array.map.files.path(0)); !below.ok()) return below;
      continue;
    }
    if (Status below = check_chunks(*root, array.map.files); !below.ok()) return below;
  }
  return {};
}

Status check_below(const storage::RootFolder* root, const transport::CommitStep& step) {
  if (root == nullptr) return {};
  Status below = root->check(step.path);
  const auto check_inside = [&](const std::string& name) {
    if (below.ok() && !name.empty()) below = root->check(step.path + "/" + name);
  };
  for (const std::string& name : step.update.made) check_inside(name);
  for (const storage::HeaderChange& change : step.update.changes) {
    const auto* const document = std::get_if<storage::DocumentReplacement>(&change);
    if (document != nullptr) check_inside(document->name);
    const auto* const beside = std::get_if<storage::SidecarReplacement>(&change);
    if (beside != nullptr && below.ok()) {
      below = root->check(storage::committed_path(step.path + beside->suffix));
    }
  }
  return below;
}

Status check_below(const storage::RootFolder* root, const transport::Message& message) {
  if (root == nullptr) return {};
  if (const auto* const named = std::get_if<transport::NameFile>(&message)) {
    return check_below(root, *named);
  }
  if (const auto* const step = std::get_if<transport::CommitStep>(&message)) {
    return check_below(root, *step);
  }
  if (const auto* const share = std::get_if<transport::RecordShare>(&message)) {
    return check_below(root, share->step);
  }
  const auto* const lock = std::get_if<transport::LockFile>(&message);
  return lock == nullptr ? Status() : root->check(lock->path);
}

}  // namespace weir::stager
