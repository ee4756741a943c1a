// The superblock of HDF5 files of versions 2 and 3: the 48 bytes that readers read first. The
// library has no call that changes which group is the root.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "formats/hdf5/library.hpp"

namespace weir::storage {

// Returns the superblock of the file on disk with another root group and another end.
[[nodiscard]] Result<std::vector<std::byte>> hdf5_superblock_with(const std::string& path,
                                                                  std::int64_t root,
                                                                  std::int64_t end);

// Returns the offset of an object's header in the file.
[[nodiscard]] std::optional<std::int64_t> hdf5_object_place(hid_t object);

// Returns the checksum of metadata: Bob Jenkins's lookup3, as in the format's specification.
[[nodiscard]] std::uint32_t hdf5_checksum(const std::byte* bytes, std::size_t count);

}  // namespace weir::storage
