// A program outside Weir that moves a few bytes through its storage library.
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/transfer.hpp"

namespace {

weir::Status write_bytes(const std::string& path, std::vector<std::byte>& bytes) {
  weir::storage::OpenOptions options;
  options.write = options.create = options.truncate = true;
  auto file = weir::storage::File::open(path, options);
  if (!file) return file.error();
  const auto transfer = weir::storage::make_posix_transfer(file.value());
  weir::storage::TransferRequest request;
  request.direction = weir::Direction::write;
  request.buffer = bytes.data();
  request.bytes = static_cast<std::int64_t>(bytes.size());
  if (auto started = transfer->start(request); !started) return started;
  std::cout << bytes.size() << " of 7 bytes through " << transfer->mechanism() << '\n';
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
