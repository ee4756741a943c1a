// The counts of a process: per operation, per file and per folder.
//
// Any thread can count at any time, from before main() to after it, in fixed memory and without
// locks. The entry of a file is found by the 64-bit hash of its absolute path and is never removed.
// Memory is touched only as files are seen: 192 bytes and the path for each, for at most
// `most_files` files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "adapters/calls/call_order.hpp"
#include "adapters/calls/operation.hpp"

namespace weir::calls {

inline constexpr std::size_t most_files = 49152;

struct FileCounts : OrderedFile {
  std::atomic<std::uint64_t> hash;  // 0: the entry is free
  std::atomic<bool> written;        // opened for writing
  std::atomic<bool> created;        // opened with O_CREAT or the like, or made by mkdir
  std::array<std::atomic<std::uint32_t>, operations> count;
  std::atomic<std::uint64_t> bytes_read;
  std::atomic<std::uint64_t> bytes_written;
  std::atomic<std::int64_t> first_ns;  // of open, stat and the like, not of calls that move bytes
  std::atomic<std::int64_t> last_ns;
  // Number of entries made in a folder: each name counts once as long as there is room for files.
  std::atomic<std::uint64_t> made_inside;
};

struct Totals {
  std::array<std::atomic<std::uint64_t>, operations> count;
  std::array<std::atomic<std::int64_t>, operations> ns;
  std::atomic<std::uint64_t> left_out;  // operations on files without an entry, for lack of room
};

// An object of this class has static storage (see call_counts()), and no constructor runs.
class CallCounts {
 public:
  // Returns whether calls with that path are counted: all but those below /proc, /sys and /dev.
  [[nodiscard]] static bool counts(std::string_view absolute_path);
  // Returns the entry of a file; null if there is no room.
  FileCounts* file(std::string_view absolute_path);
  // Counts an operation that took from start_ns to end_ns; `file` is null if there was no room for
  // it.
  void add(Operation operation, FileCounts* file, std::int64_t start_ns, std::int64_t end_ns);
  // Counts bytes that one call moved.
  void add_bytes(Operation operation, FileCounts* file, std::int64_t bytes);
  // Records that an entry was made, or may have been made, at the path.
  void made(FileCounts* file, std::string_view absolute_path);

  // Returns the file to which a descriptor belongs; null if that file is not counted.
  [[nodiscard]] FileCounts* of_descriptor(int descriptor) const;
  void set_descriptor(int descriptor, FileCounts* file);

  // Resets all counts but keeps the descriptors: a forked child counts from zero.
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

// Returns the object of this process, which interposed functions cannot reach in any other way.
CallCounts& call_counts();

}  // namespace weir::calls
