// The program weir-stager: takes data from programs on its node or on others, and writes them while
// the programs go on. Sessions start it where they find none; `weir stage start` starts it
// beforehand.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "stager/server.hpp"
#include "system/available_memory.hpp"
#include "system/frame_socket.hpp"
#include "transport/authenticator.hpp"
#include "transport/messages.hpp"
#include "transport/stager_start.hpp"

namespace {

using weir::SettingKind;

constexpr int longest_answer_ms = 30'000;
constexpr int answer_nap_ms = 20;

struct Options {
  weir::stager::ServerSettings server;
  std::string carrier;
  std::string authentication;
  std::string engine;
  bool drops = false;
  bool report = false;
  bool stop = false;
  bool detach = false;
};

std::string& socket_of(Options& options) { return options.server.socket; }
std::string& listen_of(Options& options) { return options.server.listen; }
std::string& rendezvous_of(Options& options) { return options.server.rendezvous; }
std::string& carrier_of(Options& options) { return options.carrier; }
std::string& authentication_of(Options& options) { return options.authentication; }
std::int64_t& memory_of(Options& options) { return options.server.memory_bytes; }
std::string& root_of(Options& options) { return options.server.root; }
std::string& spill_of(Options& options) { return options.server.spill; }
std::int64_t& spill_quota_of(Options& options) { return options.server.spill_quota; }
std::string& journal_of(Options& options) { return options.server.journal; }
std::int64_t& journal_quota_of(Options& options) { return options.server.journal_quota; }
std::int64_t& client_memory_of(Options& options) { return options.server.client_memory; }
std::int64_t& client_files_of(Options& options) { return options.server.client_files; }
std::int64_t& client_connections_of(Options& options) { return options.server.client_connections; }
std::int64_t& connections_of(Options& options) { return options.server.connections; }
int& threads_of(Options& options) { return options.server.threads; }
int& receivers_of(Options& options) { return options.server.receivers; }
double& idle_of(Options& options) { return options.server.idle_seconds; }
bool& until_of(Options& options) { return options.server.until_programs_end; }

// No variable sets --drop, so that one left in a job script loses no data.
constexpr const char* drop_variable = "WEIR_DROP";

// Each option but --drop can also be given in the environment: --stager-memory as
// WEIR_STAGER_MEMORY.
weir::FieldSettings<Options> options_table() {
  return {
      {socket_of,
       "stager-socket",
       "socket at which programs find the stager, in a folder that only you may enter; default: "
       "`stager` in $XDG_RUNTIME_DIR/weir, or in /tmp/weir-UID",
       {.metavar = "path"}},
      {listen_of,
       "stager-listen",
       "address of this node, with or without a port, at which stagers of other nodes connect, "
       "once "
       "a session on several nodes begins; default: all its addresses, and a port that is free",
       {.metavar = "address"}},
      {rendezvous_of,
       "stager-rendezvous",
       "file for programs on other nodes, which only you may read, or a folder for it: where the "
       "stager listens from the beginning, and a cookie; needs --stager-listen; default: none, and "
       "only programs of this node are served",
       {.metavar = "file"}},
      {carrier_of,
       "stager-carrier",
       "what brings the bytes of programs on other nodes: tcp, or ucx if they have it, too (over "
       "InfiniBand and its kind); UCX does not check who sends, so the network has to be trusted",
       {.kind = SettingKind::choice,
        .default_value = "tcp",
        .metavar = "name",
        .choices = {"tcp", "ucx"}}},
      {authentication_of,
       "stager-auth",
       "how programs on other nodes show who they are: by the cookie in the rendezvous file, or by "
       "MUNGE, whose credentials of your user alone are taken; others may then read the file",
       {.kind = SettingKind::choice,
        .default_value = "cookie",
        .metavar = "name",
        .choices = {"cookie", "munge"}}},
      {root_of,
       "stager-root",
       "folder outside which nothing is stored, neither by `..` nor by symbolic links; what lies "
       "elsewhere is refused; default: none, and programs name any path",
       {.metavar = "folder"}},
      {memory_of,
       "stager-memory",
       "memory for data that are not stored yet; 0: a quarter of what is available",
       {.kind = SettingKind::bytes, .default_value = "0", .metavar = "bytes"}},
      {spill_of,
       "stager-spill",
       "folder on a disk of this node, that only you may enter, for data that the memory cannot "
       "hold; default: none, and a full memory is written to the files at once",
       {.metavar = "folder"}},
      {spill_quota_of,
       "stager-spill-quota",
       "most that these data take of the disk; 0: half of what is free in the folder",
       {.kind = SettingKind::bytes, .default_value = "0", .metavar = "bytes"}},
      {journal_of,
       "stager-journal",
       "folder on a disk of this node, that only you may enter, for a journal: accepted steps that "
       "a killed stager leaves there are stored by the next one; default: none",
       {.metavar = "folder"}},
      {journal_quota_of,
       "stager-journal-quota",
       "most that the journal takes of the disk; steps beyond it are not in it; 0: half of what is "
       "free in the folder",
       {.kind = SettingKind::bytes, .default_value = "0", .metavar = "bytes"}},
      {client_memory_of,
       "stager-client-memory",
       "most of the memory that one program has; it then waits until a part is stored; 0: all",
       {.kind = SettingKind::bytes, .default_value = "0", .metavar = "bytes"}},
      {client_files_of,
       "stager-client-files",
       "most files that one program has open; one more is refused; 0: any number",
       {.default_value = "0", .metavar = "number", .range = {0, 1e9}}},
      {client_connections_of,
       "stager-client-connections",
       "most ranks of one program that are connected; one more is refused; 0: any number",
       {.default_value = "0", .metavar = "number", .range = {0, 1e9}}},
      {connections_of,
       "stager-connections",
       "most ranks, of all programs, that are connected; one more is refused; 0: any number",
       {.default_value = "0", .metavar = "number", .range = {0, 1e9}}},
      {threads_of,
       "stager-threads",
       "threads that write, each for another program at a time",
       {.default_value = "4", .metavar = "number", .range = {1, 64}}},
      {receivers_of,
       "stager-receivers",
       "threads that receive the bytes of programs on other nodes",
       {.default_value = "4", .metavar = "number", .range = {1, 64}}},
      {idle_of,
       "stager-idle-seconds",
       "end after so long without a program and without work; 0: stay",
       {.default_value = "0", .metavar = "seconds", .range = {0, 1e9}}},
      {&Options::engine,
       "stager-engine",
       "how files are written: automatic, through the page cache; or direct-io, 1 MiB and more of "
       "a "
       "file past it, which takes less of the processors, and less time on slow storage",
       {.kind = SettingKind::choice,
        .default_value = "automatic",
        .metavar = "name",
        .choices = {"automatic", "direct-io"}}},
      {until_of, "until-programs-end",
       "end as soon as the programs that it has served have ended and everything is stored"},
      {&Options::drops, "drop",
       "drop all data instead of storing them, for benchmarks; needs --stager-socket with a path "
       "where no other program looks for a stager"},
      {&Options::report, "report", "print, as JSON, what the stager that runs holds, and for whom"},
      {&Options::stop, "stop",
       "let the stager that runs take no new programs, and wait until it has stored everything "
       "and ended"},
      {&Options::detach, "detach",
       "go on in the background, and return as soon as programs can connect"},
  };
}

// Writes lines for people to standard error, each with the time. A line that cannot be written, for
// example on a full disk, must not end the stager.
void say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> guard(mutex);
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> time{};
  (void)std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &parts);
  (void)std::fputs(fmt::format("{} weir-stager: {}\n", time.data(), line).c_str(), stderr);
  (void)std::fflush(stderr);
}

int fail(const weir::Error& error) {
  fmt::print(stderr, "weir-stager: {}\n", error.text());
  return error.code == weir::ErrorCode::invalid_argument ? 2 : 1;
}

// Sends a message to the stager that runs, and prints what it answers. With `until_it_ends`, waits
// instead until it has told that everything is stored, and has ended; it shows each second that it
// lives.
int ask(const std::string& socket, const weir::transport::Message& message, bool until_it_ends) {
  auto connected = weir::storage::FrameSocket::connect(socket);
  if (!connected) {
    return fail(
        weir::invalid_argument("no stager listens there: start one, or name its socket with "
                               "--stager-socket",
                               socket));
  }
  weir::storage::FrameSocket stager = std::move(connected).value();
  if (weir::Status sent = stager.send(weir::transport::encode(message)); !sent.ok()) {
    return fail(sent.error());
  }
  bool has_stored_all = false;
  for (int waited = 0; waited < longest_answer_ms;) {
    auto frame = stager.next();
    if (!frame && has_stored_all) return 0;
    if (!frame && until_it_ends) {
      return fail(
          weir::Error(weir::ErrorCode::io,
                      fmt::format("the stager ended before it had stored everything, so that "
                                  "accepted steps may be lost; {}.log may say why",
                                  socket)));
    }
    if (!frame) return fail(frame.error());
    if (!frame.value()) {
      stager.wait(answer_nap_ms);
      waited += answer_nap_ms;
      continue;
    }
    waited = 0;
    const auto answer = weir::transport::parse(frame.value()->payload);
    if (!answer) return fail(answer.error());
    const auto* const report = std::get_if<weir::transport::Report>(&answer.value());
    if (report == nullptr) continue;
    has_stored_all = until_it_ends;
    if (until_it_ends) continue;
    fmt::print("{}\n", report->json);
    return 0;
  }
  return fail(weir::Error(weir::ErrorCode::deadline, "the stager does not answer", socket));
}

// Fails if a program that does not ask for it could find a stager that drops its data.
weir::Status check_drop(const weir::Settings& given, const std::string& socket) {
  const auto& values = given.values();
  const auto found = values.find("stager-socket");
  const bool on_command_line =
      found != values.end() && found->second.origin == weir::SettingOrigin::command_line;
  if (on_command_line && socket != weir::transport::default_socket()) return {};
  return weir::invalid_argument(
      "--drop loses all data: give it with --stager-socket and a path at which no other program "
      "looks for a stager",
      socket);
}

// Leaves the terminal and the session of the process that started this one. Standard error goes to
// SOCKET.log.
bool detach_output(const std::string& socket) {
  const std::string log = socket + ".log";
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int lines = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                           S_IRUSR | S_IWUSR);
  const int to = lines >= 0 ? lines : nothing;
  return ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(nothing, STDOUT_FILENO) >= 0 &&
         ::dup2(to, STDERR_FILENO) >= 0;
}

// Removes what the socket of a few programs leaves behind. A log with lines in it stays.
void remove_traces(const std::string& socket) {
  (void)::unlink((socket + ".lock").c_str());
  const std::string log = socket + ".log";
  struct stat facts {};
  if (::stat(log.c_str(), &facts) == 0 && facts.st_size == 0) (void)::unlink(log.c_str());
}

// Runs serve() in a process of its own. Returns when programs can connect to it, or with its error.
int serve_detached(const weir::stager::ServerSettings& settings) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(weir::system_failure("pipe", "", -1, errno));
  }
  const pid_t child = ::fork();
  if (child < 0) return fail(weir::system_failure("fork", "", -1, errno));
  if (child == 0) {
    ::close(ends[0]);
    // The second fork makes a process that leads no session, so that it never gets a terminal.
    if (::setsid() < 0 || ::fork() != 0) ::_exit(0);
    const auto tell = [&](const std::string& text) {
      [[maybe_unused]] const ssize_t told = ::write(ends[1], text.data(), text.size());
      ::close(ends[1]);
    };
    bool has_begun = false;
    const weir::Status served = weir::stager::serve(
        settings,
        [&] {
          (void)::chdir("/");
          (void)detach_output(settings.socket);
          has_begun = true;
          tell("+");
        },
        say);
    if (!served.ok()) {
      if (has_begun) {
        say(served.error().text());
      } else {
        tell((served.error().code == weir::ErrorCode::invalid_argument ? "2" : "1") +
             served.error().text());
      }
      ::_exit(1);
    }
    if (settings.until_programs_end) remove_traces(settings.socket);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string told(1000, '\0');
  std::size_t bytes = 0;
  for (ssize_t got = 1; got > 0 && bytes < told.size();) {
    got = ::read(ends[0], told.data() + bytes, told.size() - bytes);
    if (got < 0 && errno == EINTR)
      got = 1;
    else if (got > 0)
      bytes += static_cast<std::size_t>(got);
  }
  ::close(ends[0]);
  told.resize(bytes);
  int status = 0;
  (void)::waitpid(child, &status, 0);
  if (told == "+") return 0;
  fmt::print(stderr, "weir-stager: {}\n", told.size() > 1 ? told.substr(1) : "it ended at once");
  return told.starts_with('2') ? 2 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto resolved = weir::resolve_settings(
      "weir-stager", "takes data from programs on this node, and writes them behind the programs",
      weir::declarations_of(options_table()), arguments, [](const std::string& name) {
        return name == drop_variable ? std::nullopt : weir::process_environment(name);
      });
  if (!resolved) return fail(resolved.error());
  if (resolved.value().help) {
    fmt::print("{}", *resolved.value().help);
    return 0;
  }
  Options options;
  weir::fill(resolved.value().settings, options_table(), &options);
  weir::stager::ServerSettings& settings = options.server;
  if (settings.socket.empty()) settings.socket = weir::transport::default_socket();
  settings.offers_ucx = options.carrier == "ucx";
  settings.authentication = weir::transport::parse_authentication(options.authentication)
                                .value_or(weir::transport::Authentication::cookie);
  if (options.engine == "direct-io") settings.writes_by = weir::stager::WritesBy::direct_io;
  if (options.drops) {
    settings.writes_by = weir::stager::WritesBy::dropping;
    if (weir::Status alone = check_drop(resolved.value().settings, settings.socket); !alone.ok()) {
      return fail(alone.error());
    }
  }
  if (options.report) return ask(settings.socket, weir::transport::AskReport{}, false);
  if (options.stop) return ask(settings.socket, weir::transport::Stop{}, true);
  if (settings.memory_bytes == 0) {
    settings.memory_bytes = weir::storage::available_memory_bytes() / 4;
  }
  if (options.detach) return serve_detached(settings);
  const weir::Status served = weir::stager::serve(
      settings, [&] { say(fmt::format("listens at {}", settings.socket)); }, say);
  return served.ok() ? 0 : fail(served.error());
}
