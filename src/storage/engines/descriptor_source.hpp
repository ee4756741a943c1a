// Where an engine's open files may come from besides the system's open().
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

class DescriptorSource;

// What tells open files of one path apart that must not be taken for each other.
struct SharedOpening {
  DescriptorSource* source = nullptr;  // null: the system alone
  std::uint64_t file = 0;              // never given again to another file
  std::int32_t user = 0;               // of those that each have a description of their own
};

class DescriptorSource {
 public:
  DescriptorSource() = default;
  DescriptorSource(const DescriptorSource&) = delete;
  DescriptorSource& operator=(const DescriptorSource&) = delete;
  virtual ~DescriptorSource() = default;

  // As File::open(), and with its errors; the file may be one that another process opened.
  virtual Result<File> open(const std::string& path, const OpenOptions& options,
                            const SharedOpening& shared) = 0;
};

}  // namespace weir::storage
