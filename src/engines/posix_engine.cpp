#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engines/announcement.hpp"
#include "engines/engine.hpp"
#include "engines/range_parts.hpp"
#include "engines/system_file.hpp"

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
      Status status = in_parts(range, [&](std::span<const Slice> slices, std::int64_t offset) {
        std::int64_t bytes = 0;
        Status written = write_slices(file, slices, offset, bytes, traffic.calls);
        traffic.written += bytes;
        traffic.moved += bytes;
        return written;
      });
      if (!status.ok()) return status;
    }
    return {};
  }

  Status read(std::span<const FileRange> ranges, FileTraffic& traffic) override {
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
      if (!status.ok()) return status;
      if (bytes < range.bytes()) return system_file_ends_early(range);
    }
    return {};
  }

  Status sync(std::span<EngineFile* const> files) override { return sync_system_files(files); }

  void call_between_parts(std::function<void()> call) override { between_ = std::move(call); }

 private:
  template <typename MoveSlices>
  Status in_parts(const FileRange& range, const MoveSlices& move) const {
    if (!between_) return move(range.slices, range.offset);
    Status status;
    std::vector<Slice> slices;
    RangeParts parts({&range, 1}, most_bytes_between_calls);
    for (RangePart part; status.ok() && parts.next(part);) {
      slices.clear();
      for (const iovec& one : part.left()) {
        slices.push_back(
            {static_cast<std::byte*>(one.iov_base), static_cast<std::int64_t>(one.iov_len)});
      }
      status = move(std::span<const Slice>(slices), part.offset);
      // A call is not worthwhile after a short range.
      if (part.bytes == most_bytes_between_calls) between_();
    }
    return status;
  }

  std::function<void()> between_;
};

}  // namespace

std::int64_t FileRange::bytes() const { return bytes_of(slices); }

std::unique_ptr<Engine> make_posix_engine() { return std::make_unique<PosixEngine>(); }

}  // namespace weir::storage
