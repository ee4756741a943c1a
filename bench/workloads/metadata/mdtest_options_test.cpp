#include "workloads/metadata/mdtest_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/table.hpp"

namespace weir::bench::metadata {
namespace {

using Words = std::vector<std::string>;

Words translated(Words words) {
  words.insert(words.begin(), "--mdtest-compat");
  auto result = translate_mdtest(words);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? result.value() : Words{};
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string refusal(Words words) {
  words.insert(words.begin(), "--mdtest-compat");
  const auto result = translate_mdtest(words);
  return result ? "" : result.error().message;
}

TEST(MdtestOptions, WithoutTheFlagNothingIsTouched) {
  const Words words{"-n", "5", "--items", "3"};
  EXPECT_EQ(translate_mdtest(words).value(), words);
}

TEST(MdtestOptions, ValuesAttachedOrApartAndBundledLetters) {
  const Words words = translated({"-n", "100", "-z=2", "-b10", "-LuR42", "-i", "3", "-w", "3901"});
  for (const char* word : {"--items=100", "--depth=2", "--branching=10", "--leaf-only",
                           "--sharing=per-rank", "--order=random", "--seed=42", "--repetitions=3",
                           "--max-repetitions=3", "--warmups=0", "--bytes=3901"}) {
    EXPECT_TRUE(has(words, word)) << word;
  }
}

TEST(MdtestOptions, WithoutPhasesAllAreDoneAndNothingIsKept) {
  const Words words = translated({"-n", "1"});
  EXPECT_TRUE(has(words,
                  "--actions=tree-create,mkdir,directory-stat,rmdir,create,stat,read,unlink,"
                  "tree-remove"));
  EXPECT_FALSE(has(words, "--keep"));
  EXPECT_FALSE(has(words, "--existing"));
}

TEST(MdtestOptions, PhasesOneByOneKeepAndFind) {
  const Words create = translated({"-C", "-F", "-n", "1"});
  EXPECT_TRUE(has(create, "--actions=tree-create,create"));
  EXPECT_TRUE(has(create, "--keep"));
  const Words stat = translated({"-T", "-D", "-n", "1"});
  EXPECT_TRUE(has(stat, "--actions=directory-stat"));
  EXPECT_TRUE(has(stat, "--keep") && has(stat, "--existing"));
  const Words remove = translated({"-r", "-F", "-n", "1"});
  EXPECT_TRUE(has(remove, "--actions=unlink,tree-remove"));
  EXPECT_TRUE(has(remove, "--existing") && !has(remove, "--keep"));
}

TEST(MdtestOptions, WhatTheyBecomeIsUnderstood) {
  const auto resolved = resolve_settings("", "", declarations(),
                                         translated({"-n", "10", "-F", "-u", "-e", "4k", "-N", "2",
                                                     "-Y", "-y", "-P", "--prefix", "x"}),
                                         [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(resolved) << resolved.error().message;
  const auto options = options_of(resolved.value().settings);
  ASSERT_TRUE(options);
  EXPECT_EQ(options.value().read_bytes, 4096);
  EXPECT_TRUE(options.value().mdtest.rates && options.value().mdtest.times);
  EXPECT_TRUE(options.value().shift_given && options.value().sync_phases);
  EXPECT_FALSE(options.value().kinds.directories);
  EXPECT_EQ(options.value().prefix, "x");
}

TEST(MdtestOptions, NothingIsReadUnlessAskedFor) {
  EXPECT_TRUE(has(translated({"-n", "1", "-w", "4k"}), "--read-bytes=0"));
  EXPECT_FALSE(has(translated({"-n", "1", "-w", "4k", "-e", "4k"}), "--read-bytes=0"));
  const Words own = translated({"-n", "1", "--read-bytes=7"});
  EXPECT_LT(std::find(own.begin(), own.end(), "--read-bytes=0"),
            std::find(own.begin(), own.end(), "--read-bytes=7"));
}

TEST(MdtestOptions, ATotalStandsForItems) {
  for (const Words& words : {Words{"--total", "12", "-F"}, Words{"--total=12", "-F"}}) {
    const auto resolved = resolve_settings("", "", declarations(), translated(words),
                                           [](const std::string&) { return std::nullopt; });
    ASSERT_TRUE(resolved) << resolved.error().message;
    const auto variants = variants_of(resolved.value().settings, 3);
    ASSERT_TRUE(variants) << variants.error().message;
    EXPECT_EQ(variants.value().front().shape.all_items(), 12);
  }
  EXPECT_TRUE(has(translated({"-F"}), "--items=0"));
}

TEST(MdtestOptions, LinesOfIo500AreServed) {
  const Words easy{"-n=1000000",  "-u",
                   "-L",          "-F",
                   "-P",          "-G=1186275200",
                   "-N",          "1",
                   "-d=out/easy", "-x=out/easy.stonewall",
                   "-C",          "-Y",
                   "-W",          "300",
                   "-a=POSIX"};
  const Words words = translated(easy);
  for (const char* word : {"--items=1000000", "--stonewall=300", "--seed=1186275200",
                           "--stonewall-file=out/easy.stonewall", "--make-directory", "--keep"}) {
    EXPECT_TRUE(has(words, word)) << word;
  }
  const auto resolved = resolve_settings("", "", declarations(), words,
                                         [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(resolved) << resolved.error().message;
  const auto options = options_of(resolved.value().settings);
  const auto variants = variants_of(resolved.value().settings, 2);
  ASSERT_TRUE(options && variants);
  const auto core = core_settings_of(resolved.value().settings);
  ASSERT_TRUE(core);
  EXPECT_TRUE(check_combination(options.value(), core.value(), variants.value()));
  EXPECT_EQ(options.value().stonewall_seconds, 300);
  const Words hard =
      translated({"-n=100", "-t", "-w", "3901", "-e", "3901", "-P", "-G=7", "-N", "1", "-F", "-d",
                  "out/hard", "-x", "s", "-X", "-E", "-a", "POSIX"});
  EXPECT_TRUE(has(hard, "--existing") && !has(hard, "--make-directory"));
  EXPECT_TRUE(has(translated({"-n", "1", "-R9", "-G", "7"}), "--seed=9"));
}

TEST(MdtestOptions, AStonewallIsOfOneKindOfItems) {
  const auto told = [](Words words) {
    const auto resolved = resolve_settings("", "", declarations(), translated(std::move(words)),
                                           [](const std::string&) { return std::nullopt; });
    const auto& settings = resolved.value().settings;
    return check_combination(options_of(settings).value(), core_settings_of(settings).value(),
                             variants_of(settings, 2).value());
  };
  EXPECT_TRUE(told({"-n", "5", "-W", "3", "-F"}));
  EXPECT_TRUE(told({"-n", "5", "-W", "3", "-D"}));
  EXPECT_FALSE(told({"-n", "5", "-W", "3"}));
  EXPECT_FALSE(told({"-n", "5", "-W", "3", "-F", "-T"}));
  EXPECT_FALSE(told({"-n", "5", "-W", "3", "-F", "-c"}));
  EXPECT_FALSE(told({"-n", "5", "-W", "3", "-F", "--api", "io_uring"}));
  EXPECT_FALSE(told({"-F", "-W", "3", "--total", "7"}));
}

TEST(MdtestOptions, WithoutTheFlagItsLettersAreRefusedByName) {
  const Words line{"--directory", "/tmp", "-z", "2"};
  const Status refused = refuse_letters(line);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("unknown option -z"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--mdtest-compat"), std::string::npos);
  EXPECT_TRUE(refuse_letters(Words{"-h"}));
  EXPECT_TRUE(refuse_letters(Words{"--items", "3", "--depth=2"}));
}

TEST(MdtestOptions, WhatIsNotDoneIsRefusedByName) {
  EXPECT_NE(refusal({"-k"}).find("-k is not supported"), std::string::npos);
  EXPECT_NE(refusal({"-a", "HDFS"}).find("-a HDFS"), std::string::npos);
  EXPECT_NE(refusal({"-d", "/a@/b"}).find("-d"), std::string::npos);
  EXPECT_NE(refusal({"-j"}).find("no option -j"), std::string::npos);
  EXPECT_NE(refusal({"-n"}).find("-n needs a value"), std::string::npos);
  EXPECT_NE(refusal({"100"}).find("'100'"), std::string::npos);
}

TEST(MdtestTable, HasItsLinesAndFigures) {
  ActionHistory create{.measured = {.action = Action::create}, .operations = 10};
  create.rates.add(std::array{100.0, 110.0, 120.0});
  create.rates.add(std::array{300.0, 310.0, 320.0});
  for (const double seconds : {0.1, 0.05}) create.barrier_seconds.add(seconds);
  const std::string text = mdtest_table(
      {.ranks = 2, .items = 10, .files = true, .directories = false}, {create}, true, true);
  EXPECT_NE(text.find("SUMMARY rate: (of 2 iterations)\n"
                      "   Operation                      Max            Min           Mean        "
                      "Std Dev\n"),
            std::string::npos);
  EXPECT_NE(text.find("   File creation     :        300.000        100.000        200.000        "
                      "100.000\n"),
            std::string::npos);
  EXPECT_NE(text.find("SUMMARY time:"), std::string::npos);
  EXPECT_NE(text.find("   Tree removal      :          0.000"), std::string::npos);
  EXPECT_EQ(text.find("Directory creation"), std::string::npos);
}

}  // namespace
}  // namespace weir::bench::metadata
