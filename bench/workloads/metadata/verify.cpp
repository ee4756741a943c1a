#include "workloads/metadata/verify.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace weir::bench::metadata {
namespace {

Error wrong(Action action, const std::string& path, const std::string& what) {
  Error error;
  error.code = ErrorCode::corrupt;
  error.operation = facts_of(action).name;
  error.file = path;
  error.message = fmt::format("after {}, {} (file {}): another program may be using the directory",
                              facts_of(action).name, what, path);
  return error;
}

const char* name_of_type(mode_t mode) {
  return S_ISREG(mode)   ? "a file"
         : S_ISDIR(mode) ? "a directory"
         : S_ISLNK(mode) ? "a link"
                         : "special";
}

bool has_type(mode_t mode, Kind kind) {
  switch (kind) {
    case Kind::directory:
      return S_ISDIR(mode);
    case Kind::symlink:
      return S_ISLNK(mode);
    default:
      return S_ISREG(mode);
  }
}

// Returns whether a file holds what was written to it.
bool holds(const std::string& path, std::int64_t bytes, NameCalls& calls) {
  return calls.make({.call = NameCall::read,
                     .place = {AT_FDCWD, path.c_str()},
                     .bytes = bytes,
                     .compare = true}) == 0;
}

// Returns the type of an entry of an open directory. A file system may not store it, so fstatat is
// then called.
mode_t type_of(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return static_cast<mode_t>(DTTOIF(entry.d_type));
  struct stat found {};
  return fstatat(directory, entry.d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 ? found.st_mode : 0;
}

}  // namespace

Status TreeCheck::item(Action action, const TreeState& state, const PathWriter& path, Kind kind,
                       std::int64_t bytes) const {
  struct stat found {};
  const std::string& text = path.text();
  if (::lstat(text.c_str(), &found) != 0) {
    if (errno == ENOENT) return wrong(action, text, "it should exist but does not");
    return system_failure("lstat", text, -1, errno);
  }
  if (!has_type(found.st_mode, kind)) {
    return wrong(action, text, fmt::format("it is {}", name_of_type(found.st_mode)));
  }
  if (static_cast<std::int64_t>(found.st_uid) != owner_id_) {
    return wrong(action, text,
                 fmt::format("its owner is user {} instead of user {}", found.st_uid, owner_id_));
  }
  if (kind == Kind::directory || kind == Kind::symlink) return {};
  const std::int64_t size = state.truncated ? options_.truncate_to : bytes;
  if (found.st_size != size) {
    return wrong(action, text, fmt::format("it has {} bytes instead of {}", found.st_size, size));
  }
  const nlink_t names = state.links ? 2 : 1;
  if (found.st_nlink != names) {
    return wrong(action, text, fmt::format("it has {} names instead of {}", found.st_nlink, names));
  }
  if (state.chmod_done && (found.st_mode & 07777U) != mode_set) {
    return wrong(action, text,
                 fmt::format("its mode is {:o} instead of {:o}", found.st_mode & 07777U, mode_set));
  }
  if (state.utime_done && found.st_mtim.tv_sec != time_set) {
    return wrong(action, text, "its modification time is not the one that was set");
  }
  return {};
}

Status TreeCheck::find_owner() {
  struct stat root {};
  if (::stat(names_.root.c_str(), &root) != 0) {
    return system_failure("stat", names_.root, -1, errno);
  }
  owner_id_ = static_cast<std::int64_t>(root.st_uid);
  return {};
}

Status TreeCheck::items(Action action, const TreeState& state, std::int64_t owner, NameCalls& calls,
                        PathWriter& path) {
  if (Status status = find_owner(); !status) return status;
  const Subject subject = facts_of(action).subject;
  const bool of_files = subject == Subject::file && state.files;
  const bool of_directories = subject == Subject::directory && state.directories;
  if (!of_files && !of_directories) return {};
  const bool wrote = action == Action::create || action == Action::write;
  const std::int64_t count = shape_.sharing == Sharing::one_file ? 1 : shape_.items(owner);
  for (std::int64_t i = 0; i < count; ++i) {
    progress_();
    if (of_directories) {
      path.item(Kind::directory, owner, i, state.directories_renamed, false);
      if (Status status = item(action, state, path, Kind::directory, 0); !status) return status;
      ++verified_;
      continue;
    }
    const std::int64_t bytes = options_.size_of(seed_, owner, i);
    if (state.symlinks) {
      path.item(Kind::symlink, owner, i, false, state.files_across);
      if (Status status = item(action, state, path, Kind::symlink, 0); !status) return status;
    }
    path.item(Kind::file, owner, i, state.files_renamed, state.files_across);
    if (Status status = item(action, state, path, Kind::file, bytes); !status) return status;
    if (wrote && bytes > 0 && !holds(path.text(), bytes, calls)) {
      return wrong(action, path.text(), "its data differs from the written data");
    }
    ++verified_;
  }
  return {};
}

Status TreeCheck::mixed_item(Kind kind, std::int64_t owner, std::int64_t item_number, bool there,
                             NameCalls& calls, PathWriter& path) {
  progress_();
  if (owner_id_ < 0) {
    if (Status status = find_owner(); !status) return status;
  }
  const std::string& text = path.item(kind, owner, item_number, false, false);
  if (!there) {
    struct stat found {};
    if (::lstat(text.c_str(), &found) == 0) {
      return wrong(Action::mix, text, "it exists but should not");
    }
    return errno == ENOENT ? Status() : Status(system_failure("lstat", text, -1, errno));
  }
  const std::int64_t bytes = kind == Kind::file ? options_.size_of(seed_, owner, item_number) : 0;
  if (Status status = item(Action::mix, {.tree = true}, path, kind, bytes); !status) return status;
  if (bytes > 0 && !holds(text, bytes, calls)) {
    return wrong(Action::mix, text, "its data differs from the written data");
  }
  ++verified_;
  return {};
}

bool TreeCheck::should_be(const TreeState& state, const NamedItem& item, std::int64_t tree,
                          std::int64_t directory) const {
  if (shape_.sharing == Sharing::one_file) return state.files && directory == 0;
  if (shape_.sharing == Sharing::per_rank && item.rank != tree) return false;
  const bool across = item.kind != Kind::directory && state.files_across;
  if (shape_.directory_of(item.item, across) != directory) return false;
  switch (item.kind) {
    case Kind::file:
      return state.files && item.renamed == state.files_renamed;
    case Kind::directory:
      return state.directories && item.renamed == state.directories_renamed;
    case Kind::link:
      return state.links;
    case Kind::symlink:
      return state.symlinks;
  }
  return false;
}

Status TreeCheck::listing(Action action, const TreeState& state, std::int64_t tree,
                          std::int64_t directory, const std::string& path) {
  DIR* stream = opendir(path.c_str());
  if (stream == nullptr) return system_failure("opendir", path, -1, errno);
  Status status;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const mode_t type = type_of(dirfd(stream), *entry);
    const auto below = directory_named(name);
    const auto named = item_named(names_, shape_, name);
    if (below && *below > 0 && *below < shape_.directories() &&
        shape_.parent(*below) == directory && S_ISDIR(type)) {
      ++found_[tree_directories];
    } else if (named && has_type(type, named->kind) && should_be(state, *named, tree, directory)) {
      constexpr Count of_kind[] = {files, directories, links, symlinks};
      ++found_[of_kind[static_cast<std::size_t>(named->kind)]];
    } else {
      status = wrong(action, fmt::format("{}/{}", path, name), "it exists but should not");
      break;
    }
    progress_();
    errno = 0;
  }
  if (status.ok() && errno != 0) status = system_failure("readdir", path, -1, errno);
  closedir(stream);
  return status;
}

Status TreeCheck::listings(Action action, const TreeState& state, PathWriter& path) {
  if (!state.tree) {
    const std::string& gone = path.directory(job_.rank, 0);
    struct stat found {};
    if (::lstat(gone.c_str(), &found) == 0) {
      return wrong(action, gone, "it exists but should not");
    }
    return {};
  }
  const std::int64_t each = shape_.directories();
  for (std::int64_t i = job_.rank; i < shape_.trees() * each; i += job_.size) {
    const std::int64_t tree = i / each;
    const std::string directory = path.directory(tree, i % each);
    if (Status status = listing(action, state, tree, i % each, directory); !status) return status;
  }
  return {};
}

Status TreeCheck::totals(Action action, const TreeState& state) const {
  Counts all{};
  MPI_Allreduce(found_.data(), all.data(), counts, MPI_INT64_T, MPI_SUM, job_.world);
  const bool one = shape_.sharing == Sharing::one_file;
  const std::int64_t items = one ? 1 : shape_.all_items();
  const Counts expected{state.tree ? shape_.trees() * (shape_.directories() - 1) : 0,
                        state.files ? items : 0, state.directories ? items : 0,
                        state.links ? items : 0, state.symlinks ? items : 0};
  return expect_totals(action, all, expected);
}

Status TreeCheck::mixed_totals(std::int64_t left_files, std::int64_t left_directories) const {
  Counts found = found_;
  Counts expected{0, left_files, left_directories, 0, 0};
  MPI_Allreduce(MPI_IN_PLACE, found.data(), counts, MPI_INT64_T, MPI_SUM, job_.world);
  MPI_Allreduce(MPI_IN_PLACE, expected.data(), counts, MPI_INT64_T, MPI_SUM, job_.world);
  expected[tree_directories] = shape_.trees() * (shape_.directories() - 1);
  return expect_totals(Action::mix, found, expected);
}

Status TreeCheck::expect_totals(Action action, const Counts& found, const Counts& expected) const {
  constexpr const char* what[] = {"directories of the tree", "files", "directories", "links",
                                  "symbolic links"};
  for (std::size_t i = 0; i < counts; ++i) {
    if (found[i] == expected[i]) continue;
    return wrong(action, names_.root,
                 fmt::format("there are {} {} instead of {}", found[i], what[i], expected[i]));
  }
  return {};
}

}  // namespace weir::bench::metadata
