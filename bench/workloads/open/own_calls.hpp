// Counts the requests of this process to the file system with libweir_calls: calls of libc's
// functions, whatever library makes them.
//
// The library must be loaded before libc, so a program that was started without it starts itself
// again. If it is loaded and does not count, a call costs a few nanoseconds more.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "adapters/calls/operation.hpp"
#include "common/status.hpp"

namespace weir::bench::opening {

struct CallCounts {
  std::array<std::int64_t, calls::operations> inside{};     // on files in the folder
  std::array<std::int64_t, calls::operations> elsewhere{};  // on all other files

  [[nodiscard]] CallCounts since(const CallCounts& before) const;
};

class OwnCalls {
 public:
  // Makes this program run with the library. Does not return if the program can be started again
  // with it. Call it before MPI_Init. When it returns, why_not() says whether calls can be counted.
  static void load();

  // Finds the library's functions in this process.
  OwnCalls();
  // Returns why calls cannot be counted; empty if they can.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  // count() switches counting on or off, and read() returns the calls counted so far. Both require
  // that calls can be counted.
  void count(bool on) const;
  [[nodiscard]] CallCounts read(const std::string& folder) const;

 private:
  void (*count_)(int) = nullptr;
  int (*read_)(const char*, std::uint64_t*, std::uint64_t*, int) = nullptr;
  std::string why_not_;
};

}  // namespace weir::bench::opening
