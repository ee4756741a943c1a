// A descriptor of Weir's own of a file that the MPI library has opened.
#pragma once

#include <optional>

#include "adapters/mpiio/take_over.hpp"
#include "stored/extent_map.hpp"
#include "system/file.hpp"

namespace weir::takeover {

// Opens the file again, as the MPI library has opened it. Returns nothing if that has failed, here
// or in the MPI library, or if it is no regular file. A file that the program only writes is open
// for reading, too, if the system permits it: rows are then written together
// (system/scattered_write.hpp).
[[nodiscard]] std::optional<storage::File> opened_again(const mpiio::Opening& opening);

// Returns the names by which a stager may open the file, of which `own` is a descriptor, to write
// what is handed over of it; nothing if the ranks are to write it. WEIR_STAGING of this rank's
// environment is looked at alone: the session reads the rest.
[[nodiscard]] std::optional<storage::DataFiles> staged_as(const mpiio::Opening& opening,
                                                          const storage::File& own);

}  // namespace weir::takeover
