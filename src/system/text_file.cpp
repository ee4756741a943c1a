#include "system/text_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>

#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {

Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes) {
  auto file = File::open(path, {});
  if (!file) return file.error();
  // The buffer has one byte more than is expected, which detects the end. Files of /proc and pipes
  // have no length beforehand.
  constexpr std::size_t first_expected = 64 << 10;
  struct stat information {};
  std::size_t expected = std::min(most_bytes, first_expected);
  if (::fstat(file.value().descriptor(), &information) == 0 && S_ISREG(information.st_mode) &&
      information.st_size > 0) {
    expected = std::min(most_bytes, static_cast<std::size_t>(information.st_size));
  }
  std::string text;
  std::size_t filled = 0;
  while (true) {
    text.resize(expected + 1);
    const Slice slice{reinterpret_cast<std::byte*>(text.data() + filled),
                      static_cast<std::int64_t>(text.size() - filled)};
    std::int64_t bytes = 0;
    std::int64_t calls = 0;
    if (Status read =
            read_slices(file.value(), {&slice, 1}, static_cast<std::int64_t>(filled), bytes, calls);
        !read.ok()) {
      return read.error();
    }
    filled += static_cast<std::size_t>(bytes);
    if (filled < text.size() || expected == most_bytes) break;
    expected = std::min(most_bytes, 4 * expected);
  }
  text.resize(filled);
  return text;
}

}  // namespace weir::storage
