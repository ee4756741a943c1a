// What a request to write or read collectively may be: several arrays, columns with others between
// them, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "array/box_list.hpp"
#include "array/explicit_distribution.hpp"
#include "array/section.hpp"
#include "collective.hpp"

namespace weir::test {
namespace {

class Requests : public EveryStrategy {};

INSTANTIATE_TEST_SUITE_P(Settings, Requests, ::testing::ValuesIn(Requests::cases()), name_of_case);

TEST_P(Requests, MayBeOfSeveralArraysAndWaitedForByAHandle) {
  std::vector<std::unique_ptr<aggregation::StepFile>> files;
  std::vector<Rows> rows;
  for (const std::int64_t columns : {3, 50, 7}) {
    rows.emplace_back(columns);
    auto made =
        collective_->create_array(path(fmt::format("weir-{}", columns)), rows.back().described());
    ASSERT_TRUE(is_ok_on_all_ranks(made));
    files.push_back(std::move(made).value());
  }
  std::vector<ArrayPart> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].pieces[0].data = reinterpret_cast<std::byte*>(rows[i].data.data());
    parts.push_back(rows[i].part(*files[i]));
  }
  {
    const auto request = collective_->begin_write(parts);
    while (!request->test()) {
    }
    EXPECT_TRUE(is_ok(request->wait()));
    EXPECT_EQ(request->figures().bytes_asked, 4 * 60 * element_bytes);
  }
  std::vector<std::vector<std::int64_t>> before;
  for (Rows& one : rows) {
    before.push_back(one.data);
    one.data.assign(one.data.size(), 0);
  }
  EXPECT_TRUE(is_ok(collective_->read(parts)));
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].data, before[i]);
  EXPECT_TRUE(is_ok(collective_->write({}))) << "no array at all";
}

// What one rank passes differently, or wrongly, is refused on all; the next call works.
class Refusals : public EveryStrategy {
 protected:
  void SetUp() override {
    EveryStrategy::SetUp();
    if (HasFatalFailure()) return;
    auto made = collective_->create_array(path("weir-array"), rows_.described());
    ASSERT_TRUE(is_ok_on_all_ranks(made));
    file_ = std::move(made).value();
  }
  void expect_refusal(const ArrayPart& part, const std::string& named) {
    const Status status = collective_->write({&part, 1});
    EXPECT_FALSE(status.ok());
    const std::string text = status ? "" : status.error().text();
    EXPECT_NE(text.find(named), std::string::npos) << text;
    EXPECT_TRUE(is_same_on_all_ranks(text));
    expect_the_next_call_to_work();
  }
  void expect_the_next_call_to_work() {
    const ArrayPart good = part();
    EXPECT_TRUE(is_ok(collective_->write({&good, 1})));
    EXPECT_TRUE(is_ok(collective_->close_file(*file_)));
  }
  [[nodiscard]] ArrayPart part() const { return rows_.part(*file_); }

  const Rows rows_{10};
  std::unique_ptr<aggregation::StepFile> file_;
};

INSTANTIATE_TEST_SUITE_P(Settings, Refusals, ::testing::ValuesIn(Refusals::cases()), name_of_case);

// What a caller finds wrong in the arguments of one rank is in the vote that opens the call.
TEST_P(Refusals, WhatOneRankAloneFindsWrongIsToldToAllRanks) {
  const Status wrong = invalid_argument("0 pieces of memory");
  const ArrayPart good = part();
  const Status status =
      collective_->begin_write({&good, 1}, rank_ == ranks_ - 1 ? wrong : Status())->wait();
  EXPECT_FALSE(status.ok());
  const std::string text = status ? "" : status.error().text();
  EXPECT_EQ(text, fmt::format("rank {}: 0 pieces of memory", ranks_ - 1));
  EXPECT_TRUE(is_same_on_all_ranks(text));
  expect_the_next_call_to_work();
}

TEST_P(Refusals, BoxesThatOverlapAreNamedByTheirRank) {
  if (ranks_ == 1) GTEST_SKIP() << "the boxes of one rank alone";
  // Every rank has the first four rows.
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks_), 1);
  array::BoxList boxes(2);
  for (int rank = 0; rank < ranks_; ++rank) boxes.push_back({{0, 0}, {4, 10}});
  const SharedDistribution all(
      array::ExplicitDistribution::create(rows_.shape, counts, boxes).value());
  ArrayPart bad = part();
  bad.memory = &all;
  expect_refusal(bad, "rank 0: ");
}

TEST_P(Refusals, ASectionThatOneRankAlonePassesIsNamed) {
  if (ranks_ == 1) GTEST_SKIP() << "no other rank passes another section";
  ArrayPart bad = part();
  const array::Section corner = array::Section::of(array::Box{{0, 0}, {1, 1}});
  if (rank_ == 0) bad.section = &corner;
  expect_refusal(bad, "ranks differ: rank 0 called write, rank 1 called write");
}

TEST_P(Refusals, CallsThatDifferAreTold) {
  if (ranks_ == 1) GTEST_SKIP() << "no other rank makes another call";
  const ArrayPart good = part();
  const Status mixed =
      rank_ == 0 ? collective_->sync(file_->array(0)) : collective_->write({&good, 1});
  EXPECT_FALSE(mixed.ok());
  const std::string text = mixed ? "" : mixed.error().text();
  EXPECT_NE(text.find("call"), std::string::npos) << text;
  expect_the_next_call_to_work();
}

TEST_P(Refusals, AnArrayThatIsNotThereIsNotOpened) {
  auto missing = collective_->open_array(path("weir-missing"), false);
  EXPECT_FALSE(missing.ok());
  EXPECT_TRUE(is_same_on_all_ranks(missing ? "" : missing.error().text()));
  expect_the_next_call_to_work();
}

TEST_P(Refusals, AnArrayThatIsClosedIsNotWritten) {
  expect_the_next_call_to_work();
  const ArrayPart good = part();
  EXPECT_FALSE(collective_->write({&good, 1}).ok());
}

using Settings = CollectiveTest;

TEST_F(Settings, ThatDifferBetweenRanksAreRefused) {
  const auto odd =
      Collective::create(MPI_COMM_WORLD, settings_of(Strategy::direct, rank_ == 0 ? 8 : 9, 0, 0));
  EXPECT_EQ(odd.ok(), ranks_ == 1);
}

TEST_F(Settings, ThatAreNegativeAreRefused) {
  EXPECT_FALSE(
      Collective::create(MPI_COMM_WORLD, settings_of(Strategy::node_aggregation, -1, 0, 0)).ok());
}

// Every other column of an array is written: where nobody else can write between them in windows of
// the file, which are read before; otherwise one by one. The columns between stay as they were.
class Columns : public EveryStrategy {
 public:
  // Buffers of several columns, and strategies that are known.
  static std::vector<SettingsCase> large() {
    auto all = cases();
    std::erase_if(all, [](const SettingsCase& one) { return one.settings.buffer_bytes < 1 << 20; });
    return all;
  }

 protected:
  static constexpr std::int64_t columns = 128;

  void SetUp() override {
    EveryStrategy::SetUp();
    if (HasFatalFailure()) return;
    auto made = collective_->create_array(
        path("weir-array"), {.name = "a", .shape = shape_, .type = array::ElementKind::int64});
    ASSERT_TRUE(is_ok_on_all_ranks(made));
    file_ = std::move(made).value();
    const ArrayPart all = part();
    EXPECT_TRUE(is_ok(collective_->write({&all, 1})));
  }
  [[nodiscard]] ArrayPart part() const { return {&file_->array(0), &held_, {&piece_, 1}}; }
  // Writes `value` to every other column, and expects 1 in the columns between.
  void write(std::span<const ArrayPart> parts, std::int64_t value, bool through_windows) {
    data_.assign(data_.size(), value);
    EXPECT_TRUE(is_ok(collective_->write(parts)));
    const std::int64_t fetched = total(collective_->figures().bytes_fetched);
    const std::int64_t calls = total(collective_->figures().storage_calls);
    const std::int64_t runs = shape_.extent(0) * columns / 2;
    if (through_windows) {
      EXPECT_GT(fetched, 0);
      EXPECT_LT(calls, runs / 8);
    } else {
      EXPECT_EQ(fetched, 0);
      EXPECT_EQ(calls, runs);
    }
    data_.assign(data_.size(), 0);
    const ArrayPart all = part();
    EXPECT_TRUE(is_ok(collective_->read({&all, 1})));
    std::vector<std::int64_t> expected(data_.size(), 1);
    for (std::size_t i = 0; i < expected.size(); i += 2) expected[i] = value;
    EXPECT_EQ(data_, expected);
    EXPECT_TRUE(is_ok(collective_->close_file(*file_)));
  }
  static std::int64_t total(std::int64_t mine) {
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return mine;
  }

  const array::Shape shape_ = array::Shape::create({std::int64_t{2} * ranks_, columns}).value();
  const array::Section odd_ = {{0, 0}, {shape_.extent(0), columns / 2}, {1, 2}};

 private:
  const SharedDistribution held_ = distributed_by_rows(shape_);
  const array::Layout layout_ =
      array::Layout::packed({2, columns}, element_bytes, array::Order::row_major).value();
  std::vector<std::int64_t> data_ = std::vector<std::int64_t>(2 * columns, 1);
  const MemoryPiece piece_{&layout_, reinterpret_cast<std::byte*>(data_.data())};
  std::unique_ptr<aggregation::StepFile> file_;
};

INSTANTIATE_TEST_SUITE_P(Settings, Columns, ::testing::ValuesIn(Columns::large()), name_of_case);

TEST_P(Columns, GoThroughWindowsWhereNobodyElseWritesBetweenThem) {
  const bool through_windows =
      GetParam().settings.strategy != Strategy::node_aggregation || collective_->nodes() == 1;
  ArrayPart some = part();
  some.section = &odd_;
  write({&some, 1}, 2, through_windows);
}

// An array that occurs twice in a request is written by several aggregators.
TEST_P(Columns, GoOneByOneWhereTheArrayOccursTwice) {
  array::Section first = odd_;
  array::Section second = odd_;
  first.count[0] = 1;
  second.start[0] = 1;
  --second.count[0];
  std::vector<ArrayPart> parts = {part(), part()};
  parts[0].section = &first;
  parts[1].section = &second;
  write(parts, 3, false);
}

}  // namespace
}  // namespace weir::test
