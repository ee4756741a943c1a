#include "common/settings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/setting_fields.hpp"

namespace weir {
namespace {

std::vector<Setting> declarations() {
  using Kind = SettingKind;
  return {
      {.name = "count",
       .kind = Kind::integer,
       .default_value = "3",
       .metavar = "N",
       .help = "how many"},
      {.name = "chunk-size", .kind = Kind::bytes, .default_value = "4k", .metavar = "SIZE"},
      {.name = "method",
       .kind = Kind::choices,
       .default_value = "A",
       .choices = {"A", "B"},
       .alias = "METHOD"},
      {.name = "verify", .kind = Kind::flag, .default_value = "true"},
      {.name = "no-fill", .kind = Kind::flag, .default_value = "true"},
      {.name = "limit", .kind = Kind::real},
      {.name = "pixels", .kind = Kind::integer, .position = "NO_PIX"},
  };
}

EnvironmentLookup environment(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Result<ResolvedSettings> resolve(const std::vector<std::string>& arguments,
                                 std::map<std::string, std::string> variables = {}) {
  const auto all = declarations();
  return resolve_settings("program", "description", all, arguments,
                          environment(std::move(variables)));
}

std::string complaint(const std::vector<std::string>& arguments,
                      std::map<std::string, std::string> variables = {}) {
  const auto resolved = resolve(arguments, std::move(variables));
  return resolved ? "" : resolved.error().message;
}

// A settings file that goes away with the test.
class SettingsFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string write(const std::string& text) {
    path_ =
        std::filesystem::temp_directory_path() / ("settings-" + std::to_string(getpid()) + ".toml");
    std::ofstream(path_) << text;
    return path_.string();
  }

 private:
  std::filesystem::path path_;
};

TEST(SettingsTest, DefaultsHaveTheirOrigin) {
  const auto resolved = resolve({});
  ASSERT_TRUE(resolved.ok());
  const Settings& settings = resolved.value().settings;
  EXPECT_EQ(settings.integer("count"), 3);
  EXPECT_EQ(settings.integer("chunk-size"), 4096);
  EXPECT_TRUE(settings.flag("verify"));
  EXPECT_FALSE(settings.has("limit"));
  EXPECT_EQ(settings.values().at("count").origin, SettingOrigin::default_value);
}

TEST_F(SettingsFile, CommandLineBeatsEnvironmentBeatsFileBeatsDefault) {
  const std::string file =
      write("count = 4\nchunk-size = 8192\nmethod = ['A', 'B']\nverify = false\n");
  const std::map<std::string, std::string> variables{
      {"WEIR_SETTINGS", file}, {"WEIR_COUNT", "5"}, {"WEIR_CHUNK_SIZE", "1m"}};
  const auto resolved = resolve({"--count", "6"}, variables);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  const Settings& settings = resolved.value().settings;
  EXPECT_EQ(settings.integer("count"), 6);
  EXPECT_EQ(settings.values().at("count").origin, SettingOrigin::command_line);
  EXPECT_EQ(settings.integer("chunk-size"), 1 << 20);
  EXPECT_EQ(settings.values().at("chunk-size").origin, SettingOrigin::environment);
  EXPECT_EQ(settings.list("method"), (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(settings.values().at("method").origin, SettingOrigin::file);
  EXPECT_FALSE(settings.flag("verify"));
}

TEST_F(SettingsFile, SaysWhatIsWrongInAFile) {
  EXPECT_NE(complaint({"--settings", write("cuont = 4\n")}).find("unknown setting 'cuont'"),
            std::string::npos);
  EXPECT_NE(complaint({"--settings", write("count = \"many\"\n")})
                .find("count: 'many' is not a whole number"),
            std::string::npos);
  EXPECT_NE(complaint({"--settings", write("count = = 3\n")}).find("line 1"), std::string::npos);
  EXPECT_EQ(complaint({"--settings", "/nowhere/there.toml"}),
            "settings file /nowhere/there.toml cannot be opened: check its path, and that you may "
            "read it");
}

TEST(SettingsTest, WeirsNameOfAVariableComesBeforeTheAlias) {
  const auto resolved = resolve({}, {{"WEIR_METHOD", "B"}, {"METHOD", "A"}});
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved.value().settings.text("method"), "B");
}

TEST(SettingsTest, PositionalsAreOptionsToo) {
  EXPECT_EQ(resolve({"2000"}).value().settings.integer("pixels"), 2000);
  EXPECT_EQ(resolve({"--pixels", "2000"}).value().settings.integer("pixels"), 2000);
  EXPECT_EQ(complaint({"abc"}), "NO_PIX (--pixels): 'abc' is not a whole number from 0 to 2^63-1");
}

TEST(SettingsTest, RefusesWhatIsNoNumberNegativeOrTooLarge) {
  EXPECT_NE(complaint({"--count", "12x"}), "");
  EXPECT_NE(complaint({"--count", ""}), "");
  EXPECT_NE(complaint({"-5"}).find("'-5' is negative"), std::string::npos);
  EXPECT_NE(complaint({"--count=-5"}), "");
  EXPECT_NE(complaint({"--count", "9223372036854775808"}), "");
  EXPECT_EQ(complaint({"--count", "9223372036854775807"}), "");
  EXPECT_NE(complaint({"--limit", "nan"}), "");
  EXPECT_NE(complaint({"--limit", "inf"}), "");
  EXPECT_NE(complaint({"--method", "A,C"}), "");
  EXPECT_NE(complaint({"--method", ""}), "");
  EXPECT_NE(complaint({"--cuont", "1"}).find("--cuont"), std::string::npos);
}

TEST(SettingsTest, FlagsHaveANegation) {
  EXPECT_FALSE(resolve({"--no-verify"}).value().settings.flag("verify"));
  EXPECT_TRUE(resolve({"--verify"}, {{"WEIR_VERIFY", "no"}}).value().settings.flag("verify"));
  EXPECT_FALSE(resolve({}, {{"WEIR_VERIFY", "no"}}).value().settings.flag("verify"));
}

TEST(SettingsTest, AFlagThatSaysNoIsSwitchedOffWithoutIt) {
  EXPECT_FALSE(resolve({"--fill"}).value().settings.flag("no-fill"));
  EXPECT_TRUE(resolve({"--no-fill"}, {{"WEIR_NO_FILL", "no"}}).value().settings.flag("no-fill"));
  EXPECT_EQ(resolve({"--help"}).value().help->find("no-no-"), std::string::npos);
}

TEST(SettingsTest, HelpShowsAFlagWithItsNegation) {
  const std::string help = resolve({"--help"}).value().help.value();
  EXPECT_NE(help.find("\n  --[no-]verify "), std::string::npos) << help;
  EXPECT_NE(help.find("--no-fill,--fill "), std::string::npos) << help;
  EXPECT_EQ(help.find("{false}"), std::string::npos) << help;
}

TEST(SettingsTest, HelpIsBrokenAt100Columns) {
  std::string words;
  for (int word = 0; word < 24; ++word) words += "word ";  // 14 of them fit behind 30 columns
  const Setting setting{.name = "n", .kind = SettingKind::integer, .metavar = "N", .help = words};
  const auto resolved =
      resolve_settings("test", "Tests.", std::span(&setting, 1), std::vector<std::string>{"--help"},
                       [](const std::string&) { return std::nullopt; });
  const std::string& help = resolved.value().help.value();
  std::istringstream lines(help);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  EXPECT_EQ(longest, 99U) << help;
  EXPECT_NE(help.find("\n" + std::string(30, ' ') + "word word"), std::string::npos) << help;
}

TEST(SettingsTest, HelpListsEverySetting) {
  const auto resolved = resolve({"--help"});
  ASSERT_TRUE(resolved.ok());
  ASSERT_TRUE(resolved.value().help.has_value());
  for (const Setting& setting : declarations()) {
    EXPECT_NE(resolved.value().help->find(setting.name), std::string::npos) << setting.name;
  }
}

TEST(ParseBytes, TakesSuffixesOfPowersOf1024) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("64k"), 65536);
  EXPECT_EQ(parse_bytes("64KiB"), 65536);
  EXPECT_EQ(parse_bytes("1g"), std::int64_t{1} << 30);
  EXPECT_EQ(parse_bytes("2T"), std::int64_t{2} << 40);
  EXPECT_EQ(parse_bytes("8388608t"), std::nullopt);  // 2^63
  for (const char* wrong : {"", "k", "-1", "1.5k", "1kk", "1x", "1 k"}) {
    EXPECT_EQ(parse_bytes(wrong), std::nullopt) << wrong;
  }
}

TEST(Settings, ShortNamesAreBundledAndListsOfSizesAreRead) {
  const std::vector<Setting> all = {
      {.name = "write", .kind = SettingKind::flag, .default_value = "false", .letter = "w"},
      {.name = "read", .kind = SettingKind::flag, .default_value = "false", .letter = "r"},
      {.name = "block", .kind = SettingKind::sizes, .default_value = "1m", .letter = "b"}};
  const std::vector<std::string> given{"-wr", "-b", "4k,2m"};
  const auto resolved = resolve_settings("test", "", all, given, environment({}));
  ASSERT_TRUE(resolved);
  EXPECT_TRUE(resolved.value().settings.flag("write"));
  EXPECT_TRUE(resolved.value().settings.flag("read"));
  EXPECT_EQ(resolved.value().settings.sizes("block"), (std::vector<std::int64_t>{4096, 2 << 20}));
  const std::vector<std::string> wrong{"-b", "4k,,1"};
  const auto refused = resolve_settings("test", "", all, wrong, environment({}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("is not a list of numbers or sizes"), std::string::npos);
}

TEST(Settings, RangesOfSizesAreWrittenOut) {
  const std::vector<Setting> all = {
      {.name = "block", .kind = SettingKind::sizes, .range = {1, 1 << 20}}};
  const auto resolved = [&](const std::string& text) {
    const std::vector<std::string> given{"--block", text};
    return resolve_settings("test", "", all, given, environment({}));
  };
  const auto list = resolved("2k:16k:*2,1:8:3,5");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list.value().settings.text("block"), "2048,4096,8192,16384,1,4,7,5");
  EXPECT_TRUE(resolved("1:1000:1"));
  EXPECT_TRUE(resolved("1m"));
  for (const char* wrong : {"1:1001:1", "8:4:*2", "1:8", "1:8:0", "1:8:*1", "0:8:*2", "1:8:2:2",
                            ":8:2", "1:8:*2k:", "512k:2m:*2", "2m"}) {
    EXPECT_FALSE(resolved(wrong)) << wrong;
  }
}

TEST(Settings, ChoicesAreTakenInUpperOrLowerCase) {
  const auto resolved = resolve({"--method", "b,A"});
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(resolved.value().settings.text("method"), "B,A");
  EXPECT_NE(complaint({"--method", "c"}).find("is not a list of A, B"), std::string::npos);
}

enum class Colour { red, blue };

struct Fields {
  std::int64_t count = 7;
  std::int64_t bytes = 0;
  int small = 0;
  double share = 0;
  bool wanted = true;
  std::string name = {};
  Colour colour = Colour::red;
  std::optional<std::int64_t> limit = {};
  std::vector<std::string> parts = {};
};

Result<std::vector<std::string>> parts_of(const std::string& text) {
  if (text == "bad") return invalid_argument("is bad");
  return std::vector<std::string>{text, text};
}

std::vector<Word<Colour>> colours() { return {{"red", Colour::red}, {"blue", Colour::blue}}; }

FieldSettings<Fields> fields() {
  return {
      {&Fields::count, "count", "", {.range = {2, 5}}},
      {&Fields::bytes, "bytes", "", {.kind = SettingKind::bytes, .default_value = "4k"}},
      {[](Fields& all) -> int& { return all.small; }, "small", ""},
      {&Fields::share, "share", "", {.range = {.most = 1, .above_least = true}}},
      {&Fields::wanted, "wanted", ""},
      {&Fields::name, "name", ""},
      {&Fields::colour, colours(), "colour", ""},
      {&Fields::limit, "limit", ""},
      {&Fields::parts, parts_of, "parts", ""},
  };
}

FieldSettings<Fields> varied() {
  return varying<Fields>({{&Fields::colour, colours(), "colour", ""},
                          {&Fields::count, "count", "", {.range = {1, 9}, .recorded = "n"}}});
}

Result<Settings> given(const FieldSettings<Fields>& table,
                       const std::vector<std::string>& arguments) {
  auto resolved = resolve_settings("test", "", declarations_of(table), arguments, environment({}));
  if (!resolved) return resolved.error();
  return std::move(resolved).value().settings;
}

TEST(FieldSettings, FillFieldsByTheirTypes) {
  Fields all;
  fill(given(fields(), {"--count=5", "--bytes=2k", "--small=3", "--share=0.5", "--wanted",
                        "--name=x", "--colour=BLUE", "--limit=0", "--parts=p"})
           .value(),
       fields(), &all);
  EXPECT_EQ(all.count, 5);
  EXPECT_EQ(all.bytes, 2048);
  EXPECT_EQ(all.small, 3);
  EXPECT_EQ(all.share, 0.5);
  EXPECT_TRUE(all.wanted);
  EXPECT_EQ(all.name, "x");
  EXPECT_EQ(all.colour, Colour::blue);
  EXPECT_EQ(all.limit, 0);
  EXPECT_EQ(all.parts, (std::vector<std::string>{"p", "p"}));
}

TEST(FieldSettings, WithoutAValueLeaveTheirFields) {
  Fields all;
  fill(given(fields(), {}).value(), fields(), &all);
  EXPECT_EQ(all.count, 7);
  EXPECT_EQ(all.bytes, 4096);
  EXPECT_FALSE(all.wanted);  // a flag is off unless it is given
  EXPECT_EQ(all.limit, std::nullopt);
}

TEST(FieldSettings, AreRefusedBeyondTheirLimits) {
  const auto refusal = [](const std::string& argument) {
    const auto settings = given(fields(), {argument});
    return settings ? "" : settings.error().message;
  };
  for (const char* taken : {"--count=2", "--count=5", "--share=1", "--small=2147483647"}) {
    EXPECT_EQ(refusal(taken), "") << taken;
  }
  EXPECT_EQ(refusal("--count=1"), "--count must be between 2 and 5; given: 1");
  EXPECT_EQ(refusal("--count=6"), "--count must be between 2 and 5; given: 6");
  EXPECT_EQ(refusal("--share=0"), "--share must be above 0 and at most 1; given: 0");
  EXPECT_EQ(refusal("--share=1.01"), "--share must be above 0 and at most 1; given: 1.01");
  EXPECT_EQ(refusal("--small=2147483648"),
            "--small must be between 0 and 2147483647; given: 2147483648");
  EXPECT_EQ(refusal("--colour=green"), "--colour: 'green' is not one of red, blue");
  EXPECT_EQ(refusal("--parts=bad"), "--parts: 'bad' is bad");
}

TEST(FieldSettings, VaryInEveryCombination) {
  const Settings settings = given(varied(), {"--colour=blue,red", "--count=3,1"}).value();
  std::vector<std::pair<Colour, std::int64_t>> made;
  for (const Fields& one : combinations(settings, varied())) {
    made.emplace_back(one.colour, one.count);
  }
  EXPECT_EQ(made, (std::vector<std::pair<Colour, std::int64_t>>{
                      {Colour::blue, 3}, {Colour::blue, 1}, {Colour::red, 3}, {Colour::red, 1}}));
  const auto refused = given(varied(), {"--count=9,10"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "--count must be between 1 and 9; given: 9,10");
}

TEST(FieldSettings, WithoutAValueDoNotVary) {
  const auto made = combinations(given(varied(), {}).value(), varied(), Fields{.count = 4});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made.front().count, 4);
}

TEST(FieldSettings, ShowAndNameTheirValuesForResults) {
  const FieldSettings<Fields> table = varied();
  const Fields one{.count = 4, .colour = Colour::blue};
  EXPECT_EQ(table[0].show(one), "blue");
  EXPECT_EQ(table[1].show(one), "4");
  EXPECT_EQ(recorded_name(table[0].setting()), "colour");
  EXPECT_EQ(recorded_name(table[1].setting()), "n");
  EXPECT_EQ(recorded_name({.name = "first-target"}), "first_target");
}

}  // namespace
}  // namespace weir
