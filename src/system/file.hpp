// An open file that its destructor closes. All file descriptors are used through this class. No
// call fails because a signal interrupted it (uninterrupted.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "common/status.hpp"

namespace weir::storage {

// Mode of new files before the umask, equal to that of shell redirections.
inline constexpr mode_t new_file_mode = 0666;

struct OpenOptions {
  bool read = true;
  bool write = false;
  bool create = false;    // creates a missing file; keeps an existing one
  bool truncate = false;  // empties an existing file
  bool direct = false;    // O_DIRECT: buffers, lengths and offsets must be aligned
};

class File {
 public:
  static Result<File> open(const std::string& path, const OpenOptions& options);
  // Takes ownership of a descriptor that another process opened and passed.
  static File passed(int descriptor, std::string path, std::uint32_t description);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();  // closes the file; use close() if an error of closing matters (NFS, quota)

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // The number of the open file description if several processes of a node share it; the process
  // that passes the file sets it. 0 means that only this process has the open file.
  [[nodiscard]] std::uint32_t description() const { return description_; }
  void set_description(std::uint32_t description) { description_ = description; }
  // Call fdatasync, fsync, and syncfs on the file system of the file.
  [[nodiscard]] Status sync_data() const;
  [[nodiscard]] Status sync() const;
  [[nodiscard]] Status sync_file_system() const;
  // Calls ftruncate.
  [[nodiscard]] Status set_length(std::int64_t bytes) const;
  // Sets the length if the file is shorter. Several processes may do so with the same length at the
  // same time.
  [[nodiscard]] Status lengthen(std::int64_t bytes) const;
  Status close();
  // Sets the path that errors name, after the file has been renamed.
  void renamed(std::string path) { path_ = std::move(path); }

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_ = -1;
  std::string path_;
  std::uint32_t description_ = 0;
};

// Removes a file, if there is one.
Status remove_file(const std::string& path);

// Calls fdatasync on each file. The bytes of all files are written concurrently, not file by file.
Status sync_data(std::span<const File* const> files);

}  // namespace weir::storage
