// Messages between nodes go on while an aggregator writes or reads a piece: a long message of the
// program itself comes in although the rank that receives it is in its engine all the time.
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aggregation/array_file.hpp"
#include "collective.hpp"
#include "engines/blocking_engine.hpp"
#include "harness/on_ranks.hpp"

namespace weir::test {
namespace {

using aggregation::ArrayPart;
using aggregation::CollectiveSettings;
using aggregation::MemoryPiece;

// On rank 0: a first transfer that does not end before `has_come()`, but for a deadline, and makes
// only the call that an engine makes between parts.
class WaitingEngine final : public storage::BlockingEngine {
 public:
  WaitingEngine(std::unique_ptr<storage::Engine> base, std::function<bool()> has_come)
      : base_(std::move(base)), has_come_(std::move(has_come)) {}

  [[nodiscard]] std::string_view name() const override { return "waiting"; }
  [[nodiscard]] storage::EngineAbilities abilities() const override { return base_->abilities(); }
  Result<std::unique_ptr<storage::EngineFile>> open(const std::string& path,
                                                    const storage::Opening& opening) override {
    return base_->open(path, opening);
  }
  void call_between_parts(std::function<void()> call) override {
    between_ = call;
    base_->call_between_parts(std::move(call));
  }

 private:
  Status move(Direction direction, std::span<const storage::FileRange> ranges,
              storage::FileTraffic& traffic) override {
    wait();
    return direction == Direction::write ? base_->write(ranges, traffic)
                                         : base_->read(ranges, traffic);
  }
  Status make_durable(std::span<storage::EngineFile* const> files,
                      storage::Durability /*durability*/) override {
    return base_->sync(files);
  }
  void wait() {
    if (has_waited_ || rank_of_world() != 0) return;
    has_waited_ = true;
    EXPECT_NE(between_, nullptr) << "nothing is called between parts";
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!has_come_() && std::chrono::steady_clock::now() < until) {
      if (between_) between_();
      std::this_thread::yield();
    }
    EXPECT_TRUE(has_come_()) << "no message comes in while an engine moves bytes";
  }

  std::unique_ptr<storage::Engine> base_;
  std::function<bool()> has_come_;
  std::function<void()> between_;
  bool has_waited_ = false;
};

class Overlap : public OnRanks {
 protected:
  void expect_messages_to_go_on(bool writing);
};

void Overlap::expect_messages_to_go_on(bool writing) {
  const int rank = rank_of_world();
  const int ranks = size_of_world();
  constexpr int message_bytes = 4 << 20;  // MPI asks the receiver before it sends that much
  constexpr std::int64_t columns = 1 << 15;
  constexpr char sent = 7;
  std::vector<char> message(message_bytes, rank == 0 ? 0 : sent);
  CollectiveSettings settings;
  settings.ranks_per_node = 1;
  settings.aggregators = 1;
  settings.strategy = plan::Strategy::two_phase;
  settings.engine = plan::Engine::posix;
  settings.deadline_seconds = 120;
  auto plain = Collective::create(MPI_COMM_WORLD, settings);
  settings.before_engine = [&message](std::unique_ptr<storage::Engine> engine) {
    const volatile char* const last = &message.back();
    return std::make_unique<WaitingEngine>(std::move(engine), [last] { return *last == sent; });
  };
  auto collective = Collective::create(MPI_COMM_WORLD, settings);
  ASSERT_TRUE(is_ok_on_all_ranks(plain));
  ASSERT_TRUE(is_ok_on_all_ranks(collective));

  const auto shape = array::Shape::create({ranks, columns}).value();
  const plan::SharedDistribution held(
      array::RegularDistribution::create(
          shape,
          std::vector<array::DistributionFormat>{array::DistributionFormat::block_of(),
                                                 array::DistributionFormat::whole_dimension()},
          {{ranks, 1}, array::Order::row_major})
          .value());
  const auto layout =
      array::Layout::packed({1, columns}, sizeof(std::int64_t), array::Order::row_major).value();
  std::vector<std::int64_t> data(columns, rank + 1);
  const MemoryPiece memory{&layout, reinterpret_cast<std::byte*>(data.data())};
  auto made = plain.value()->create_array(
      path("array"), {.name = "array", .shape = shape, .type = array::ElementKind::int64});
  ASSERT_TRUE(is_ok_on_all_ranks(made));
  const ArrayPart all_of_it{&made.value()->array(0), &held, {&memory, 1}};
  if (!writing) {
    EXPECT_TRUE(is_ok(plain.value()->write({&all_of_it, 1})));
  }
  auto opened = collective.value()->open_array(path("array"), true);
  ASSERT_TRUE(is_ok_on_all_ranks(opened));
  const ArrayPart part{&opened.value()->array(0), &held, {&memory, 1}};

  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    MPI_Irecv(message.data(), message_bytes, MPI_CHAR, ranks - 1, 1, MPI_COMM_WORLD, &request);
  } else if (rank == ranks - 1) {
    MPI_Issend(message.data(), message_bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
  }
  if (!writing) data.assign(data.size(), 0);
  const Status moved =
      writing ? collective.value()->write({&part, 1}) : collective.value()->read({&part, 1});
  EXPECT_TRUE(is_ok(moved));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (writing) {
    data.assign(data.size(), 0);
    EXPECT_TRUE(is_ok(plain.value()->read({&all_of_it, 1})));
  }
  EXPECT_TRUE(data == std::vector<std::int64_t>(columns, rank + 1)) << "other data";
  EXPECT_TRUE(is_ok(collective.value()->close_file(*opened.value())));
  EXPECT_TRUE(is_ok(plain.value()->close_file(*made.value())));
}

TEST_F(Overlap, AMessageComesInWhileAnAggregatorWrites) { expect_messages_to_go_on(true); }

TEST_F(Overlap, AMessageComesInWhileAnAggregatorReads) { expect_messages_to_go_on(false); }

}  // namespace
}  // namespace weir::test
