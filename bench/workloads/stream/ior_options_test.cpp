#include "workloads/stream/ior_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "workloads/stream/parameters.hpp"

namespace weir::bench::stream {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> translated(const std::vector<std::string>& arguments) {
  auto result = translate_ior(declarations(), arguments);
  if (!result) return {"refused: " + result.error().message};
  return std::move(result).value();
}

std::string refusal(const std::vector<std::string>& arguments) {
  auto result = translate_ior(declarations(), arguments);
  return result ? "accepted" : result.error().message;
}

Settings settings_of(const std::vector<std::string>& arguments) {
  const auto all = declarations();
  const auto words = translate_ior(all, arguments);
  EXPECT_TRUE(words) << (words ? "" : words.error().message);
  auto resolved =
      resolve_settings("test", "", all, words.value(), [](const auto&) { return std::nullopt; });
  EXPECT_TRUE(resolved) << (resolved ? "" : resolved.error().message);
  return std::move(resolved).value().settings;
}

TEST(IorOptions, TakesLettersBundledAndValuesAttachedOrApart) {
  EXPECT_THAT(translated({"-wrF"}), ElementsAre("--write", "--read", "--file-per-rank"));
  EXPECT_THAT(translated({"-b", "4m", "-t1m", "-s=16"}),
              ElementsAre("--block=4m", "--transfer=1m", "--segments=16"));
  EXPECT_THAT(translated({"-wb4m"}), ElementsAre("--write", "--block=4m"));
  EXPECT_THAT(translated({"-vvv"}), ElementsAre("--verbose", "--verbose", "--verbose"));
}

TEST(IorOptions, TakesDirectivesInAnyCase) {
  EXPECT_THAT(translated({"-O", "summaryFormat=json,stonewallingwearout=1"}),
              ElementsAre("--summary-format=JSON", "--wear-out"));
  EXPECT_THAT(translated({"-Oapi=ncmpi,collective=1,useo_direct=0"}),
              ElementsAre("--api=PNETCDF", "--collective", "--no-direct"));
  EXPECT_THAT(translated({"--posix.odirect", "--blockSize=2m", "--dataPacketType=timestamp"}),
              ElementsAre("--direct", "--block=2m"));
}

TEST(IorOptions, TranslatesWhatMeansSeveralSettings) {
  EXPECT_THAT(translated({"-i", "5"}),
              ElementsAre("--repetitions=5", "--max-repetitions=5", "--warmups=0"));
  EXPECT_THAT(translated({"-O", "repetitions=5"}), translated({"-i", "5"}));
  EXPECT_THAT(translated({"-T", "2"}), ElementsAre("--time-limit=120"));
  EXPECT_THAT(translated({"-e"}), ElementsAre("--sync=fsync"));
  EXPECT_THAT(translated({"-z"}), ElementsAre("--pattern=random"));
  EXPECT_THAT(translated({"-C", "-Q", "2"}), ElementsAre("--reorder=constant", "--task-offset=2"));
  EXPECT_THAT(translated({"-G", "42", "-M", "75%"}), ElementsAre("--seed=42", "--memory-hog=75%"));
}

bool runs_once(const std::vector<std::string>& arguments) {
  return runs_once_in_ior(declarations(), arguments);
}

TEST(IorOptions, ALineOfIorsRunsOnceUnlessItSaysHowOften) {
  EXPECT_TRUE(runs_once({"-w", "-r", "-t", "1m", "-b16m", "-o", "/tmp/f"}));
  EXPECT_TRUE(runs_once({"--blockSize=4m", "-O", "collective=1"}));
  EXPECT_TRUE(runs_once({"-wr", "--output", "here", "--expectation=e.json", "--progress", "json",
                         "--directory=d", "--seed=4", "--plan", "--ranks", "2"}));
  EXPECT_FALSE(runs_once({"-w", "-i", "5"}));
  EXPECT_FALSE(runs_once({"-w", "-O", "repetitions=5"}));
  EXPECT_FALSE(runs_once({"-w", "--repetitions", "5"}));
  EXPECT_FALSE(runs_once({"-w", "--drop-cache"}));
  EXPECT_FALSE(runs_once({"-w", "--no-verify"}));
  EXPECT_FALSE(runs_once({"-w", "--settings", "file"}));
  EXPECT_FALSE(runs_once({"--write", "--block=4m"}));
  EXPECT_FALSE(runs_once({"--directory", "d"}));
  EXPECT_FALSE(runs_once({}));
}

TEST(IorOptions, TakesReadableNamesUnchanged) {
  EXPECT_THAT(translated({"--block", "1m", "--no-verify", "--direct"}),
              ElementsAre("--block=1m", "--no-verify", "--direct"));
}

TEST(IorOptions, AcceptsCommandLinesOfItsDocumentation) {
  const Settings tutorial = settings_of({"-t", "1m", "-b", "16m", "-s", "16", "-F", "-C", "-e"});
  EXPECT_EQ(tutorial.sizes("block"), std::vector<std::int64_t>{16 << 20});
  EXPECT_EQ(tutorial.text("sync"), "fsync");
  EXPECT_EQ(tutorial.text("reorder"), "constant");
  const Settings random = settings_of({"--dataPacketType=timestamp",
                                       "-C",
                                       "-Q",
                                       "1",
                                       "-g",
                                       "-G=695406083",
                                       "-F",
                                       "-k",
                                       "-e",
                                       "-o",
                                       "/tmp/test",
                                       "-t",
                                       "4k",
                                       "-b",
                                       "4k",
                                       "-s",
                                       "262144",
                                       "-w",
                                       "-z",
                                       "-D",
                                       "300",
                                       "-T",
                                       "120",
                                       "-a",
                                       "POSIX"});
  EXPECT_EQ(random.text("pattern"), "random");
  EXPECT_EQ(random.integer("seed"), 695406083);
  EXPECT_EQ(random.real("stonewall"), 300);
  EXPECT_EQ(random.real("time-limit"), 7200);
}

TEST(IorOptions, RefusesByName) {
  EXPECT_THAT(refusal({"-y"}), HasSubstr("unknown option -y"));
  EXPECT_THAT(refusal({"-wy"}), HasSubstr("unknown option -y"));
  EXPECT_THAT(refusal({"--frobnicate"}), HasSubstr("unknown option --frobnicate"));
  EXPECT_THAT(refusal({"-O", "frob=1"}), HasSubstr("unknown option -O frob"));
  EXPECT_THAT(refusal({"-O", "collective"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refusal({"-f", "script"}),
              testing::AllOf(HasSubstr("-f (scriptFile in IOR)"), HasSubstr("weir campaign")));
  EXPECT_THAT(refusal({"-P"}), HasSubstr("interleaved"));
  EXPECT_THAT(refusal({"-O", "lustreStripeCount=4"}), HasSubstr("lfs setstripe"));
  EXPECT_THAT(refusal({"-b"}), HasSubstr("-b needs a value"));
  EXPECT_THAT(refusal({"-i", "many"}), HasSubstr("'many' is not a whole number"));
  EXPECT_THAT(refusal({"-l", "zeros"}), HasSubstr("'zeros' is not one of"));
  EXPECT_THAT(refusal({"file"}), HasSubstr("no option takes the value 'file'"));
  EXPECT_THAT(refusal({"-O", "filePerProc=maybe"}), HasSubstr("neither 0 nor 1"));
}

// No letter and no directive may stand for two things.
TEST(IorOptions, EveryLetterHasOneMeaning) {
  std::vector<std::string> letters{"i", "T", "e", "z", "C", "Z", "R", "l", "q",
                                   "g", "h", "O", "f", "H", "I", "P", "S", "x"};
  for (const Setting& setting : declarations()) {
    if (!setting.letter.empty()) letters.emplace_back(setting.letter);
  }
  std::sort(letters.begin(), letters.end());
  EXPECT_EQ(std::adjacent_find(letters.begin(), letters.end()), letters.end());
}

}  // namespace
}  // namespace weir::bench::stream
