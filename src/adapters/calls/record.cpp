#include "adapters/calls/record.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "adapters/calls/counted.hpp"
#include "adapters/preloaded/record_file.hpp"

namespace weir::calls {

using preloaded::own_process;

namespace {

// State of this process's record.
struct Record {
  std::atomic<int> process{0};  // the recorded process; a vforked child has another number
  std::atomic<bool> ended{false};
  std::int64_t begin_ns = 0;
};
constinit Record record;
constinit preloaded::RecordFile file_of_record;  // does not exist: no record is wanted

// Returns the folder that a variable of the environment names, or null.
const char* folder_in(const char* variable) {
  const char* const folder = ::getenv(variable);
  return folder == nullptr || *folder == '\0' ? nullptr : folder;
}

// Begins the records that the environment requests, and returns whether there is one.
bool begin() {
  const char* const folder = folder_in("WEIR_CALLS_FOLDER");
  const char* const order_folder = folder_in("WEIR_CALLS_ORDER_FOLDER");
  if (folder == nullptr && order_folder == nullptr) return false;
  record.begin_ns = now_ns();
  record.process.store(own_process(), relaxed);
  record.ended.store(false, relaxed);
  if (folder != nullptr && file_of_record.make(folder, "calls")) {
    file_of_record.add_beginning("weir-calls 1");
    file_of_record.close();
  }
  if (order_folder != nullptr) begin_order(order_folder);
  return true;
}

std::uint64_t operations_of(const FileCounts& file) {
  std::uint64_t sum = file.made_inside.load(relaxed);
  for (const auto& count : file.count) sum += count.load(relaxed);
  return sum;
}

void write_file(const FileCounts& file, const char* path) {
  file_of_record.add_words("file", file.created.load(relaxed) ? 1 : 0,
                           file.written.load(relaxed) ? 1 : 0, file.bytes_read.load(relaxed),
                           file.bytes_written.load(relaxed),
                           std::max<std::int64_t>(0, file.first_ns.load(relaxed) - record.begin_ns),
                           std::max<std::int64_t>(0, file.last_ns.load(relaxed) - record.begin_ns));
  file_of_record.add('\t');
  bool first = true;
  for (std::size_t i = 0; i < operations; ++i) {
    const std::uint32_t count = file.count[i].load(relaxed);
    if (count == 0) continue;
    if (!first) file_of_record.add(',');
    first = false;
    file_of_record.add(operation_names[i]);
    file_of_record.add('=');
    file_of_record.add_number(count);
  }
  file_of_record.add('\t');
  file_of_record.add_path(path);
  file_of_record.add('\n');
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
    file_of_record.add_words("total", operation_names[i], totals.count[i].load(relaxed),
                             totals.ns[i].load(relaxed));
    file_of_record.add('\n');
  }
  choose_files();
  for (std::size_t i = 0; i < chosen.count; ++i) {
    const FileCounts& one = *chosen.files[i];
    const char* const path = one.path.load(std::memory_order_acquire);
    const std::uint64_t inside = one.made_inside.load(relaxed);
    if (inside > 0) {
      file_of_record.add_words("folder", inside);
      file_of_record.add('\t');
      file_of_record.add_path(path);
      file_of_record.add('\n');
    }
    if (operations_of(one) > inside) write_file(one, path);
  }
  if (chosen.operations_left_out > 0) {
    file_of_record.add_words("left-out", chosen.operations_left_out, chosen.files_left_out);
    file_of_record.add('\n');
  }
  file_of_record.add_words("end", now_ns() - record.begin_ns);
  file_of_record.add('\n');
}

// Ends the records, only once, and not in a child that shares the memory.
void end() {
  if (!is_own_process() || record.ended.exchange(true)) return;
  end_order();
  if (!file_of_record.exists() || !file_of_record.open_again()) return;
  write_counts();
  file_of_record.close();
}

void in_forked_child() {
  if (!file_of_record.exists() && !ordering.load(relaxed)) return;
  call_counts().clear_counts();
  begin();
}

}  // namespace

bool is_own_process() {
  const int own = record.process.load(relaxed);
  return own == 0 || own == own_process();
}

namespace {

__attribute__((constructor)) void on_load() {
  if (!begin()) {
    counting.store(false, relaxed);
    return;
  }
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
