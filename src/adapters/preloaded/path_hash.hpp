// The hash by which preloaded libraries find the counts of a file.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::preloaded {

// FNV-1a, finished by a multiplication, since the low bits select the slot. Never 0.
constexpr std::uint64_t path_hash(std::string_view path) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : path) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  hash ^= hash >> 32U;
  hash *= 0x9e3779b97f4a7c15U;
  hash ^= hash >> 29U;
  return hash == 0 ? 1 : hash;
}

}  // namespace weir::preloaded
