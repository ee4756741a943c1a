// The system calls of an action on one item. Every function returns 0, errno, or `short_transfer`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "system/durability.hpp"

namespace weir::bench::metadata {

inline constexpr int short_transfer = -1;
inline constexpr int wrong_content = -2;

// A path for the *at calls: `path` is absolute, or relative to `directory`.
struct Place {
  int directory;
  const char* path;
};

// The values that chmod, utime and setxattr set, and that verification expects.
inline constexpr unsigned mode_made = 0644;
inline constexpr unsigned mode_set = 0640;
inline constexpr std::int64_t time_set = 1'000'000'000;  // seconds since 1970
inline constexpr const char* attribute_name = "user.weir";
inline constexpr char attribute_value[] = "weir metadata";

class ItemCalls {
 public:
  // A larger file is moved in pieces of this size.
  static constexpr std::int64_t most_at_once = std::int64_t{1} << 20U;

  // `largest` is the size of the largest file that will be written or read. `seed` is that of the
  // content.
  ItemCalls(std::int64_t largest, std::uint64_t seed, storage::Durability durability);

  // create and write open the file, write `bytes`, make them durable as requested, and close it.
  // With `exclusive`, the file must not exist yet.
  [[nodiscard]] int create(Place place, std::int64_t bytes, bool exclusive) const;
  [[nodiscard]] int write(Place place, std::int64_t bytes) const;
  // Opens the file, reads `bytes`, and closes it. `check` compares what was read.
  [[nodiscard]] int read(Place place, std::int64_t bytes, bool check);
  [[nodiscard]] static int stat(Place place);
  [[nodiscard]] static int lstat(Place place);
  [[nodiscard]] static int chmod(Place place);
  [[nodiscard]] static int utime(Place place);
  [[nodiscard]] static int remove(Place place);
  [[nodiscard]] static int make_directory(Place place);
  [[nodiscard]] static int remove_directory(Place place);
  [[nodiscard]] static int rename(Place from, Place to);
  [[nodiscard]] static int link(Place from, Place to);
  // Creates a symbolic link at `at` to the absolute path `target`.
  [[nodiscard]] static int symlink(const char* target, Place at);
  [[nodiscard]] static int readlink(Place place);
  // Linux has no *at calls for these actions, so `path` must be absolute.
  [[nodiscard]] static int truncate(const char* path, std::int64_t bytes);
  [[nodiscard]] static int set_attribute(const char* path);
  [[nodiscard]] static int get_attribute(const char* path);
  // Returns the descriptor, or -1 with errno.
  [[nodiscard]] static int open(Place place);

  // content() is the memory from which every piece of a file is written. buffer() is memory of the
  // same size for reads.
  [[nodiscard]] char* content() { return content_.data(); }
  [[nodiscard]] char* buffer() { return buffer_.data(); }

 private:
  [[nodiscard]] int fill(int descriptor, std::int64_t bytes) const;

  storage::Durability durability_;
  std::vector<char> content_;  // written repeatedly
  std::vector<char> buffer_;   // target of reads
};

}  // namespace weir::bench::metadata
