// A program outside Weir that moves a few bytes through one of its libraries.
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace {

weir::Status write_bytes(const std::string& path, std::vector<std::byte>& bytes) {
  weir::storage::OpenOptions options;
  options.write = options.create = options.truncate = true;
  auto file = weir::storage::File::open(path, options);
  if (!file) return file.error();
  const weir::storage::Slice slice{bytes.data(), static_cast<std::int64_t>(bytes.size())};
  std::int64_t moved = 0;
  std::int64_t calls = 0;
  if (auto written = weir::storage::write_slices(file.value(), {&slice, 1}, 0, moved, calls);
      !written) {
    return written;
  }
  std::cout << moved << " of 7 bytes in " << calls << " call\n";
  return file.value().close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: consumer FOLDER\n";
    return 2;
  }
  std::vector<std::byte> bytes(7, std::byte{42});
  const weir::Status done = write_bytes(std::string(argv[1]) + "/consumed", bytes);
  if (!done) std::cerr << done.error().text() << '\n';
  return done ? 0 : 1;
}
