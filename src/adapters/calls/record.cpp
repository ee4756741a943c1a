#include "adapters/calls/record.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/calls/counted.hpp"

namespace weir::calls {
namespace {

// Of this process's record. Its file is opened and written by system calls: libc's functions are
// counted.
struct Record {
  std::atomic<int> process{0};  // the one whose record it is; a vforked child has another number
  std::atomic<bool> ended{false};
  std::int64_t begin_ns = 0;
  std::array<char, PATH_MAX> path{};  // empty: nobody wants one
};
constinit Record record;

int own_process() { return static_cast<int>(::syscall(SYS_getpid)); }

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const long written = ::syscall(SYS_write, descriptor, text.data(), text.size());
    if (written <= 0) return;  // without its last line the record is known to be cut off
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

int open_record(int flags) {
  return static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, record.path.data(), flags | O_WRONLY | O_CLOEXEC, 0600));
}

void close_record(int descriptor) { ::syscall(SYS_close, descriptor); }

// The number in the first of these variables that has one.
long number_of(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const char* const text = ::getenv(name);
    if (text == nullptr) continue;
    const std::string_view digits(text);
    long number = -1;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
    if (error == std::errc() && end == digits.end()) return number;
  }
  return -1;
}

void append_path(std::string& line, std::string_view path) {
  for (const char letter : path) {
    if (letter == '\\' || letter == '\t' || letter == '\n') line += '\\';
    line += letter == '\t' ? 't' : letter == '\n' ? 'n' : letter;
  }
}

template <typename... Words>
void append_words(std::string& line, const Words&... words) {
  const auto append = [&](const auto& word) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(word)>>) {
      line += std::to_string(word);
    } else {
      line += word;
    }
    line += '\t';
  };
  (append(words), ...);
}

std::string beginning() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<char, PATH_MAX> program{};
  if (::syscall(SYS_readlink, "/proc/self/exe", program.data(), program.size() - 1) < 0) {
    program[0] = '?';
  }
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::string text = "weir-calls 1\n";
  append_words(text, "process", own_process(),
               number_of({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}),
               number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}), host.data(),
               now.tv_sec);
  append_path(text, program.data());
  return text += '\n';
}

// The record's name holds the process's number and time: after exec both processes have one.
void begin(const char* folder) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string path = std::string(folder) + "/" + host.data() + "-" +
                           std::to_string(own_process()) + "-" + std::to_string(now.tv_sec) + "." +
                           std::to_string(now.tv_nsec) + ".calls";
  if (path.size() >= record.path.size()) return;
  std::memcpy(record.path.data(), path.c_str(), path.size() + 1);
  const int descriptor = open_record(O_CREAT | O_EXCL);
  if (descriptor < 0) {
    record.path[0] = '\0';
    return;
  }
  write_all(descriptor, beginning());
  close_record(descriptor);
  record.begin_ns = now_ns();
  record.process.store(own_process(), relaxed);
  record.ended.store(false, relaxed);
}

std::uint64_t operations_of(const FileCounts& file) {
  std::uint64_t sum = file.made_inside.load(relaxed);
  for (const auto& count : file.count) sum += count.load(relaxed);
  return sum;
}

void append_file(std::string& text, const FileCounts& file, const char* path) {
  append_words(text, "file", file.created.load(relaxed) ? 1 : 0, file.written.load(relaxed) ? 1 : 0,
               file.bytes_read.load(relaxed), file.bytes_written.load(relaxed),
               std::max<std::int64_t>(0, file.first_ns.load(relaxed) - record.begin_ns),
               std::max<std::int64_t>(0, file.last_ns.load(relaxed) - record.begin_ns));
  for (std::size_t i = 0; i < operations; ++i) {
    const std::uint32_t count = file.count[i].load(relaxed);
    if (count == 0) continue;
    text += operation_names[i];
    text += '=';
    text += std::to_string(count);
    text += ',';
  }
  if (text.back() == ',') text.pop_back();
  text += '\t';
  append_path(text, path);
  text += '\n';
}

std::string counts_text() {
  std::string text;
  const Totals& totals = call_counts().totals();
  for (std::size_t i = 0; i < operations; ++i) {
    if (totals.count[i].load(relaxed) == 0) continue;
    append_words(text, "total", operation_names[i], totals.count[i].load(relaxed),
                 totals.ns[i].load(relaxed));
    text.back() = '\n';
  }
  std::vector<const FileCounts*> files;
  call_counts().for_each_file([&](const FileCounts& one) {
    if (operations_of(one) > 0) files.push_back(&one);
  });
  std::uint64_t left_out = totals.left_out.load(relaxed);
  std::uint64_t files_left_out = 0;
  if (files.size() > most_lines) {
    const auto last = files.begin() + most_lines;
    std::nth_element(files.begin(), last, files.end(), [](const auto* one, const auto* other) {
      return operations_of(*one) > operations_of(*other);
    });
    files_left_out = static_cast<std::uint64_t>(files.end() - last);
    for (auto one = last; one != files.end(); ++one) left_out += operations_of(**one);
    files.erase(last, files.end());
  }
  for (const FileCounts* const one : files) {
    const char* const path = one->path.load(std::memory_order_acquire);
    if (path == nullptr) continue;  // there was no room for it
    const std::uint64_t inside = one->made_inside.load(relaxed);
    if (inside > 0) {
      append_words(text, "folder", inside);
      append_path(text, path);
      text += '\n';
    }
    if (operations_of(*one) > inside) append_file(text, *one, path);
  }
  if (left_out > 0) {
    append_words(text, "left-out", left_out, files_left_out);
    text.back() = '\n';
  }
  append_words(text, "end", now_ns() - record.begin_ns);
  text.back() = '\n';
  return text;
}

// Once; not by a child that shares the memory.
void end() {
  if (record.path[0] == '\0' || record.process.load(relaxed) != own_process() ||
      record.ended.exchange(true)) {
    return;
  }
  const int descriptor = open_record(O_APPEND);
  if (descriptor < 0) return;
  write_all(descriptor, counts_text());
  close_record(descriptor);
}

void in_forked_child() {
  if (record.path[0] == '\0') return;
  call_counts().clear_counts();
  if (const char* const folder = ::getenv("WEIR_CALLS_FOLDER")) begin(folder);
}

__attribute__((constructor)) void on_load() {
  const char* const folder = ::getenv("WEIR_CALLS_FOLDER");
  if (folder == nullptr || *folder == '\0') {
    counting.store(false, relaxed);
    return;
  }
  begin(folder);
  ::pthread_atfork(nullptr, nullptr, in_forked_child);
}

__attribute__((destructor)) void on_exit() { end(); }

}  // namespace
}  // namespace weir::calls

extern "C" {

// Ends that call no destructor. After an exec that failed the process goes on uncounted: it is
// almost always a child that ends then.
void _exit(int status) {
  WEIR_REAL(_exit);
  weir::calls::end();
  real(status);
  __builtin_unreachable();
}

void _Exit(int status) noexcept {
  WEIR_REAL(_Exit);
  weir::calls::end();
  real(status);
  __builtin_unreachable();
}

int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  WEIR_REAL(execve);
  weir::calls::end();
  return real(path, arguments, environment);
}

int execv(const char* path, char* const arguments[]) noexcept {
  WEIR_REAL(execv);
  weir::calls::end();
  return real(path, arguments);
}

int execvp(const char* file, char* const arguments[]) noexcept {
  WEIR_REAL(execvp);
  weir::calls::end();
  return real(file, arguments);
}

int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
  WEIR_REAL(execvpe);
  weir::calls::end();
  return real(file, arguments, environment);
}

}  // extern "C"
