// What a step costs does not grow with the number of steps: the process that adds one makes as many
// calls for it, and moves about as many bytes, however many steps the file has.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "formats/format.hpp"
#include "formats/header_update.hpp"
#include "formats/test_description.hpp"
#include "formats/test_steps.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

struct Cost {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
};

// The calls by which this thread has read and written, and their bytes.
Cost cost_so_far() {
  Cost cost;
  std::ifstream file("/proc/thread-self/io");
  std::int64_t value = 0;
  for (std::string name; file >> name >> value;) {
    if (name == "rchar:" || name == "wchar:") cost.bytes += value;
    if (name == "syscr:" || name == "syscw:") cost.calls += value;
  }
  return cost;
}

class CostOfAStep : public testing::TestWithParam<StepsOfFormat> {};

TEST_P(CostOfAStep, DoesNotGrowWithTheNumberOfSteps) {
  if (cost_so_far().calls == 0) GTEST_SKIP() << "this kernel does not count calls";
  // A step is longer than what is read of a file's header at once.
  ArrayDescription one{.name = "a", .shape = shape_of({1, 1 << 14}), .grows = true};
  one.codecs = GetParam().pipeline();
  if (!one.codecs.empty()) one.chunk_extents = array::Indices{1, 1 << 10};
  const Format& format = *GetParam().format;
  const TestFolder folder;
  const std::string path = folder.path("a");
  auto room = format.lay_out({.arrays = {one}}, path);
  ASSERT_TRUE(room.ok()) << room.error().text();
  constexpr std::int64_t compared = 8;
  constexpr std::int64_t last = 48;
  Cost first_steps;
  Cost last_steps;
  FileMap known;
  for (std::int64_t steps = 1; steps <= last; ++steps) {
    const Cost before = cost_so_far();
    if (steps > 1) room = format.make_room_behind(path, steps, known, steps - 1);
    ASSERT_TRUE(room.ok()) << room.error().text();
    ASSERT_TRUE(write_steps(format, path, room.value(), steps - 1).ok());
    ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
    known = room.value().map;
    const Cost after = cost_so_far();
    // Which steps get new blocks of an index varies, so several are added up. The first one is
    // laid out with the file.
    if (steps > 1 && steps <= 1 + compared) {
      first_steps.calls += after.calls - before.calls;
      first_steps.bytes += after.bytes - before.bytes;
    } else if (steps > last - compared) {
      last_steps.calls += after.calls - before.calls;
      last_steps.bytes += after.bytes - before.bytes;
    }
  }
  EXPECT_GT(first_steps.calls, 0);
  EXPECT_LE(last_steps.calls, first_steps.calls + first_steps.calls / 8);
  // The blocks of HDF5's index become longer as it grows. Steps that were all looked at again would
  // cost eight times as much at the end.
  EXPECT_LE(last_steps.bytes, 2 * first_steps.bytes);
}

INSTANTIATE_TEST_SUITE_P(Formats, CostOfAStep, testing::ValuesIn(formats_with_steps()),
                         [](const auto& tested) { return tested.param.name(); });

}  // namespace
}  // namespace weir::storage
