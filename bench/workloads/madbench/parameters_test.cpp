#include "workloads/madbench/parameters.hpp"

#include <gtest/gtest.h>

#include <string>

#include "workloads/madbench/configuration.hpp"
#include "workloads/madbench/message_work.hpp"
#include "workloads/madbench/request.hpp"

namespace weir::bench::madbench {
namespace {

Size valid() {
  return {.no_pe = 4,
          .no_pix = 100,
          .no_bin = 8,
          .no_gang = 1,
          .sblocksize = 32,
          .fblocksize = 4096,
          .rmod = 1,
          .wmod = 1};
}

std::string complaint_about(const Size& size) {
  const Status status = validate(size);
  return status.ok() ? "" : status.error().message;
}

TEST(Parameters, AcceptsTheExampleOfTheUsageLine) { EXPECT_EQ(complaint_about(valid()), ""); }

TEST(Parameters, NamesTheBrokenRuleAndTheValues) {
  struct Case {
    std::int64_t Size::*member;
    std::int64_t value;
    const char* rule;
  };
  const Case cases[] = {
      {&Size::no_pe, 3, "number of ranks must be a square; given: 3 ranks, start 1 or 4"},
      {&Size::no_gang, 2, "NO_GANG must be a square; given: 2"},
      {&Size::no_gang, 9, "NO_GANG must divide the number of ranks; given: NO_GANG 9, 4 ranks"},
      {&Size::no_pix, 32, "at least the root of the ranks; given: 32/32 makes 1 blocks"},
      {&Size::fblocksize, 4097, "FBLOCKSIZE must be a multiple of 8; given: 4097"},
      {&Size::rmod, 3, "RMOD must divide the ranks of a gang; given: RMOD 3, 4 ranks"},
      {&Size::wmod, 8, "WMOD must divide the ranks of a gang; given: WMOD 8, 4 ranks"},
      {&Size::no_pix, 0, "NO_PIX must be at least 1; given: 0"},
      {&Size::no_bin, 0, "NO_BIN must be at least 1"},
      {&Size::no_pix, std::int64_t{1} << 40, "NO_PIX must be at most"},
      {&Size::wmod, 0, "WMOD must be at least 1"},
  };
  for (const Case& c : cases) {
    Size size = valid();
    size.*c.member = c.value;
    EXPECT_NE(complaint_about(size).find(c.rule), std::string::npos) << complaint_about(size);
  }
  Size gangs = valid();
  gangs.no_gang = 4;
  gangs.no_bin = 6;
  EXPECT_NE(complaint_about(gangs).find("NO_GANG must divide NO_BIN"), std::string::npos);
}

TEST(Parameters, TakesTheRootOfSquaresOnly) {
  EXPECT_EQ(exact_square_root(0), 0);
  EXPECT_EQ(exact_square_root(1), 1);
  EXPECT_EQ(exact_square_root(1024), 32);
  EXPECT_EQ(exact_square_root(1023), std::nullopt);
  EXPECT_EQ(exact_square_root(-4), std::nullopt);
  constexpr std::int64_t large = 3037000499;  // the root of the largest 63-bit square
  EXPECT_EQ(exact_square_root(large * large), large);
  EXPECT_EQ(exact_square_root(large * large - 1), std::nullopt);
}

// The memory matters only where NO_PIX asks for it (filling_test.cpp).
std::int64_t no_memory() { return 0; }

constexpr Program madbench_program = {"madbench", "madbench", "", false};

Result<ResolvedSettings> resolve(const std::vector<std::string>& arguments,
                                 const EnvironmentLookup& environment) {
  static const std::vector<Setting> all = declarations_of(madbench_program);
  return resolve_settings("madbench", "", all, arguments, environment);
}

TEST(Parameters, ReadsTheOriginalsCommandLineAndEnvironment) {
  const EnvironmentLookup environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "IOMETHOD") return "MPI";
    if (name == "IOMODE") return "ASYNC";
    if (name == "FILETYPE") return "SHARED";
    if (name == "BWEXP") return "1.25";
    return std::nullopt;
  };
  const auto resolved = resolve({"2000", "8", "1", "32", "4096", "1", "1"}, environment);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  const Settings& settings = resolved.value().settings;
  const auto size = size_of(settings, 4, no_memory);
  ASSERT_TRUE(size.ok()) << size.error().message;
  EXPECT_EQ(size.value().no_pix, 2000);
  EXPECT_EQ(size.value().fblocksize, 4096);
  const auto variants = combinations(settings, variant_table());
  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(label_of(variants[0]), "MPI SHARED ASYNC");
  EXPECT_EQ(slug_of(variants[0]), "mpi-shared-async");
  const auto request = request_of(madbench_program, settings, 4, no_memory);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value().alpha, 1.25);
  EXPECT_EQ(request.value().calculation, Calculation::busy_work);
}

TEST(Parameters, RefusesUnknownEnvironmentValuesByName) {
  const EnvironmentLookup environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "IOMETHOD") return "POSX";
    return std::nullopt;
  };
  const auto resolved = resolve({}, environment);
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.error().message,
            "environment variable IOMETHOD: 'POSX' is not a list of POSIX, IO_URING, MPI");
}

TEST(Parameters, SeveralValuesMakeEveryCombination) {
  const auto resolved = resolve(
      {"--iomethod", "POSIX,MPI", "--iomode=SYNC,ASYNC,NONE", "--filetype", "UNIQUE,SHARED"},
      [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  EXPECT_EQ(combinations(resolved.value().settings, variant_table()).size(), 12U);
}

TEST(Parameters, SeveralDirectoriesAreForUniqueFiles) {
  const auto request_for = [](const std::string& types) {
    const auto resolved = resolve(
        {"2000", "8", "1", "32", "4096", "1", "1", "--directory", "/a,/b", "--filetype", types},
        [](const std::string&) { return std::nullopt; });
    return request_of(madbench_program, resolved.value().settings, 4, no_memory);
  };
  const auto request = request_for("UNIQUE");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value().core.directory, "/a");
  EXPECT_EQ(request.value().core.further_directories, (std::vector<std::string>{"/b"}));
  Configuration configuration;
  configuration.slug = "x";
  configuration.directories = {"/a", "/b"};
  EXPECT_EQ(configuration.file_of(0), "/a/weir-x-0");
  EXPECT_EQ(configuration.file_of(3), "/b/weir-x-3");
  const auto refused = request_for("UNIQUE,SHARED");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("with FILETYPE = SHARED there is one file"),
            std::string::npos);
}

Result<Request> request_with_messages(const std::vector<std::string>& options,
                                      const std::string& gangs = "1") {
  std::vector<std::string> arguments = {"2000", "8", gangs, "32", "4096", "1", "1", "--messages"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const auto resolved = resolve(arguments, [](const std::string&) { return std::nullopt; });
  if (!resolved) return resolved.error();
  return request_of(madbench_program, resolved.value().settings, 4, no_memory);
}

TEST(Parameters, MessagesAreInPlaceOfBusyWork) {
  const auto request = request_with_messages({"1t"});
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value().calculation, Calculation::messages);
  EXPECT_EQ(request.value().messages, most_message_bytes);
  EXPECT_TRUE(request_with_messages({"8"}).ok());
}

TEST(Parameters, MessagesThatCannotBeAreRefused) {
  const auto refusal = [](const std::vector<std::string>& options, const std::string& gangs = "1") {
    const auto request = request_with_messages(options, gangs);
    return request ? std::string() : request.error().message;
  };
  EXPECT_NE(refusal({"7"}), "");
  EXPECT_NE(refusal({"1025g"}), "");
  EXPECT_NE(refusal({"12"}).find("must be a multiple of 8; given: 12"), std::string::npos);
  EXPECT_NE(refusal({"1m", "--busy-work-exponent", "1"}).find("leave out BWEXP"),
            std::string::npos);
  EXPECT_NE(refusal({"1m", "--full"}).find("leave out --full"), std::string::npos);
  EXPECT_NE(refusal({"1m"}, "4").find("4 ranks in 4 gangs"), std::string::npos);
}

TEST(Parameters, SaysWhichPositionalIsMissing) {
  const auto resolved = resolve({"2000", "8"}, [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(resolved.ok());
  const auto size = size_of(resolved.value().settings, 4, no_memory);
  ASSERT_FALSE(size.ok());
  EXPECT_NE(size.error().message.find("NO_GANG (--gangs) is missing"), std::string::npos);
}

}  // namespace
}  // namespace weir::bench::madbench
