#include "measurement/cache_verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::bench {
namespace {

using testing::HasSubstr;

constexpr std::int64_t MiB = 1 << 20;
constexpr double GBs = 1e9;

struct Case {
  std::string name;
  CacheObservations seen;
  CacheVerdict verdict;
  std::size_t pieces_of_evidence;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class JudgeCache : public testing::TestWithParam<Case> {};

TEST_P(JudgeCache, DecidesByTheStrongestEvidence) {
  const CacheState state = judge_cache(GetParam().seen);
  EXPECT_STREQ(name_of(state.verdict), name_of(GetParam().verdict));
  EXPECT_EQ(state.evidence.size(), GetParam().pieces_of_evidence);
  for (const Evidence& evidence : state.evidence) {
    EXPECT_FALSE(evidence.text.empty());
    if (evidence.storage_fraction) {
      EXPECT_GE(*evidence.storage_fraction, 0.0);
      EXPECT_LE(*evidence.storage_fraction, 1.0);
    }
  }
}

CacheObservations read_of(std::int64_t bytes) {
  return {.direction = Direction::read, .bytes = bytes};
}
CacheObservations write_of(std::int64_t bytes) {
  return {.direction = Direction::write, .bytes = bytes};
}
CacheObservations with(CacheObservations seen, std::optional<double> resident,
                       std::optional<std::int64_t> device_bytes, std::optional<double> rate = {},
                       std::optional<double> memory_rate = {}) {
  seen.resident_fraction_before = resident;
  seen.device_bytes = device_bytes;
  seen.rate_bytes_per_second = rate;
  seen.memory_rate_bytes_per_second = memory_rate;
  return seen;
}
CacheObservations direct(CacheObservations seen) {
  seen.direct_io = true;
  return seen;
}
CacheObservations synced(CacheObservations seen) {
  seen.durable_sync = true;
  return seen;
}
CacheObservations on(std::string file_system, CacheObservations seen) {
  seen.file_system = std::move(file_system);
  return seen;
}

INSTANTIATE_TEST_SUITE_P(
    Table, JudgeCache,
    testing::Values(
        Case{"NothingSeenOfARead", read_of(MiB), CacheVerdict::unknown, 0},
        Case{"NothingSeenOfAWrite", write_of(MiB), CacheVerdict::unknown, 1},
        Case{"ReadOfResidentPages", with(read_of(MiB), 1.0, {}), CacheVerdict::memory, 1},
        Case{"ReadAfterDroppingPages", with(read_of(MiB), 0.0, {}), CacheVerdict::storage, 1},
        Case{"ReadOfAFewResidentPages", with(read_of(MiB), 0.05, {}), CacheVerdict::storage, 1},
        Case{"ReadOfHalfResidentPages", with(read_of(MiB), 0.5, {}), CacheVerdict::mixed, 1},
        Case{"ResidencyOutranksABusyDevice", with(read_of(MiB), 1.0, MiB), CacheVerdict::memory, 2},
        Case{"ResidencyOutranksAnIdleDevice", with(read_of(MiB), 0.0, 0), CacheVerdict::storage, 2},
        Case{"ResidencyOutranksTheRate", with(read_of(MiB), 0.0, {}, 9 * GBs, 10 * GBs),
             CacheVerdict::storage, 2},
        Case{"ResidencyAboveOneIsAllOfIt", with(read_of(MiB), 1.2, {}), CacheVerdict::memory, 1},
        Case{"DirectReadOfResidentPages", direct(with(read_of(MiB), 1.0, {})),
             CacheVerdict::storage, 2},
        Case{"DirectWrite", direct(write_of(MiB)), CacheVerdict::storage, 2},
        Case{"DirectReadAtMemoryRate", direct(with(read_of(MiB), {}, {}, 9 * GBs, 10 * GBs)),
             CacheVerdict::storage, 2},
        Case{"SyncedWrite", synced(write_of(MiB)), CacheVerdict::storage, 1},
        Case{"SyncedWriteThatTheDeviceDidNotSee", synced(with(write_of(MiB), {}, 0)),
             CacheVerdict::storage, 2},
        Case{"WriteThatTheDeviceSaw", with(write_of(MiB), {}, MiB), CacheVerdict::storage, 2},
        Case{"WriteThatTheDeviceDidNotSee", with(write_of(MiB), {}, MiB / 50), CacheVerdict::memory,
             2},
        Case{"WriteThatTheDeviceSawHalf", with(write_of(MiB), {}, MiB / 2), CacheVerdict::mixed, 2},
        Case{"ReadThatTheDeviceSaw", with(read_of(MiB), {}, MiB + MiB / 3), CacheVerdict::storage,
             1},
        Case{"CountersOutrankTheRate", with(read_of(MiB), {}, 0, 0.1 * GBs, 10 * GBs),
             CacheVerdict::memory, 2},
        Case{"CountersOfAStrangersDeviceTellNothing", with(read_of(MiB), {}, 5 * MiB),
             CacheVerdict::unknown, 1},
        Case{"ThenTheRateDecides", with(read_of(MiB), {}, 5 * MiB, 8 * GBs, 10 * GBs),
             CacheVerdict::memory, 2},
        Case{"RateLikeMemory", with(read_of(MiB), {}, {}, 6 * GBs, 10 * GBs), CacheVerdict::memory,
             1},
        Case{"RateUnlikeMemory", with(read_of(MiB), {}, {}, 0.5 * GBs, 10 * GBs),
             CacheVerdict::storage, 1},
        Case{"RateInBetween", with(read_of(MiB), {}, {}, 3 * GBs, 10 * GBs), CacheVerdict::unknown,
             1},
        Case{"RateWithoutAMemoryRate", with(read_of(MiB), {}, {}, 3 * GBs), CacheVerdict::unknown,
             0},
        Case{"NoBytesMakeNoRatio", with(read_of(0), {}, 0), CacheVerdict::unknown, 0},
        Case{"SyncedWriteToMemory", on("tmpfs", synced(write_of(MiB))), CacheVerdict::memory, 2},
        Case{"DirectReadOfMemory", on("ramfs", direct(read_of(MiB))), CacheVerdict::memory, 2},
        Case{"DirectReadOfALocalFileSystem", on("xfs", direct(read_of(MiB))), CacheVerdict::storage,
             1},
        Case{"DirectReadPastAnUnknownCache", on("zfs", direct(read_of(MiB))), CacheVerdict::unknown,
             1},
        Case{"PagesAreNotWhereAFileSystemKeepsItsOwn", on("gpfs", with(read_of(MiB), 0.0, {})),
             CacheVerdict::unknown, 1},
        Case{"ResidentPagesAreMemoryAllTheSame", on("fuse", with(read_of(MiB), 1.0, {})),
             CacheVerdict::memory, 1},
        Case{"CountersTellWhatPagesDoNot", on("zfs", with(read_of(MiB), 0.0, 0)),
             CacheVerdict::memory, 2},
        Case{"SyncedWriteWhereAFileSystemHasItsCache", on("gpfs", synced(write_of(MiB))),
             CacheVerdict::storage, 1}),
    [](const testing::TestParamInfo<Case>& one) { return one.param.name; });

TEST(JudgeCacheText, WeakerEvidenceThatDisagreesSaysWhatOutranksIt) {
  const CacheState state = judge_cache(with(read_of(MiB), 0.0, 0, 9 * GBs, 10 * GBs));
  ASSERT_EQ(state.evidence.size(), 3U);
  EXPECT_EQ(state.evidence[0].text, "0 % of the pages were in the page cache before reading");
  EXPECT_EQ(state.evidence[1].text,
            "the block device read 0 % of the requested bytes (overruled by page_residency)");
  EXPECT_EQ(state.evidence[2].text,
            "the rate is 90 % of the rate of a memory copy (overruled by page_residency)");
}

TEST(JudgeCacheText, EvidenceThatAgreesIsNotOutranked) {
  const CacheState state = judge_cache(synced(with(write_of(MiB), {}, MiB)));
  ASSERT_EQ(state.evidence.size(), 2U);
  EXPECT_THAT(state.evidence[1].text, testing::Not(HasSubstr("overruled")));
}

TEST(JudgeCacheJson, IsACacheStateOfRunJson) {
  EXPECT_EQ(to_json(judge_cache(write_of(MiB))),
            nlohmann::json::parse(R"({"verdict": "unknown", "evidence": [
              {"kind": "durable_sync", "storage_fraction": null,
               "text": "the time includes no durable sync: the bytes may still be in the page cache"}]})"));
  EXPECT_EQ(to_json(judge_cache(direct(read_of(MiB)))),
            nlohmann::json::parse(R"({"verdict": "storage", "evidence": [
              {"kind": "direct_io", "storage_fraction": 1.0,
               "text": "O_DIRECT: the page cache was bypassed"}]})"));
}

}  // namespace
}  // namespace weir::bench
