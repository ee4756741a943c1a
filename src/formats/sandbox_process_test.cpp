#include "formats/sandbox_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>

#include "formats/sandbox_answer.hpp"
#include "formats/sandbox_program.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

// ---- By a fork --------------------------------------------------------------------------------

Result<std::string> a_header() { return std::string("a header"); }

TEST(ReadByFork, TellsWhoReturnsFromWhoCrashes) {
  const auto descriptors = open_descriptors();
  EXPECT_EQ(read_by_fork(a_header, "x").value(), "a header");
  const auto crashed =
      read_by_fork([] { return ::raise(SIGSEGV), Result<std::string>(""); }, "bad.h5");
  ASSERT_FALSE(crashed.ok());
  EXPECT_EQ(crashed.error().code, ErrorCode::corrupt);
  EXPECT_EQ(crashed.error().file, "bad.h5");
  EXPECT_FALSE(read_by_fork([] { return ::_exit(0), a_header(); }, "x").ok());
  EXPECT_FALSE(read_by_fork([]() -> Result<std::string> { throw std::bad_alloc(); }, "x").ok());
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(ReadByFork, PassesErrorsAndLargeHeadersOn) {
  Error error = invalid_argument("what was found");
  error.code = ErrorCode::unsupported;
  const auto refused = read_by_fork([&] { return Result<std::string>(error); }, "x");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(refused.error().message, "what was found");

  const std::string large(5'000'000, 'h');
  const auto read = read_by_fork([&] { return Result<std::string>(large); }, "x");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read.value() == large);
}

TEST(ReadByFork, EndsWhatDoesNotEnd) {
  const auto sleep = [] { return std::this_thread::sleep_for(std::chrono::hours(1)), a_header(); };
  const auto slow = read_by_fork(sleep, "x", {.time = std::chrono::milliseconds(100)});
  ASSERT_FALSE(slow.ok());
  EXPECT_NE(slow.error().text().find("100 ms"), std::string::npos);
}

TEST(ReadByFork, WorksWhereChildrenAreNotWaitedFor) {
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &ignored, &before), 0);
  EXPECT_TRUE(read_by_fork(a_header, "x").ok());
  EXPECT_FALSE(read_by_fork([] { return ::raise(SIGABRT), a_header(); }, "x").ok());
  ::sigaction(SIGCHLD, &before, nullptr);
}

// ---- By a program -----------------------------------------------------------------------------

// A program that the shell runs; its greeting is that of a program that can be used.
class ReadByProgram : public ::testing::Test {
 protected:
  [[nodiscard]] std::string program(const std::string& script, mode_t mode = 0755) const {
    const std::string path = folder_.path("program");
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), mode);
    return path;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(folder_.path(name));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  TestFolder folder_;
};

// Words of a shell script.
std::string greets() {
  const std::string line(sandbox_greeting().substr(0, sandbox_greeting().size() - 1));
  return fmt::format("printf '{}\\n' >&3\n", line);
}

TEST_F(ReadByProgram, NothingOfThisProcessReachesIt) {
  const int open_one = ::fcntl(0, F_DUPFD, 200);  // not closed by itself in programs
  // NOLINTBEGIN(concurrency-mt-unsafe): there are no other threads
  ::setenv("WEIR_TEST_SECRET", "1", 1);
  ::setenv("LD_LIBRARY_PATH", "/nowhere", 1);
  ::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto descriptors = open_descriptors();
  const std::string out = folder_.path("out");
  const auto read =
      read_by_program(program(fmt::format("env > {0}.env; ls /proc/self/fd > {0}.open\n"
                                          "exec cat /proc/self/status > {0}.status\n",
                                          out)),
                      "-x 'y'");
  EXPECT_EQ(open_descriptors(), descriptors);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGUSR1, SIG_DFL);
  ::unsetenv("LD_LIBRARY_PATH");
  ::unsetenv("WEIR_TEST_SECRET");
  // NOLINTEND(concurrency-mt-unsafe)
  ::close(open_one);

  EXPECT_FALSE(read.has_value()) << "it said nothing";
  EXPECT_EQ(text("out.open").find(fmt::format("{}\n", open_one)), std::string::npos);
  EXPECT_EQ(text("out.open").find("0\n1\n2\n3\n"), 0U) << text("out.open");
  EXPECT_NE(text("out.env").find("LD_LIBRARY_PATH=/nowhere\n"), std::string::npos);
  EXPECT_EQ(text("out.env").find("WEIR_TEST_SECRET"), std::string::npos);
  EXPECT_EQ(text("out.env").find("HOME"), std::string::npos);
  for (const char* const set : {"SigBlk:", "SigIgn:"}) {
    const std::string status = text("out.status");
    const std::size_t at = status.find(set);
    ASSERT_NE(at, std::string::npos);
    const auto signals = std::stoull(status.substr(at + 7), nullptr, 16);
    EXPECT_EQ(signals & 0x7fffffffU, 0U) << set;  // those behind 31 are the C library's own
  }
}

TEST_F(ReadByProgram, IsNothingWhereItCannotRun) {
  EXPECT_FALSE(read_by_program(folder_.path("none"), "x"));
  EXPECT_FALSE(read_by_program(program("", 0600), "x"));
  EXPECT_FALSE(read_by_program(program("exit 127\n"), "x"));  // a library that is missing
  EXPECT_FALSE(read_by_program(program("printf header/0 >&3\n"), "x"));
  EXPECT_FALSE(read_by_program(program(greets()), std::string(1 << 20, 'x')));  // no such argument
}

TEST_F(ReadByProgram, TellsWhoCrashesFromWhoDoesNotEnd) {
  const auto crashed = read_by_program(program(greets() + "kill -SEGV $$\n"), "bad.h5");
  ASSERT_TRUE(crashed && !crashed->ok());
  EXPECT_EQ(crashed->error().code, ErrorCode::corrupt);
  EXPECT_EQ(crashed->error().file, "bad.h5");
  const auto ended = read_by_program(program(greets() + "kill -TERM $$\n"), "good.h5");
  ASSERT_TRUE(ended && !ended->ok());
  EXPECT_EQ(ended->error().code, ErrorCode::interrupted) << "not the file's doing";
  for (const std::string& start : {std::string(), greets()}) {
    const auto slow = read_by_program(program(start + "exec sleep 60\n"), "x",
                                      {.time = std::chrono::milliseconds(100)});
    ASSERT_TRUE(slow && !slow->ok());
    EXPECT_NE(slow->error().text().find("100 ms"), std::string::npos);
  }
}

TEST_F(ReadByProgram, TakesNoMemoryForWhatIsOnlyAnnounced) {
  const auto read =
      read_by_program(program(greets() + "printf wwwwwwwwwwwwwwwwwwwwwwww >&3\n"), "x");
  ASSERT_TRUE(read && !read->ok());
  EXPECT_EQ(read->error().code, ErrorCode::corrupt);
}

TEST_F(ReadByProgram, IsFoundAboveTheCodeThatRuns) {
  const std::string library = folder_.path("lib/machine/library.so");
  const std::string there = folder_.path("libexec/weir/reader");
  for (const char* one : {"lib/machine", "libexec/weir"}) {
    std::filesystem::create_directories(folder_.path(one));
  }
  std::ofstream(library) << "";
  EXPECT_FALSE(find_sandbox_program_of(library, "reader"));
  std::ofstream(there) << "";
  EXPECT_FALSE(find_sandbox_program_of(library, "reader")) << "it cannot be run";
  ::chmod(there.c_str(), 0755);
  EXPECT_EQ(find_sandbox_program_of(library, "reader"), there);
  EXPECT_FALSE(find_sandbox_program_of(library, "another"));
  ::chmod(there.c_str(), 0757);
  EXPECT_FALSE(find_sandbox_program_of(library, "reader")) << "everybody may write it";
  ::chmod(there.c_str(), 0755);
  const std::string folder = std::filesystem::path(there).parent_path();
  ::chmod(folder.c_str(), 0777);
  EXPECT_FALSE(find_sandbox_program_of(library, "reader")) << "everybody may write its folder";
  ::chmod(folder.c_str(), 0755);
  std::filesystem::rename(there, there + "-itself");
  std::filesystem::create_symlink(there + "-itself", there);
  EXPECT_FALSE(find_sandbox_program_of(library, "reader")) << "a link may be anybody's";
  std::filesystem::remove(there);
  std::filesystem::rename(there + "-itself", there);
  EXPECT_EQ(find_sandbox_program_of(library, "reader"), there);
  EXPECT_FALSE(find_sandbox_program_of("", "reader"));
}

}  // namespace
}  // namespace weir::storage
