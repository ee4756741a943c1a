// The counts of a process: per file and function of MPI-IO.
//
// Any thread can count at any time, in fixed memory and without locks. The entry of a file is found
// by the 64-bit hash of its path and is never removed. Memory is touched only as files are seen.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "adapters/calls/call_order.hpp"
#include "adapters/mpiio/function.hpp"
#include "adapters/mpiio/reason.hpp"

namespace weir::mpiio {

struct TakenFile;     // take_over.hpp
struct RecordedView;  // take_over.hpp

// Counts are read after all counting has ended, or while it goes on; no order is needed.
inline constexpr auto relaxed = std::memory_order_relaxed;

inline constexpr std::size_t most_files = 1024;

// What was counted of the calls of one function.
struct CallCounts {
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> failed;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::int64_t> ns;
  std::atomic<std::uint64_t> taken;  // of `calls`, those that were taken over
};

struct FileCounts : calls::OrderedFile {
  std::atomic<std::uint64_t> hash;  // 0: the entry is free
  std::array<CallCounts, functions> of;
  std::array<std::atomic<std::uint64_t>, reasons> passed;  // calls passed on, by reason

  void add(Function function, bool failed, std::uint64_t bytes, std::int64_t ns) {
    CallCounts& counts = of[static_cast<std::size_t>(function)];
    counts.calls.fetch_add(1, relaxed);
    counts.ns.fetch_add(ns, relaxed);
    if (failed) counts.failed.fetch_add(1, relaxed);
    if (bytes > 0) counts.bytes.fetch_add(bytes, relaxed);
  }
  // Adds what became of a call that might have been taken over.
  void add(Function function, Reason reason) {
    auto& counter = reason == Reason::taken ? of[static_cast<std::size_t>(function)].taken
                                            : passed[static_cast<std::size_t>(reason)];
    counter.fetch_add(1, relaxed);
  }
};

// An object of this class has static storage (see counts()), and no constructor runs.
class Counts {
 public:
  // Returns the entry of the file at a path, which may be relative; further_files() if there is no
  // room for another file.
  FileCounts& file(const char* path);
  // The handles of open files: the MPI library never gives two open files the same value.
  FileCounts& of_handle(std::uintptr_t handle);
  // Returns false if there is no room for the handle.
  bool set_handle(std::uintptr_t handle, FileCounts& file);
  // `taken`: the file of this handle, which was set, as calls on it are taken over.
  void set_taken(std::uintptr_t handle, TakenFile* taken);
  // Returns null if calls on the file are not taken over.
  TakenFile* taken_of(std::uintptr_t handle);
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
