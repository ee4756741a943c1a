#include "workloads/metadata/metarates_options.hpp"

#include <gtest/gtest.h>

#include <array>

#include "workloads/metadata/table.hpp"

namespace weir::bench::metadata {
namespace {

using Words = std::vector<std::string>;

TEST(MetaratesOptions, AreThoseOfTheWorkload) {
  const auto translated = translate_metarates(
      Words{"--metarates-compat", "-d", "/scratch", "-n100", "-CU", "-S", "--seed", "5"});
  ASSERT_TRUE(translated) << translated.error().message;
  EXPECT_EQ(translated.value(),
            (Words{"--kind=files", "--warmups=0", "--repetitions=1", "--max-repetitions=1",
                   "--metarates-table", "--directory=/scratch", "--items=100",
                   "--actions=create,utime,stat", "--seed", "5"}));
  EXPECT_EQ(translate_metarates(Words{"-C", "x"}).value(), (Words{"-C", "x"}));
}

TEST(MetaratesOptions, AllKindsOfCallsAreMeasuredWhereNoneIsNamed) {
  EXPECT_EQ(translate_metarates(Words{"--metarates-compat"}).value().back(),
            "--actions=create,utime,stat");
}

TEST(MetaratesOptions, RefusesWhatIsNotTaken) {
  for (const char* wrong : {"-x", "-Cx", "stray", "-n"}) {
    EXPECT_FALSE(translate_metarates(Words{"--metarates-compat", wrong})) << wrong;
  }
}

TEST(MetaratesTable, HasALineForEachKindOfCall) {
  ActionHistory create{.measured = {.action = Action::create}, .operations = 200};
  create.rates.add(std::array{990.5, 1000.5, 1234.5});
  create.span_seconds.add(0.25);
  const std::string text =
      metarates_table({.path = "/p", .ranks = 2, .files_per_rank = 100}, {create});
  EXPECT_NE(text.find("2 tasks, 100 files each, in one directory below /p"), std::string::npos);
  EXPECT_NE(text.find("create/close"), std::string::npos);
  EXPECT_NE(text.find("1000.5"), std::string::npos);
  EXPECT_NE(text.find("1234.5"), std::string::npos);
  EXPECT_EQ(text.find("utime"), std::string::npos);
}

}  // namespace
}  // namespace weir::bench::metadata
