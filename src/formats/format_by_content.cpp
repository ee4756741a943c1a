#include "formats/format_by_content.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "system/file.hpp"

namespace weir::storage {
namespace {

constexpr std::string_view hdf5_signature = "\x89HDF\r\n\x1a\n";

std::string read_text(const File& file, std::int64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  const ssize_t got = ::pread(file.descriptor(), text.data(), bytes, offset);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

Result<std::string_view> format_by_content(const std::string& path, Signature where) {
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
  // A user block before HDF5's superblock has 0 bytes, or a power of two from 512 on.
  for (std::int64_t at = 0; at < information.st_size; at = at == 0 ? 512 : 2 * at) {
    if (read_text(file.value(), at, hdf5_signature.size()) == hdf5_signature) {
      return std::string_view("hdf5");
    }
    if (at > INT64_MAX / 4 || where == Signature::at_the_beginning) break;
  }
  return std::string_view();
}

}  // namespace weir::storage
