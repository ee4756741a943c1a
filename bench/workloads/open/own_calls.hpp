// What this process asks the file system for, as libweir_calls counts it: calls of libc's
// functions, whichever library makes them.
//
// The library has to be loaded before libc, so a program that was started without it starts itself
// again. Where it is loaded and does not count, a call costs a few nanoseconds more.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "adapters/calls/operation.hpp"
#include "common/status.hpp"

namespace weir::bench::opening {

struct CallCounts {
  std::array<std::int64_t, calls::operations> inside{};     // of files in the folder
  std::array<std::int64_t, calls::operations> elsewhere{};  // of all others

  [[nodiscard]] CallCounts since(const CallCounts& before) const;
};

class OwnCalls {
 public:
  // Has this program run with the library: does not return where it can be started again with it.
  // Call before MPI_Init. When it returns, why_not() says whether calls can be counted.
  static void load();

  // Finds the library's functions in this process.
  OwnCalls();
  // Empty: calls can be counted.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  // While switched on; both may only be called where calls can be counted.
  void count(bool on) const;
  [[nodiscard]] CallCounts read(const std::string& folder) const;

 private:
  void (*count_)(int) = nullptr;
  int (*read_)(const char*, std::uint64_t*, std::uint64_t*, int) = nullptr;
  std::string why_not_;
};

}  // namespace weir::bench::opening
