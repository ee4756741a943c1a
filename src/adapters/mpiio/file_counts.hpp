// The counts of a process: per file and function of MPI-IO.
//
// Any thread can count at any time, in fixed memory and without locks. The entry of a file is found
// by the 64-bit hash of its path and is never removed. Memory is touched only as files are seen.
// Where MPI is called by one thread at a time, counts are added without locked instructions: four
// of them would take a fifth of the time that a short call takes beside its system call.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "adapters/calls/call_order.hpp"
#include "adapters/mpiio/function.hpp"
#include "adapters/mpiio/reason.hpp"
#include "adapters/mpiio/without.hpp"

namespace weir::mpiio {

struct TakenFile;     // take_over.hpp
struct RecordedView;  // take_over.hpp

// Counts are read after all counting has ended, or while it goes on; no order is needed.
inline constexpr auto relaxed = std::memory_order_relaxed;

inline constexpr std::size_t most_files = 1024;

// True if several threads may be in calls at the same time, and until MPI has told otherwise.
inline constinit std::atomic<bool> has_threads{true};

// Adds to a count, which no other thread changes meanwhile unless there are `threads`.
template <typename Number>
[[gnu::always_inline]] inline void increase(std::atomic<Number>& count, Number by, bool threads) {
  if (threads) {
    count.fetch_add(by, relaxed);
  } else {
    count.store(count.load(relaxed) + by, relaxed);
  }
}

// Says what was counted of the calls of one function.
struct CallCounts {
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> failed;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::int64_t> ticks;    // stopwatch.hpp
  std::atomic<std::uint64_t> taken;   // of `calls`, those that were taken over
  std::atomic<std::uint64_t> staged;  // of these, those whose bytes a stager got
  // The estimate of all calls without Weir: those of `ticks` less these, and so many ns more.
  std::atomic<std::int64_t> replaced_ticks;
  std::atomic<std::int64_t> without_ns;  // below 0: not known of one of the calls
};

struct FileCounts : calls::OrderedFile {
  std::atomic<std::uint64_t> hash;  // 0: the entry is free
  std::array<CallCounts, functions> of;
  std::array<std::atomic<std::uint64_t>, reasons> passed;  // calls passed on, by reason

  void add(Function function, bool failed, std::uint64_t bytes, std::int64_t ticks) {
    CallCounts& counts = of[static_cast<std::size_t>(function)];
    const bool threads = has_threads.load(relaxed);
    increase<std::uint64_t>(counts.calls, 1, threads);
    increase(counts.ticks, ticks, threads);
    if (failed) increase<std::uint64_t>(counts.failed, 1, threads);
    if (bytes > 0) increase(counts.bytes, bytes, threads);
  }
  // Adds what became of a call that might have been taken over.
  void add(Function function, Reason reason) {
    auto& counter = reason == Reason::taken ? of[static_cast<std::size_t>(function)].taken
                                            : passed[static_cast<std::size_t>(reason)];
    increase<std::uint64_t>(counter, 1, has_threads.load(relaxed));
  }
  // Adds what a call that was taken over, and took so long, would have taken without Weir.
  void add(Function function, const Without& without, std::int64_t ticks) {
    CallCounts& counts = of[static_cast<std::size_t>(function)];
    const bool threads = has_threads.load(relaxed);
    if (without.basis == Without::Basis::unknown) counts.without_ns.store(not_known, relaxed);
    if (without.basis == Without::Basis::price) increase(counts.replaced_ticks, ticks, threads);
    if (without.ns > 0) increase(counts.without_ns, without.ns, threads);
  }
  // Adds a call whose bytes a stager got.
  void add_staged(Function function) {
    auto& counter = of[static_cast<std::size_t>(function)].staged;
    increase<std::uint64_t>(counter, 1, has_threads.load(relaxed));
  }

 private:
  // Stays below 0, whatever later calls add.
  static constexpr std::int64_t not_known = std::numeric_limits<std::int64_t>::min();
};

// An object of this class has static storage (see counts()), and no constructor runs.
class Counts {
 public:
  // Returns the entry of the file at a path, which may be relative; further_files() if there is no
  // room for another file.
  FileCounts& file(const char* path);
  // An open file; `taken` is null if calls on it are not taken over.
  struct Open {
    FileCounts& counts;
    TakenFile* taken;
  };
  // The handles of open files: the MPI library never gives two open files the same value.
  Open open_file(std::uintptr_t handle);
  FileCounts& of_handle(std::uintptr_t handle) { return open_file(handle).counts; }
  // Returns false if there is no room for the handle.
  bool set_handle(std::uintptr_t handle, FileCounts& file);
  // `taken`: the file of this handle, which was set, as calls on it are taken over.
  void set_taken(std::uintptr_t handle, TakenFile* taken);
  TakenFile* taken_of(std::uintptr_t handle) { return open_file(handle).taken; }
  // `view`: the bytes that the file of this handle shows, as calls on it are recorded in their
  // order.
  void set_view(std::uintptr_t handle, RecordedView* view);
  RecordedView* view_of(std::uintptr_t handle);
  void forget_handle(std::uintptr_t handle);

  // Calls on files for which there was no room.
  FileCounts& further_files() { return further_files_; }
  // Calls with a handle of which no opening was seen, or that is none (MPI_FILE_NULL).
  FileCounts& no_file() { return no_file_; }
  template <typename Visit>
  void for_each_file(const Visit& visit) const {
    for (const FileCounts& one : files_) {
      if (one.path.load(std::memory_order_acquire) != nullptr) visit(one);
    }
  }

 private:
  static constexpr std::size_t slots = 2 * most_files;
  static constexpr std::size_t handle_slots = 8192;
  static constexpr std::size_t path_bytes = std::size_t{1} << 20;

  struct OpenFile {
    std::atomic<std::uintptr_t> handle;  // 0: never used; 1: used before, and free
    std::atomic<FileCounts*> file;
    std::atomic<TakenFile*> taken;
    std::atomic<RecordedView*> view;
  };

  FileCounts& at_absolute(std::string_view path);
  const char* keep(std::string_view path);
  OpenFile* find(std::uintptr_t handle);

  std::array<FileCounts, slots> files_;
  std::array<char, path_bytes> paths_;
  std::atomic<std::size_t> paths_used_;
  std::atomic<std::size_t> files_used_;
  std::array<OpenFile, handle_slots> open_;
  FileCounts further_files_;
  FileCounts no_file_;
};

// Returns the object of this process, which interposed functions cannot reach in any other way.
Counts& counts();

}  // namespace weir::mpiio
