#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engines/announcement.hpp"
#include "engines/blocking_engine.hpp"
#include "engines/range_parts.hpp"
#include "engines/system_file.hpp"

namespace weir::storage {
namespace {

class PosixEngine final : public BlockingEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "posix"; }
  [[nodiscard]] EngineAbilities abilities() const override { return {}; }

  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override {
    auto opened = open_system_file(path, opening);
    if (!opened) return opened.error();
    return std::unique_ptr<EngineFile>(std::make_unique<SystemFile>(std::move(opened).value()));
  }

 private:
  Status move(Direction direction, std::span<const FileRange> ranges,
              FileTraffic& traffic) override {
    return direction == Direction::write ? write_ranges(ranges, traffic)
                                         : read_ranges(ranges, traffic);
  }

  Status make_durable(std::span<EngineFile* const> files, Durability durability) override {
    return sync_system_files(files, durability);
  }

  Status write_ranges(std::span<const FileRange> ranges, FileTraffic& traffic) {
    announce_edges(ranges);
    for (const FileRange& range : ranges) {
      const File& file = static_cast<SystemFile*>(range.file)->file();
      Status status = in_parts(range, [&](std::span<const Slice> slices, std::int64_t offset) {
        std::int64_t bytes = 0;
        Status written = write_slices(file, slices, offset, bytes, traffic.calls);
        traffic.written += bytes;
        traffic.moved += bytes;
        return written;
      });
      if (!status.ok()) return explained(range, Direction::write, std::move(status));
    }
    return {};
  }

  Status read_ranges(std::span<const FileRange> ranges, FileTraffic& traffic) {
    bool announced = false;  // set at the first range whose file is found to be cold
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const FileRange& range = ranges[i];
      auto& file = static_cast<SystemFile&>(*range.file);
      if (!announced && range.file->cold()) {
        announce_reads(ranges.subspan(i));
        announced = true;
      }
      std::int64_t bytes = 0;
      Status status = in_parts(range, [&](std::span<const Slice> slices, std::int64_t offset) {
        std::int64_t read = 0;
        Status done = file.reading().read(file.file(), slices, offset, read, traffic.calls);
        bytes += read;
        return done;
      });
      traffic.read += bytes;
      traffic.moved += bytes;
      if (!status.ok()) return explained(range, Direction::read, std::move(status));
      if (bytes < range.bytes()) return system_file_ends_early(range);
    }
    return {};
  }

  template <typename MoveSlices>
  Status in_parts(const FileRange& range, const MoveSlices& move) const {
    if (!between()) return move(range.slices, range.offset);
    return move_in_parts(range, most_bytes_between_calls,
                         [&](std::span<const Slice> slices, std::int64_t offset) {
                           Status status = move(slices, offset);
                           // A call is not worthwhile after a short range.
                           if (bytes_of(slices) == most_bytes_between_calls) between()();
                           return status;
                         });
  }
};

}  // namespace

std::unique_ptr<Engine> make_posix_engine() { return std::make_unique<PosixEngine>(); }

}  // namespace weir::storage
