// The interface of engines, which move bytes between memory and files: POSIX, threads, io_uring,
// direct I/O and others.
//
// An engine opens files and executes requests. A request moves ranges of files in one direction and
// can make durable what it wrote. The protocol has the shape of liburing; a request is known by its
// address:
// clang-format off
//   submit(request)           begins the request; any number of requests may be in flight
//   poll()                    makes progress, never blocks; returns a request that has ended, or null
//   wait(deadline)            blocks until a request has ended, and returns it
//   poll(request)             the same two for one request: whether it has ended, and its status
//   wait(request, deadline)
//   write(), read(), sync()   submit one request and wait for it, without a deadline
// clang-format on
// From submit() until poll() or wait() has returned it, a request, its ranges and their memory
// belong to the engine; the request then has its result. Each submitted request is returned once. A
// wait that fails with ErrorCode::deadline leaves the requests in flight, and the caller may wait
// again. submit() fails only if it began nothing: the request is invalid or in flight already.
//
// The order of the ranges of all requests in flight is undefined, and those that are written do not
// overlap others. Only one thread at a time may use an engine.
//
// Errors name the operation, file, offset and errno. The offset is where the bytes stopped, or -1
// for a sync. If a range fails, other ranges of the request may or may not have been moved. A range
// for which the file is too short fails with short_transfer. A write continues after a partial
// write and fails with the error that stopped it. A program whose writes may exceed its file size
// limit must ignore SIGXFSZ to see EFBIG.
//
// A system call that storage never answers cannot be cancelled. write(), read() and sync() do not
// return before the kernel releases the memory; processes that wait for this process have the
// deadline. The destructor of an engine with requests in flight begins no further system call for
// them and waits for those in progress. These requests never end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/direction.hpp"
#include "common/status.hpp"
#include "system/durability.hpp"
#include "system/file.hpp"
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
  bool keeps_bytes = true;       // what was written is read back
  bool several_at_once = false;  // ranges are in flight at the same time
  bool in_background = false;    // EngineRequest::in_background takes effect
  bool past_page_cache = false;  // aligned parts of ranges bypass the page cache
  bool tells_errno = true;       // the error of a failed transfer contains errno
};

// Works like File::open() and returns the same errors, but the file may be one that another process
// opened.
using FileOpener = std::function<Result<File>(const std::string& path, const OpenOptions& options)>;

struct Opening {
  bool write = false;
  bool create = false;  // a missing file is created, empty; needs `write`
  // If `write` is true and this is more than 0, a missing file is created with this length, and its
  // folders are created, too. Several processes may do so at the same time.
  std::int64_t bytes_when_made = 0;
  // Transfers bypass the page cache (O_DIRECT): memory, offsets and lengths are aligned. Opening
  // fails with ErrorCode::unsupported if the file system or the engine does not support this.
  bool direct = false;
  // Opens files for engines that open files by descriptors. If it is null or empty, File::open()
  // does.
  const FileOpener* opener = nullptr;
  // Opening fails if this file has been replaced. If it is null, no check is made. Engines that do
  // not open files of the file system ignore it.
  const KnownFile* known = nullptr;
};

// An open file of one engine. The destructor closes the file; close() also reports errors. A file
// with requests in flight is not closed. After its engine has ended, a file can only be destroyed.
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

// Times of a request on this process's monotonic clock (common/clock.hpp). If the kernel or MPI
// executes the request, the ends are the times at which poll() or wait() saw them, so that they
// appear late if the caller computes for a long time without polling.
struct RequestTimes {
  std::int64_t submitted_ns = 0;
  std::int64_t moved_ns = 0;    // all bytes moved; the durable sync, if any, begins
  std::int64_t durable_ns = 0;  // durable as requested; without durability the same as moved_ns
};

class EngineRequest {
 public:
  EngineRequest() = default;
  EngineRequest(Direction to, std::span<const FileRange> moved, Durability durable)
      : direction(to), ranges(moved), durability(durable) {}
  EngineRequest(const EngineRequest&) = delete;
  EngineRequest& operator=(const EngineRequest&) = delete;
  ~EngineRequest() = default;

  // The caller sets what is requested.
  Direction direction = Direction::write;
  std::span<const FileRange> ranges;
  // Writes only; applies to the files of all ranges. If the ranges of a request have no slices, it
  // makes durable what any process of this node wrote to these files before.
  Durability durability = Durability::none;
  // The caller computes while the request is in flight: the engine passes as much of it as it can
  // to the system at once, so that it ends without the caller, and moves no bytes in the caller's
  // time. Otherwise the request may begin only with the next poll() or wait(). Engines without this
  // ability move everything inside submit().
  bool in_background = false;

  // The result, once the request has ended.
  Status status;
  FileTraffic traffic;
  RequestTimes times;  // not taken by write(), read() and sync()

  // Returns whether the request was submitted and not yet returned.
  [[nodiscard]] bool in_flight() const { return state_ != State::idle; }

 private:
  friend class Engine;
  enum class State : std::uint8_t { idle, blocking, begun, ended };

  State state_ = State::idle;
  EngineRequest* next_ = nullptr;  // in the engine's list of ended requests
};

// A request for one contiguous piece of memory and of a file, with the storage that it needs.
class PieceRequest : public EngineRequest {
 public:
  // Changes the request, which is not in flight.
  void set(Direction to, EngineFile& file, std::int64_t offset, std::byte* memory,
           std::int64_t bytes, Durability durable = Durability::none) {
    direction = to;
    durability = durable;
    slice_ = {memory, bytes};
    range_ = {&file, offset, {&slice_, 1}};
    ranges = {&range_, 1};
  }
  [[nodiscard]] std::int64_t offset() const { return range_.offset; }

 private:
  Slice slice_;
  FileRange range_;
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // Returns the name used in settings and results: "posix", "io_uring", …
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual EngineAbilities abilities() const = 0;

  virtual Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                                   const Opening& opening) = 0;

  // Deadlines are on monotonic_ns().
  Status submit(EngineRequest& request);
  [[nodiscard]] EngineRequest* poll();
  [[nodiscard]] bool poll(EngineRequest& request);
  // Fails with ErrorCode::invalid_argument if no request is in flight.
  [[nodiscard]] Result<EngineRequest*> wait(std::int64_t deadline_ns);
  Status wait(EngineRequest& request, std::int64_t deadline_ns);
  // Returns the number of requests that were submitted and not yet returned.
  [[nodiscard]] std::int64_t in_flight() const { return in_flight_; }

  // The traffic of the call is added to `traffic`.
  Status write(std::span<const FileRange> ranges, FileTraffic& traffic) {
    return move_now(Direction::write, ranges, traffic);
  }
  Status read(std::span<const FileRange> ranges, FileTraffic& traffic) {
    return move_now(Direction::read, ranges, traffic);
  }
  // Makes durable the data that any process of this node wrote to the files, and the metadata that
  // is needed to read it; with Durability::full, all metadata.
  Status sync(std::span<EngineFile* const> files, Durability durability = Durability::data);

  // Announces memory that transfers will use repeatedly, at least until the next call of this
  // function. `areas` replaces all earlier areas. An engine that has nothing to prepare ignores it.
  virtual void expect_memory(std::span<const std::span<std::byte>> areas) { (void)areas; }

  // Makes write() and read() call `call` while they move long ranges, so that other work of the
  // caller, such as messages, makes progress. They call it after each system call, which then moves
  // at most most_bytes_between_calls, or whenever some of the ranges in flight have ended. `call`
  // does not use the engine; if it is null, no calls are made. An engine without such system calls
  // may ignore it.
  virtual void call_between_parts(std::function<void()> call) { between_ = std::move(call); }

 protected:
  // Begins the request, whose result is empty. The engine calls end() for it, inside start() or
  // advance().
  virtual void start(EngineRequest& request) = 0;
  // Makes progress. Does not block if `until_ns` is 0; otherwise it may block until some request
  // has ended or the time is over. May return earlier, and is called again.
  virtual void advance(std::int64_t until_ns) { (void)until_ns; }

  // Executes write() and read() by a request; BlockingEngine needs none.
  virtual Status move_now(Direction direction, std::span<const FileRange> ranges,
                          FileTraffic& traffic);

  // Returns whether write(), read() or sync() has submitted the request.
  [[nodiscard]] static bool is_blocking(const EngineRequest& request) {
    return request.state_ == EngineRequest::State::blocking;
  }
  // Records that all bytes of the request have been moved.
  static void moved(EngineRequest& request);
  // Records that the request has ended, with the result that it has. Times that are not yet set are
  // taken.
  void end(EngineRequest& request);
  [[nodiscard]] const std::function<void()>& between() const { return between_; }

 private:
  Status run(EngineRequest& request, FileTraffic& traffic);
  EngineRequest* take_ended(EngineRequest* request);

  EngineRequest* first_ended_ = nullptr;
  EngineRequest* last_ended_ = nullptr;
  std::int64_t in_flight_ = 0;
  std::function<void()> between_;
};

// The deadline of a wait without a deadline.
inline constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

inline constexpr std::int64_t most_bytes_between_calls = 1 << 20;

// Limits of engines that pass parts of requests to the system.
struct EngineLimits {
  unsigned in_flight = 64;  // parts of all requests at the same time, from 1 to 4096
  // Longest part of a submitted request. Linux moves at most 0x7ffff000 bytes with one call; 1 GiB
  // is less and keeps O_DIRECT's alignment.
  std::int64_t bytes_per_call = std::int64_t{1} << 30;
};

// Returns an engine that uses preadv and pwritev, one range after the other. It first announces
// short ranges that would wait for storage, so that the system fetches them together.
[[nodiscard]] std::unique_ptr<Engine> make_posix_engine();
// Returns an engine that uses the same calls in threads of its own, which it starts when they are
// needed (engines/thread_engine.cpp). `limits.in_flight` is ignored.
[[nodiscard]] std::unique_ptr<Engine> make_thread_engine(const EngineLimits& limits = {});
// Returns an engine that uses io_uring, on registered files and, after expect_memory(), on
// registered memory; its own calls write() and read() move parts of at most 1 MiB. Fails with
// ErrorCode::unsupported if the kernel does not provide io_uring of Linux 5.11 or Weir was built
// without liburing, and with ErrorCode::invalid_argument if a limit is out of range.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_uring_engine(const EngineLimits& limits = {});
// Returns the io_uring engine, or the thread engine where the kernel provides no io_uring.
[[nodiscard]] std::unique_ptr<Engine> make_background_engine();
// Returns an engine that bypasses the page cache where alignment permits, and moves bytes by `base`
// (engines/direct_engine.cpp).
[[nodiscard]] std::unique_ptr<Engine> make_direct_engine(std::unique_ptr<Engine> base);
// Returns an engine whose files lie in this process's memory and disappear with the engine. Opening
// for writing with bytes_when_made or `create` creates a file. The engine does not use the file
// system.
[[nodiscard]] std::unique_ptr<Engine> make_memory_engine();
// Returns an engine that moves nothing: writes are dropped, and reads leave the memory as it is. It
// opens any path and uses no file system, so that a mechanism can be measured without storage.
[[nodiscard]] std::unique_ptr<Engine> make_null_engine();

}  // namespace weir::storage
