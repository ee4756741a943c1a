// The counts of a process: per operation, per file, per folder.
//
// Any thread counts at any time, from before main() to after it, in fixed memory without locks: a
// file's entry is found by the 64-bit hash of its absolute path and is never taken away. Memory is
// touched as files are seen: 192 bytes and the path for each, of at most `most_files`.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "adapters/calls/operation.hpp"

namespace weir::calls {

// Counts are read when all is over, or as they are.
inline constexpr auto relaxed = std::memory_order_relaxed;

inline constexpr std::size_t most_files = 49152;

struct FileCounts {
  std::atomic<std::uint64_t> hash;  // 0: free
  std::atomic<const char*> path;    // null until it is written
  std::atomic<bool> written;        // opened for writing
  std::atomic<bool> created;        // opened so that it is made when it is missing, or mkdir
  std::array<std::atomic<std::uint32_t>, operations> count;
  std::atomic<std::uint64_t> bytes_read;
  std::atomic<std::uint64_t> bytes_written;
  std::atomic<std::int64_t> first_ns;  // of opening, looking at and so on; not of moving bytes
  std::atomic<std::int64_t> last_ns;
  // Things made in it, if it is a folder: each name once as long as there is room for files.
  std::atomic<std::uint64_t> made_inside;
};

struct Totals {
  std::array<std::atomic<std::uint64_t>, operations> count;
  std::array<std::atomic<std::int64_t>, operations> ns;
  std::atomic<std::uint64_t> left_out;  // operations on files for which there was no room
};

// An object of this class has static storage (see call_counts()): no constructor runs.
class CallCounts {
 public:
  // Whether calls with that path are counted: not below /proc, /sys and /dev.
  [[nodiscard]] static bool counts(std::string_view absolute_path);
  // Null when there is no room.
  FileCounts* file(std::string_view absolute_path);
  // An operation that took from start_ns to end_ns; `file` is null when there was no room for it.
  void add(Operation operation, FileCounts* file, std::int64_t start_ns, std::int64_t end_ns);
  // Bytes that moved by one call.
  void add_bytes(Operation operation, FileCounts* file, std::int64_t bytes);
  // Something was made, or may have been made, at the path.
  void made(FileCounts* file, std::string_view absolute_path);

  // The file that a descriptor belongs to; null when that file is not counted.
  [[nodiscard]] FileCounts* of_descriptor(int descriptor) const;
  void set_descriptor(int descriptor, FileCounts* file);

  // Forgets everything: a forked child counts from nothing, its descriptors excepted.
  void clear_counts();

  [[nodiscard]] const Totals& totals() const { return totals_; }
  template <typename Visit>
  void for_each_file(const Visit& visit) const {
    for (const FileCounts& one : files_) {
      if (one.hash.load(std::memory_order_acquire) != 0) visit(one);
    }
  }

 private:
  static constexpr std::size_t slots = 65536;
  static constexpr std::size_t path_bytes = std::size_t{8} << 20;
  static constexpr std::size_t most_descriptors = 65536;

  const char* keep(std::string_view path);

  std::array<FileCounts, slots> files_;
  std::array<char, path_bytes> paths_;
  std::atomic<std::size_t> paths_used_;
  std::atomic<std::size_t> files_used_;
  std::array<std::atomic<FileCounts*>, most_descriptors> descriptors_;
  Totals totals_;
};

// The one of this process: interposed functions have no other way to it.
CallCounts& call_counts();

}  // namespace weir::calls
