#include "system/incomplete.hpp"

#include <stdio.h>  // NOLINT(modernize-deprecated-headers): ::rename is POSIX
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>

#include "system/file.hpp"
#include "system/unfollowed_file.hpp"

namespace weir::storage {
namespace {

constexpr const char* suffix = ".incomplete";
constexpr const char* mark = ".weir_incomplete";

Error failure(const char* operation, const std::string& path, const std::error_code& failed) {
  return system_failure(operation, path, -1, failed.value());
}

// Removes an unfinished file or marked folder. The mark goes last, so that what a run that is
// killed in here leaves is known as left by a run.
void remove_unfinished(const std::string& temporary, std::error_code& failed) {
  if (std::filesystem::is_directory(std::filesystem::symlink_status(temporary, failed))) {
    failed.clear();
    std::filesystem::directory_iterator entries(temporary, failed);
    for (; !failed && entries != std::filesystem::end(entries); entries.increment(failed)) {
      if (entries->path().filename() == mark) continue;
      std::filesystem::remove_all(entries->path(), failed);
      if (failed) return;
    }
    if (failed) return;
  }
  failed.clear();
  std::filesystem::remove_all(temporary, failed);
}

}  // namespace

bool is_on_disk(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0;
}

std::string committed_path(const std::string& path) {
  constexpr int most_links = 40;  // the kernel's limit
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0 || !S_ISLNK(about.st_mode)) return path;
  std::error_code failed;
  std::filesystem::path place = path;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(place, failed); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(place, failed);
    if (failed) break;
    place = place.parent_path() / target;
  }
  return place.string();
}

std::string incomplete_path(const std::string& path) { return committed_path(path) + suffix; }

std::string absolute_path(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::string folder(PATH_MAX, '\0');
  // NOLINTNEXTLINE(concurrency-mt-unsafe): getcwd() is safe
  if (::getcwd(folder.data(), folder.size()) == nullptr) return path;
  folder.resize(folder.find('\0'));
  return folder + "/" + path;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Status sync_path(const std::string& path) {
  auto file = File::open(path, {});
  if (!file) return file.error();
  if (Status synced = file.value().sync(); !synced.ok()) return synced;
  return file.value().close();
}

Status sync_folder(const std::string& folder) {
  Status synced = sync_path(folder);
  // Some network file systems do not support fsync on folders; their entries are durable anyway.
  if (!synced.ok() && synced.error().system_error == EINVAL) return {};
  return synced;
}

Status make_incomplete_folder(const std::string& path, const Striping& striping) {
  std::error_code failed;
  const std::string target = committed_path(path);
  if (std::filesystem::exists(target, failed) && !(std::filesystem::is_directory(target, failed) &&
                                                   std::filesystem::is_empty(target, failed))) {
    return invalid_argument("the name is already in use: remove what has it, or give another name",
                            path);
  }
  const std::string temporary = incomplete_path(path);
  const auto left = std::filesystem::symlink_status(temporary, failed).type();
  if (left != std::filesystem::file_type::not_found) {
    const bool folder = left == std::filesystem::file_type::directory;
    const bool marked = folder && std::filesystem::is_regular_file(std::filesystem::symlink_status(
                                      temporary + "/" + mark, failed));
    if (!folder || (!marked && !std::filesystem::is_empty(temporary, failed))) {
      return invalid_argument(
          "an unfinished folder needs this name, and what has it was not left by an earlier run: "
          "remove it",
          temporary);
    }
    remove_unfinished(temporary, failed);
    if (failed) return failure("remove", temporary, failed);
  }
  failed.clear();
  // A missing parent folder is a mistake in the path, as it is for a file.
  std::filesystem::create_directory(temporary, failed);
  if (failed) return failure("mkdir", temporary, failed);
  if (Status striped = stripe_folder(temporary, striping); !striped.ok()) {
    std::filesystem::remove(temporary, failed);
    return striped;
  }
  auto file = make_unfollowed(temporary + "/" + mark);
  if (!file) return file.error();
  return file.value().close();
}

void remove_incomplete(const std::string& path) {
  std::error_code ignored;  // the next run removes what stays
  const std::string temporary = incomplete_path(path);
  const auto left = std::filesystem::symlink_status(temporary, ignored).type();
  const bool marked = left == std::filesystem::file_type::directory &&
                      std::filesystem::exists(temporary + "/" + mark, ignored);
  if (left == std::filesystem::file_type::regular || marked) remove_unfinished(temporary, ignored);
}

Status publish(const std::string& path, StepDurability durability) {
  const std::string temporary = incomplete_path(path);
  const std::string target = committed_path(path);
  if (::rename(temporary.c_str(), target.c_str()) != 0) {
    return system_failure("rename to " + target, temporary, -1, errno);
  }
  remove_folder_mark(target);
  return durability == StepDurability::none ? Status() : sync_folder(folder_of(target));
}

void remove_folder_mark(const std::string& path) {
  std::error_code ignored;  // a file has no mark
  std::filesystem::remove(std::filesystem::path(path) / mark, ignored);
}

}  // namespace weir::storage
