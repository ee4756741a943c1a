#include "engines/system_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <vector>

#include "system/incomplete.hpp"
#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

namespace fs = std::filesystem;

// A few attempts suffice, because other processes that create files of the same array do not remove
// them.
constexpr int most_attempts = 3;

bool is_missing(const Error& error) { return error.system_error == ENOENT; }

// Creates an empty file unless another process creates it.
Status make_file(const std::string& path, std::vector<std::string>& changed) {
  int made = -1;
  const auto make = [&] {
    made = uninterrupted([&] {
      return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, new_file_mode);
    });
    return made < 0 ? errno : 0;
  };
  int failure = make();
  if (failure == ENOENT) {
    if (Status folders = make_folders(path, changed); !folders.ok()) return folders;
    failure = make();
  }
  if (failure == EEXIST) return {};
  if (failure != 0) return system_failure("open", path, -1, failure);
  changed.push_back(folder_of(path));
  ::close(made);
  return {};
}

}  // namespace

Status make_folders(const std::string& path, std::vector<std::string>& changed) {
  std::vector<std::string> missing;
  std::error_code failure;
  for (std::string folder = folder_of(path); !fs::is_directory(folder, failure);
       folder = folder_of(folder)) {
    if (!missing.empty() && missing.back() == folder) break;
    missing.push_back(folder);
  }
  for (; !missing.empty(); missing.pop_back()) {
    if (::mkdir(missing.back().c_str(), 0777) != 0 && errno != EEXIST) {
      return system_failure("mkdir", missing.back(), -1, errno);
    }
    changed.push_back(folder_of(missing.back()));
  }
  return {};
}

// The names of chunk files are predictable. In a folder to which several users may write, one of
// them may have created a link with such a name before the chunk was created.
Status check_is_no_link(const File& file) {
  struct stat opened {};
  struct stat named {};
  const bool own = ::fstat(file.descriptor(), &opened) == 0 &&
                   ::lstat(file.path().c_str(), &named) == 0 && !S_ISLNK(named.st_mode);
  if (own) return {};
  Error error =
      invalid_argument("is a symbolic link, through which no chunk is written: remove it");
  error.file = file.path();
  return error;
}

Result<OpenedSystemFile> open_system_file(const std::string& path, const Opening& opening) {
  const bool may_make = opening.write && opening.bytes_when_made > 0;
  std::vector<std::string> changed;
  for (int attempt = 1;; ++attempt) {
    const OpenOptions options{
        .read = true, .write = opening.write, .create = opening.create, .direct = opening.direct};
    const bool by_others = opening.opener != nullptr && *opening.opener;
    auto file = by_others ? (*opening.opener)(path, options) : File::open(path, options);
    if (Status known = check_is_known(opening.known, path, file); !known.ok()) {
      return known.error();
    }
    if (!file) {
      if (!may_make || !is_missing(file.error()) || attempt == most_attempts) return file.error();
      if (Status made = make_file(path, changed); !made.ok()) return made.error();
      continue;
    }
    if (may_make) {
      if (Status own = check_is_no_link(file.value()); !own.ok()) return own.error();
      // Every rank sets the length of the whole file, so it does not matter which rank is first.
      Status lengthened = file.value().lengthen(opening.bytes_when_made);
      if (!lengthened.ok()) return lengthened.error();
    }
    return OpenedSystemFile{std::move(file).value(), std::move(changed), opening.direct};
  }
}

Error ends_early(const FileRange& range, std::int64_t file_bytes) {
  Error error;
  error.code = ErrorCode::short_transfer;
  error.operation = "read";
  error.file = range.file->path();
  error.offset = file_bytes;
  error.message = fmt::format("short read: the file ends after {} bytes, {} were to be there",
                              file_bytes, range.offset + range.bytes());
  return error;
}

Error system_file_ends_early(const FileRange& range) {
  struct stat information {};
  if (::fstat(static_cast<const SystemFile&>(*range.file).file().descriptor(), &information) != 0) {
    return system_failure("fstat", range.file->path(), -1, errno);
  }
  return ends_early(range, information.st_size);
}

Status explained(const FileRange& range, Direction direction, Status failure) {
  if (failure.error().system_error != EINVAL ||
      !static_cast<const SystemFile*>(range.file)->direct()) {
    return failure;
  }
  if (direction == Direction::read) {
    // After a partial last block, a direct read continues at an unaligned offset. The system
    // rejects this instead of reporting the end of the file.
    Error short_read = system_file_ends_early(range);
    const bool is_at_end =
        short_read.code == ErrorCode::short_transfer && failure.error().offset >= short_read.offset;
    if (is_at_end) return short_read;
  }
  failure.error().message +=
      "; O_DIRECT needs buffer, size and offset aligned to the device's blocks, often 4096 bytes";
  return failure;
}

Status sync_system_files(std::span<EngineFile* const> files, Durability durability) {
  if (durability == Durability::full) {
    for (EngineFile* const one : files) {
      Status synced = static_cast<SystemFile*>(one)->file().sync();
      if (!synced.ok()) return synced;
    }
    return {};
  }
  std::vector<const File*> opened;
  opened.reserve(files.size());
  for (EngineFile* const one : files) opened.push_back(&static_cast<SystemFile*>(one)->file());
  return sync_data(opened);
}

}  // namespace weir::storage
