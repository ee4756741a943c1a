#include "capi/session_options.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

// Returns the path of docs/library.md.
extern "C" const char* weir_guide();

namespace weir::capi {
namespace {

TEST(SessionOptions, TheGuideHasTheTableThatTheDeclarationsMake) {
  std::ifstream file(weir_guide());
  const std::string guide((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(guide.find(session_settings_table()), std::string::npos)
      << "docs/library.md is to have this table:\n"
      << session_settings_table();
}

double deadline_of_opening(double passed, const std::string& told) {
  weir_session_options options = {};
  options.deadline_seconds = passed;
  const auto environment = [&](const std::string& name) {
    return name == "WEIR_DEADLINE" && !told.empty() ? std::optional(told) : std::nullopt;
  };
  return opening_deadline(&options, environment);
}

TEST(SessionOptions, TheOpeningWaitsAsLongAsThisRankIsTold) {
  EXPECT_EQ(deadline_of_opening(0, ""), 600);
  EXPECT_EQ(deadline_of_opening(0, "7.5"), 7.5);
  EXPECT_EQ(deadline_of_opening(3, "7.5"), 3);
  EXPECT_EQ(deadline_of_opening(0, "0"), 600);
  EXPECT_EQ(deadline_of_opening(0, "1e9"), 1e9);
  EXPECT_EQ(deadline_of_opening(0, "1.1e9"), 600);  // refused when it is read
  EXPECT_EQ(deadline_of_opening(0, "soon"), 600);
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  EXPECT_EQ(opening_deadline(nullptr, none), 600);
}

}  // namespace
}  // namespace weir::capi
