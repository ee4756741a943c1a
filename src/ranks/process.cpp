#include "ranks/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <string>

namespace weir::ranks {
namespace {

ProcessState state_named(char letter) {
  switch (letter) {
    case 'Z':
    case 'X':
    case 'x':
      return ProcessState::ended;
    case 'T':
    case 't':
      return ProcessState::stopped;
    case 'R':
    case 'D':
      return ProcessState::busy;
    default:
      return ProcessState::asleep;
  }
}

}  // namespace

Process look_at_process(std::int32_t pid) {
  Process process;
  const int file = ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT) process.state = ProcessState::ended;
    return process;
  }
  std::array<char, 1024> text{};
  const ssize_t got = ::read(file, text.data(), text.size() - 1);
  const int failed = got < 0 ? errno : 0;
  ::close(file);
  if (got <= 0) {
    if (failed == ESRCH) process.state = ProcessState::ended;
    return process;
  }
  // The second field is the program's name in parentheses, which may contain any characters.
  const std::string all(text.data(), static_cast<std::size_t>(got));
  const std::size_t after_name = all.rfind(')');
  if (after_name == std::string::npos) return process;
  std::istringstream fields(all.substr(after_name + 1));
  char letter = 0;
  fields >> letter;
  std::string skipped;
  constexpr int before_user_time = 10;     // fields 4 to 13
  constexpr int before_starting_time = 6;  // fields 16 to 21
  for (int i = 0; i < before_user_time; ++i) fields >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  fields >> user >> system;
  for (int i = 0; i < before_starting_time; ++i) fields >> skipped;
  fields >> process.started;
  if (!fields) return process;
  process.state = state_named(letter);
  process.processor_ticks = user + system;
  return process;
}

std::uint64_t own_pid_namespace() {
  struct stat space {};
  return ::stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

std::string own_system() {
  struct stat network {};
  std::array<char, 37> boot{};  // a UUID of 36 characters, drawn at each start of the system
  const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? -1 : ::read(file, boot.data(), boot.size() - 1);
  if (file >= 0) ::close(file);
  if (got != static_cast<ssize_t>(boot.size() - 1) || ::stat("/proc/self/ns/net", &network) != 0) {
    return {};
  }
  return fmt::format("{}-{}", boot.data(), network.st_ino);
}

}  // namespace weir::ranks
