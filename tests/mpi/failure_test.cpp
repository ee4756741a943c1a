#include "measurement/failure.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "measurement/job.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::bench {
namespace {

class Keeping : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(root_.path("run")); }

  // Keeps a run in progress, and returns what is then in its run.json.
  nlohmann::ordered_json kept() {
    FailureGuard guard(job_, root_.path(""), {"run"});
    const nlohmann::ordered_json run = {{"status", "running"}, {"repetitions", 3}};
    guard.keep("run", [&]() -> const nlohmann::ordered_json& { return run; });
    return nlohmann::ordered_json::parse(storage::text_of(root_.path("run/run.json")));
  }

  const storage::TestFolder root_;
  const Job job_ = Job::create(60);
};

TEST_F(Keeping, ReplacesTheRecord) {
  EXPECT_EQ(kept(), (nlohmann::ordered_json{{"status", "running"}, {"repetitions", 3}}));
}

// Another process may get a signal first, and mark the record that this one then replaces.
TEST_F(Keeping, DoesNotHideThatAnotherProcessHasFailed) {
  storage::write_text(root_.path("failure.json"),
                      R"({"message": "SIGTERM ended it", "status": "interrupted"})");
  const auto record = kept();
  EXPECT_EQ(record["status"], "interrupted");
  EXPECT_EQ(record["failure"]["message"], "SIGTERM ended it");
  EXPECT_EQ(record["repetitions"], 3);
}

TEST_F(Keeping, FailingLaterMarksTheRecordAsTheFirstProcessDid) {
  storage::write_text(root_.path("failure.json"),
                      R"({"message": "SIGTERM ended it", "status": "interrupted"})");
  storage::write_text(root_.path("run/run.json"), R"({"status": "running"})");
  FailureGuard guard(job_, root_.path(""), {"run"});
  guard.record("failed", Error(ErrorCode::peer, "a rank was lost"), "host");
  const auto record = nlohmann::ordered_json::parse(storage::text_of(root_.path("run/run.json")));
  EXPECT_EQ(record["status"], "interrupted");
}

}  // namespace
}  // namespace weir::bench
