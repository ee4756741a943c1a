#include "system/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <utility>

#include "system/available_memory.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t size = 3 * 4096;

// The file as another process gets it.
File passed(const SharedMemory& memory) {
  return File::passed(::dup(memory.file().descriptor()), "", 0);
}

TEST(SharedMemory, IsTheSameForAllThatHaveIt) {
  SharedMemory made = SharedMemory::create(size).value();
  SharedMemory other = SharedMemory::map(passed(made), size).value();
  ASSERT_TRUE(made.reserve(0, 4096).ok());
  ASSERT_TRUE(other.reserve(4096, 2 * 4096).ok());
  made.close_file();
  other.close_file();
  EXPECT_NE(made.data(), other.data());
  for (std::int64_t at = 0; at < size; ++at) EXPECT_EQ(made.data()[at], std::byte{0});
  made.data()[size - 1] = std::byte{7};
  EXPECT_EQ(other.data()[size - 1], std::byte{7});
  SharedMemory moved = std::move(other);
  made = SharedMemory::create(4096).value();  // what it had stays for the other
  EXPECT_EQ(moved.data()[size - 1], std::byte{7});
}

TEST(SharedMemory, TooMuchIsAnErrorAndNoSignal) {
  const auto all = SharedMemory::create(std::numeric_limits<std::int64_t>::max() / 2);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::insufficient) << all.error().text();
}

// The limit is the process's for good, so a child has it.
TEST(SharedMemory, TheLimitOfFileSizesIsAnErrorAndNoSignal) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{size, size};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const bool at_the_limit = SharedMemory::create(size).ok();
    const auto past_it = SharedMemory::create(size + 1);
    ::_exit(at_the_limit && !past_it && past_it.error().code == ErrorCode::insufficient ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(AvailableMemory, IsSomeAndNotMoreThanThereIs) {
  const std::int64_t available = available_memory_bytes();
  EXPECT_GT(available, 1 << 20);
  EXPECT_LE(available, std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace weir::storage
