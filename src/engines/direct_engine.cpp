// An engine that bypasses the page cache where alignment permits.
//
// Each range is cut at page boundaries (or at block boundaries if blocks are larger):
//
//     edge | whole pages … | edge
//
// If there are enough whole pages, they are moved through a descriptor with O_DIRECT. The edges,
// and ranges that are too short, are moved through the page cache. Memory that does not have the
// alignment that the file system requires is copied through aligned memory of the engine.
//
// Coherence: a page is never written directly and through the page cache at the same time. Within a
// call, this holds because its ranges do not overlap and edges are written after whole pages.
// Between processes, it holds because a page in which two processes write is an edge for both. The
// kernel writes a page's cached changes to storage before a direct read or write of the page, and
// drops the page afterwards. It may have to drop a folio of several pages together. Folios come
// from reading ahead, which the buffered descriptors disable. If a folio of another program is in
// the way, the kernel reports this by failing the next fdatasync.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "engines/blocking_engine.hpp"
#include "engines/system_file.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t least_alignment = 4096;
constexpr std::int64_t least_direct_bytes = 64 << 10;
constexpr std::int64_t staging_bytes = 8 << 20;

struct Alignment {
  std::int64_t file = least_alignment;    // alignment of offsets and lengths in the file
  std::int64_t memory = least_alignment;  // alignment of addresses and lengths in memory
};

// Returns the alignment that the file system reports, or the default if the kernel is too old to
// report it.
Alignment alignment_of(const File& file) {
  Alignment alignment;
#ifdef STATX_DIOALIGN
  struct statx told {};
  if (::statx(file.descriptor(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &told) == 0 &&
      (told.stx_mask & STATX_DIOALIGN) != 0 && told.stx_dio_mem_align > 0) {
    alignment.file = std::max<std::int64_t>(least_alignment, told.stx_dio_offset_align);
    alignment.memory = told.stx_dio_mem_align;
  }
#else
  (void)file;
#endif
  return alignment;
}

class DirectFile final : public EngineFile {
 public:
  DirectFile(std::unique_ptr<EngineFile> buffered, std::unique_ptr<EngineFile> direct)
      : EngineFile(buffered->path(), buffered->changed_folders()),
        buffered_(std::move(buffered)),
        direct_(std::move(direct)) {
    const File& file = static_cast<SystemFile&>(*buffered_).file();
    (void)::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM);
    alignment_ = alignment_of(file);
  }

  [[nodiscard]] EngineFile* buffered() const { return buffered_.get(); }
  // Returns null if O_DIRECT is unsupported.
  [[nodiscard]] EngineFile* direct() const { return direct_.get(); }
  [[nodiscard]] const Alignment& alignment() const { return alignment_; }
  // Bytes that bypass the page cache are never in it.
  [[nodiscard]] bool cold() const override { return direct_ != nullptr || buffered_->cold(); }
  [[nodiscard]] bool gains_from_batches(bool writing) const override {
    return buffered_->gains_from_batches(writing);
  }
  [[nodiscard]] std::uint32_t description() const override { return buffered_->description(); }
  Status close() override {
    Status first = direct_ != nullptr ? direct_->close() : Status();
    Status second = buffered_->close();
    return first.ok() ? second : first;
  }

 private:
  std::unique_ptr<EngineFile> buffered_;
  std::unique_ptr<EngineFile> direct_;
  Alignment alignment_;
};

// Ranges of a call that are passed to the base engine together.
class Batch {
 public:
  void clear() {
    direct_.clear();
    buffered_.clear();
    slices_.clear();
    copies_.clear();
    staged_ = 0;
  }
  [[nodiscard]] bool empty() const { return direct_.empty() && buffered_.empty(); }
  [[nodiscard]] std::int64_t room() const { return staging_bytes - staged_; }

  // Adds bytes [from, to) of the range through the page cache.
  void add_buffered(const FileRange& range, std::int64_t from, std::int64_t to) {
    if (from == to) return;
    const std::size_t first = slices_.size();
    add_slices(range, from, to);
    buffered_.push_back({range.file, range.offset + from, first, slices_.size() - first});
  }
  // Adds bytes [from, to) of the range past the page cache. Returns false if the memory's alignment
  // does not permit it.
  bool add_direct(const FileRange& range, std::int64_t from, std::int64_t to) {
    const auto& file = static_cast<const DirectFile&>(*range.file);
    const std::size_t first = slices_.size();
    add_slices(range, from, to);
    const auto memory = static_cast<std::uintptr_t>(file.alignment().memory);
    const bool aligned = std::all_of(slices_.begin() + static_cast<std::ptrdiff_t>(first),
                                     slices_.end(), [memory](const Slice& slice) {
                                       return (reinterpret_cast<std::uintptr_t>(slice.data) |
                                               static_cast<std::uintptr_t>(slice.bytes)) %
                                                  memory ==
                                              0;
                                     });
    if (!aligned) {
      slices_.resize(first);
      return false;
    }
    direct_.push_back({range.file, range.offset + from, first, slices_.size() - first});
    return true;
  }
  // Adds bytes [from, to) of the range, at most room() of them, through memory of the engine.
  void add_staged(const FileRange& range, std::int64_t from, std::int64_t to) {
    if (staging_ == nullptr) {
      void* const memory = std::aligned_alloc(least_alignment, staging_bytes);
      if (memory == nullptr) throw std::bad_alloc();
      staging_.reset(static_cast<std::byte*>(memory));
    }
    const std::size_t first = slices_.size();
    add_slices(range, from, to);
    std::byte* at = staging_.get() + staged_;
    for (std::size_t i = first; i < slices_.size(); ++i) {
      copies_.push_back({at, slices_[i]});
      at += slices_[i].bytes;
    }
    slices_.resize(first);
    slices_.push_back({staging_.get() + staged_, to - from});
    direct_.push_back({range.file, range.offset + from, first, 1});
    staged_ += to - from;
  }

  template <typename Move>
  Status run(bool writing, const Move& move) {
    if (writing) copy(true);
    Status status = run_list(direct_, true, move);
    // The alignment may be stricter than reported, and a direct read fails after an unaligned end
    // of the file.
    if (!status.ok() && status.error().system_error == EINVAL) {
      status = run_list(direct_, false, move);
    }
    if (status.ok()) status = run_list(buffered_, false, move);
    if (status.ok() && !writing) copy(false);
    return status;
  }

 private:
  struct Part {
    EngineFile* file = nullptr;  // a DirectFile
    std::int64_t offset = 0;
    std::size_t first_slice = 0;
    std::size_t slices = 0;
  };
  struct Copy {
    std::byte* staged = nullptr;
    Slice slice;
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  void add_slices(const FileRange& range, std::int64_t from, std::int64_t to) {
    std::int64_t start = 0;
    for (const Slice& slice : range.slices) {
      const std::int64_t begin = std::max(from, start);
      const std::int64_t end = std::min(to, start + slice.bytes);
      if (begin < end) slices_.push_back({slice.data + (begin - start), end - begin});
      start += slice.bytes;
    }
  }
  template <typename Move>
  Status run_list(const std::vector<Part>& parts, bool direct, const Move& move) {
    if (parts.empty()) return {};
    ranges_.clear();
    for (const Part& part : parts) {
      const auto& file = static_cast<const DirectFile&>(*part.file);
      ranges_.push_back({direct ? file.direct() : file.buffered(), part.offset,
                         std::span(slices_).subspan(part.first_slice, part.slices)});
    }
    return move(std::span<const FileRange>(ranges_));
  }
  void copy(bool to_staging) {
    for (const Copy& one : copies_) {
      std::memcpy(to_staging ? one.staged : one.slice.data,
                  to_staging ? one.slice.data : one.staged,
                  static_cast<std::size_t>(one.slice.bytes));
    }
  }

  std::vector<Part> direct_;
  std::vector<Part> buffered_;
  std::vector<Slice> slices_;
  std::vector<Copy> copies_;
  std::vector<FileRange> ranges_;
  std::unique_ptr<std::byte, Free> staging_;
  std::int64_t staged_ = 0;
};

class DirectEngine final : public BlockingEngine {
 public:
  explicit DirectEngine(std::unique_ptr<Engine> base) : base_(std::move(base)) {}

  [[nodiscard]] std::string_view name() const override { return "direct-io"; }
  [[nodiscard]] EngineAbilities abilities() const override {
    EngineAbilities able = base_->abilities();
    able.past_page_cache = true;
    able.in_background = false;  // it moves everything inside submit()
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
    auto buffered = base_->open(path, opening);
    if (!buffered) return buffered.error();
    auto direct =
        base_->open(path, {.write = opening.write, .direct = true, .opener = opening.opener});
    if (!direct && direct.error().code != ErrorCode::unsupported) return direct.error();
    return std::unique_ptr<EngineFile>(std::make_unique<DirectFile>(
        std::move(buffered).value(), direct ? std::move(direct).value() : nullptr));
  }

 private:
  // A sync applies to the file's metadata and to the device's cache, so either descriptor can be
  // used.
  Status make_durable(std::span<EngineFile* const> files, Durability durability) override {
    std::vector<EngineFile*> buffered;
    buffered.reserve(files.size());
    for (EngineFile* const file : files) {
      buffered.push_back(static_cast<DirectFile*>(file)->buffered());
    }
    return base_->sync(buffered, durability);
  }

  Status move(Direction direction, std::span<const FileRange> ranges,
              FileTraffic& traffic) override {
    const bool writing = direction == Direction::write;
    const auto run = [&]() -> Status {
      Status status = batch_.run(writing, [&](std::span<const FileRange> parts) {
        return writing ? base_->write(parts, traffic) : base_->read(parts, traffic);
      });
      batch_.clear();
      return status;
    };
    batch_.clear();
    for (const FileRange& range : ranges) {
      const auto& file = static_cast<const DirectFile&>(*range.file);
      const std::int64_t unit = file.alignment().file;
      const std::int64_t end = range.bytes();
      const std::int64_t from = std::min(end, (unit - range.offset % unit) % unit);
      const std::int64_t to = std::max(from, end - (range.offset + end) % unit);
      if (file.direct() == nullptr || to - from < least_direct_bytes) {
        batch_.add_buffered(range, 0, end);
        continue;
      }
      batch_.add_buffered(range, 0, from);
      batch_.add_buffered(range, to, end);
      if (batch_.add_direct(range, from, to)) continue;
      for (std::int64_t at = from; at < to;) {
        const std::int64_t room = batch_.room() - batch_.room() % unit;
        if (room == 0) {
          if (Status status = run(); !status.ok()) return status;
          continue;
        }
        const std::int64_t bytes = std::min(room, to - at);
        batch_.add_staged(range, at, at + bytes);
        at += bytes;
      }
    }
    return batch_.empty() ? Status() : run();
  }

  std::unique_ptr<Engine> base_;
  Batch batch_;
};

}  // namespace

std::unique_ptr<Engine> make_direct_engine(std::unique_ptr<Engine> base) {
  return std::make_unique<DirectEngine>(std::move(base));
}

}  // namespace weir::storage
