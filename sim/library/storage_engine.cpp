// In place of src/aggregation/engines/system_engine.cpp: an engine whose operations take the time
// of the simulated machine, whichever engine it stands for. It drops what is written, and reads
// nothing.
#include <memory>
#include <string>
#include <string_view>

#include "aggregation/engines/system_engine.hpp"
#include "engines/blocking_engine.hpp"
#include "library/simulated_rank.hpp"

namespace weir::sim {
namespace {

using storage::EngineFile;
using storage::FileRange;

class StorageFile final : public EngineFile {
 public:
  using EngineFile::EngineFile;
  Status close() override { return {}; }
  // A piece with several extents is one operation.
  [[nodiscard]] bool gains_from_batches(bool /*writing*/) const override { return true; }
};

class StorageEngine final : public storage::BlockingEngine {
 public:
  explicit StorageEngine(const SimulatedRank& rank)
      : asked_(*rank.system->asked), operations_(*rank.system->operations), client_(rank.client) {}

  [[nodiscard]] std::string_view name() const override { return "simulated"; }
  [[nodiscard]] storage::EngineAbilities abilities() const override {
    return {.in_file_system = false, .keeps_bytes = false};
  }
  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const storage::Opening& /*opening*/) override {
    return std::unique_ptr<EngineFile>(std::make_unique<StorageFile>(path));
  }

 private:
  Status move(Direction direction, std::span<const FileRange> ranges,
              storage::FileTraffic& traffic) override {
    if (client_ == nullptr) {
      return Error(ErrorCode::io, "the library moves bytes of a rank that has none in the plan");
    }
    Client client{client_->rank, client_->node, client_->group, client_->turn, {}, {}};
    Operation operation;
    TargetBytes targets;
    for (const FileRange& range : ranges) {
      ++operation.calls;
      operation.bytes += range.bytes();
      add_to_targets(range.offset, range.bytes(), asked_.targets(), asked_.stripe_bytes, targets);
      ++traffic.calls;
    }
    for (const auto& [place, bytes] : targets) client.shares.push_back({place, bytes});
    operation.targets = static_cast<std::uint32_t>(client.shares.size());
    wake_looking(*this_rank().node);
    operations_.transfer(client, operation);
    traffic.moved += operation.bytes;
    (direction == Direction::write ? traffic.written : traffic.read) += operation.bytes;
    return {};
  }
  Status make_durable(std::span<EngineFile* const> /*files*/,
                      storage::Durability /*durability*/) override {
    return {};
  }

  const Description& asked_;
  Operations& operations_;
  const Client* client_;
};

}  // namespace
}  // namespace weir::sim

namespace weir::aggregation {

Result<std::unique_ptr<storage::Engine>> make_system_engine(plan::Engine /*engine*/) {
  return std::unique_ptr<storage::Engine>(std::make_unique<sim::StorageEngine>(sim::this_rank()));
}

}  // namespace weir::aggregation
