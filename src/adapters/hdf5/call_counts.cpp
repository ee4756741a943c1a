#include "adapters/hdf5/call_counts.hpp"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>

#include "adapters/preloaded/record_file.hpp"

namespace weir::hdf5 {
namespace {

struct Counts {
  std::deque<FileCounts> files;
  FileCounts others;
};

// Never destroyed: HDF5 closes files when the process ends.
Counts& counts() {
  static auto* const all = std::make_unique<Counts>().release();
  return *all;
}

constinit preloaded::RecordFile record;
constinit bool has_ended = false;
constinit std::int64_t begin_ns = 0;

std::string absolute(std::string_view path) {
  std::array<char, PATH_MAX> folder{};
  const bool is_relative = !path.starts_with('/');
  if (!is_relative || ::getcwd(folder.data(), folder.size()) == nullptr) return std::string(path);
  return std::string(folder.data()) + "/" + std::string(path);
}

void add_calls(const FileCounts& file) {
  for (std::size_t i = 0; i < function_names.size(); ++i) {
    const CallCounts& one = file.of[i];
    if (one.calls == 0) continue;
    record.add_words("call", function_names[i], one.calls, one.failed, one.bytes, one.ns,
                     one.taken);
    record.add('\n');
  }
  for (std::size_t i = 0; i < mpiio::reasons; ++i) {
    if (file.passed[i] == 0) continue;
    record.add_words("passed", file.passed[i], mpiio::reason_texts[i]);
    record.add('\n');
  }
}

__attribute__((constructor)) void on_load() { begin_ns = preloaded::now_ns(); }
__attribute__((destructor)) void on_exit() { end_record(); }

}  // namespace

FileCounts& counts_of(std::string_view path) {
  const std::string wanted = absolute(path);
  for (FileCounts& file : counts().files) {
    if (file.path == wanted) return file;
  }
  FileCounts& added = counts().files.emplace_back();
  added.path = wanted;
  return added;
}

FileCounts& counts_of_others() { return counts().others; }

bool is_recording() {
  const char* const folder = ::getenv("WEIR_HDF5_FOLDER");
  return folder != nullptr && *folder != '\0';
}

void end_record() {
  if (has_ended || !is_recording()) return;
  has_ended = true;
  if (!record.make(::getenv("WEIR_HDF5_FOLDER"), "hdf5")) return;
  record.add_beginning("weir-hdf5 1");
  for (const FileCounts& file : counts().files) {
    record.add("file\t");
    record.add_path(file.path);
    record.add('\n');
    add_calls(file);
  }
  record.add("no-file\n");
  add_calls(counts().others);
  record.add_words("end", preloaded::now_ns() - begin_ns);
  record.add('\n');
  record.close();
}

}  // namespace weir::hdf5
