// An open file that closes itself. All paths to a file descriptor go through here. No call fails
// because a signal interrupted it (uninterrupted.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "common/status.hpp"

namespace weir::storage {

struct OpenOptions {
  bool read = true;
  bool write = false;
  bool create = false;    // creates when missing; an existing file is kept
  bool truncate = false;  // empties an existing file
  bool direct = false;    // O_DIRECT: buffers, lengths and offsets must be aligned
};

class File {
 public:
  static Result<File> open(const std::string& path, const OpenOptions& options);
  // Takes a descriptor over that another process opened and passed.
  static File passed(int descriptor, std::string path, std::uint32_t description);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();  // closes; use close() where an error of closing matters (NFS, quota)

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // The number of the open file, where several processes of a node have the same one: given by
  // those that pass it. 0: it is this process's alone.
  [[nodiscard]] std::uint32_t description() const { return description_; }
  void set_description(std::uint32_t description) { description_ = description; }
  // fdatasync, fsync, and syncfs of the file system that holds the file.
  [[nodiscard]] Status sync_data() const;
  [[nodiscard]] Status sync() const;
  [[nodiscard]] Status sync_file_system() const;
  // ftruncate.
  [[nodiscard]] Status set_length(std::int64_t bytes) const;
  // Sets the length where the file is shorter. Several processes may do it at once with one length.
  [[nodiscard]] Status lengthen(std::int64_t bytes) const;
  Status close();
  // The file has been renamed: errors name it so from here on.
  void renamed(std::string path) { path_ = std::move(path); }

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_ = -1;
  std::string path_;
  std::uint32_t description_ = 0;
};

// fdatasync of each, their bytes on the way together, not one after the other.
Status sync_data(std::span<const File* const> files);

}  // namespace weir::storage
