#include "formats/sandbox_program.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>

namespace weir::storage {
namespace {

// From site-packages/weir/_core there are this many folders up to the environment that contains it.
constexpr int most_folders_above = 6;

// Returns the file from which this code was loaded, without symbolic links; empty if that is
// unknown.
std::string own_file() {
  static const char here = 0;
  Dl_info about{};
  void* loaded = nullptr;
  if (::dladdr1(&here, &about, &loaded, RTLD_DL_LINKMAP) == 0 || loaded == nullptr) return "";
  const char* const name = static_cast<const link_map*>(loaded)->l_name;
  // The program itself has no name there, and its caller may have given it any name.
  const char* const file = name == nullptr || *name == '\0' ? "/proc/self/exe" : name;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(file, nullptr), &std::free);
  return real ? std::string(real.get()) : "";
}

// Links are refused because another user may have made them in a folder that is writable by
// everybody.
bool is_kept_by(uid_t owner, const std::string& path, mode_t type) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && (about.st_mode & S_IFMT) == type &&
         (about.st_uid == owner || about.st_uid == 0) && (about.st_mode & S_IWOTH) == 0;
}

}  // namespace

std::optional<std::string> find_sandbox_program_of(const std::string& file, std::string_view name) {
  struct stat own {};
  if (::stat(file.c_str(), &own) != 0) return std::nullopt;
  std::string folder = file;
  for (int above = 0; above <= most_folders_above; ++above) {
    const std::size_t slash = folder.rfind('/');
    if (slash == std::string::npos) break;
    folder.resize(slash);
    std::string program = fmt::format("{}/libexec/weir/{}", folder, name);
    if (is_kept_by(own.st_uid, folder + "/libexec", S_IFDIR) &&
        is_kept_by(own.st_uid, folder + "/libexec/weir", S_IFDIR) &&
        is_kept_by(own.st_uid, program, S_IFREG) && ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_sandbox_program(std::string_view name) {
  return find_sandbox_program_of(own_file(), name);
}

}  // namespace weir::storage
