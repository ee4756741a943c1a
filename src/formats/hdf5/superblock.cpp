#include "formats/hdf5/superblock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "common/numbers_in_bytes.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

// Places of its fields if offsets have eight bytes.
constexpr std::size_t superblock_bytes = 48;
constexpr std::size_t version_at = 8;
constexpr std::size_t offset_bytes_at = 9;
constexpr std::size_t end_at = 28;
constexpr std::size_t root_at = 36;
constexpr std::size_t checksum_at = 44;

struct Mixed {
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t c;
};

Mixed mixed(Mixed m) {
  m.a -= m.c, m.a ^= std::rotl(m.c, 4), m.c += m.b;
  m.b -= m.a, m.b ^= std::rotl(m.a, 6), m.a += m.c;
  m.c -= m.b, m.c ^= std::rotl(m.b, 8), m.b += m.a;
  m.a -= m.c, m.a ^= std::rotl(m.c, 16), m.c += m.b;
  m.b -= m.a, m.b ^= std::rotl(m.a, 19), m.a += m.c;
  m.c -= m.b, m.c ^= std::rotl(m.b, 4), m.b += m.a;
  return m;
}

std::uint32_t finished(Mixed m) {
  m.c ^= m.b, m.c -= std::rotl(m.b, 14);
  m.a ^= m.c, m.a -= std::rotl(m.c, 11);
  m.b ^= m.a, m.b -= std::rotl(m.a, 25);
  m.c ^= m.b, m.c -= std::rotl(m.b, 16);
  m.a ^= m.c, m.a -= std::rotl(m.c, 4);
  m.b ^= m.a, m.b -= std::rotl(m.a, 14);
  m.c ^= m.b, m.c -= std::rotl(m.b, 24);
  return m.c;
}

}  // namespace

std::uint32_t hdf5_checksum(const std::byte* bytes, std::size_t count) {
  constexpr std::uint32_t beginning = 0xdeadbeef;
  const std::uint32_t first = beginning + static_cast<std::uint32_t>(count);
  Mixed m{first, first, first};
  constexpr std::size_t at_once = 12;
  while (count > 0) {
    std::array<std::uint32_t, 3> words{};
    const std::size_t taken = std::min(count, at_once);
    std::memcpy(words.data(), bytes, taken);
    m.a += words[0], m.b += words[1], m.c += words[2];
    if (count <= at_once) return finished(m);
    m = mixed(m);
    bytes += at_once;
    count -= at_once;
  }
  return m.c;
}

Result<std::vector<std::byte>> hdf5_superblock_with(const std::string& path, std::int64_t root,
                                                    std::int64_t end) {
  const auto file = File::open(path, {});
  if (!file) return file.error();
  std::vector<std::byte> bytes(superblock_bytes);
  const Slice slice{bytes.data(), static_cast<std::int64_t>(bytes.size())};
  std::int64_t read = 0;
  std::int64_t calls = 0;
  if (Status status = read_slices(file.value(), {&slice, 1}, 0, read, calls); !status.ok()) {
    return status.error();
  }
  const auto version = static_cast<int>(bytes[version_at]);
  if (version < 2 || version > 3 || bytes[offset_bytes_at] != std::byte{8} ||
      number_at<std::uint32_t>(bytes, checksum_at) != hdf5_checksum(bytes.data(), checksum_at)) {
    return Error(ErrorCode::unsupported, "Weir cannot change a superblock of its version", path);
  }
  put_number<std::int64_t>(bytes, root_at, root);
  put_number<std::int64_t>(bytes, end_at, end);
  put_number(bytes, checksum_at, hdf5_checksum(bytes.data(), checksum_at));
  return bytes;
}

std::optional<std::int64_t> hdf5_object_place(hid_t object) {
#if H5_VERSION_GE(1, 12, 0)
  H5O_native_info_t about{};
  H5O_info2_t basic{};
  haddr_t place = HADDR_UNDEF;
  if (H5Oget_info3(object, &basic, H5O_INFO_BASIC) < 0) return std::nullopt;
  const Hdf5Handle file(H5Iget_file_id(object));
  (void)about;
  if (H5VLnative_token_to_addr(file.id(), basic.token, &place) < 0) return std::nullopt;
#else
  H5O_info_t basic{};
  if (H5Oget_info2(object, &basic, H5O_INFO_BASIC) < 0) return std::nullopt;
  const haddr_t place = basic.addr;
#endif
  if (place > static_cast<haddr_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(place);
}

}  // namespace weir::storage
