// Wraps a call of libc and records which operation it was, on which file, and how long it took.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "adapters/calls/absolute_path.hpp"
#include "adapters/calls/call_counts.hpp"
#include "adapters/calls/call_order.hpp"
#include "adapters/preloaded/record_file.hpp"

// Looks up, once, libc's own function of that name behind any wrapper.
#define WEIR_REAL(name) \
  static auto* const real = reinterpret_cast<decltype(&::name)>(::dlsym(RTLD_NEXT, #name))

namespace weir::calls {

// False after it is known that the counts of this process are not wanted.
inline constinit std::atomic<bool> counting{true};

// Returns whether the caller is the process that owns these counts. A child of vfork shares the
// memory, and closes files that its parent keeps open.
bool is_own_process();

inline void set_descriptor(int descriptor, FileCounts* file) {
  if (is_own_process()) call_counts().set_descriptor(descriptor, file);
}

using preloaded::now_ns;

// When a call began and ended.
struct Period {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Counts a call and then runs `finish(file, path, result, period)` on the file's counts; errno is
// preserved.
template <typename Call, typename Finish>
auto counted_and_finished(Operation operation, int folder, const char* path, const Call& call,
                          const Finish& finish) {
  if (!counting.load(relaxed)) return call();
  const AbsolutePath absolute(folder, path);
  if (!CallCounts::counts(absolute.view())) return call();
  FileCounts* const file = call_counts().file(absolute.view());
  Period period{.start_ns = now_ns()};
  const auto result = call();
  const int error = errno;
  period.end_ns = now_ns();
  call_counts().add(operation, file, period.start_ns, period.end_ns);
  finish(file, absolute.view(), result, period);
  errno = error;
  return result;
}

template <typename Call>
auto counted(Operation operation, int folder, const char* path, const Call& call) {
  return counted_and_finished(operation, folder, path, call,
                              [](FileCounts*, std::string_view, auto, const Period&) {});
}

template <typename Call>
auto counted(Operation operation, const char* path, const Call& call) {
  return counted(operation, AT_FDCWD, path, call);
}

// Counts a call that makes a file or folder at the path if it returns 0.
template <typename Call>
auto counted_making(Operation operation, int folder, const char* path, const Call& call) {
  return counted_and_finished(
      operation, folder, path, call,
      [](FileCounts* file, std::string_view absolute, int result, const Period&) {
        if (result == 0) call_counts().made(file, absolute);
      });
}

// Counts a call that takes a descriptor.
template <typename Call>
auto counted(Operation operation, int descriptor, const Call& call) {
  FileCounts* const file = call_counts().of_descriptor(descriptor);
  if (file == nullptr || !counting.load(relaxed)) return call();
  const std::int64_t start = now_ns();
  const auto result = call();
  const int error = errno;
  call_counts().add(operation, file, start, now_ns());
  errno = error;
  return result;
}

// Counts a call that takes a descriptor, and records it in its order if it returns 0. `offset` is
// the new length of a file that is truncated, otherwise 0.
template <typename Call>
int counted_in_order(Operation operation, CallKind kind, int descriptor, std::int64_t offset,
                     const Call& call) {
  FileCounts* const file = call_counts().of_descriptor(descriptor);
  if (file == nullptr || !ordering.load(relaxed)) return counted(operation, descriptor, call);
  const std::int64_t start = now_ns();
  const int result = call();
  const int error = errno;
  const std::int64_t end = now_ns();
  call_counts().add(operation, file, start, end);
  if (result == 0) note_call(kind, file, offset, 0, start, end);
  errno = error;
  return result;
}

// The offset of a call that moves bytes at the position of its descriptor.
inline constexpr std::int64_t at_position = -1;

// Counts a call that returns the number of bytes it moved, and records it in its order.
template <typename Call>
ssize_t counted_moving(Operation operation, int descriptor, std::int64_t offset, const Call& call) {
  if (!ordering.load(relaxed)) {
    const ssize_t result = call();
    if (counting.load(relaxed)) {
      call_counts().add_bytes(operation, call_counts().of_descriptor(descriptor), result);
    }
    return result;
  }
  FileCounts* const file = call_counts().of_descriptor(descriptor);
  const std::int64_t start = now_ns();
  const ssize_t result = call();
  const int error = errno;
  const std::int64_t end = now_ns();
  call_counts().add_bytes(operation, file, result);
  if (file != nullptr && result > 0) {
    // The position says where the bytes were, whichever descriptors share it, and if the file is
    // open for appending, too.
    if (offset == at_position) offset = ::lseek(descriptor, 0, SEEK_CUR) - result;
    const CallKind kind = operation == Operation::write ? CallKind::write : CallKind::read;
    if (offset >= 0) note_call(kind, file, offset, result, start, end);
  }
  errno = error;
  return result;
}

}  // namespace weir::calls
