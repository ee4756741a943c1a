// Reads the content of a file that the library has open.
#pragma once

#include <string>
#include <vector>

#include "formats/format.hpp"
#include "formats/hdf5/datasets.hpp"
#include "formats/hdf5/library.hpp"

namespace weir::storage {

// The names of all groups and datasets, without a leading '/'; the root is "".
struct Hdf5Objects {
  std::vector<std::string> groups;
  std::vector<std::string> datasets;
};

// Limit for arrays and groups, including the root, because a malicious file may have any number.
inline constexpr std::size_t most_hdf5_objects = 131072;

// Visits each object once, by hard links only, so that there are no cycles and no other files.
// Fails on more than `most` objects.
[[nodiscard]] Result<Hdf5Objects> list_hdf5_objects(hid_t file, const std::string& path,
                                                    std::size_t most = most_hdf5_objects);

// Returns properties of the file, including its superblock's version and the bytes before it.
[[nodiscard]] Hdf5File about_hdf5_file(hid_t file, const std::string& path, std::int64_t bytes,
                                       Hdf5Writing& driver);

[[nodiscard]] FileMap read_hdf5_objects(hid_t file, const Hdf5Objects& objects,
                                        const Hdf5File& about);

// Opens a file, reads and closes it. The library may crash on a file of another program.
[[nodiscard]] Result<FileMap> read_hdf5_file(const std::string& path);
// Reads a file as read_hdf5_file() does, and returns a message of file_map_message.hpp.
[[nodiscard]] Result<std::string> read_hdf5_message(const std::string& path);

}  // namespace weir::storage
