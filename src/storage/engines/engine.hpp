// What moves bytes between memory and files: the seam behind which POSIX, io_uring, direct I/O and
// others are alike.
//
// An engine opens files and moves ranges of them. A call gets as many ranges as the caller has and
// returns when all have ended, so that an engine may have them in flight side by side; their order
// is not defined, and writes of one call do not overlap. Memory belongs to the engine from the call
// on until it returns. One thread at a time.
//
// Errors name operation, file, offset and errno. When a range fails, others of the call may have
// been moved or not. A range that the file is too short for fails with short_transfer.
//
// A system call that storage never answers cannot be taken back: the engine's call does not return
// before the kernel gives the memory back. Who waits for this process has the deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "storage/engines/descriptor_source.hpp"
#include "storage/engines/slices.hpp"
#include "storage/known_file.hpp"

namespace weir::storage {

struct FileTraffic {
  std::int64_t calls = 0;    // requests to the system, however many of them go in one system call
  std::int64_t written = 0;  // bytes, as files hold them
  std::int64_t read = 0;
  // Bytes of the ranges that were asked for and moved, as memory holds them: encoded chunks have
  // another number in files. An engine that moved all of a call has added all of the call's bytes.
  std::int64_t moved = 0;
};

// What the tests of all engines ask about, and who chooses one.
struct EngineAbilities {
  bool in_file_system = true;    // what is written is a file, which other processes and engines see
  bool several_at_once = false;  // ranges of one call are in flight side by side
  bool past_page_cache = false;  // aligned parts of ranges go from memory to storage themselves
  bool tells_errno = true;       // of a failed transfer; else where and that it failed
};

struct Opening {
  bool write = false;
  // With `write` and more than 0: a file that is missing is made, so long, with its folders;
  // several processes may do so at once.
  std::int64_t bytes_when_made = 0;
  // Transfers go past the page cache (O_DIRECT): memory, offsets and lengths are aligned. Fails
  // with ErrorCode::unsupported where the file system or the engine cannot.
  bool direct = false;
  // Where a file that is not made here may come from; engines that open files by descriptors ask
  // there.
  SharedOpening shared = {};  // NOLINT(readability-redundant-member-init): may be left out
  // Opening fails where this one has been replaced. Null: nothing is compared. Engines that open no
  // files of the system ignore it.
  const KnownFile* known = nullptr;
};

// An open file of one engine, which it does not outlive. Its end closes it; close() tells of
// errors.
class EngineFile {
 public:
  explicit EngineFile(std::string path, std::vector<std::string> changed_folders = {})
      : path_(std::move(path)), changed_folders_(std::move(changed_folders)) {}
  EngineFile(const EngineFile&) = delete;
  EngineFile& operator=(const EngineFile&) = delete;
  virtual ~EngineFile() = default;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Whether reading it lately had to wait for storage.
  [[nodiscard]] virtual bool cold() const { return false; }
  // Whether many short ranges are better moved by one call than by a call each, which costs the
  // caller the cache's warmth.
  [[nodiscard]] virtual bool gains_from_batches(bool writing) const {
    (void)writing;
    return false;
  }
  // File::description().
  [[nodiscard]] virtual std::uint32_t description() const { return 0; }
  virtual Status close() = 0;
  // Folders that got names when it was opened: a made file is found after a crash only when they
  // are durable too.
  [[nodiscard]] const std::vector<std::string>& changed_folders() const { return changed_folders_; }

 private:
  std::string path_;
  std::vector<std::string> changed_folders_;
};

// A contiguous range of a file, from `offset` on, and the memory that it comes from or goes to.
struct FileRange {
  EngineFile* file = nullptr;  // of this engine
  std::int64_t offset = 0;
  std::span<const Slice> slices;

  [[nodiscard]] std::int64_t bytes() const;
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // As settings spell it: "posix", "io_uring", …
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual EngineAbilities abilities() const = 0;

  virtual Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                                   const Opening& opening) = 0;
  virtual Status write(std::span<const FileRange> ranges, FileTraffic& traffic) = 0;
  virtual Status read(std::span<const FileRange> ranges, FileTraffic& traffic) = 0;
  // What was written to the files, by whichever process of this node, is durable with what is
  // needed to read it.
  virtual Status sync(std::span<EngineFile* const> files) = 0;

  // Memory that transfers will come from and go to again and again, at least until the next call of
  // this; the whole, as it is at the moment. An engine that has nothing to prepare ignores it.
  virtual void expect_memory(std::span<const std::span<std::byte>> areas) { (void)areas; }

  // From now on write() and read() make this call while they move long ranges, for a caller with
  // other work that must not stand still, as messages: after each system call, which moves at most
  // most_bytes_between_calls, or each time that some of those in flight have ended. `call` does not
  // use the engine; null: no calls. An engine without such system calls may ignore it.
  virtual void call_between_parts(std::function<void()> call) { (void)call; }
};

inline constexpr std::int64_t most_bytes_between_calls = 1 << 20;

// preadv and pwritev, one range after the other; the system is told before of short ones that would
// wait for storage, and fetches them together.
[[nodiscard]] std::unique_ptr<Engine> make_posix_engine();
// io_uring: up to 64 parts of at most 1 MiB in flight, on registered files and, where it is told of
// it, registered memory. ErrorCode::unsupported where the kernel does not offer it or Weir was
// built without liburing.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_uring_engine();
// Past the page cache where alignment allows, by `base` (engines/direct_engine.cpp).
[[nodiscard]] std::unique_ptr<Engine> make_direct_engine(std::unique_ptr<Engine> base);
// Files of this process's memory, which end with the engine. Opening for writing with
// bytes_when_made makes one; nothing is read from the file system or written to it.
[[nodiscard]] std::unique_ptr<Engine> make_memory_engine();

}  // namespace weir::storage
