#include "transport/staged_engine.hpp"

#include <utility>

#include "engines/blocking_engine.hpp"

namespace weir::transport {
namespace {

class StagedFile final : public storage::EngineFile {
 public:
  StagedFile(const std::string& path, std::uint64_t number, std::shared_ptr<StagerClient> client)
      : EngineFile(path), number_(number), client_(std::move(client)) {}
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  ~StagedFile() override { (void)close(); }

  [[nodiscard]] std::uint64_t number() const { return number_; }
  Status close() override {
    const std::shared_ptr<StagerClient> client = std::exchange(client_, nullptr);
    return client == nullptr ? Status() : client->forget_file(number_);
  }

 private:
  std::uint64_t number_;
  std::shared_ptr<StagerClient> client_;
};

class StagedEngine final : public storage::BlockingEngine {
 public:
  StagedEngine(std::shared_ptr<StagerClient> client, StagedHandling handling)
      : client_(std::move(client)), handling_(std::move(handling)) {}

  [[nodiscard]] std::string_view name() const override { return "staged"; }
  [[nodiscard]] storage::EngineAbilities abilities() const override {
    return {.in_file_system = false, .keeps_bytes = false};
  }
  Result<std::unique_ptr<storage::EngineFile>> open(const std::string& path,
                                                    const storage::Opening& opening) override {
    if (!opening.write) {
      return Error(ErrorCode::unsupported, "a stager reads no files", path);
    }
    const auto number = client_->name_file(path, opening, handling_);
    if (!number) return number.error();
    return std::unique_ptr<storage::EngineFile>(
        std::make_unique<StagedFile>(path, number.value(), client_));
  }

 private:
  Status move(Direction direction, std::span<const storage::FileRange> ranges,
              storage::FileTraffic& traffic) override {
    for (const storage::FileRange& range : ranges) {
      if (direction == Direction::read) {
        return Error(ErrorCode::unsupported, "a stager reads no files", range.file->path(),
                     range.offset);
      }
      const auto& file = static_cast<const StagedFile&>(*range.file);
      if (Status written = client_->write(file.number(), range.offset, range.slices);
          !written.ok()) {
        return with_file(written.error(), file.path());
      }
      ++traffic.calls;
      traffic.written += range.bytes();
      traffic.moved += range.bytes();
    }
    return {};
  }
  Status make_durable(std::span<storage::EngineFile* const> /*files*/,
                      storage::Durability /*durability*/) override {
    return {};
  }

  std::shared_ptr<StagerClient> client_;
  StagedHandling handling_;
};

}  // namespace

std::unique_ptr<storage::Engine> make_staged_engine(std::shared_ptr<StagerClient> client,
                                                    StagedHandling handling) {
  return std::make_unique<StagedEngine>(std::move(client), std::move(handling));
}

}  // namespace weir::transport
