#include "formats/writer_lock.hpp"

#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): ::kill is POSIX
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace {

bool has_no_locks = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

// The system's, but for a file system without locks when a test says so.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the names are reserved
extern "C" int flock(int descriptor, int operation) {
  if (!has_no_locks) return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
  errno = ENOLCK;
  return -1;
}

namespace weir::storage {
namespace {

TEST(WriterLock, IsHeldByOneAtATime) {
  const TestFolder folder;
  const std::string path = folder.path("a.h5");
  {
    const auto first = WriterLock::take(path);
    ASSERT_TRUE(first.ok()) << first.error().text();
    EXPECT_TRUE(first.value().is_held());
    const auto second = WriterLock::take(path);
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().text().find("this program already has it open for writing"),
              std::string::npos)
        << second.error().text();
    EXPECT_NE(second.error().text().find(path), std::string::npos);
    EXPECT_TRUE(WriterLock::take(folder.path("b.h5")).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(lock_path(path)));
  const auto third = WriterLock::take(path);
  ASSERT_TRUE(third.ok()) << third.error().text();
  EXPECT_TRUE(third.value().is_held());
}

// A file that is being made has a name of 11 bytes more, its lock one of 10.
TEST(WriterLock, IsOfAFileWithTheLongestName) {
  const TestFolder folder;
  const std::string path = folder.path(std::string(244, 'x'));
  const auto taken = WriterLock::take(path);
  ASSERT_TRUE(taken.ok()) << taken.error().text();
  EXPECT_TRUE(taken.value().is_held());
  EXPECT_TRUE(std::filesystem::exists(lock_path(path)));
}

TEST(WriterLock, IsOfTheFileThatALinkLeadsTo) {
  const TestFolder folder;
  std::filesystem::create_symlink(folder.path("a.h5"), folder.path("link"));
  const auto first = WriterLock::take(folder.path("link"));
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(WriterLock::take(folder.path("a.h5")).ok());
}

TEST(WriterLock, NamesTheProcessThatHasItAndEndsWithIt) {
  const TestFolder folder;
  const std::string path = folder.path("a.h5");
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto taken = WriterLock::take(path);
    const char answer = taken.ok() && taken.value().is_held() ? 'y' : 'n';
    if (::write(pipe[1], &answer, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char answer = 'n';
  ASSERT_EQ(::read(pipe[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const auto refused = WriterLock::take(path);
  ASSERT_FALSE(refused.ok());
  const std::string named = "process " + std::to_string(child) + " on ";
  EXPECT_NE(refused.error().text().find(named), std::string::npos) << refused.error().text();
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  // What it left stops nobody.
  EXPECT_TRUE(std::filesystem::exists(lock_path(path)));
  auto taken = WriterLock::take(path);
  ASSERT_TRUE(taken.ok()) << taken.error().text();
  EXPECT_TRUE(taken.value().is_held());
  taken.value().release();
  EXPECT_FALSE(std::filesystem::exists(lock_path(path)));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(WriterLock, CanNameItsHolderLater) {
  const TestFolder folder;
  const std::string path = folder.path("a.h5");
  std::ofstream(lock_path(path)) << "process 1 on a run that was killed\n";
  auto taken = WriterLock::take(path, WriterLock::Naming::by_caller);
  ASSERT_TRUE(taken.ok() && taken.value().is_held());
  const auto unnamed = WriterLock::take(path);
  ASSERT_FALSE(unnamed.ok());
  EXPECT_NE(unnamed.error().text().find("another run is writing it"), std::string::npos)
      << unnamed.error().text();
  taken.value().name_holder();
  const auto named = WriterLock::take(path);
  ASSERT_FALSE(named.ok());
  EXPECT_NE(named.error().text().find("this program already has it open"), std::string::npos)
      << named.error().text();
  taken.value().release();
  taken.value().name_holder();  // of no file
  EXPECT_FALSE(std::filesystem::exists(lock_path(path)));
}

// What somebody else has put under the lock's name.
TEST(WriterLock, ChangesNoFileOfAnother) {
  const TestFolder folder;
  const std::string path = folder.path("a.h5");
  const std::string precious = folder.path("precious");
  std::ofstream(precious) << "precious";
  std::filesystem::create_symlink(precious, lock_path(path));
  {
    const auto taken = WriterLock::take(path);
    ASSERT_TRUE(taken.ok());
    EXPECT_FALSE(taken.value().is_held());
  }
  EXPECT_TRUE(std::filesystem::is_symlink(lock_path(path)));
  std::filesystem::remove(lock_path(path));
  std::filesystem::create_hard_link(precious, lock_path(path));
  { EXPECT_TRUE(WriterLock::take(path).ok()); }
  EXPECT_EQ(text_of(precious), "precious");
}

TEST(WriterLock, WaitsForNoPipe) {
  const TestFolder folder;
  const std::string path = folder.path("a.h5");
  ASSERT_EQ(::mkfifo(lock_path(path).c_str(), 0600), 0);
  const auto taken = WriterLock::take(path);
  ASSERT_TRUE(taken.ok());
  EXPECT_FALSE(taken.value().is_held());
  EXPECT_TRUE(std::filesystem::is_fifo(lock_path(path)));
}

TEST(WriterLock, IsNotHeldWhereThereAreNoLocks) {
  const TestFolder folder;
  const std::string path = folder.path("a.h5");
  has_no_locks = true;
  const auto first = WriterLock::take(path);
  const auto second = WriterLock::take(path);
  has_no_locks = false;
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(first.value().is_held() || second.value().is_held());
  EXPECT_TRUE(first.value().has_no_locks());
  EXPECT_FALSE(std::filesystem::exists(lock_path(path)));
  const auto none = WriterLock::take(folder.path("no folder/a.h5"));
  EXPECT_TRUE(none.ok() && !none.value().is_held() && !none.value().has_no_locks());
}

}  // namespace
}  // namespace weir::storage
