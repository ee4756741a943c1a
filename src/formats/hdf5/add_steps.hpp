// Makes places for more steps, or for fewer, in a file that otherwise stays as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/format.hpp"
#include "formats/hdf5/datasets.hpp"
#include "formats/hdf5/library.hpp"
#include "formats/hdf5/write_driver.hpp"

namespace weir::storage {

// Implements Format::make_room() and make_room_behind(). The library adds the steps, and its writes
// are caught and become the update. On disk the file only gets longer. Fails on arrays of which a
// killed run could lose steps: those that grow in other ways than the arrays of this format.
[[nodiscard]] Result<Room> add_hdf5_steps(const std::string& path, std::int64_t steps,
                                          Hdf5Known known);

// Repeats, in a file that is open through the driver, what add_hdf5_steps() did when it made the
// room: every array that grows gets an extent of `steps` steps.
Status extend_hdf5_arrays(hid_t file, Hdf5Writing& writing, const std::string& path,
                          std::int64_t steps, const Room& room);

// Implements Format::drop_steps(). The library makes the arrays shorter, and its writes are caught.
[[nodiscard]] Result<HeaderUpdate> drop_hdf5_steps(const std::string& path, std::int64_t steps,
                                                   std::int64_t before);

// Implements Format::clear_unfinished(). The file stays longer than its superblock says if a killed
// commit left chunks in an index, which only make_room() removes.
Status clear_unfinished_hdf5_steps(const std::string& path, std::int64_t steps);

// Implements Format::unfinished().
[[nodiscard]] Result<std::vector<std::string>> unfinished_hdf5_steps(const std::string& path);

// Until the last change of a commit, the file is this much longer than its superblock says. This
// shows that a step was not committed, whichever of the changes were made.
inline constexpr std::int64_t hdf5_marker_bytes = 8;

// Sets the file's length, after cutting it at `committed`, the end in the superblock. What lies
// behind it was left by a killed run, and reads as zeros after it is cut off.
Status set_hdf5_length(const std::string& path, std::int64_t committed, std::int64_t bytes);

// Read and write the alignment in an attribute of the root group, for runs that add steps or arrays
// later; 0 if there is none.
[[nodiscard]] std::int64_t kept_hdf5_alignment(hid_t file);
Status keep_hdf5_alignment(hid_t file, std::int64_t alignment, const std::string& path);

}  // namespace weir::storage
