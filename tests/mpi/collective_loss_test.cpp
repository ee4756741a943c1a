// An engine that loses bytes and says that all went well, and sums that do not come out: every rank
// is told, and the next call works.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/step_file.hpp"
#include "codecs/codec.hpp"
#include "collective.hpp"
#include "engines/test_faulty_engine.hpp"

namespace weir::test {
namespace {

// Settings, whether the array is chunked, and the call that loses bytes.
class LostBytes : public CollectiveTest,
                  public ::testing::WithParamInterface<
                      std::tuple<SettingsCase, bool, storage::Fault::Operation>> {};

std::string name_of_loss(const ::testing::TestParamInfo<LostBytes::ParamType>& tested) {
  const auto& [settings, is_chunked, operation] = tested.param;
  return settings.name + (is_chunked ? "Chunks" : "Contiguous") +
         (operation == storage::Fault::Operation::write ? "Written" : "Read");
}

INSTANTIATE_TEST_SUITE_P(
    Settings, LostBytes,
    ::testing::Combine(
        ::testing::Values(SettingsCase{"Direct", settings_of(Strategy::direct, 0, 0, 0)},
                          SettingsCase{"Node", settings_of(Strategy::node_aggregation, 640, 2, 0)},
                          SettingsCase{"TwoPhase", settings_of(Strategy::two_phase, 640, 1, 2)},
                          SettingsCase{"ServerDirected",
                                       settings_of(Strategy::server_directed, 640, 1, 2)}),
        ::testing::Bool(),
        ::testing::Values(storage::Fault::Operation::write, storage::Fault::Operation::read)),
    name_of_loss);

// The engine of rank 0 loses a transfer; with a good engine the bytes are what they were.
TEST_P(LostBytes, AreToldToAllRanks) {
  const auto& [tested, is_chunked, operation] = GetParam();
  const storage::Fault fault{.operation = operation, .number = 1, .is_dropped = true};
  CollectiveSettings losing = tested.settings;
  losing.before_engine = [fault](std::unique_ptr<storage::Engine> engine) {
    return rank_of_world() == 0 ? make_faulty_engine(std::move(engine), fault) : std::move(engine);
  };
  auto good = Collective::create(MPI_COMM_WORLD, tested.settings);
  auto bad = Collective::create(MPI_COMM_WORLD, losing);
  ASSERT_TRUE(is_ok_on_all_ranks(good));
  ASSERT_TRUE(is_ok_on_all_ranks(bad));
  Rows rows(200);
  storage::ArrayDescription described = rows.described();
  if (is_chunked) described.chunk_extents = array::Indices{3, 50};
  auto made = good.value()->create_array(path("weir-lost"), described);
  ASSERT_TRUE(is_ok_on_all_ranks(made));
  const ArrayPart part = rows.part(*made.value());
  EXPECT_TRUE(is_ok(good.value()->write({&part, 1})));
  auto opened = bad.value()->open_array(path("weir-lost"), true);
  ASSERT_TRUE(is_ok_on_all_ranks(opened));
  const Rows again(200);
  const ArrayPart lost = again.part(*opened.value());
  const Status status = operation == storage::Fault::Operation::write
                            ? bad.value()->write({&lost, 1})
                            : bad.value()->read({&lost, 1});
  const std::string text = status ? "" : status.error().text();
  EXPECT_TRUE(text.starts_with("rank 0: internal error, the library lost bytes")) << text;
  EXPECT_TRUE(is_same_on_all_ranks(text));
  EXPECT_TRUE(is_ok(bad.value()->close_file(*opened.value())));
  const std::vector<std::int64_t> before = rows.data;
  rows.data.assign(rows.data.size(), 0);
  EXPECT_TRUE(is_ok(good.value()->read({&part, 1})));
  EXPECT_EQ(rows.data, before);
  EXPECT_TRUE(is_ok(good.value()->close_file(*made.value())));
}

// Says what the ranks vote on when a call ends: no rank has failed, and bytes are missing all the
// same.
using SumsOverRanks = CollectiveTest;

TEST_F(SumsOverRanks, ThatAreNotZeroAreToldToAllRanks) {
  ranks::Channel between_nodes(MPI_COMM_WORLD);
  ranks::Revocation opening(ranks::Revocation::Local{}, MPI_COMM_WORLD);
  aggregation::NodeGroup pairs;
  aggregation::NodeGroup one_node;
  ASSERT_TRUE(is_ok_on_all_ranks(pairs.create(MPI_COMM_WORLD, 2, {}, 1, 2, 4096, 60, opening)));
  ASSERT_TRUE(is_ok_on_all_ranks(one_node.create(MPI_COMM_WORLD, 0, {}, 1, 2, 4096, 60, opening)));
  for (ranks::Channel* const channel : {&between_nodes, &pairs.openings(), &one_node.openings()}) {
    // What one rank stored too much, another one was asked for.
    for (const std::int64_t astray : {0, 8, -8}) {
      SCOPED_TRACE(fmt::format("{} bytes astray", astray));
      std::int64_t unstored = rank_ == ranks_ - 1 ? astray : 0;
      unstored += rank_ == 0 ? 1000 : 0;
      unstored -= rank_ == ranks_ / 2 ? 1000 : 0;
      const Status agreed =
          aggregation::agree(*channel, MPI_COMM_WORLD, {.unstored = unstored}, 60);
      const std::string text = agreed ? "" : agreed.error().text();
      EXPECT_EQ(agreed.ok(), astray == 0) << text;
      EXPECT_TRUE(is_same_on_all_ranks(text));
      const std::string told = astray > 0 ? "8 bytes fewer" : "8 bytes more";
      EXPECT_TRUE(agreed || text.find(told) != std::string::npos) << text;
    }
  }
}

struct StepCase {
  const char* name = "";
  const char* format = "";
  const char* codec = "";
  bool in_shards = false;
  bool alone = false;  // each rank writes its own rows without the others

  friend void PrintTo(const StepCase& one, std::ostream* out) { *out << one.name; }
};

// A file with steps, into which one rank loses bytes.
class LosingSteps : public CollectiveTest, public ::testing::WithParamInterface<StepCase> {
 protected:
  [[nodiscard]] static storage::FileDescription described(const Rows& rows) {
    const StepCase& tested = GetParam();
    storage::ArrayDescription array{
        .name = "a",
        .shape = array::Shape::create({1, rows.shape.extent(0), rows.shape.extent(1)}).value()};
    array.type = array::ElementKind::int64;
    array.grows = true;
    if (*tested.codec != '\0') {
      array.chunk_extents = array::Indices{1, 3, 50};
      array.codecs = storage::parse_pipeline(tested.codec).value();
      if (tested.in_shards) array.shard_extents = array::Indices{1, 6, 100};
    }
    return {.arrays = {array}};
  }
  static Status write(Collective& collective, aggregation::StepFile& file, const Rows& rows) {
    if (GetParam().alone) {
      return collective.move_alone(file.array(0), Direction::write, rows.alone());
    }
    const ArrayPart part = rows.part(file.array(0));
    return collective.write({&part, 1});
  }
  void lose_bytes_in_two_of_three_steps(Collective& collective, aggregation::StepFile& steps,
                                        const Rows& rows) const;
};

INSTANTIATE_TEST_SUITE_P(
    Formats, LosingSteps,
    ::testing::Values(
        StepCase{.name = "Hdf5WrittenAlone", .format = "hdf5", .alone = true},
        StepCase{.name = "Cdf5WrittenAlone", .format = "cdf5", .alone = true},
        StepCase{.name = "Hdf5Compressed", .format = "hdf5", .codec = "deflate:1"},
        StepCase{.name = "ZarrCompressed", .format = "zarr", .codec = "gzip:1"},
        StepCase{.name = "ZarrInShards", .format = "zarr", .codec = "gzip:1", .in_shards = true}),
    [](const auto& tested) { return std::string(tested.param.name); });

void LosingSteps::lose_bytes_in_two_of_three_steps(Collective& collective,
                                                   aggregation::StepFile& steps,
                                                   const Rows& rows) const {
  const bool alone = GetParam().alone;
  for (std::int64_t step = 0; step < 3; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    if (step > 0) {
      EXPECT_TRUE(is_ok(collective.begin_step(steps)));
    }
    if (alone) {  // the first of the two that the rank makes
      EXPECT_TRUE(is_ok(write(collective, steps, rows)));
    }
    // What a rank was asked for went nowhere, and nobody has noticed.
    auto& account = *dynamic_cast<aggregation::OpenArray&>(steps.array(0)).origin().account;
    if (step == 2 && rank_ == ranks_ - 1) account.ask(8);
    const Status written = write(collective, steps, rows);
    const Status ended = collective.end_step(steps);
    const std::string text = ended ? "" : ended.error().text();
    EXPECT_TRUE(is_same_on_all_ranks(text));
    EXPECT_EQ(ended.ok(), step == 1) << text;
    if (step == 0 && (rank_ == 0 || !alone)) {
      EXPECT_FALSE(written.ok());
      const std::string own = written ? "" : written.error().text();
      EXPECT_NE(own.find("the library lost bytes"), std::string::npos) << own;
    }
    if (step == 2) {
      EXPECT_TRUE(is_ok(written));
      EXPECT_NE(text.find("8 bytes fewer"), std::string::npos) << text;
    }
    EXPECT_EQ(steps.steps(), step == 0 ? 0 : 1);
  }
}

TEST_P(LosingSteps, EndWithOneErrorOnAllRanksAndHoldAllWhenBegunAgain) {
  CollectiveSettings settings = settings_of(Strategy::two_phase, 640, 1, 2);
  // The first byte of one transfer goes, and the others do not.
  const storage::Fault fault{.number = 2, .is_once = true, .is_dropped = true, .moved = 1};
  if (rank_ == 0) settings.slice_mover = storage::make_faulty_mover(fault);
  const auto collective = create(settings);
  ASSERT_TRUE(holds_on_all_ranks(collective != nullptr));
  Rows rows(200);
  auto file = collective->create_file(
      path("weir-losing"), described(rows),
      {.format = GetParam().format, .durability = storage::StepDurability::none});
  ASSERT_TRUE(is_ok_on_all_ranks(file));
  lose_bytes_in_two_of_three_steps(*collective, *file.value(), rows);
  EXPECT_TRUE(is_ok(collective->close_file(*file.value())));
  auto opened = collective->open_file(path("weir-losing"), {}, false);
  ASSERT_TRUE(is_ok_on_all_ranks(opened));
  EXPECT_EQ(opened.value()->steps(), 1);
  const std::vector<std::int64_t> before = rows.data;
  rows.data.assign(rows.data.size(), 0);
  const ArrayPart part = rows.part(opened.value()->array(0));
  EXPECT_TRUE(is_ok(collective->read({&part, 1})));
  EXPECT_EQ(rows.data, before);
  EXPECT_TRUE(is_ok(collective->close_file(*opened.value())));
}

}  // namespace
}  // namespace weir::test
