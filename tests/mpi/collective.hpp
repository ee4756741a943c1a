// The tests of collective writing and reading share settings, and arrays distributed by rows.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/array_file.hpp"
#include "aggregation/call_queue.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/step_file.hpp"
#include "array/box_list.hpp"
#include "array/layout.hpp"
#include "array/regular_distribution.hpp"
#include "array/shape.hpp"
#include "harness/on_ranks.hpp"

namespace weir::test {

using aggregation::ArrayPart;
using aggregation::Call;
using aggregation::CollectiveSettings;
using aggregation::MemoryPiece;
using plan::SharedDistribution;
using plan::Strategy;

inline constexpr std::int64_t element_bytes = 8;

// A Collective whose calls are opened by a vote, as the C interface does.
class Collective {
 public:
  static Result<std::unique_ptr<Collective>> create(MPI_Comm communicator,
                                                    const CollectiveSettings& settings) {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(communicator, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    auto created = aggregation::Collective::create(own, settings);
    if (!created) return created.error();
    return std::unique_ptr<Collective>(new Collective(own, std::move(created).value()));
  }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  ~Collective() {
    const bool broken = made_->calls().broken();
    made_ = nullptr;
    if (!broken) MPI_Comm_free(&communicator_);
  }
  // Makes a call that rank 0 answers, or another one.
  template <typename Run>
  auto ask(const std::string& text, Run run) -> decltype(run()) {
    Call call = Call::of(text);
    call.asks = true;
    return make(call, run);
  }
  template <typename Run>
  auto make(const Call& call, Run run) -> decltype(run()) {
    aggregation::CallQueue::Turn turn(made_->calls(), call);
    if (!turn.entered().ok()) return turn.entered().error();
    auto outcome = run();
    turn.end(outcome.ok() ? Status() : Status(outcome.error()));
    return outcome;
  }

  auto create_file(const std::string& path, const storage::FileDescription& description,
                   const aggregation::FileSettings& settings) {
    return ask("create_file " + path,
               [&] { return made_->create_file(path, description, settings); });
  }
  auto open_file(const std::string& path, const aggregation::FileSettings& settings,
                 bool writable) {
    return ask("open_file " + path, [&] { return made_->open_file(path, settings, writable); });
  }
  // An array that is written in place.
  auto create_array(const std::string& path, const storage::ArrayDescription& array,
                    const storage::Placement& placement = {}) {
    return create_file(path, {.arrays = {array}, .in_place = placement}, in_place(true));
  }
  auto open_array(const std::string& path, bool writable) {
    return open_file(path, in_place(writable), writable);
  }
  auto begin_step(aggregation::StepFile& file) {
    return ask("begin_step", [&] { return made_->begin_step(file); });
  }
  Status end_step(aggregation::StepFile& file) {
    Call call = Call::of("end_step");
    call.asks = true;
    aggregation::CallQueue::Turn turn(made_->calls(), call,
                                      [&](Call& own) { made_->end_own_step(file, own); });
    if (!turn.is_alike()) return turn.entered();
    Status outcome = made_->end_step(file, turn.entered());
    turn.end(outcome);
    return outcome;
  }
  auto close_file(aggregation::StepFile& file) {
    return make(Call::of("close_file"), [&] { return made_->close_file(file); });
  }
  auto distribute(const array::Shape& shape, const array::BoxList& mine) {
    return make(Call::of("distribute"), [&] { return made_->distribute(shape, mine); });
  }
  auto sync(aggregation::OpenArray& file) {
    return make(Call::of("sync"), [&] { return made_->sync(file); });
  }
  auto begin_write(std::span<const ArrayPart> parts, Status possible = {}) {
    return made_->begin(Call::of("write", std::move(possible)), Direction::write, parts, nullptr);
  }
  Status write(std::span<const ArrayPart> parts) { return begin_write(parts)->wait(); }
  Status read(std::span<const ArrayPart> parts) {
    return made_->begin(Call::of("read"), Direction::read, parts, nullptr)->wait();
  }
  auto move_alone(aggregation::OpenArray& file, Direction direction,
                  const aggregation::OwnRegion& own) {
    return made_->move_alone(file, direction, own);
  }
  [[nodiscard]] std::int64_t nodes() const { return made_->nodes(); }
  [[nodiscard]] const aggregation::CollectiveFigures& figures() const { return *made_->figures(); }
  [[nodiscard]] const CollectiveSettings& settings() const { return made_->settings(); }

 private:
  [[nodiscard]] static aggregation::FileSettings in_place(bool writable) {
    return {.format = "raw", .rewrite = writable, .in_place = true};
  }
  Collective(MPI_Comm communicator, std::unique_ptr<aggregation::Collective> made)
      : communicator_(communicator), made_(std::move(made)) {}

  MPI_Comm communicator_;
  std::unique_ptr<aggregation::Collective> made_;
};

inline CollectiveSettings settings_of(std::optional<Strategy> strategy, std::int64_t buffer_bytes,
                                      std::int64_t aggregators, std::int64_t ranks_per_node) {
  CollectiveSettings settings;
  settings.strategy = strategy;
  settings.buffer_bytes = buffer_bytes;
  settings.aggregators = aggregators;
  settings.ranks_per_node = ranks_per_node;
  settings.deadline_seconds = 60;
  return settings;
}

inline CollectiveSettings in_groups(CollectiveSettings settings, const char* io_groups) {
  settings.io_groups = topology::IoGroups::parse(io_groups).value();
  return settings;
}

// Places aggregators on nodes that form a line.
inline CollectiveSettings placed(CollectiveSettings settings, topology::PlacementRule placement) {
  settings.placement = placement;
  settings.network = topology::Network::parse("mesh:64").value();
  return settings;
}

struct SettingsCase {
  std::string name;
  CollectiveSettings settings;

  friend void PrintTo(const SettingsCase& one, std::ostream* out) { *out << one.name; }
};

inline std::string name_of_case(const ::testing::TestParamInfo<SettingsCase>& tested) {
  return tested.param.name;
}

class CollectiveTest : public OnRanks {
 protected:
  static std::unique_ptr<Collective> create(const CollectiveSettings& settings) {
    auto created = Collective::create(MPI_COMM_WORLD, settings);
    EXPECT_TRUE(is_ok_on_all_ranks(created));
    return created ? std::move(created).value() : nullptr;
  }

  const int rank_ = rank_of_world();
  const int ranks_ = size_of_world();
};

// Buffers are of a few elements, so that there are many pieces, or hold all; a node has the ranks
// that share memory, or as many as the last number says.
class EveryStrategy : public CollectiveTest, public ::testing::WithParamInterface<SettingsCase> {
 public:
  static std::vector<SettingsCase> cases() {
    constexpr std::int64_t large = 1 << 20;
    return {
        {"Direct", settings_of(Strategy::direct, 0, 0, 0)},
        {"NodeByOne", settings_of(Strategy::node_aggregation, 40, 1, 0)},
        {"NodeByThree", settings_of(Strategy::node_aggregation, 200, 3, 0)},
        {"NodeWithLargeBuffers", settings_of(Strategy::node_aggregation, large, 0, 0)},
        {"NodesOfTwo", settings_of(Strategy::node_aggregation, 64, 1, 2)},
        {"NodesOfOneWithLargeBuffers", settings_of(Strategy::node_aggregation, large, 1, 1)},
        {"TwoPhaseOnNodesOfTwo", settings_of(Strategy::two_phase, 72, 2, 2)},
        {"TwoPhaseOnNodesOfOne", settings_of(Strategy::two_phase, 300, 1, 1)},
        {"TwoPhaseWithLargeBuffers", settings_of(Strategy::two_phase, large, 0, 3)},
        {"ServerDirectedOnNodesOfTwo", settings_of(Strategy::server_directed, 72, 2, 2)},
        {"ServerDirectedOnNodesOfOne", settings_of(Strategy::server_directed, 300, 1, 1)},
        {"ServerDirectedWithLargeBuffers", settings_of(Strategy::server_directed, large, 0, 3)},
        {"TwoPhaseInGroupsOfTwoNodes", in_groups(settings_of(Strategy::two_phase, 72, 1, 1), "2")},
        {"TwoPhaseInGroupsOfOneNode", in_groups(settings_of(Strategy::two_phase, 300, 0, 2), "1")},
        {"ServerDirectedInGroupsOfTwoNodes",
         in_groups(settings_of(Strategy::server_directed, 72, 1, 1), "2")},
        {"TwoPhaseNearestToData",
         placed(settings_of(Strategy::two_phase, 72, 1, 1), topology::PlacementRule::nearest)},
        {"TwoPhaseOnFirstNodes",
         placed(settings_of(Strategy::two_phase, 300, 1, 1), topology::PlacementRule::first)},
        {"TwoPhaseByPrice",
         placed(settings_of(Strategy::two_phase, 72, 2, 2), topology::PlacementRule::priced)},
        {"ServerDirectedNearestInGroups",
         in_groups(placed(settings_of(Strategy::server_directed, 72, 1, 1),
                          topology::PlacementRule::nearest),
                   "2")},
        {"ServerDirectedByPrice", placed(settings_of(Strategy::server_directed, 300, 0, 2),
                                         topology::PlacementRule::priced)},
        {"AutomaticInGroups", in_groups(settings_of(std::nullopt, 128, 1, 1), "3")},
        {"Automatic", settings_of(std::nullopt, 128, 1, 2)}};
  }

 protected:
  void SetUp() override {
    CollectiveTest::SetUp();
    collective_ = create(GetParam().settings);
    ASSERT_TRUE(holds_on_all_ranks(collective_ != nullptr));
  }

  std::unique_ptr<Collective> collective_;
};

inline SharedDistribution distributed_by_rows(const array::Shape& shape) {
  const std::vector<array::DistributionFormat> rows = {
      array::DistributionFormat::block_of(), array::DistributionFormat::whole_dimension()};
  return SharedDistribution(array::RegularDistribution::create(
                                shape, rows, {{size_of_world(), 1}, array::Order::row_major})
                                .value());
}

// A two-dimensional array of which each rank has four rows.
struct Rows {
  array::Shape shape;
  SharedDistribution held;
  std::vector<std::int64_t> data;
  std::shared_ptr<const array::Layout> layout;
  std::vector<MemoryPiece> pieces;

  explicit Rows(std::int64_t columns)
      : shape(array::Shape::create({std::int64_t{4} * size_of_world(), columns}).value()),
        held(distributed_by_rows(shape)),
        data(static_cast<std::size_t>(4 * columns)),
        layout(std::make_shared<array::Layout>(
            array::Layout::packed({4, columns}, element_bytes, array::Order::row_major).value())) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::int64_t>(i) + rank_of_world() * std::int64_t{1000000};
    }
    pieces.push_back({layout.get(), reinterpret_cast<std::byte*>(data.data())});
  }
  [[nodiscard]] ArrayPart part(aggregation::OpenArray& file) const {
    return {&file, &held, pieces};
  }
  // Returns the part of the only array of a file.
  [[nodiscard]] ArrayPart part(aggregation::StepFile& file) const { return part(file.array(0)); }
  [[nodiscard]] storage::ArrayDescription described() const {
    return {.name = "rows", .shape = shape, .type = array::ElementKind::int64};
  }
  // Returns the request of this rank's rows without the others.
  [[nodiscard]] aggregation::OwnRegion alone() const {
    return {{{std::int64_t{4} * rank_of_world(), 0}, {4, shape.extent(1)}, {1, 1}}, pieces};
  }
};

}  // namespace weir::test
