// The system calls that an action makes for one item. Every function returns 0 or errno, or
// `short_transfer`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/engines/transfer.hpp"

namespace weir::bench::metadata {

inline constexpr int short_transfer = -1;
inline constexpr int wrong_content = -2;

// A path as the *at calls take it: `path` is absolute, or relative to `directory`.
struct Place {
  int directory;
  const char* path;
};

// What chmod, utime and setxattr set, and verification expects.
inline constexpr unsigned mode_made = 0644;
inline constexpr unsigned mode_set = 0640;
inline constexpr std::int64_t time_set = 1'000'000'000;  // seconds since 1970
inline constexpr const char* attribute_name = "user.weir";
inline constexpr char attribute_value[] = "weir metadata";

class ItemCalls {
 public:
  // A larger file is moved in pieces of so many bytes.
  static constexpr std::int64_t most_at_once = std::int64_t{1} << 20U;

  // `largest`: of the files that will be written or read. `seed`: of their content.
  ItemCalls(std::int64_t largest, std::uint64_t seed, storage::Durability durability);

  // create and write: opens, writes `bytes`, makes them durable as asked, closes. `exclusive`: it
  // must not be there yet.
  [[nodiscard]] int create(Place place, std::int64_t bytes, bool exclusive) const;
  [[nodiscard]] int write(Place place, std::int64_t bytes) const;
  // Opens, reads `bytes`, closes; `check` compares what was read.
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
  // A symbolic link at `at` to the absolute path `target`.
  [[nodiscard]] static int symlink(const char* target, Place at);
  [[nodiscard]] static int readlink(Place place);
  // Linux has no *at calls for these: `path` is absolute.
  [[nodiscard]] static int truncate(const char* path, std::int64_t bytes);
  [[nodiscard]] static int set_attribute(const char* path);
  [[nodiscard]] static int get_attribute(const char* path);
  // The descriptor, or -1 with errno.
  [[nodiscard]] static int open(Place place);

  // What every piece of a file is written from, and memory as large that may be read into.
  [[nodiscard]] char* content() { return content_.data(); }
  [[nodiscard]] char* buffer() { return buffer_.data(); }

 private:
  [[nodiscard]] int fill(int descriptor, std::int64_t bytes) const;

  storage::Durability durability_;
  std::vector<char> content_;  // written over and over
  std::vector<char> buffer_;   // read into
};

}  // namespace weir::bench::metadata
