// Calls on the names in a file system, as programs make them that have many small files: one call
// for each name, without an object for each. Session::name_calls() returns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>

namespace weir::bench {

// Most are named after the POSIX calls. `create`, `write` and `read` open the file, move its
// content, make what was written durable as the session's settings say, and close it.
enum class NameCall : std::uint8_t {
  mkdir,
  rmdir,
  create,
  open,
  close,
  stat,
  lstat,
  utime,
  chmod,
  write,
  read,
  truncate,
  setxattr,
  getxattr,
  rename,
  link,
  symlink,
  readlink,
  readdir,
  unlink,
};

class NameCallSet {
 public:
  constexpr NameCallSet() = default;
  constexpr NameCallSet(std::initializer_list<NameCall> calls) {
    for (const NameCall call : calls) add(call);
  }
  static constexpr NameCallSet all() {
    NameCallSet set;
    set.bits_ = (bit(NameCall::unlink) << 1U) - 1;
    return set;
  }
  constexpr void add(NameCall call) { bits_ |= bit(call); }
  [[nodiscard]] constexpr bool has(NameCall call) const { return (bits_ & bit(call)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(NameCall call) {
    return std::uint32_t{1} << static_cast<unsigned>(call);
  }
  std::uint32_t bits_ = 0;
};

// Results besides 0 and the values of errno.
inline constexpr int short_transfer = -1;
inline constexpr int wrong_content = -2;

// The calls chmod, utime and setxattr set these.
inline constexpr unsigned mode_made = 0644;
inline constexpr unsigned mode_set = 0640;
inline constexpr std::int64_t time_set = 1'000'000'000;  // seconds since 1970
inline constexpr const char* attribute_name = "user.weir";
inline constexpr char attribute_value[] = "weir metadata";

// A path for the *at calls: `path` is absolute, or relative to `directory`.
struct Place {
  int directory;
  const char* path;
};

struct NameRequest {
  NameCall call = NameCall::stat;
  // Is absolute for truncate, setxattr and getxattr, for which Linux has no *at calls, and for
  // symlink, whose new link holds it.
  Place place{};
  Place second{};          // the new name that rename, link and symlink give
  std::int64_t bytes = 0;  // content of create, write and read; size that truncate sets
  bool exclusive = false;  // create: the file must not exist yet
  bool compare = false;    // read: what was read must be what create and write write
  std::size_t handle = 0;  // open and close: which of the open files, below NameCalls::most_open
};

// The memory of files' content. A larger file is moved in pieces of its size.
struct NameMemory {
  std::span<char> content;  // what create and write write, again for every piece
  std::span<char> buffer;   // target of reads; of the same size
};

class NameCalls {
 public:
  static constexpr std::size_t most_open = 64;  // files that `open` may keep open

  NameCalls() = default;
  NameCalls(const NameCalls&) = delete;
  NameCalls& operator=(const NameCalls&) = delete;
  virtual ~NameCalls() = default;

  // Makes a call other than readdir. Returns 0, an errno value, `short_transfer` or
  // `wrong_content`.
  virtual int make(const NameRequest& request);
  // Lists a directory, with the attributes of every entry if requested, and calls `found` for each
  // entry except "." and "..". Returns 0 or an errno value.
  virtual int list(const char* path, bool attributes, const std::function<void()>& found);

  // Interfaces with Capabilities::queue have these instead. They keep as many calls in flight as
  // SessionSettings::queue_depth says. begin() takes one of so many slots until wait() hands it
  // back; the paths must live until then. Calls reach the system with the next wait().
  virtual void begin(int slot, const NameRequest& request);
  struct Answer {
    int slot = -1;
    int result = 0;  // as that of make()
  };
  // Blocks until something that is in flight advances; at least one slot must be in use. Returns
  // the number of calls that have ended, which may be 0 and is at most the size of `answers`, or
  // -errno.
  virtual int wait(std::span<Answer> answers);
};

}  // namespace weir::bench
