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
#include "storage/formats/raw_files.hpp"

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

std::string without_document_suffix(const std::string& path) {
  constexpr std::string_view suffix = ".json";
  if (path.size() > suffix.size() && path.ends_with(suffix)) {
    return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

Error unsupported(const std::string& path, std::string what) {
  Error error = invalid_argument(std::move(what));
  error.code = ErrorCode::unsupported;
  error.file = path;
  return error;
}

Result<FileMap> raw_file_map(const std::string& path) {
  auto raw = open_raw_files(path);
  if (!raw) return raw.error();
  const RawArray& array = raw.value();
  const auto name_at = path.find_last_of('/');
  StoredArray stored{{.name = path.substr(name_at == std::string::npos ? 0 : name_at + 1),
                      .shape = array.shape,
                      .type = array.type,
                      .order = array.order,
                      .chunk_extents = array.chunk_extents},
                     extent_map_of(array, path)};
  FileMap map;
  map.arrays.push_back(std::move(stored));
  return map;
}

}  // namespace

Result<OpenedFile> open_any(const std::string& path) {
  const std::string raw_path = without_document_suffix(path);
  if (is_there(sidecar_path(raw_path))) {
    auto map = raw_file_map(raw_path);
    if (!map) return map.error();
    return OpenedFile{"raw", std::move(map).value()};
  }
  const auto name = format_by_content(path);
  if (!name) return name.error();
  if (name.value().empty()) {
    return unsupported(path,
                       "is neither HDF5 nor NetCDF, no folder (as Zarr is), and has no document "
                       "beside it as a raw array has");
  }
  const auto format = find_format(name.value());
  if (!format) return format.error();
  auto map = format.value()->open(path);
  if (!map) return map.error();
  return OpenedFile{name.value(), std::move(map).value()};
}

}  // namespace weir::storage
