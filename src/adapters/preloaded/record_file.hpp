// The text file that a preloaded library leaves for `weir run`: lines of words separated by tabs.
// In the last word of a line, a path, each backslash, tab and newline is escaped by a backslash.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace weir::preloaded {

inline int own_process() { return static_cast<int>(::syscall(SYS_getpid)); }

inline std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Returns the number in the first of these variables that contains one.
inline long number_of(std::initializer_list<const char*> names) {
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

// Makes direct system calls, since libc's functions may be counted. An object has static storage
// and holds its memory, since a record may be written where nothing may be allocated: in a signal
// handler, or in a child of a program with threads.
class RecordFile {
 public:
  // Makes the file, with a name that contains the process number and the time, since exec keeps the
  // process number. Returns false, and then has no file, if that fails.
  bool make(const char* folder, const char* ending) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    std::array<char, 64> host{};
    ::gethostname(host.data(), host.size() - 1);
    const int size =
        std::snprintf(path_.data(), path_.size(), "%s/%s-%d-%lld.%09ld.%s", folder, host.data(),
                      own_process(), static_cast<long long>(now.tv_sec), now.tv_nsec, ending);
    const bool fits = size > 0 && static_cast<std::size_t>(size) < path_.size();
    if (fits && open(O_CREAT | O_EXCL)) return true;
    path_[0] = '\0';
    return false;
  }
  [[nodiscard]] bool exists() const { return path_[0] != '\0'; }
  // Opens the file again, to add to its end.
  bool open_again() { return open(O_APPEND); }
  void close() {
    flush();
    ::syscall(SYS_close, descriptor_);
  }

  void add(std::string_view text) {
    for (const char letter : text) add(letter);
  }
  void add(char letter) {
    if (size_ == bytes_.size()) flush();
    bytes_[size_++] = letter;
  }
  template <typename Number>
  void add_number(Number number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    add({digits.data(), static_cast<std::size_t>(end - digits.begin())});
  }
  void add_path(std::string_view path) {
    for (const char letter : path) {
      if (letter == '\\' || letter == '\t' || letter == '\n') add('\\');
      add(letter == '\t' ? 't' : letter == '\n' ? 'n' : letter);
    }
  }
  // Adds words of a line.
  template <typename... Words>
  void add_words(const Words&... words) {
    const auto one = [&](const auto& word) {
      if constexpr (std::is_arithmetic_v<std::decay_t<decltype(word)>>) {
        add_number(word);
      } else {
        add(word);
      }
    };
    bool first = true;
    ((first ? void(first = false) : add('\t'), one(words)), ...);
  }
  // Adds the first line, which names the kind of record, and the line
  //   process PID RANK RANKS HOST TIME PROGRAM     rank and ranks are -1 if no launcher set them
  void add_beginning(std::string_view kind) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    std::array<char, PATH_MAX> program{};
    if (::syscall(SYS_readlink, "/proc/self/exe", program.data(), program.size() - 1) < 0) {
      program[0] = '?';
    }
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    add(kind);
    add('\n');
    add_words("process", own_process(),
              number_of({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}),
              number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}),
              std::string_view(host.data()), now.tv_sec);
    add('\t');
    add_path(program.data());
    add('\n');
  }

 private:
  bool open(int flags) {
    size_ = 0;
    descriptor_ = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, path_.data(), flags | O_WRONLY | O_CLOEXEC, 0600));
    return descriptor_ >= 0;
  }
  void flush() {
    std::string_view text(bytes_.data(), size_);
    while (!text.empty()) {
      const long written = ::syscall(SYS_write, descriptor_, text.data(), text.size());
      if (written <= 0) break;  // a record without its last line is recognized as truncated
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    size_ = 0;
  }

  std::array<char, PATH_MAX> path_{};  // empty: there is no file
  std::array<char, 65536> bytes_{};
  std::size_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace weir::preloaded
