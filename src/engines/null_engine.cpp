#include "engines/blocking_engine.hpp"

namespace weir::storage {
namespace {

class NullFile final : public EngineFile {
 public:
  using EngineFile::EngineFile;
  Status close() override { return {}; }
};

class NullEngine final : public BlockingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "null"; }
  [[nodiscard]] EngineAbilities abilities() const override {
    return {.in_file_system = false, .keeps_bytes = false};
  }
  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& /*opening*/) override {
    return std::unique_ptr<EngineFile>(std::make_unique<NullFile>(path));
  }

 private:
  Status move(Direction direction, std::span<const FileRange> ranges,
              FileTraffic& traffic) override {
    for (const FileRange& range : ranges) {
      ++traffic.calls;
      traffic.moved += range.bytes();
      (direction == Direction::write ? traffic.written : traffic.read) += range.bytes();
    }
    return {};
  }
  Status make_durable(std::span<EngineFile* const> /*files*/, Durability /*durability*/) override {
    return {};
  }
};

}  // namespace

std::unique_ptr<Engine> make_null_engine() { return std::make_unique<NullEngine>(); }

}  // namespace weir::storage
