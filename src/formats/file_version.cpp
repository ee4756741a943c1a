#include "formats/file_version.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "checksums/file_state.hpp"
#include "formats/raw/raw_document.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

// Within these bytes HDF5's superblocks of all versions have the end of the file, and NetCDF
// headers the number of records.
constexpr std::size_t beginning_bytes = 48;

Result<std::string> text_of(const std::string& document, bool inodes_last) {
  const auto state = state_of_file(document);
  if (!state) return system_failure("stat", document, -1, errno);
  return fmt::format("{} {} {} {}", inodes_last ? state->file : 0, state->bytes, state->seconds,
                     state->nanoseconds);
}

Result<std::string> beginning_of(const std::string& path) {
  std::string bytes(beginning_bytes, '\0');
  const auto file = File::open(path, {});
  if (!file) return file.error();
  const Slice slice{reinterpret_cast<std::byte*>(bytes.data()),
                    static_cast<std::int64_t>(bytes.size())};
  std::int64_t moved = 0;
  std::int64_t calls = 0;
  if (Status read = read_slices(file.value(), {&slice, 1}, 0, moved, calls); !read.ok()) {
    return read.error();
  }
  bytes.resize(static_cast<std::size_t>(moved));
  return bytes;
}

}  // namespace

Result<FileVersion> version_of(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    if (errno == ENOENT) return FileVersion();
    return system_failure("stat", path, -1, errno);
  }
  FileVersion version{.file = identity_of(path), .state = {}};
  const bool inodes_last = version.file.has_value();
  Result<std::string> state = std::string();
  if (S_ISDIR(about.st_mode)) {
    state = text_of(path + "/zarr.json", inodes_last);
  } else {
    if (S_ISREG(about.st_mode)) state = beginning_of(path);
    if (!state) return state.error();
    const std::string_view magic = state.value();
    const bool has_header = magic.starts_with("\x89HDF") || magic.starts_with("CDF");
    if (!has_header) state = text_of(sidecar_path(path), inodes_last);
  }
  if (!state) return state.error();
  version.state = std::move(state).value();
  return version;
}

}  // namespace weir::storage
