// Wrappers of libc's functions that open and close files and folders.
//
// Declarations here repeat those of libc's headers, with their argument names and C style.
#include <dirent.h>
#include <stdarg.h>  // NOLINT(modernize-deprecated-headers): the functions are C's
#include <stdio.h>   // NOLINT(modernize-deprecated-headers): fopen64, fileno
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp64
#include <unistd.h>

#include <cstring>

#include "adapters/calls/counted.hpp"

namespace weir::calls {
namespace {

bool needs_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

// Is added to the flags of a folder, or of a path without a file behind it, which have no bytes
// to move.
constexpr std::int64_t opens_no_file = 1024;

// `flags` are those of call_pattern.hpp.
void note_opened(FileCounts* file, std::string_view path, int descriptor, std::int64_t flags,
                 const Period& period) {
  if (descriptor < 0) return;
  set_descriptor(descriptor, file);
  if (file != nullptr && (flags & open_writes) != 0) file->written.store(true, relaxed);
  if ((flags & open_creates) != 0) call_counts().made(file, path);
  if (file != nullptr && ordering.load(relaxed) && (flags & opens_no_file) == 0) {
    note_opening(file, flags, period.start_ns, period.end_ns);
  }
}

std::int64_t open_flags(int flags) {
  return ((flags & O_ACCMODE) != O_RDONLY ? open_writes : 0) |
         ((flags & O_CREAT) != 0 ? open_creates : 0) |
         ((flags & O_TRUNC) != 0 ? open_truncates : 0) |
         ((flags & (O_DIRECTORY | O_PATH)) != 0 ? opens_no_file : 0);
}

std::int64_t stream_flags(const char* mode) {
  if (mode == nullptr) return open_stdio;
  return open_stdio | (std::strpbrk(mode, "wa+") != nullptr ? open_writes : 0) |
         (*mode == 'w' || *mode == 'a' ? open_creates : 0) | (*mode == 'w' ? open_truncates : 0);
}

template <typename Call>
int counted_open(int folder, const char* path, int flags, const Call& call) {
  return counted_and_finished(
      Operation::open, folder, path, call,
      [&](FileCounts* file, std::string_view absolute, int descriptor, const Period& period) {
        note_opened(file, absolute, descriptor, open_flags(flags), period);
      });
}

template <typename Call>
FILE* counted_fopen(const char* path, const char* mode, const Call& call) {
  return counted_and_finished(
      Operation::open, AT_FDCWD, path, call,
      [&](FileCounts* file, std::string_view absolute, FILE* stream, const Period& period) {
        if (stream == nullptr) return;
        note_opened(file, absolute, ::fileno(stream), stream_flags(mode), period);
      });
}

// The path is known only after the file has been made.
template <typename Call>
int counted_mkstemp(const char* path, const Call& call) {
  const std::int64_t start = now_ns();
  const int descriptor = call();
  const int error = errno;
  const AbsolutePath absolute(AT_FDCWD, path);
  if (descriptor >= 0 && counting.load(relaxed) && CallCounts::counts(absolute.view())) {
    FileCounts* const file = call_counts().file(absolute.view());
    const Period period{start, now_ns()};
    call_counts().add(Operation::open, file, period.start_ns, period.end_ns);
    note_opened(file, absolute.view(), descriptor, open_writes | open_creates, period);
  }
  errno = error;
  return descriptor;
}

void forget_descriptors(unsigned first, unsigned last) {
  if (!is_own_process()) return;
  for (unsigned one = first; one <= last && one < 65536; ++one) {
    call_counts().set_descriptor(static_cast<int>(one), nullptr);
  }
}

}  // namespace
}  // namespace weir::calls

using weir::calls::call_counts;
using weir::calls::CallKind;
using weir::calls::counted;
using weir::calls::counted_and_finished;
using weir::calls::counted_fopen;
using weir::calls::counted_in_order;
using weir::calls::counted_mkstemp;
using weir::calls::counted_open;
using weir::calls::FileCounts;
using weir::calls::needs_mode;
using weir::calls::Operation;
using weir::calls::Period;
using weir::calls::set_descriptor;

// Reads the mode argument, which exists only if the flags require it.
#define WEIR_MODE(flags)              \
  mode_t mode = 0;                    \
  if (needs_mode(flags)) {            \
    va_list arguments;                \
    va_start(arguments, flags);       \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments);                \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  WEIR_REAL(open);
  WEIR_MODE(flags)
  return counted_open(AT_FDCWD, path, flags, [&] { return real(path, flags, mode); });
}

int open64(const char* path, int flags, ...) {
  WEIR_REAL(open64);
  WEIR_MODE(flags)
  return counted_open(AT_FDCWD, path, flags, [&] { return real(path, flags, mode); });
}

int openat(int folder, const char* path, int flags, ...) {
  WEIR_REAL(openat);
  WEIR_MODE(flags)
  return counted_open(folder, path, flags, [&] { return real(folder, path, flags, mode); });
}

int openat64(int folder, const char* path, int flags, ...) {
  WEIR_REAL(openat64);
  WEIR_MODE(flags)
  return counted_open(folder, path, flags, [&] { return real(folder, path, flags, mode); });
}

// Functions called by programs that were compiled with _FORTIFY_SOURCE.
int __open_2(const char* path, int flags);
int __open_2(const char* path, int flags) {
  WEIR_REAL(__open_2);
  return counted_open(AT_FDCWD, path, flags, [&] { return real(path, flags); });
}

int __open64_2(const char* path, int flags);
int __open64_2(const char* path, int flags) {
  WEIR_REAL(__open64_2);
  return counted_open(AT_FDCWD, path, flags, [&] { return real(path, flags); });
}

int __openat_2(int folder, const char* path, int flags);
int __openat_2(int folder, const char* path, int flags) {
  WEIR_REAL(__openat_2);
  return counted_open(folder, path, flags, [&] { return real(folder, path, flags); });
}

int __openat64_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags) {
  WEIR_REAL(__openat64_2);
  return counted_open(folder, path, flags, [&] { return real(folder, path, flags); });
}

int creat(const char* path, mode_t mode) {
  WEIR_REAL(creat);
  return counted_open(AT_FDCWD, path, O_CREAT | O_WRONLY, [&] { return real(path, mode); });
}

int creat64(const char* path, mode_t mode) {
  WEIR_REAL(creat64);
  return counted_open(AT_FDCWD, path, O_CREAT | O_WRONLY, [&] { return real(path, mode); });
}

FILE* fopen(const char* path, const char* mode) {
  WEIR_REAL(fopen);
  return counted_fopen(path, mode, [&] { return real(path, mode); });
}

FILE* fopen64(const char* path, const char* mode) {
  WEIR_REAL(fopen64);
  return counted_fopen(path, mode, [&] { return real(path, mode); });
}

int close(int descriptor) {
  WEIR_REAL(close);
  FileCounts* const file = call_counts().of_descriptor(descriptor);
  if (file == nullptr) return real(descriptor);
  // The entry is removed before the call, since the kernel may reuse the number for another thread
  // as soon as it is free.
  const auto close_it = [&] {
    set_descriptor(descriptor, nullptr);
    return real(descriptor);
  };
  return counted_in_order(Operation::close, CallKind::close, descriptor, 0, close_it);
}

int fclose(FILE* stream) {
  WEIR_REAL(fclose);
  const int descriptor = ::fileno(stream);
  const auto close_it = [&] {
    set_descriptor(descriptor, nullptr);
    return real(stream);
  };
  return counted_in_order(Operation::close, CallKind::close, descriptor, 0, close_it);
}

int close_range(unsigned first, unsigned last, int flags) noexcept {
  WEIR_REAL(close_range);
  const int result = real(first, last, flags);
  if (result == 0 && flags == 0) weir::calls::forget_descriptors(first, last);
  return result;
}

void closefrom(int first) noexcept {
  WEIR_REAL(closefrom);
  real(first);
  if (first >= 0) weir::calls::forget_descriptors(static_cast<unsigned>(first), 65535);
}

int dup(int descriptor) noexcept {
  WEIR_REAL(dup);
  const int copy = real(descriptor);
  if (copy >= 0) set_descriptor(copy, call_counts().of_descriptor(descriptor));
  return copy;
}

int dup2(int descriptor, int copy) noexcept {
  WEIR_REAL(dup2);
  const int result = real(descriptor, copy);
  if (result >= 0) set_descriptor(result, call_counts().of_descriptor(descriptor));
  return result;
}

int dup3(int descriptor, int copy, int flags) noexcept {
  WEIR_REAL(dup3);
  const int result = real(descriptor, copy, flags);
  if (result >= 0) set_descriptor(result, call_counts().of_descriptor(descriptor));
  return result;
}

DIR* opendir(const char* path) {
  WEIR_REAL(opendir);
  return counted_and_finished(
      Operation::open_folder, AT_FDCWD, path, [&] { return real(path); },
      [](FileCounts* file, std::string_view, DIR* folder, const Period&) {
        if (folder != nullptr) set_descriptor(::dirfd(folder), file);
      });
}

DIR* fdopendir(int descriptor) {
  WEIR_REAL(fdopendir);
  return counted(Operation::open_folder, descriptor, [&] { return real(descriptor); });
}

// The following functions release a folder's descriptor without close().
int closedir(DIR* folder) {
  WEIR_REAL(closedir);
  DIR* const volatile given = folder;  // it may be null, whatever the header declares
  const int descriptor = given == nullptr ? -1 : ::dirfd(folder);
  const auto close_it = [&] {
    set_descriptor(descriptor, nullptr);
    return real(folder);
  };
  return counted(Operation::close, descriptor, close_it);
}

int mkstemp(char* path) {
  WEIR_REAL(mkstemp);
  return counted_mkstemp(path, [&] { return real(path); });
}

int mkstemp64(char* path) {
  WEIR_REAL(mkstemp64);
  return counted_mkstemp(path, [&] { return real(path); });
}

int mkostemp(char* path, int flags) {
  WEIR_REAL(mkostemp);
  return counted_mkstemp(path, [&] { return real(path, flags); });
}

int mkostemp64(char* path, int flags) {
  WEIR_REAL(mkostemp64);
  return counted_mkstemp(path, [&] { return real(path, flags); });
}

}  // extern "C"
