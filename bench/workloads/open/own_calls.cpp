#include "workloads/open/own_calls.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "common/settings.hpp"
#include "measurement/system_text.hpp"

namespace weir::bench::opening {
namespace {

namespace fs = std::filesystem;

constexpr const char* library = "libweir_calls.so.0";
constexpr const char* library_variable = "WEIR_CALLS_LIBRARY";
constexpr const char* read_function = "weir_calls_read";
constexpr const char* count_function = "weir_calls_count";

// The places of libraries relative to this program: installed, in a Python environment, in a build
// folder.
constexpr std::array<std::string_view, 3> places = {"../lib", "../lib64", "../src/adapters/calls"};

std::string find_library() {
  if (const auto told = process_environment(library_variable)) return *told;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  for (const std::string_view place : places) {
    const fs::path path = (program.parent_path() / place / library).lexically_normal();
    if (fs::exists(path, error)) return path.string();
  }
  return {};
}

// Returns the words with which this program was started.
std::vector<std::string> own_arguments() {
  const std::string all = read_text("/proc/self/cmdline").value_or("");
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\0', at), all.size());
    words.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool is_loaded() { return ::dlsym(RTLD_DEFAULT, read_function) != nullptr; }

}  // namespace

CallCounts CallCounts::since(const CallCounts& before) const {
  CallCounts change = *this;
  for (std::size_t i = 0; i < calls::operations; ++i) {
    change.inside[i] -= before.inside[i];
    change.elsewhere[i] -= before.elsewhere[i];
  }
  return change;
}

void OwnCalls::load() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // the sanitizers' library must be the first
#else
  if (is_loaded()) return;
  const std::string path = find_library();
  if (path.empty() || path.find_first_of(" :") != std::string::npos) return;
  const std::string before = process_environment("LD_PRELOAD").value_or("");
  if (before.find(path) != std::string::npos)
    return;  // the library was tried and could not be loaded
  const std::string now = before.empty() ? path : path + ":" + before;
  // The process still has only one thread.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (::setenv("LD_PRELOAD", now.c_str(), 1) != 0) return;
  std::vector<std::string> words = own_arguments();
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  // The process continues without counting.
#endif
}

OwnCalls::OwnCalls() {
  // The symbol that dlsym returns is a function.
  count_ = reinterpret_cast<decltype(count_)>(::dlsym(RTLD_DEFAULT, count_function));
  read_ = reinterpret_cast<decltype(read_)>(::dlsym(RTLD_DEFAULT, read_function));
  if (count_ == nullptr || read_ == nullptr) {
    why_not_ = fmt::format(
        "metadata operations were not counted: {} could not be loaded; install Weir with it, or "
        "set {} to its path",
        library, library_variable);
    return;
  }
  std::array<std::uint64_t, calls::operations> unused{};
  if (read_("/", unused.data(), unused.data(), 0) == static_cast<int>(calls::operations)) return;
  why_not_ = fmt::format("metadata operations were not counted: {} has another version", library);
}

void OwnCalls::count(bool on) const { count_(on ? 1 : 0); }

CallCounts OwnCalls::read(const std::string& folder) const {
  std::array<std::uint64_t, calls::operations> inside{};
  std::array<std::uint64_t, calls::operations> elsewhere{};
  read_(folder.c_str(), inside.data(), elsewhere.data(), static_cast<int>(calls::operations));
  CallCounts counts;
  for (std::size_t i = 0; i < calls::operations; ++i) {
    counts.inside[i] = static_cast<std::int64_t>(inside[i]);
    counts.elsewhere[i] = static_cast<std::int64_t>(elsewhere[i]);
  }
  return counts;
}

}  // namespace weir::bench::opening
