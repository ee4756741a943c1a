#include "workloads/stream/plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::bench::stream {
namespace {

Variant variant() {
  Variant made;
  made.block_bytes = 1 << 20;
  made.transfer_bytes = 1 << 18;
  made.segments = 3;
  return made;
}

TEST(StreamPlan, CountsWhatIsMoved) {
  const auto plan = plan_json(variant(), Options{}, {}, 5);
  EXPECT_EQ(plan["files"], 1);
  EXPECT_EQ(plan["disk_bytes_total"], 5 * 3 << 20);
  ASSERT_EQ(plan["phases"].size(), 2U);
  for (const auto& phase : plan["phases"]) {
    EXPECT_EQ(phase["operations_per_rank"], 12);
    EXPECT_EQ(phase["bytes_per_operation"], 1 << 18);
    EXPECT_EQ(phase["bytes_total"], 5 * 3 << 20);
  }
  EXPECT_TRUE(plan["targets"].empty());
}

TEST(StreamPlan, DealsRanksToTargetsInTurn) {
  Variant own = variant();
  own.file_per_rank = true;
  Options options;
  options.read = false;
  const auto plan = plan_json(own, options, {{"/a", "f"}, {"/b", "f"}}, 5);
  ASSERT_EQ(plan["targets"].size(), 2U);
  EXPECT_EQ(plan["targets"][0]["ranks"], (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(plan["targets"][1]["ranks"], (std::vector<int>{1, 3}));
  EXPECT_EQ(plan["targets"][0]["bytes_total"], 3 * 3 << 20);
  EXPECT_EQ(plan["targets"][1]["files"], 2);
}

TEST(StreamPlan, MemoryIsBoundedWhateverTheNumberOfTransfers) {
  Variant many = variant();
  many.transfer_bytes = 8;
  many.segments = 1000;
  Options options;
  options.trace_events = 5000;
  EXPECT_LT(memory_bytes_per_rank(many, options, 1), std::int64_t{4} << 30);
  many.block_bytes = 8;
  many.segments = 1 << 30;
  EXPECT_LT(memory_bytes_per_rank(many, options, 1), std::int64_t{4} << 30);
}

TEST(StreamFiles, AreNamedAsIorNamesThem) {
  Variant own = variant();
  own.slug = "slug";
  Options options;
  const FileNames shared(options, own, {{"/a", "file"}}, "/job", "id");
  EXPECT_EQ(shared.path(3, 0), "/a/file");
  own.file_per_rank = true;
  const FileNames per_rank(options, own, {{"/a", "file"}, {"/b", ""}}, "/job", "id");
  EXPECT_EQ(per_rank.path(2, 0), "/a/file.00000002");
  EXPECT_EQ(per_rank.path(3, 0), "/b/weir-id-slug.00000003");
  options.multi_file = true;
  options.unique_directories = true;
  const FileNames apart(options, own, {{"/a", "file"}}, "/job", "id");
  EXPECT_EQ(apart.path(1, 7), "/a/weir-rank-00000001/file.00000001.7");
  const FileNames without(Options{}, own, {}, "/job", "id");
  EXPECT_EQ(without.path(1, 0), "/job/weir-slug.00000001");
}

}  // namespace
}  // namespace weir::bench::stream
