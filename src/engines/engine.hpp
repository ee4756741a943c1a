// The interface of engines, which move bytes between memory and files: POSIX, io_uring, direct I/O
// and others.
//
// An engine opens files and moves ranges of them. A call takes all ranges that the caller has and
// returns when all of them have ended, so that an engine may have them in flight at the same time.
// Their order is undefined, and writes of one call do not overlap. The memory belongs to the engine
// until the call returns. Only one thread at a time may use an engine.
//
// Errors name the operation, file, offset and errno. If a range fails, other ranges of the call may
// or may not have been moved. A range for which the file is too short fails with short_transfer.
//
// A system call that storage never answers cannot be cancelled: the engine's call does not return
// before the kernel releases the memory. Processes that wait for this process have the deadline.
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
#include "system/descriptor_source.hpp"
#include "system/known_file.hpp"
#include "system/slices.hpp"

namespace weir::storage {

struct FileTraffic {
  std::int64_t calls = 0;    // requests to the system; one system call may contain several
  std::int64_t written = 0;  // bytes written to files
  std::int64_t read = 0;     // bytes read from files
  // Requested bytes that were moved, counted in memory; the number of bytes in files differs for
  // encoded chunks. If an engine moves all ranges of a call, it adds all bytes of the call.
  std::int64_t moved = 0;
};

// Properties of an engine, used by the tests of all engines and by the choice of an engine.
struct EngineAbilities {
  bool in_file_system = true;    // files are visible to other processes and engines
  bool several_at_once = false;  // ranges of one call are in flight at the same time
  bool past_page_cache = false;  // aligned parts of ranges bypass the page cache
  bool tells_errno = true;       // the error of a failed transfer contains errno
};

struct Opening {
  bool write = false;
  // If `write` is true and this is more than 0, a missing file is created with this length, and its
  // folders are created, too. Several processes may do so at the same time.
  std::int64_t bytes_when_made = 0;
  // Transfers bypass the page cache (O_DIRECT): memory, offsets and lengths are aligned. Opening
  // fails with ErrorCode::unsupported if the file system or the engine does not support this.
  bool direct = false;
  // A source from which engines that open files by descriptors may get a file that is not created
  // here.
  SharedOpening shared = {};  // NOLINT(readability-redundant-member-init): may be left out
  // Opening fails if this file has been replaced. If it is null, no check is made. Engines that do
  // not open files of the file system ignore it.
  const KnownFile* known = nullptr;
};

// An open file of one engine, which must outlive it. The destructor closes the file; close() also
// reports errors.
class EngineFile {
 public:
  explicit EngineFile(std::string path, std::vector<std::string> changed_folders = {})
      : path_(std::move(path)), changed_folders_(std::move(changed_folders)) {}
  EngineFile(const EngineFile&) = delete;
  EngineFile& operator=(const EngineFile&) = delete;
  virtual ~EngineFile() = default;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns whether a recent read of the file had to wait for storage.
  [[nodiscard]] virtual bool cold() const { return false; }
  // Returns whether one call for many short ranges is better than one call for each range, although
  // the caller's data may then leave the cache.
  [[nodiscard]] virtual bool gains_from_batches(bool writing) const {
    (void)writing;
    return false;
  }
  // Returns File::description().
  [[nodiscard]] virtual std::uint32_t description() const { return 0; }
  virtual Status close() = 0;
  // Returns the folders in which opening created names. A created file is found after a crash only
  // if these folders are durable, too.
  [[nodiscard]] const std::vector<std::string>& changed_folders() const { return changed_folders_; }

 private:
  std::string path_;
  std::vector<std::string> changed_folders_;
};

// A contiguous range of a file that begins at `offset`, and its source or target in memory.
struct FileRange {
  EngineFile* file = nullptr;  // a file of this engine
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

  // Returns the name used in settings: "posix", "io_uring", …
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual EngineAbilities abilities() const = 0;

  virtual Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                                   const Opening& opening) = 0;
  virtual Status write(std::span<const FileRange> ranges, FileTraffic& traffic) = 0;
  virtual Status read(std::span<const FileRange> ranges, FileTraffic& traffic) = 0;
  // Makes durable the data that any process of this node wrote to the files, and the metadata that
  // is needed to read it.
  virtual Status sync(std::span<EngineFile* const> files) = 0;

  // Announces memory that transfers will use repeatedly, at least until the next call of this
  // function. `areas` replaces all earlier areas. An engine that has nothing to prepare ignores it.
  virtual void expect_memory(std::span<const std::span<std::byte>> areas) { (void)areas; }

  // Makes write() and read() call `call` while they move long ranges, so that other work of the
  // caller, such as messages, makes progress. They call it after each system call, which then moves
  // at most most_bytes_between_calls, or whenever some of the requests in flight have ended. `call`
  // does not use the engine; if it is null, no calls are made. An engine without such system calls
  // may ignore it.
  virtual void call_between_parts(std::function<void()> call) { (void)call; }
};

inline constexpr std::int64_t most_bytes_between_calls = 1 << 20;

// Returns an engine that uses preadv and pwritev, one range after the other. It first announces
// short ranges that would wait for storage, so that the system fetches them together.
[[nodiscard]] std::unique_ptr<Engine> make_posix_engine();
// Returns an engine that uses io_uring with up to 64 parts of at most 1 MiB in flight, on
// registered files and, after expect_memory(), on registered memory. Fails with
// ErrorCode::unsupported if the kernel does not provide io_uring or Weir was built without
// liburing.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_uring_engine();
// Returns an engine that bypasses the page cache where alignment permits, and moves bytes by `base`
// (engines/direct_engine.cpp).
[[nodiscard]] std::unique_ptr<Engine> make_direct_engine(std::unique_ptr<Engine> base);
// Returns an engine whose files lie in this process's memory and disappear with the engine. Opening
// for writing with bytes_when_made creates a file. The engine does not use the file system.
[[nodiscard]] std::unique_ptr<Engine> make_memory_engine();

}  // namespace weir::storage
