// A source of an engine's open files other than the system's open().
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

class DescriptorSource;

// Distinguishes open files of one path that are not interchangeable.
struct SharedOpening {
  DescriptorSource* source = nullptr;  // null: only the system opens files
  std::uint64_t file = 0;              // number of the file; it is never reused
  std::int32_t user = 0;               // number of the user; each has its own file description
};

class DescriptorSource {
 public:
  DescriptorSource() = default;
  DescriptorSource(const DescriptorSource&) = delete;
  DescriptorSource& operator=(const DescriptorSource&) = delete;
  virtual ~DescriptorSource() = default;

  // Works like File::open() and returns the same errors, but the file may be one that another
  // process opened.
  virtual Result<File> open(const std::string& path, const OpenOptions& options,
                            const SharedOpening& shared) = 0;
};

}  // namespace weir::storage
