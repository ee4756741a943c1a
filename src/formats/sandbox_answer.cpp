#include "formats/sandbox_answer.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "system/child_process.hpp"

namespace weir::storage {
namespace {

// A program of another version has another greeting, and is not used. The number in the greeting is
// increased when the message that is the header (file_map_message.hpp) changes.
constexpr std::string_view greeting = "weir " WEIR_STORAGE_VERSION " header/1\n";

struct Head {
  std::int64_t ok = 0;
  std::int64_t code = 0;  // code of an error
  std::int64_t bytes = 0;
};

// ---- The child --------------------------------------------------------------------------------

std::size_t address_space() {
  std::size_t pages = 0;
  std::array<char, 64> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t bytes = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  for (ssize_t i = 0; i < bytes && text[static_cast<std::size_t>(i)] >= '0'; ++i) {
    pages = pages * 10 + static_cast<std::size_t>(text[static_cast<std::size_t>(i)] - '0');
  }
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int resource, std::size_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
  if (now.rlim_cur != RLIM_INFINITY && now.rlim_cur < most) return;
  now.rlim_cur = most;
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

// Sets the limits. The alarm ends a child that waits for storage after its parent has ended.
void limit_all(const SandboxLimits& limits) {
  const auto seconds = static_cast<std::size_t>(limits.time.count() / 1000) + 1;
  ::prctl(PR_SET_DUMPABLE, 0);  // no core file
  limit(RLIMIT_CPU, seconds);
  ::alarm(static_cast<unsigned>(seconds) + 1);
  if (const std::size_t now = address_space(); now > 0) limit(RLIMIT_AS, now + limits.more_memory);
}

bool say(int answers, const void* bytes, std::size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(answers, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

// ---- The parent ---------------------------------------------------------------------------------

// Reads a text. Memory grows with the bytes that arrive, because their number is only what the
// child claims.
bool read_text(PipeReader& reader, std::string& text, std::size_t count) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  while (text.size() < count) {
    const std::size_t before = text.size();
    text.resize(before + std::min(at_once, count - before));
    if (!reader.read(text.data() + before, text.size() - before)) return false;
  }
  return true;
}

}  // namespace

std::string_view sandbox_greeting() { return greeting; }

void read_and_answer(const ReadHeader& read, const SandboxLimits& limits, int answers) {
  try {
    limit_all(limits);
    if (!say(answers, greeting.data(), greeting.size())) ::_exit(1);
    const auto header = read();
    const std::string& bytes = header ? header.value() : header.error().message;
    const Head head{.ok = header ? 1 : 0,
                    .code = header ? 0 : static_cast<std::int64_t>(header.error().code),
                    .bytes = std::ssize(bytes)};
    const bool said = say(answers, &head, sizeof head) && say(answers, bytes.data(), bytes.size());
    ::_exit(said ? 0 : 1);
  } catch (...) {
    ::_exit(1);  // out of memory
  }
}

HeardAnswer hear_answer(int answers, const SandboxLimits& limits) {
  PipeReader reader(answers, limits.time);
  HeardAnswer answer;
  const auto ended = [&](Heard how) {
    answer.heard = reader.is_late() ? Heard::too_little : how;
    return answer;
  };
  std::array<char, greeting.size()> greeted{};
  if (!reader.read(greeted.data(), greeted.size())) return ended(Heard::no_greeting);
  if (std::string_view(greeted.data(), greeted.size()) != greeting) return answer;
  Head head;
  if (!reader.read(&head, sizeof head)) return ended(Heard::a_break);
  const bool can_be =
      head.bytes >= 0 && static_cast<std::uint64_t>(head.bytes) <= limits.more_memory;
  if (!can_be || !read_text(reader, answer.bytes, static_cast<std::size_t>(head.bytes))) {
    return ended(Heard::a_break);
  }
  answer.heard = Heard::an_answer;
  answer.ok = head.ok == 1;
  const bool is_code =
      head.code >= 0 && head.code <= static_cast<std::int64_t>(ErrorCode::interrupted);
  answer.code = is_code ? static_cast<ErrorCode>(head.code) : ErrorCode::corrupt;
  return answer;
}

}  // namespace weir::storage
