#include "workloads/replay/needs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::bench::replay {
namespace {

class Collector {
 public:
  explicit Collector(std::span<const FileFacts> files) : files_(files) {}

  Status add(const RankRecord& record) {
    CallCursor cursor(record);
    for (ReplayedCall call; cursor.next(&call);) {
      FileNeeds& file = needs_[call.file];
      const std::size_t before = file.written.count() + file.prepared.count();
      add(call, &file);
      ranges_ += file.written.count() + file.prepared.count() - before;
      if (ranges_ > most_ranges) {
        return invalid_argument(
            fmt::format("replay: a rank writes and reads more than {} separate ranges of bytes, "
                        "more than can be verified",
                        most_ranges));
      }
    }
    return {};
  }

  [[nodiscard]] Needs& needs() { return needs_; }

 private:
  void add(const ReplayedCall& call, FileNeeds* file) {
    const FileFacts& facts = files_[static_cast<std::size_t>(call.file)];
    // Gives up when there are too many ranges, as add() of the record finds.
    const std::size_t before = file->written.count() + file->prepared.count();
    const auto goes_on = [&] {
      return file->written.count() + file->prepared.count() <= before + most_ranges;
    };
    switch (call.kind) {
      case CallKind::open:
        // A replay creates each file that a rank opens to write.
        if ((call.bytes & calls::open_writes) != 0) {
          made_[call.file] = true;
        } else if (!made_[call.file]) {
          file->exists = true;
        }
        if ((call.bytes & calls::open_truncates) != 0 && facts.users < 2) file->written.cut(0);
        break;
      case CallKind::truncate:
        if (facts.users < 2) file->written.cut(call.offset);
        break;
      case CallKind::write:
      case CallKind::write_all:
        call.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
          file->written.add(offset, offset + bytes);
          return goes_on();
        });
        break;
      case CallKind::read:
      case CallKind::read_all:
        call.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
          file->written.for_each_gap(
              offset, offset + bytes,
              [&](std::int64_t from, std::int64_t to) { file->prepared.add(from, to); });
          return goes_on();
        });
        break;
      default:
        break;
    }
  }

  std::span<const FileFacts> files_;
  Needs needs_;
  std::map<std::int64_t, bool> made_;  // files that the rank has created
  std::size_t ranges_ = 0;
};

}  // namespace

Result<Needs> needs_of(std::span<const RankRecord* const> records,
                       std::span<const FileFacts> files) {
  Collector collector(files);
  for (const RankRecord* record : records) {
    if (Status added = collector.add(*record); !added) return added.error();
  }
  return std::move(collector.needs());
}

std::int64_t replayed_length(std::int64_t recorded, const FileFacts& file, bool has_earlier_bytes) {
  return file.users < 2 && !has_earlier_bytes ? recorded : std::max(recorded, file.end);
}

}  // namespace weir::bench::replay
