// Places for more steps, or for fewer, in a file that stays as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/formats/format.hpp"
#include "storage/formats/hdf5/datasets.hpp"
#include "storage/formats/hdf5/library.hpp"
#include "storage/formats/hdf5/write_driver.hpp"

namespace weir::storage {

// Format::make_room() and make_room_behind(): the library adds the steps, and what it writes is
// caught and becomes the update. On disk the file only gets longer. Fails on arrays of which a
// killed run could lose steps: those that grow in other ways than the arrays of this format.
[[nodiscard]] Result<Room> add_hdf5_steps(const std::string& path, std::int64_t steps,
                                          Hdf5Known known);

// Does again, in a file that is open through the driver, what add_hdf5_steps() did when it made the
// room: every array that grows gets the extent of so many steps.
Status extend_hdf5_arrays(hid_t file, Hdf5Writing& writing, const std::string& path,
                          std::int64_t steps, const Room& room);

// Format::drop_steps(): the library makes the arrays shorter, and what it writes is caught.
[[nodiscard]] Result<HeaderUpdate> drop_hdf5_steps(const std::string& path, std::int64_t steps,
                                                   std::int64_t before);

// Format::clear_unfinished(). The file stays longer than its superblock says where a killed commit
// left chunks in an index, which only make_room() takes away.
Status clear_unfinished_hdf5_steps(const std::string& path, std::int64_t steps);

// Format::unfinished().
[[nodiscard]] Result<std::vector<std::string>> unfinished_hdf5_steps(const std::string& path);

// Until the last change of a commit the file is by so much longer than its superblock says: so it
// is seen that a step was not committed, whichever of the changes were made.
inline constexpr std::int64_t hdf5_marker_bytes = 8;

// Behind what the superblock calls the file's end lies what a killed run wrote. Cut off, it reads
// as zeros.
Status set_hdf5_length(const std::string& path, std::int64_t committed, std::int64_t bytes);

// In an attribute of the root group, for those who add steps or arrays later; 0 where it is not.
[[nodiscard]] std::int64_t kept_hdf5_alignment(hid_t file);
Status keep_hdf5_alignment(hid_t file, std::int64_t alignment, const std::string& path);

}  // namespace weir::storage
