// The fuzzer: libFuzzer calls one of the readers with bytes that it changes so that they reach what
// was not reached before. `./dev fuzz` starts it.
//
//     weir_fuzz --reader=NAME [libFuzzer's options] CORPUS...
//     weir_fuzz --seeds=FOLDER          good bytes for every reader, as FOLDER/NAME/NUMBER
//     weir_fuzz --list                  the readers' names, each with its -max_len
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "formats/format.hpp"
#include "json_changes.hpp"
#include "readers.hpp"

namespace {

using weir::fuzz::Reader;

const Reader* reader = nullptr;
std::string folder;  // of this process

void write_seeds(const std::filesystem::path& place) {
  for (const Reader& one : weir::fuzz::all_readers()) {
    const auto of_reader = place / one.name;
    std::filesystem::create_directories(of_reader);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const weir::fuzz::Bytes& seed : one.seeds(folder)) {
      std::ofstream file(of_reader / fmt::format("seed_{}", number++), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.data()),
                 static_cast<std::streamsize>(seed.size()));
    }
  }
}

void remove_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace

// libhdf5 1.10 forgets 32 bytes of a data layout that it cannot decode (tests/malformed/hdf5/
// layout_that_leaks). What Weir forgets to close of HDF5's is not hidden by this: libhdf5 keeps it
// in its own tables, where it is no leak to the sanitizer.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the sanitizer's name
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  folder = std::filesystem::temp_directory_path() / fmt::format("weir-fuzz-{}", ::getpid());
  std::filesystem::create_directories(folder);
  static_cast<void>(std::atexit(remove_folder));
  for (int i = 1; i < *count; ++i) {
    const std::string_view word = (*words)[i];
    if (word.starts_with("--reader=")) reader = weir::fuzz::find_reader(word.substr(9));
    if (word.starts_with("--seeds=")) {
      write_seeds(word.substr(8));
      std::exit(0);
    }
    if (word == "--list") {
      for (const Reader& one : weir::fuzz::all_readers()) {
        if (weir::fuzz::find_reader(one.name) == nullptr) continue;
        fmt::print("{} {}\n", one.name, one.longest_input());
      }
      std::exit(0);
    }
  }
  if (reader == nullptr) {
    fmt::print(stderr, "weir_fuzz: no --reader=NAME, or none that this build has; see --list\n");
    std::exit(2);
  }
  return 0;
}

// libFuzzer's own changes, for those below to use.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t bytes, std::size_t most);

// Changes the input in place. Every fourth change of JSON, and each of other bytes, is one of
// libFuzzer's own.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t bytes,
                                               std::size_t most, unsigned seed) {
  constexpr unsigned of_tokens = 3;
  constexpr unsigned of_all = 4;
  if (!reader->is_json || seed % of_all >= of_tokens) return LLVMFuzzerMutate(data, bytes, most);
  const std::string text(reinterpret_cast<const char*>(data), bytes);
  const std::string changed = weir::fuzz::change_json(text, seed / of_all, most);
  if (changed.empty() || changed.size() > most) return LLVMFuzzerMutate(data, bytes, most);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const auto complaint = reader->read({reinterpret_cast<const std::byte*>(data), bytes}, folder);
  if (complaint) {
    fmt::print(stderr, "weir_fuzz: {}: {}\n", reader->name, *complaint);
    std::abort();
  }
  return 0;
}
