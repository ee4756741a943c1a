#include "adapters/calls/record.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "adapters/calls/counted.hpp"

namespace weir::calls {
namespace {

// State of this process's record. The file is opened and written by direct system calls, since
// libc's functions are counted.
struct Record {
  std::atomic<int> process{0};  // the recorded process; a vforked child has another number
  std::atomic<bool> ended{false};
  std::int64_t begin_ns = 0;
  std::array<char, PATH_MAX> path{};  // empty: no record is wanted
};
constinit Record record;

int own_process() { return static_cast<int>(::syscall(SYS_getpid)); }

// Buffers a record's text on its way to the file. It uses static memory, since _exit and exec may
// be called where nothing may be allocated: in a signal handler, or in a child of a program with
// threads.
class Writer {
 public:
  void begin(int descriptor) {
    descriptor_ = descriptor;
    size_ = 0;
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
  // Adds a line of words separated by tabs.
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
  void flush() {
    std::string_view text(bytes_.data(), size_);
    while (!text.empty()) {
      const long written = ::syscall(SYS_write, descriptor_, text.data(), text.size());
      if (written <= 0) break;  // a record without its last line is recognized as truncated
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    size_ = 0;
  }

 private:
  std::array<char, 65536> bytes_{};
  std::size_t size_ = 0;
  int descriptor_ = -1;
};
constinit Writer writer;

int open_record(int flags) {
  return static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, record.path.data(), flags | O_WRONLY | O_CLOEXEC, 0600));
}

void close_record(int descriptor) { ::syscall(SYS_close, descriptor); }

// Returns the number in the first of these variables that contains one.
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

void write_beginning() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<char, PATH_MAX> program{};
  if (::syscall(SYS_readlink, "/proc/self/exe", program.data(), program.size() - 1) < 0) {
    program[0] = '?';
  }
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  writer.add("weir-calls 1\n");
  writer.add_words("process", own_process(),
                   number_of({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}),
                   number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}),
                   std::string_view(host.data()), now.tv_sec);
  writer.add('\t');
  writer.add_path(program.data());
  writer.add('\n');
}

// The record's name contains the process number and the time, since exec keeps the process number.
void begin(const char* folder) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  const int size =
      std::snprintf(record.path.data(), record.path.size(), "%s/%s-%d-%lld.%09ld.calls", folder,
                    host.data(), own_process(), static_cast<long long>(now.tv_sec), now.tv_nsec);
  const bool fits = size > 0 && static_cast<std::size_t>(size) < record.path.size();
  const int descriptor = fits ? open_record(O_CREAT | O_EXCL) : -1;
  if (descriptor < 0) {
    record.path[0] = '\0';
    return;
  }
  writer.begin(descriptor);
  write_beginning();
  writer.flush();
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

void write_file(const FileCounts& file, const char* path) {
  writer.add_words("file", file.created.load(relaxed) ? 1 : 0, file.written.load(relaxed) ? 1 : 0,
                   file.bytes_read.load(relaxed), file.bytes_written.load(relaxed),
                   std::max<std::int64_t>(0, file.first_ns.load(relaxed) - record.begin_ns),
                   std::max<std::int64_t>(0, file.last_ns.load(relaxed) - record.begin_ns));
  writer.add('\t');
  bool first = true;
  for (std::size_t i = 0; i < operations; ++i) {
    const std::uint32_t count = file.count[i].load(relaxed);
    if (count == 0) continue;
    if (!first) writer.add(',');
    first = false;
    writer.add(operation_names[i]);
    writer.add('=');
    writer.add_number(count);
  }
  writer.add('\t');
  writer.add_path(path);
  writer.add('\n');
}

// Selects the files with the most operations; the others are summed up.
struct Chosen {
  std::array<const FileCounts*, most_files> files{};
  std::size_t count = 0;
  std::uint64_t operations_left_out = 0;
  std::uint64_t files_left_out = 0;

  void leave_out(const FileCounts& one) {
    operations_left_out += operations_of(one);
    ++files_left_out;
  }
};
constinit Chosen chosen;

void choose_files() {
  chosen.count = 0;
  chosen.files_left_out = 0;
  chosen.operations_left_out = call_counts().totals().left_out.load(relaxed);
  call_counts().for_each_file([](const FileCounts& one) {
    if (operations_of(one) == 0) return;
    if (one.path.load(std::memory_order_acquire) == nullptr || chosen.count == most_files) {
      chosen.leave_out(one);  // there was no room for its path
    } else {
      chosen.files[chosen.count++] = &one;
    }
  });
  if (chosen.count <= most_lines) return;
  auto* const begin = chosen.files.data();
  auto* const end = begin + chosen.count;
  std::nth_element(begin, begin + most_lines, end, [](const auto* one, const auto* other) {
    return operations_of(*one) > operations_of(*other);
  });
  for (auto* one = begin + most_lines; one != end; ++one) chosen.leave_out(**one);
  chosen.count = most_lines;
}

void write_counts() {
  const Totals& totals = call_counts().totals();
  for (std::size_t i = 0; i < operations; ++i) {
    if (totals.count[i].load(relaxed) == 0) continue;
    writer.add_words("total", operation_names[i], totals.count[i].load(relaxed),
                     totals.ns[i].load(relaxed));
    writer.add('\n');
  }
  choose_files();
  for (std::size_t i = 0; i < chosen.count; ++i) {
    const FileCounts& one = *chosen.files[i];
    const char* const path = one.path.load(std::memory_order_acquire);
    const std::uint64_t inside = one.made_inside.load(relaxed);
    if (inside > 0) {
      writer.add_words("folder", inside);
      writer.add('\t');
      writer.add_path(path);
      writer.add('\n');
    }
    if (operations_of(one) > inside) write_file(one, path);
  }
  if (chosen.operations_left_out > 0) {
    writer.add_words("left-out", chosen.operations_left_out, chosen.files_left_out);
    writer.add('\n');
  }
  writer.add_words("end", now_ns() - record.begin_ns);
  writer.add('\n');
}

// Ends the record, only once, and not in a child that shares the memory.
void end() {
  if (record.path[0] == '\0' || !is_own_process() || record.ended.exchange(true)) {
    return;
  }
  const int descriptor = open_record(O_APPEND);
  if (descriptor < 0) return;
  writer.begin(descriptor);
  write_counts();
  writer.flush();
  close_record(descriptor);
}

void in_forked_child() {
  if (record.path[0] == '\0') return;
  call_counts().clear_counts();
  if (const char* const folder = ::getenv("WEIR_CALLS_FOLDER")) begin(folder);
}

}  // namespace

bool is_own_process() {
  const int own = record.process.load(relaxed);
  return own == 0 || own == own_process();
}

namespace {

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

// Functions that end a process without destructors. If an exec fails, the process continues
// uncounted; it is almost always a child that then ends.
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

void quick_exit(int status) noexcept {
  WEIR_REAL(quick_exit);
  weir::calls::end();
  real(status);
  __builtin_unreachable();
}

int fexecve(int program, char* const arguments[], char* const environment[]) noexcept {
  WEIR_REAL(fexecve);
  weir::calls::end();
  return real(program, arguments, environment);
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
