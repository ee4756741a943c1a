// A file of the file system that an engine has open, and functions that are common to engines that
// move bytes through descriptors. For engines only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "engines/announcement.hpp"
#include "engines/cold_reading.hpp"
#include "engines/engine.hpp"
#include "system/file.hpp"

namespace weir::storage {

struct OpenedSystemFile {
  File file;
  std::vector<std::string> changed_folders;
  bool direct = false;
};
// Creates the missing folders of a path. Appends to `changed` the folders in which names were
// created.
Status make_folders(const std::string& path, std::vector<std::string>& changed);
// Fails if the file was opened through a symbolic link.
[[nodiscard]] Status check_is_no_link(const File& file);
// Opens or creates the file like Engine::open().
Result<OpenedSystemFile> open_system_file(const std::string& path, const Opening& opening);

class SystemFile : public EngineFile {
 public:
  explicit SystemFile(OpenedSystemFile opened)
      : EngineFile(opened.file.path(), std::move(opened.changed_folders)),
        file_(std::move(opened.file)),
        direct_(opened.direct) {}

  [[nodiscard]] const File& file() const { return file_; }
  // Returns whether the file is open with O_DIRECT.
  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] ColdReading& reading() { return reading_; }
  [[nodiscard]] EdgeWaits& edges() { return edges_; }
  [[nodiscard]] bool cold() const override { return reading_.cold(); }
  [[nodiscard]] bool gains_from_batches(bool writing) const override {
    return writing ? edges_.wait_for_storage() : reading_.cold();
  }
  [[nodiscard]] std::uint32_t description() const override { return file_.description(); }
  Status close() override { return file_.close(); }

 private:
  File file_;
  bool direct_;
  ColdReading reading_;
  EdgeWaits edges_;
};

// Return the error of a range that extends beyond the end of the file.
Error ends_early(const FileRange& range, std::int64_t file_bytes);
Error system_file_ends_early(const FileRange& range);

// Returns the failure of a range of a SystemFile. If O_DIRECT is the reason, the returned error
// says so.
[[nodiscard]] Status explained(const FileRange& range, Direction direction, Status failure);

// Calls fdatasync or fsync on each file, which is a SystemFile. The bytes of all files are written
// concurrently by fdatasync.
Status sync_system_files(std::span<EngineFile* const> files, Durability durability);

}  // namespace weir::storage
