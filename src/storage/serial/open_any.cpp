#include "storage/serial/open_any.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/engines/file.hpp"
#include "storage/formats/raw_array.hpp"

namespace weir::storage {
namespace {

constexpr std::string_view hdf5_signature = "\x89HDF\r\n\x1a\n";

std::string read_text(const File& file, std::int64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  const ssize_t got = ::pread(file.descriptor(), text.data(), bytes, offset);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// The name of the format by the first bytes, "" for none that is known.
Result<std::string_view> format_by_content(const std::string& path) {
  const auto file = File::open(path, {});
  if (!file) return file.error();
  struct stat information {};
  if (::fstat(file.value().descriptor(), &information) != 0) {
    return system_failure("stat", path, -1, errno);
  }
  if (S_ISDIR(information.st_mode)) return std::string_view("zarr");
  if (!S_ISREG(information.st_mode)) return std::string_view();
  const std::string magic = read_text(file.value(), 0, 4);
  if (magic == std::string_view("CDF\x01", 4)) return std::string_view("cdf1");
  if (magic == std::string_view("CDF\x02", 4)) return std::string_view("cdf2");
  if (magic == std::string_view("CDF\x05", 4)) return std::string_view("cdf5");
  // A user block before HDF5's superblock has 0 or a power of two from 512 on.
  for (std::int64_t at = 0; at < information.st_size; at = at == 0 ? 512 : 2 * at) {
    if (read_text(file.value(), at, hdf5_signature.size()) == hdf5_signature) {
      return std::string_view("hdf5");
    }
    if (at > INT64_MAX / 4) break;
  }
  return std::string_view();
}

bool is_there(const std::string& path) {
  struct stat information {};
  return ::stat(path.c_str(), &information) == 0;
}

// Of a raw file or array that was named by its data or by its document; empty where it is none.
std::string path_of_raw(const std::string& path) {
  if (is_there(sidecar_path(path))) return path;
  constexpr std::string_view suffix = ".json";
  const bool may_be_document = path.size() > suffix.size() && path.ends_with(suffix);
  return may_be_document && is_there(path) ? path.substr(0, path.size() - suffix.size()) : "";
}

Error unsupported(const std::string& path, std::string what) {
  Error error = invalid_argument(std::move(what));
  error.code = ErrorCode::unsupported;
  error.file = path;
  return error;
}

}  // namespace

Result<OpenedFile> open_any(const std::string& path) {
  const std::string own = path_of_raw(path);
  const auto name = own.empty() ? format_by_content(path) : std::string_view("raw");
  if (!name) return name.error();
  if (name.value().empty()) {
    return unsupported(path,
                       "is neither HDF5 nor NetCDF, no folder (as Zarr is), and has no document "
                       "beside it as a raw array has");
  }
  const auto format = find_format(name.value());
  if (!format) return format.error();
  const std::string& file = own.empty() ? path : own;
  auto map = format.value()->open(file);
  if (!map) return map.error();
  return OpenedFile{name.value(), file, std::move(map).value()};
}

}  // namespace weir::storage
