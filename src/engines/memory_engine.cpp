#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engines/blocking_engine.hpp"
#include "engines/system_file.hpp"

namespace weir::storage {
namespace {

class MemoryFile final : public EngineFile {
 public:
  MemoryFile(std::string path, std::vector<std::byte>& content, bool writable)
      : EngineFile(std::move(path)), content_(content), writable_(writable) {}

  [[nodiscard]] std::vector<std::byte>& content() const { return content_; }
  [[nodiscard]] bool writable() const { return writable_; }
  Status close() override { return {}; }

 private:
  std::vector<std::byte>& content_;
  bool writable_;
};

class MemoryEngine final : public BlockingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "memory"; }
  [[nodiscard]] EngineAbilities abilities() const override { return {.in_file_system = false}; }

  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override {
    if (opening.direct) {
      Error error = system_failure("open", path, -1, EINVAL);
      error.code = ErrorCode::unsupported;
      return error;
    }
    auto found = files_.find(path);
    if (found == files_.end()) {
      if (!opening.write || (opening.bytes_when_made <= 0 && !opening.create)) {
        return system_failure("open", path, -1, ENOENT);
      }
      const auto bytes = static_cast<std::size_t>(opening.bytes_when_made);
      found = files_.emplace(path, std::vector<std::byte>(bytes)).first;
    }
    // The map's values keep their addresses when others are added.
    return std::unique_ptr<EngineFile>(
        std::make_unique<MemoryFile>(path, found->second, opening.write));
  }

 private:
  Status move(Direction direction, std::span<const FileRange> ranges,
              FileTraffic& traffic) override {
    return direction == Direction::write ? write_ranges(ranges, traffic)
                                         : read_ranges(ranges, traffic);
  }
  Status make_durable(std::span<EngineFile* const> /*files*/, Durability /*durability*/) override {
    return {};
  }

  static Status write_ranges(std::span<const FileRange> ranges, FileTraffic& traffic) {
    for (const FileRange& range : ranges) {
      const auto& file = static_cast<const MemoryFile&>(*range.file);
      if (!file.writable()) return system_failure("write", file.path(), range.offset, EBADF);
      auto& content = file.content();
      const auto end = static_cast<std::size_t>(range.offset + range.bytes());
      if (content.size() < end) content.resize(end);
      std::byte* at = content.data() + range.offset;
      for (const Slice& slice : range.slices) {
        std::memcpy(at, slice.data, static_cast<std::size_t>(slice.bytes));
        at += slice.bytes;
      }
      ++traffic.calls;
      traffic.written += range.bytes();
      traffic.moved += range.bytes();
    }
    return {};
  }

  static Status read_ranges(std::span<const FileRange> ranges, FileTraffic& traffic) {
    for (const FileRange& range : ranges) {
      const auto& content = static_cast<const MemoryFile&>(*range.file).content();
      const auto there = static_cast<std::int64_t>(content.size());
      ++traffic.calls;
      if (there < range.offset + range.bytes()) return ends_early(range, there);
      const std::byte* at = content.data() + range.offset;
      for (const Slice& slice : range.slices) {
        std::memcpy(slice.data, at, static_cast<std::size_t>(slice.bytes));
        at += slice.bytes;
      }
      traffic.read += range.bytes();
      traffic.moved += range.bytes();
    }
    return {};
  }

  std::unordered_map<std::string, std::vector<std::byte>> files_;
};

}  // namespace

std::unique_ptr<Engine> make_memory_engine() { return std::make_unique<MemoryEngine>(); }

}  // namespace weir::storage
