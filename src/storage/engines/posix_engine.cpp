#include <utility>

#include "storage/engines/announcement.hpp"
#include "storage/engines/engine.hpp"
#include "storage/engines/system_file.hpp"

namespace weir::storage {
namespace {

class PosixEngine final : public Engine {
 public:
  [[nodiscard]] std::string_view name() const override { return "posix"; }
  [[nodiscard]] EngineAbilities abilities() const override { return {}; }

  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override {
    auto opened = open_system_file(path, opening);
    if (!opened) return opened.error();
    return std::unique_ptr<EngineFile>(std::make_unique<SystemFile>(std::move(opened).value()));
  }

  Status write(std::span<const FileRange> ranges, FileTraffic& traffic) override {
    announce_edges(ranges);
    for (const FileRange& range : ranges) {
      const File& file = static_cast<SystemFile*>(range.file)->file();
      Status status = write_slices(file, range.slices, range.offset, traffic.calls);
      if (!status.ok()) return status;
      traffic.written += range.bytes();
      traffic.moved += range.bytes();
    }
    return {};
  }

  Status read(std::span<const FileRange> ranges, FileTraffic& traffic) override {
    bool announced = false;  // from the range on that finds its file to be cold
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const FileRange& range = ranges[i];
      auto& file = static_cast<SystemFile&>(*range.file);
      if (!announced && range.file->cold()) {
        announce_reads(ranges.subspan(i));
        announced = true;
      }
      std::int64_t bytes = 0;
      Status status =
          file.reading().read(file.file(), range.slices, range.offset, bytes, traffic.calls);
      traffic.read += bytes;
      traffic.moved += bytes;
      if (!status.ok()) return status;
      if (bytes < range.bytes()) return system_file_ends_early(range);
    }
    return {};
  }

  Status sync(std::span<EngineFile* const> files) override { return sync_system_files(files); }
};

}  // namespace

std::int64_t FileRange::bytes() const {
  std::int64_t bytes = 0;
  for (const Slice& slice : slices) bytes += slice.bytes;
  return bytes;
}

std::unique_ptr<Engine> make_posix_engine() { return std::make_unique<PosixEngine>(); }

}  // namespace weir::storage
