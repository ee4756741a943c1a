// What reads bytes that others wrote, each reader as a function of bytes: for the fuzzer, which
// looks for bytes that break one, and for the test that gives each reader all that ever did.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::fuzz {

using Bytes = std::vector<std::byte>;

struct Reader {
  std::string_view name;
  // Reads the bytes; `folder` is an empty folder for files, which may be left there and are
  // replaced by the next call. Returns what is wrong with what was read: an array that has a byte
  // at no offset, a chunk outside the file. Refusing the bytes is never wrong.
  std::optional<std::string> (*read)(std::span<const std::byte> bytes, const std::string& folder);
  // Bytes that are good, to begin with.
  std::vector<Bytes> (*seeds)(const std::string& folder);
};

// The readers of this build, by name: cdf, codec, raw_file, words, zarr, zarr_array, zarr_shard,
// zarr_v2 and, with the library, hdf5.
[[nodiscard]] std::span<const Reader> all_readers();
[[nodiscard]] const Reader* find_reader(std::string_view name);

}  // namespace weir::fuzz
