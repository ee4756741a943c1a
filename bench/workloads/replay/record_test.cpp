#include "workloads/replay/record.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::bench::replay {
namespace {

bool keep_all(std::int64_t /*rank*/) { return true; }

// Returns the record of one rank with these lines, which uses `files` files.
std::string record_of(const std::vector<std::string>& lines, int files = 3) {
  std::string text = "weir-record 1\ncommand\t./solver\n";
  for (int i = 0; i < files; ++i) text += fmt::format("file\t/scratch/{}\n", i);
  text += fmt::format("rank\t{}\t0\t0\t0-{}\n", lines.size(), files - 1);
  for (const std::string& line : lines) text += line + "\n";
  return text + fmt::format("end\t{}\t1\n", files);
}

std::vector<std::string> calls_of(const Record& record) {
  std::vector<std::string> calls;
  CallCursor cursor(record.ranks.at(0));
  for (ReplayedCall call; cursor.next(&call);) {
    calls.push_back(fmt::format("{} {} {} {} {}",
                                calls::call_kind_names.at(static_cast<std::size_t>(call.kind)),
                                call.file, call.offset, call.bytes, call.gap_ns));
  }
  return calls;
}

std::string refusal_of(const std::string& text) {
  const auto record = parse_record(text, keep_all);
  return record ? "accepted" : record.error().message;
}

std::string refusal_of_line(const std::string& line) { return refusal_of(record_of({line})); }

TEST(Record, LinesStandForAllTheirCalls) {
  const auto record = parse_record(
      record_of({"loop\t2\t4\t2", "open\t1\t0\t0\t3\t200\t0\t5\t0\t0\t0\t0\t0\t1", "loop\t2\t1\t1",
                 "write\t3\t0\t8\t10\t40\t16\t7\t100\t0\t1000\t0\t5\t1",
                 "close\t1\t0\t0\t0\t0\t0\t9\t0\t0\t0\t0\t0\t1"}),
      keep_all);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(calls_of(record.value()),
              testing::ElementsAre(
                  "open 0 0 3 100", "write 0 8 10 10", "write 0 108 10 2", "write 0 208 10 2",
                  "write 0 1008 10 10", "write 0 1108 10 2", "write 0 1208 10 2", "close 0 0 0 0",
                  "open 1 0 3 100", "write 1 13 10 10", "write 1 113 10 2", "write 1 213 10 2",
                  "write 1 1013 10 10", "write 1 1113 10 2", "write 1 1213 10 2", "close 1 0 0 0"));
  const RankSums& sums = record.value().sums.at(0);
  EXPECT_EQ(sums.calls, 16);
  EXPECT_EQ(sums.writes, 12);
  EXPECT_EQ(sums.bytes_written, 120);
  EXPECT_EQ(sums.gap_ns, 256);
  EXPECT_EQ(sums.call_ns, 21);
  EXPECT_EQ(sums.largest_bytes, 10);
  EXPECT_EQ(record.value().files.at(1).end, 1223);
  EXPECT_EQ(record.value().files.at(0).users, 1);
  EXPECT_EQ(record.value().files.at(2).users, 0);
}

TEST(Record, FilesOfRanksAreThoseOfTheRecord) {
  const std::string text =
      "weir-record 1\ncommand\tx\nfile\ta\nfile\tb\nfile\tc\n"
      "rank\t1\t2\t30\t2,0-1\nwrite\t3\t0\t0\t4\t0\t0\t0\t0\t1\n"
      "rank\t1\t0\t0\t1\nread\t1\t0\t0\t4\t0\t0\t0\n"
      "rank\t0\t0\t0\t-\nend\t3\t3\n";
  const auto record = parse_record(text, keep_all);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(calls_of(record.value()),
              testing::ElementsAre("write 2 0 4 0", "write 0 0 4 0", "write 1 0 4 0"));
  EXPECT_EQ(record.value().files.at(1).users, 2);
  EXPECT_EQ(record.value().files.at(2).users, 1);
  EXPECT_EQ(record.value().sums.at(0).missed_bytes, 30);
  const auto other = parse_record(text, [](std::int64_t rank) { return rank == 1; });
  EXPECT_TRUE(other.value().ranks.at(0).lines.empty());
  EXPECT_EQ(other.value().ranks.at(1).lines.size(), 1U);
}

TEST(Record, NumbersAreRefusedBeyondTheirLimits) {
  const auto write = [](std::int64_t count, std::int64_t file, std::int64_t offset,
                        std::int64_t bytes, const std::string& strides = "") {
    return refusal_of_line(
        fmt::format("write\t{}\t{}\t{}\t{}\t0\t0\t0{}", count, file, offset, bytes, strides));
  };
  EXPECT_EQ(write(1, 0, 0, most_call_bytes), "accepted");
  EXPECT_THAT(write(1, 0, 0, most_call_bytes + 1),
              testing::HasSubstr("it must be 1 to 2147479552"));
  EXPECT_THAT(write(1, 0, 0, 0), testing::HasSubstr("line 7: moves 0 bytes"));
  EXPECT_EQ(write(1, 0, most_file_bytes, 1), "accepted");
  EXPECT_THAT(write(1, 0, most_file_bytes + 1, 1), testing::HasSubstr("offset outside"));
  EXPECT_THAT(write(1, 0, -1, 1), testing::HasSubstr("offset outside"));
  EXPECT_THAT(write(3, 0, 10, 1, "\t-6\t0"), testing::HasSubstr("offset outside"));
  EXPECT_THAT(write(3, 0, 0, 1, "\t9223372036854775807\t0"), testing::HasSubstr("offset outside"));
  EXPECT_EQ(write(3, 2, 0, 1, "\t0\t-1"), "accepted");
  EXPECT_THAT(write(3, 1, 0, 1, "\t0\t-1"), testing::HasSubstr("outside the 3 of its rank"));
  EXPECT_THAT(write(1, 3, 0, 1), testing::HasSubstr("outside the 3 of its rank"));
  EXPECT_EQ(write(most_rank_calls, 0, 0, 1), "accepted");
  EXPECT_THAT(write(most_rank_calls + 1, 0, 0, 1),
              testing::HasSubstr("more than 4294967296 calls"));
  EXPECT_THAT(write(most_rank_calls, 0, 0, 1 << 29),
              testing::HasSubstr("ends ranks that move more"));
  EXPECT_THAT(write(0, 0, 0, 1), testing::HasSubstr("has 0 calls"));
}

// Returns the record of a rank with these shapes and lines, on one file.
std::string record_with_shapes(const std::vector<std::string>& shapes,
                               const std::vector<std::string>& lines) {
  std::string text = "weir-record 2\ncommand\tx\nfile\ta\n";
  for (const std::string& shape : shapes) text += fmt::format("shape\t{}\n", shape);
  text += fmt::format("rank\t{}\t0\t0\t0\n", lines.size());
  for (const std::string& line : lines) text += line + "\n";
  return text + "end\t1\t1\n";
}

TEST(Record, ShapesGiveTheBlocksOfACall) {
  const auto record = parse_record(
      record_with_shapes({"0\t2\t2\t2\t100\t3\t10", "0\t4\t0\t9\t1\t1\t2\t5"},
                         {"write_all\t2\t0\t1000\t12:0\t0\t0\t0\t50\t0",
                          "read\t1\t0\t7\t6:1\t0\t0\t0", "read_all\t1\t0\t0\t0\t0\t0\t0"}),
      keep_all);
  ASSERT_TRUE(record) << record.error().message;
  std::vector<std::string> blocks;
  CallCursor cursor(record.value().ranks.at(0));
  for (ReplayedCall call; cursor.next(&call);) {
    std::string all = calls::call_kind_names.at(static_cast<std::size_t>(call.kind));
    call.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
      all += fmt::format(" {}+{}", offset, bytes);
      return true;
    });
    blocks.push_back(all);
  }
  EXPECT_THAT(blocks, testing::ElementsAre("write_all 1000+2 1010+2 1020+2 1100+2 1110+2 1120+2",
                                           "write_all 1050+2 1060+2 1070+2 1150+2 1160+2 1170+2",
                                           "read 7+4 16+1 21+1", "read_all"));
  EXPECT_EQ(record.value().files.at(0).end, 1172);
  const RankSums& sums = record.value().sums.at(0);
  EXPECT_EQ(sums.bytes_written, 24);
  EXPECT_EQ(sums.bytes_read, 6);
  EXPECT_EQ(sums.blocks, 15);
}

TEST(Record, ShapesAreRefusedThatAreNoBytesOfTheirCall) {
  const auto refusal = [](const std::string& shape, const std::string& bytes = "4:0",
                          const std::string& kind = "write") {
    return refusal_of(
        record_with_shapes({shape}, {fmt::format("{}\t1\t0\t0\t{}\t0\t0\t0", kind, bytes)}));
  };
  const std::string pairs = "0\t2\t1\t2\t8";
  EXPECT_EQ(refusal(pairs), "accepted");
  EXPECT_EQ(refusal(pairs, "4"), "accepted");
  EXPECT_THAT(refusal(pairs, "5:0"), testing::HasSubstr("has 5 bytes, but its shape has 4"));
  EXPECT_THAT(refusal(pairs, "4:1"), testing::HasSubstr("outside the 1 of the record"));
  EXPECT_THAT(refusal(pairs, "4:-1"), testing::HasSubstr("outside the 1 of the record"));
  EXPECT_THAT(refusal(pairs, "4:"), testing::HasSubstr("outside the 1 of the record"));
  EXPECT_THAT(refusal(pairs, "4:0", "sync"), testing::HasSubstr("its shape has 4"));
  for (const char* const shape :
       {"", "0", "0\t2", "1\t2\t1\t2\t8", "-1\t2\t0", "0\t0\t0", "0\t-4\t0", "0\t2\t1\t2",
        "0\t2\t1\t1\t8", "0\t2\t1\t2\t1", "0\t2\t1\t2\t-8", "0\t2\t-1",
        "0\t2\t9\t2\t1\t2\t1\t2\t1\t2\t1\t2\t1\t2\t1\t2\t1\t2\t1\t2\t1",
        "0\t2\t1\t2\t4611686018427387904", "0\t2\t1\t9223372036854775807\t8", "0\t2\t0\t1\t2\t0",
        "0\t4\t0\t8"}) {
    EXPECT_THAT(refusal(shape), testing::HasSubstr("line 4: must have patterns")) << shape;
  }
  EXPECT_THAT(refusal(fmt::format("0\t2\t1\t2\t{}", most_file_bytes)),
              testing::HasSubstr("has 4 bytes up to"));
}

TEST(Record, ShapesAreRefusedBeyondTheirLimits) {
  const std::string none = "read_all\t1\t0\t0\t0\t0\t0\t0";
  const auto with = [&](const std::string& shape, std::int64_t times) {
    return refusal_of(record_with_shapes(
        std::vector<std::string>(static_cast<std::size_t>(times), shape), {none}));
  };
  EXPECT_EQ(with("0\t1\t0", most_record_shapes), "accepted");
  EXPECT_THAT(with("0\t1\t0", most_record_shapes + 1), testing::HasSubstr("more than 65536 sh"));
  std::string patterns = "0\t1\t0";
  for (int i = 1; i < 1 << 13; ++i) patterns += fmt::format("\t{}\t1\t0", i * 2);
  EXPECT_EQ(with(patterns, 32), "accepted");
  EXPECT_THAT(with(patterns, 33), testing::HasSubstr("more patterns than 262144"));
  const std::string block = fmt::format("0\t{}\t0", most_call_bytes);
  EXPECT_EQ(with(block, 1), "accepted");
  EXPECT_THAT(with(fmt::format("0\t{}\t0", most_call_bytes + 1), 1),
              testing::HasSubstr("must have patterns"));
  EXPECT_THAT(with(block + fmt::format("\t{}\t1\t0", most_call_bytes), 1),
              testing::HasSubstr("at most 2147479552"));
  const auto blocks = [&](std::int64_t calls) {
    return refusal_of(record_with_shapes({"0\t1\t1\t1024\t2"},
                                         {fmt::format("write\t{}\t0\t0\t1024:0\t0\t0\t0", calls)}));
  };
  EXPECT_EQ(blocks(most_rank_blocks / 1024), "accepted");
  EXPECT_THAT(blocks(most_rank_blocks / 1024 + 1), testing::HasSubstr("more than 16777216 blocks"));
}

TEST(Record, FilesOfARankAreItsOwnOnce) {
  const auto with_files = [](const std::string& spans, int files, int ranks = 1) {
    std::string text = "weir-record 1\ncommand\tx\n";
    for (int i = 0; i < files; ++i) text += "file\ta\n";
    for (int i = 0; i < ranks; ++i) text += fmt::format("rank\t0\t0\t0\t{}\n", spans);
    return text + fmt::format("end\t{}\t{}\n", files, ranks);
  };
  EXPECT_EQ(refusal_of(with_files("2,0-1", 3)), "accepted");
  EXPECT_THAT(refusal_of(with_files("2,0-2", 3)), testing::HasSubstr("line 6: has file 2 twice"));
  EXPECT_THAT(refusal_of(with_files("0-3", 3)), testing::HasSubstr("has the files 0 to 2"));
  // 1024 ranks have 65,536 files each: as many as a record may have, and none of them is kept.
  const auto keep_none = [](std::int64_t /*rank*/) { return false; };
  const auto most = parse_record(with_files("0-65535", 65536, 1024), keep_none);
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_EQ(most.value().ranks.back().files.capacity(), 0U);
  const auto more = parse_record(with_files("0-65535", 65536, 1025), keep_none);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, testing::HasSubstr("more than 67108864 files together"));
}

TEST(Record, LoopsAreRefusedThatDoNotFit) {
  const std::string call = "read\t1\t0\t0\t1\t0\t0\t0";
  EXPECT_EQ(refusal_of(record_of({"loop\t2\t1\t1", call})), "accepted");
  EXPECT_THAT(refusal_of(record_of({"loop\t2\t2\t1", call})),
              testing::HasSubstr("over 2 lines, of which 1 are there"));
  EXPECT_THAT(refusal_of(record_of({"loop\t2\t1\t4", call})), testing::HasSubstr("of level 4"));
  EXPECT_THAT(refusal_of(record_of({"loop\t2\t1\t0", call})), testing::HasSubstr("of level 0"));
  EXPECT_THAT(refusal_of(record_of({"loop\t2\t2\t1", "loop\t2\t1\t1", call})),
              testing::HasSubstr("of level 1: it must be 1 to 0"));
  EXPECT_THAT(refusal_of(record_of({"loop\t2\t2\t2", "loop\t2\t2\t1", call, call})),
              testing::HasSubstr("of which 1 are there"));
  EXPECT_THAT(refusal_of(record_of({"loop\t4294967296\t1\t1", "read\t2\t0\t0\t1\t0\t0\t0"})),
              testing::HasSubstr("more than 4294967296 calls"));
  EXPECT_THAT(refusal_of(record_of({"loop\t65537\t2\t2", "loop\t65536\t1\t1", call})),
              testing::HasSubstr("more than 4294967296 calls"));
}

TEST(Record, DamagedRecordsAreRefusedByTheirLine) {
  const std::string whole =
      record_with_shapes({"0\t2\t1\t2\t8"}, {"write\t2\t0\t0\t4:0\t0\t0\t0\t8\t0"});
  EXPECT_EQ(refusal_of(whole), "accepted");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(refusal_of(whole.substr(0, length)), testing::StartsWith("line ")) << length;
  }
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const char letter : {'9', '-', '\t', '\n', 'x', '\0'}) {
      std::string changed = whole;
      changed[place] = letter;
      const auto record = parse_record(changed, keep_all);
      if (!record) continue;
      // What is accepted can be replayed: every call is within the limits.
      std::int64_t calls = 0;
      CallCursor cursor(record.value().ranks.at(0));
      for (ReplayedCall call; cursor.next(&call) && ++calls < 1000;) {
        EXPECT_GE(call.offset, 0);
        EXPECT_LT(call.file, std::ssize(record.value().files));
        call.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
          EXPECT_LE(offset + bytes, record.value().files.at(0).end);
          return offset + bytes <= record.value().files.at(0).end;
        });
      }
    }
  }
  EXPECT_THAT(refusal_of(whole + "x"), testing::HasSubstr("is not the last"));
  EXPECT_THAT(refusal_of_line("unlink\t1\t0\t0\t0\t0\t0\t0"), testing::HasSubstr("no known kind"));
  EXPECT_THAT(refusal_of_line("write\t1\t0\t0\t4\t-1\t0\t0"), testing::HasSubstr("negative time"));
  EXPECT_THAT(refusal_of("weir-record 1\ncommand\tx\nend\t0\t0\n"),
              testing::HasSubstr("without ranks"));
}

}  // namespace
}  // namespace weir::bench::replay
