// In place of src/aggregation/engines/system_engine.cpp: an engine whose operations take the time
// of the simulated machine, whichever engine it stands for. It drops what is written and reads
// nothing, unless the simulated storage keeps bytes.
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregation/engines/system_engine.hpp"
#include "engines/blocking_engine.hpp"
#include "engines/system_file.hpp"
#include "library/simulated_rank.hpp"

namespace weir::sim {
namespace {

using storage::EngineFile;
using storage::FileRange;

class StorageFile final : public EngineFile {
 public:
  StorageFile(const std::string& path, std::shared_ptr<EngineFile> kept)
      : EngineFile(path), kept_(std::move(kept)) {}

  Status close() override {
    kept_.reset();
    return {};
  }
  // A piece with several extents is one operation.
  [[nodiscard]] bool gains_from_batches(bool /*writing*/) const override { return true; }
  // Null: the storage keeps no bytes.
  [[nodiscard]] EngineFile* kept() const { return kept_.get(); }

 private:
  std::shared_ptr<EngineFile> kept_;
};

// Opens a file in which the storage keeps bytes.
Result<std::shared_ptr<EngineFile>> open_kept(SimulatedSystem& system, const std::string& path,
                                              storage::Opening opening) {
  // One process opens for all ranks, and no rank waits for another one that does it.
  opening.opener = nullptr;
  auto opened = system.kept->open(path, opening);
  if (!opened) return opened.error();
  struct stat facts {};
  const int descriptor =
      static_cast<const storage::SystemFile&>(*opened.value()).file().descriptor();
  if (::fstat(descriptor, &facts) != 0) return system_failure("fstat", path, -1, errno);
  auto& known = system.kept_files[{facts.st_dev, facts.st_ino, opening.write}];
  std::shared_ptr<EngineFile> shared = known.lock();
  if (shared == nullptr) {
    shared = std::move(opened).value();
    known = shared;
  }
  return shared;
}

class StorageEngine final : public storage::BlockingEngine {
 public:
  explicit StorageEngine(const SimulatedRank& rank)
      : rank_(rank), asked_(*rank.system->asked), operations_(*rank.system->operations) {}

  [[nodiscard]] std::string_view name() const override { return "simulated"; }
  [[nodiscard]] storage::EngineAbilities abilities() const override {
    return {.in_file_system = false, .keeps_bytes = rank_.system->kept != nullptr};
  }
  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const storage::Opening& opening) override {
    std::shared_ptr<EngineFile> kept;
    if (rank_.system->kept != nullptr) {
      auto opened = open_kept(*rank_.system, path, opening);
      if (!opened) return opened.error();
      kept = std::move(opened).value();
    }
    return std::unique_ptr<EngineFile>(std::make_unique<StorageFile>(path, std::move(kept)));
  }

 private:
  Status move(Direction direction, std::span<const FileRange> ranges,
              storage::FileTraffic& traffic) override {
    wake_looking(*rank_.node);
    // A rank that writes rows itself gives many to one call, each of which is an operation, as in
    // the flows of its plan.
    const bool is_direct = rank_.system->strategy == plan::Strategy::direct;
    const std::size_t together = is_direct ? 1 : ranges.size();
    for (auto rest = ranges; !rank_.aside && !rest.empty(); rest = rest.subspan(together)) {
      if (Status timed = take_time(rest.first(together)); !timed) return timed;
    }
    if (rank_.system->kept != nullptr) return move_kept(direction, ranges, traffic);
    for (const FileRange& range : ranges) {
      ++traffic.calls;
      traffic.moved += range.bytes();
      (direction == Direction::write ? traffic.written : traffic.read) += range.bytes();
    }
    return {};
  }

  // Lets the time of one operation pass.
  Status take_time(std::span<const FileRange> ranges) {
    if (rank_.client == nullptr) {
      return Error(ErrorCode::io, "the library moves bytes of a rank that has none in the plan");
    }
    Client client{rank_.client->rank,
                  rank_.client->node,
                  rank_.client->group,
                  rank_.client->turn,
                  {},
                  {},
                  {}};
    Operation operation;
    TargetBytes targets;
    for (const FileRange& range : ranges) {
      ++operation.calls;
      operation.bytes += range.bytes();
      add_to_targets(range.offset, range.bytes(), asked_.targets(), asked_.stripe_bytes, targets);
    }
    for (const auto& [place, bytes] : targets) client.shares.push_back({place, bytes});
    operation.targets = static_cast<std::uint32_t>(client.shares.size());
    operations_.transfer(client, operation);
    return {};
  }

  Status move_kept(Direction direction, std::span<const FileRange> ranges,
                   storage::FileTraffic& traffic) const {
    std::vector<FileRange> kept(ranges.begin(), ranges.end());
    for (FileRange& range : kept) range.file = static_cast<StorageFile*>(range.file)->kept();
    return direction == Direction::write ? rank_.system->kept->write(kept, traffic)
                                         : rank_.system->kept->read(kept, traffic);
  }

  Status make_durable(std::span<EngineFile* const> /*files*/,
                      storage::Durability /*durability*/) override {
    return {};
  }

  const SimulatedRank& rank_;
  const Description& asked_;
  Operations& operations_;
};

}  // namespace
}  // namespace weir::sim

namespace weir::aggregation {

Result<std::unique_ptr<storage::Engine>> make_system_engine(plan::Engine /*engine*/) {
  return std::unique_ptr<storage::Engine>(std::make_unique<sim::StorageEngine>(sim::this_rank()));
}

}  // namespace weir::aggregation
