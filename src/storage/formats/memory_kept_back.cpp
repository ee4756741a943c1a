#include "storage/formats/memory_kept_back.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

// Defined where a program runs under a sanitizer, whose bookkeeping lies in such blocks.
extern "C" {
void __asan_init() __attribute__((weak));
void __tsan_init() __attribute__((weak));
void __msan_init() __attribute__((weak));
}

namespace weir::storage {
namespace {

bool is_sanitized() {
  return &__asan_init != nullptr || &__tsan_init != nullptr || &__msan_init != nullptr;
}

constexpr std::uintptr_t least_bytes = 1 << 20;

struct Mapping {
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  std::string permissions;
  bool anonymous = false;

  [[nodiscard]] bool has(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return from <= at && at < to;
  }
};

// A line of /proc/self/maps: "from-to permissions offset device inode name".
std::optional<Mapping> mapping_of(const std::string& line) {
  std::istringstream words(line);
  Mapping one;
  char dash = 0;
  std::string offset;
  std::string device;
  std::string inode;
  std::string name;
  words >> std::hex >> one.from >> dash >> one.to >> one.permissions >> offset >> device >> inode;
  if (!words || dash != '-') return std::nullopt;
  words >> name;
  one.anonymous = inode == "0" && name.empty();
  return one;
}

// Between unusable pages lie stacks of threads, and arenas of glibc before such.
bool is_closed(const Mapping& one) { return one.permissions.starts_with("---"); }

// The words behind "VmFlags:" in /proc/self/smaps; `dc`: children do not get the mapping.
bool is_kept_from_children(const std::string& line) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word == "dc") return true;
  }
  return false;
}

}  // namespace

// Memory registered with network adapters is such (ibv_fork_init): a child's copy of a page of it
// would take the page away from the adapter. For each mapping the kernel counts pages: it is asked
// no further than to the last block.
void MemoryKeptBack::leave_out_those_of_others() {
  if (blocks_.empty()) return;
  std::ifstream file("/proc/self/smaps");
  std::vector<Block> ours;
  auto block = blocks_.begin();  // in the order of their addresses, as mappings are
  bool left_out = false;
  std::optional<Mapping> mapping;
  const auto from = [](const Block& one) { return reinterpret_cast<std::uintptr_t>(one.address); };
  const auto pass = [&](std::uintptr_t end) {
    for (; block != blocks_.end() && from(*block) + block->bytes <= end; ++block) {
      if (!left_out) ours.push_back(*block);
      left_out = false;
    }
  };
  for (std::string line; block != blocks_.end() && std::getline(file, line);) {
    if (line.starts_with("VmFlags:")) {
      if (!mapping) continue;
      const bool has_some =
          from(*block) < mapping->to && mapping->from < from(*block) + block->bytes;
      left_out = left_out || (has_some && is_kept_from_children(line));
      pass(mapping->to);
    } else if (auto next = mapping_of(line)) {
      mapping = std::move(next);
    }
  }
  blocks_ = std::move(ours);
}

MemoryKeptBack::MemoryKeptBack() {
  if (is_sanitized()) return;
  std::ifstream file("/proc/self/maps");
  Mapping before;
  std::optional<Mapping> block;  // the mapping before, if it can be kept back
  const int on_stack = 0;
  const auto keep = [&](const Mapping& next) {
    if (!block) return;
    if (is_closed(next) && next.from == block->to) return;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel told it as a number
    blocks_.push_back({reinterpret_cast<void*>(block->from), block->to - block->from});
  };
  for (std::string line; std::getline(file, line);) {
    const auto one = mapping_of(line);
    if (!one) break;
    keep(*one);
    block.reset();
    const bool behind_closed = is_closed(before) && before.to == one->from;
    if (one->anonymous && one->permissions == "rw-p" && one->to - one->from >= least_bytes &&
        !behind_closed && !one->has(&on_stack) && !one->has(&errno)) {
      block = one;
    }
    before = *one;
  }
  keep({});
  leave_out_those_of_others();
  for (const Block& one : blocks_) ::madvise(one.address, one.bytes, MADV_DONTFORK);
}

MemoryKeptBack::~MemoryKeptBack() {
  for (const Block& one : blocks_) ::madvise(one.address, one.bytes, MADV_DOFORK);
}

}  // namespace weir::storage
