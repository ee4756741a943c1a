#include <fmt/format.h>
#include <hdf5.h>

#include "interfaces/library.hpp"

namespace weir::bench {
namespace {

// Keeps the innermost reason on HDF5's error stack.
herr_t keep_description(unsigned /*level*/, const H5E_error2_t* entry, void* text) {
  *static_cast<std::string*>(text) =
      fmt::format("{} ({})", entry->desc == nullptr ? "" : entry->desc,
                  entry->func_name == nullptr ? "" : entry->func_name);
  return 0;
}

}  // namespace

Error hdf5_failure(const char* operation, const std::string& path, std::int64_t offset) {
  std::string reason = "no reason is given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_description, &reason);
  for (char& c : reason) c = c == '\n' ? ' ' : c;
  Error error(ErrorCode::io, fmt::format("{} failed: {}", operation, reason), path, offset);
  error.operation = operation;
  return error;
}

}  // namespace weir::bench
