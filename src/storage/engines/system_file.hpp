// A file of the file system as engines have it open, and what those do alike that move bytes
// through descriptors. Inside src/storage/engines only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "common/status.hpp"
#include "storage/engines/cold_reading.hpp"
#include "storage/engines/engine.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

class SystemFile : public EngineFile {
 public:
  // Opens or makes the file as Engine::open() does.
  static Result<std::unique_ptr<SystemFile>> open(const std::string& path, const Opening& opening);

  explicit SystemFile(File file) : EngineFile(file.path()), file_(std::move(file)) {}

  [[nodiscard]] const File& file() const { return file_; }
  [[nodiscard]] ColdReading& reading() { return reading_; }
  [[nodiscard]] bool cold() const override { return reading_.cold(); }
  Status close() override { return file_.close(); }

 private:
  File file_;
  ColdReading reading_;
};

// `bytes` of the range came, and then the file ended.
Error ends_early(const FileRange& range, std::int64_t bytes);

// fdatasync of each, their bytes on the way together. The files are SystemFiles.
Status sync_system_files(std::span<EngineFile* const> files);

// The names in a folder are durable.
Status sync_folder(const std::string& folder);

}  // namespace weir::storage
