#include "storage/formats/hdf5/read_elsewhere.hpp"

#include <utility>

#include "storage/formats/hdf5/library.hpp"
#include "storage/formats/hdf5/read_file.hpp"
#include "storage/formats/trial_process.hpp"

namespace weir::storage {

Result<std::string> read_hdf5_elsewhere(const std::optional<std::string>& program,
                                        const std::string& path) {
  if (program) {
    if (auto message = read_by_program(*program, path)) return std::move(*message);
  }
  // No other thread is in the library when the child gets a copy of it. The child has the lock as
  // it is here, and could not take it again: it is held by the thread that this one was a copy of.
  const Hdf5Silence silence;
  return read_by_fork([&] { return read_hdf5_message(path); }, path);
}

}  // namespace weir::storage
