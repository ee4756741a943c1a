#include "ranks/processor_set.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <cstring>

namespace weir::ranks {
namespace {

// A system of so many processors, of which this process may use the first, the last, and each
// third one.
ProcessorSet on_a_system_of(std::int64_t processors) {
  return ProcessorSet::filled_by([=](std::byte* mask, std::size_t bytes) {
    if (static_cast<std::int64_t>(8 * bytes) < processors) return EINVAL;
    for (std::int64_t i = 0; i < processors; ++i) {
      if (i % 3 == 0 || i == processors - 1) mask[i / 8] |= std::byte{1} << (i % 8);
    }
    return 0;
  });
}

std::int64_t usable_of(std::int64_t processors) {
  return (processors + 2) / 3 + ((processors - 1) % 3 == 0 ? 0 : 1);
}

TEST(ProcessorSet, CountsProcessorsOfSystemsOfAnySize) {
  for (const std::int64_t processors :
       {1, 2, 1023, 1024, 1025, 1026, 2048, 2049, 8192, 8193, 1 << 20}) {
    EXPECT_EQ(on_a_system_of(processors).count(), usable_of(processors)) << processors;
  }
}

TEST(ProcessorSet, IsEmptyBeyondItsLimitAndAfterOtherErrors) {
  EXPECT_EQ(on_a_system_of(ProcessorSet::most_processors + 1).count(), 0);
  int asked = 0;
  const ProcessorSet none = ProcessorSet::filled_by([&](std::byte* mask, std::size_t /*bytes*/) {
    ++asked;
    *mask = std::byte{1};
    return EPERM;
  });
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(asked, 1);
}

TEST(ProcessorSet, OfThisProcessIsWhatTheSystemSays) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) GTEST_SKIP() << "over 1024 processors";
  ProcessorSet set = ProcessorSet::of_this_process();
  EXPECT_EQ(set.count(), CPU_COUNT(&allowed));
  ASSERT_EQ(set.mask().size(), sizeof allowed);
  EXPECT_EQ(std::memcmp(set.mask().data(), &allowed, sizeof allowed), 0);
}

}  // namespace
}  // namespace weir::ranks
