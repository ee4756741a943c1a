#include "workloads/probe/written_content.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::bench::probe {

bool operator==(const WrittenContent::Part& a, const WrittenContent::Part& b) {
  return a.begin == b.begin && a.end == b.end && a.generation == b.generation;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Part = WrittenContent::Part;

TEST(WrittenContent, IsNothingBeforeTheFirstWrite) {
  EXPECT_THAT(WrittenContent().parts(0, 100), IsEmpty());
}

TEST(WrittenContent, KeepsWhatAShorterWriteLeft) {
  WrittenContent content;
  content.wrote(100, 1);
  content.wrote(40, 2);
  EXPECT_THAT(content.parts(0, 200), ElementsAre(Part{0, 40, 2}, Part{40, 100, 1}));
  EXPECT_THAT(content.parts(30, 50), ElementsAre(Part{30, 40, 2}, Part{40, 50, 1}));
}

TEST(WrittenContent, ForgetsWhatALongerWriteCovered) {
  WrittenContent content;
  content.wrote(100, 1);
  content.wrote(40, 2);
  content.wrote(60, 3);
  EXPECT_THAT(content.parts(0, 100), ElementsAre(Part{0, 60, 3}, Part{60, 100, 1}));
  content.wrote(100, 4);
  EXPECT_THAT(content.parts(0, 100), ElementsAre(Part{0, 100, 4}));
}

}  // namespace
}  // namespace weir::bench::probe
