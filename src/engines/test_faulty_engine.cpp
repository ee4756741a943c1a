#include "engines/test_faulty_engine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "engines/blocking_engine.hpp"

namespace weir::storage {
namespace {

using Operation = Fault::Operation;

std::vector<Slice> first_bytes(std::span<const Slice> slices, std::int64_t bytes) {
  std::vector<Slice> first;
  for (const Slice& slice : slices) {
    if (bytes == 0) break;
    first.push_back({slice.data, std::min(slice.bytes, bytes)});
    bytes -= first.back().bytes;
  }
  return first;
}

class FaultyEngine final : public BlockingEngine {
 public:
  FaultyEngine(std::unique_ptr<Engine> base, const Fault& fault)
      : base_(std::move(base)), fault_(fault) {}

  [[nodiscard]] std::string_view name() const override { return "faulty"; }
  [[nodiscard]] EngineAbilities abilities() const override {
    EngineAbilities able = base_->abilities();
    able.in_background = false;
    return able;
  }
  void expect_memory(std::span<const std::span<std::byte>> areas) override {
    base_->expect_memory(areas);
  }
  void call_between_parts(std::function<void()> call) override {
    base_->call_between_parts(std::move(call));
  }

  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override {
    if (spoils(Operation::open)) return system_failure("open", path, -1, fault_.system_error);
    return base_->open(path, opening);
  }

 private:
  Status make_durable(std::span<EngineFile* const> files, Durability durability) override {
    for (const EngineFile* const file : files) {
      if (spoils(Operation::sync)) {
        return system_failure("fdatasync", file->path(), -1, fault_.system_error);
      }
    }
    return base_->sync(files, durability);
  }

  Status move(Direction direction, std::span<const FileRange> ranges,
              FileTraffic& traffic) override {
    const bool writing = direction == Direction::write;
    const auto move_one = [&](const FileRange& range) {
      return writing ? base_->write({&range, 1}, traffic) : base_->read({&range, 1}, traffic);
    };
    for (const FileRange& range : ranges) {
      Status moved = spoils(writing ? Operation::write : Operation::read)
                         ? fail(range, writing ? "write" : "read", move_one)
                         : move_one(range);
      if (!moved.ok()) return moved;
    }
    return {};
  }

  // Counts an operation, and delays it if the fault has a delay. Returns whether it fails or is
  // dropped.
  bool spoils(Operation operation) {
    if (operation != fault_.operation || ++counted_ < fault_.number) return false;
    if (fault_.is_once && counted_ > fault_.number) return false;
    if (fault_.delay_seconds > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(fault_.delay_seconds));
    }
    return fault_.system_error != 0 || fault_.is_dropped;
  }

  // Moves the first bytes of the range, then fails like a system call that stopped there.
  template <typename Move>
  Status fail(const FileRange& range, const char* operation, const Move& move) const {
    if (fault_.is_dropped) return {};
    const std::vector<Slice> slices = first_bytes(range.slices, fault_.moved);
    const FileRange part{range.file, range.offset, slices};
    if (!slices.empty()) {
      if (Status moved = move(part); !moved.ok()) return moved;
    }
    return system_failure(operation, range.file->path(), range.offset + part.bytes(),
                          fault_.system_error);
  }

  std::unique_ptr<Engine> base_;
  Fault fault_;
  std::int64_t counted_ = 0;
};

class FaultyMover final : public SliceMover {
 public:
  explicit FaultyMover(const Fault& fault) : fault_(fault) {}

  Status write(const File& file, std::span<const Slice> slices, std::int64_t offset,
               std::int64_t& bytes) const override {
    const bool is_spoilt = spoils(Operation::write);
    Status written = SliceMover::write(
        file, is_spoilt ? first_bytes(slices, fault_.moved) : all(slices), offset, bytes);
    return written.ok() && is_spoilt ? outcome("write", file, offset + bytes) : written;
  }

  Status read(const File& file, std::span<const Slice> slices, std::int64_t offset,
              std::int64_t& bytes) const override {
    const bool is_spoilt = spoils(Operation::read);
    Status read = SliceMover::read(
        file, is_spoilt ? first_bytes(slices, fault_.moved) : all(slices), offset, bytes);
    return read.ok() && is_spoilt ? outcome("read", file, offset + bytes) : read;
  }

 private:
  static std::vector<Slice> all(std::span<const Slice> slices) {
    return {slices.begin(), slices.end()};
  }
  bool spoils(Operation operation) const {
    if (operation != fault_.operation) return false;
    const std::int64_t number = ++counted_;
    return fault_.is_once ? number == fault_.number : number >= fault_.number;
  }
  Status outcome(const char* operation, const File& file, std::int64_t offset) const {
    if (fault_.is_dropped) return {};
    return system_failure(operation, file.path(), offset, fault_.system_error);
  }

  Fault fault_;
  mutable std::atomic<std::int64_t> counted_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_faulty_engine(std::unique_ptr<Engine> base, const Fault& fault) {
  return std::make_unique<FaultyEngine>(std::move(base), fault);
}

std::shared_ptr<const SliceMover> make_faulty_mover(const Fault& fault) {
  return std::make_shared<FaultyMover>(fault);
}

}  // namespace weir::storage
