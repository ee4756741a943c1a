#include "adapters/calls/own_counts.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "adapters/calls/counted.hpp"

using weir::calls::call_counts;
using weir::calls::FileCounts;
using weir::calls::relaxed;

namespace {

bool lies_in(const char* path, std::string_view folder) {
  if (path == nullptr || std::strncmp(path, folder.data(), folder.size()) != 0) return false;
  return path[folder.size()] == '\0' || path[folder.size()] == '/';
}

}  // namespace

extern "C" {

void weir_calls_count(int on) {
  const char* const folder = std::getenv("WEIR_CALLS_FOLDER");
  const bool recorded = folder != nullptr && *folder != '\0';
  weir::calls::counting.store(on != 0 || recorded, relaxed);
}

int weir_calls_read(const char* folder, std::uint64_t* inside, std::uint64_t* elsewhere, int room) {
  const auto kinds = std::min(static_cast<std::size_t>(std::max(room, 0)), weir::calls::operations);
  std::fill(inside, inside + room, 0);
  std::fill(elsewhere, elsewhere + room, 0);
  const std::string_view below(folder);
  call_counts().for_each_file([&](const FileCounts& file) {
    if (!lies_in(file.path.load(std::memory_order_acquire), below)) return;
    for (std::size_t i = 0; i < kinds; ++i) inside[i] += file.count[i].load(relaxed);
  });
  for (std::size_t i = 0; i < kinds; ++i) {
    elsewhere[i] = call_counts().totals().count[i].load(relaxed) - inside[i];
  }
  return static_cast<int>(weir::calls::operations);
}

}  // extern "C"
