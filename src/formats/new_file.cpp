#include "formats/new_file.hpp"

#include <filesystem>

#include "formats/raw/raw_leftovers.hpp"
#include "system/incomplete.hpp"
#include "system/unfollowed_file.hpp"

namespace weir::storage {

Status clear_for_file(const std::string& path, const Striping& striping) {
  std::error_code failed;
  const std::string target = committed_path(path);
  const auto there = std::filesystem::symlink_status(target, failed).type();
  if (there != std::filesystem::file_type::not_found &&
      there != std::filesystem::file_type::regular) {
    return invalid_argument(
        "something other than a file has this name: remove it or give another name", path);
  }
  if (Status dropped = drop_replaced_document(path); !dropped.ok()) return dropped;
  if (Status finished = finish_raw_renaming(path); !finished.ok()) return finished;
  const std::string temporary = incomplete_path(path);
  const auto left = std::filesystem::symlink_status(temporary, failed).type();
  if (left == std::filesystem::file_type::not_found) return make_striped_file(temporary, striping);
  if (left != std::filesystem::file_type::regular) {
    return invalid_argument(
        "an unfinished file needs this name, which something other than a file has: remove it",
        temporary);
  }
  failed.clear();
  std::filesystem::remove(temporary, failed);
  if (failed) return system_failure("unlink", temporary, -1, failed.value());
  return make_striped_file(temporary, striping);
}

Result<File> make_incomplete_file(const std::string& path, const Striping& striping) {
  if (Status clear = clear_for_file(path, striping); !clear.ok()) return clear.error();
  const std::string place = incomplete_path(path);
  // If a striping was requested, the file has already been made.
  return striping.empty() ? make_unfollowed(place) : open_unfollowed(place);
}

}  // namespace weir::storage
