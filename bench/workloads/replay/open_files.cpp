#include "workloads/replay/open_files.hpp"

#include <utility>

namespace weir::bench::replay {

OpenFile* OpenFiles::find(std::int64_t file, bool write) {
  std::vector<OpenFile>& opened = files_[file];
  for (std::size_t i = opened.size(); i-- > 0;) {
    if (opened[i].writes || !write) return &opened[i];
  }
  return nullptr;
}

OpenFile* OpenFiles::find_together(std::int64_t file, bool write) {
  std::vector<OpenFile>& opened = files_[file];
  for (std::size_t i = opened.size(); i-- > 0;) {
    if (opened[i].is_together && (opened[i].writes || !write)) return &opened[i];
  }
  return nullptr;
}

OpenFile* OpenFiles::last(std::int64_t file) {
  std::vector<OpenFile>& opened = files_[file];
  return opened.empty() ? nullptr : &opened.back();
}

std::int64_t OpenFiles::any_open() const {
  for (const auto& [file, opened] : files_) {
    if (!opened.empty()) return file;
  }
  return -1;
}

namespace {

class TogetherOrder {
 public:
  void add(const ReplayedCall& call) {
    switch (call.kind) {
      case CallKind::open: {
        const bool together = (call.bytes & calls::open_together) != 0;
        if (together) count(call.kind, call.file, (call.bytes & calls::open_writes) != 0);
        open(call.file, together, (call.bytes & calls::open_writes) != 0);
        break;
      }
      case CallKind::close:
        close(call.file);
        break;
      case CallKind::sync:
      case CallKind::truncate:
        find_or_open(call.file, true);
        if (call.kind == CallKind::sync && files_.find_together(call.file, true) != nullptr) {
          count(call.kind, call.file, true);
        }
        break;
      default: {
        const bool writes = calls::is_writing(call.kind);
        if (calls::is_collective(call.kind) && files_.find_together(call.file, writes) != nullptr) {
          count(call.kind, call.file, writes);
        } else if (call.bytes > 0) {
          find_or_open(call.file, writes);
        }
      }
    }
  }

  [[nodiscard]] std::uint64_t end() {
    for (std::int64_t file = files_.any_open(); file >= 0; file = files_.any_open()) close(file);
    return hash_;
  }

 private:
  void open(std::int64_t file, bool together, bool writes) {
    OpenFile opened;
    opened.is_together = together;
    opened.writes = writes;
    files_.add(file, std::move(opened));
  }
  void find_or_open(std::int64_t file, bool writes) {
    if (files_.find(file, writes) == nullptr) open(file, false, writes);
  }
  void close(std::int64_t file) {
    const OpenFile* const last = files_.last(file);
    if (last == nullptr) return;
    if (last->is_together) count(CallKind::close, file, last->writes);
    files_.remove_last(file);
  }
  void count(CallKind kind, std::int64_t file, bool writes) {
    for (const std::uint64_t one : {static_cast<std::uint64_t>(kind),
                                    static_cast<std::uint64_t>(file), std::uint64_t{writes}}) {
      hash_ = (hash_ ^ one) * 0x9e3779b97f4a7c15U;
      hash_ ^= hash_ >> 29U;
    }
  }

  OpenFiles files_;
  std::uint64_t hash_ = 0x5bd1e995;
};

}  // namespace

std::uint64_t order_together(const RankRecord& record) {
  TogetherOrder order;
  CallCursor cursor(record);
  for (ReplayedCall call; cursor.next(&call);) order.add(call);
  return order.end();
}

}  // namespace weir::bench::replay
