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
  // The buffer for a file of known length has that length plus one byte, which detects the end.
  struct stat information {};
  std::size_t expected = most_bytes;
  if (::fstat(file.value().descriptor(), &information) == 0 && S_ISREG(information.st_mode)) {
    expected = std::min(most_bytes, static_cast<std::size_t>(information.st_size));
  }
  std::string text(expected + 1, '\0');
  const Slice slice{reinterpret_cast<std::byte*>(text.data()),
                    static_cast<std::int64_t>(text.size())};
  std::int64_t bytes = 0;
  std::int64_t calls = 0;
  if (Status read = read_slices(file.value(), {&slice, 1}, 0, bytes, calls); !read.ok()) {
    return read.error();
  }
  text.resize(static_cast<std::size_t>(bytes));
  return text;
}

}  // namespace weir::storage
