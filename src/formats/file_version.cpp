#include "formats/file_version.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string_view>

#include "checksums/file_state.hpp"
#include "formats/raw_array.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

// Within these bytes HDF5's superblocks of all versions have the end of the file, and NetCDF
// headers the number of records.
constexpr std::size_t beginning_bytes = 48;

std::string text_of(const std::string& document, bool inodes_last) {
  const auto state = state_of_file(document);
  if (!state) return {};
  return fmt::format("{} {} {} {}", inodes_last ? state->file : 0, state->bytes, state->seconds,
                     state->nanoseconds);
}

std::string beginning_of(const std::string& path) {
  std::string bytes(beginning_bytes, '\0');
  const auto file = File::open(path, {});
  if (!file) return {};
  const Slice slice{reinterpret_cast<std::byte*>(bytes.data()),
                    static_cast<std::int64_t>(bytes.size())};
  std::int64_t moved = 0;
  std::int64_t calls = 0;
  if (!read_slices(file.value(), {&slice, 1}, 0, moved, calls).ok()) moved = 0;
  bytes.resize(static_cast<std::size_t>(moved));
  return bytes;
}

}  // namespace

FileVersion version_of(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  FileVersion version{.file = identity_of(path), .state = {}};
  const bool inodes_last = version.file.has_value();
  if (S_ISDIR(about.st_mode)) {
    version.state = text_of(path + "/zarr.json", inodes_last);
    return version;
  }
  std::string beginning = S_ISREG(about.st_mode) ? beginning_of(path) : std::string();
  const std::string_view magic = beginning;
  const bool has_header = magic.starts_with("\x89HDF") || magic.starts_with("CDF");
  version.state = has_header ? std::move(beginning) : text_of(sidecar_path(path), inodes_last);
  return version;
}

}  // namespace weir::storage
