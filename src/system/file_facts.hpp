// Facts are what the system reports about a file or folder. Several parts of the library need some
// of it when a file is opened, and the system is asked once for all of them.
#pragma once

#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "system/known_file.hpp"

namespace weir::storage {

struct FileFacts {
  std::uint32_t file_system = 0;  // statfs's number of its type
  mode_t mode = 0;
  std::int64_t bytes = 0;
  std::int64_t block_bytes = 0;  // preferred size of transfers
  std::optional<FileIdentity> identity;
};

// Symbolic links are followed.
[[nodiscard]] Result<FileFacts> facts_of(const std::string& path);

// Returns the identity (known_file.hpp) that these results of the system contain.
[[nodiscard]] std::optional<FileIdentity> identity_in(const struct statx& about,
                                                      const struct statfs& system);

}  // namespace weir::storage
