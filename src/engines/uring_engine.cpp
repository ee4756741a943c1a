// The engine that moves ranges by io_uring.
//
// A call splits its ranges into parts and keeps as many parts in flight as there are slots; each
// completion frees a slot for the next part. Invariants: the kernel owns a part's slot and memory
// from prepare() until its completion is taken. move() returns when no part is in flight, also
// after a failure, which only prevents further parts from being begun.
//
// Open files and memory that transfers use repeatedly are registered with the ring. For each
// request, this saves the kernel a look-up and, past the page cache, the pinning of pages.
// Registration is omitted if the kernel rejects it (locked memory is limited for users other than
// root).
#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "engines/announcement.hpp"
#include "engines/engine.hpp"
#include "engines/range_parts.hpp"
#include "engines/system_file.hpp"

namespace weir::storage {
namespace {

constexpr unsigned most_in_flight = 64;
constexpr std::int64_t bytes_per_part = 1 << 20;
constexpr unsigned most_registered_files = 256;
// Maximum size of one registered piece of memory that the kernel accepts.
constexpr std::size_t most_registered_bytes = std::size_t{1} << 30;

// The ring. It is destroyed after the last file that is registered with it.
class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (open_) io_uring_queue_exit(&ring_);
  }

  // Returns errno, or 0.
  int open() {
    const int failed = io_uring_queue_init(most_in_flight, &ring_, 0);
    if (failed != 0) return -failed;
    open_ = true;
    std::array<int, most_registered_files> none{};
    none.fill(-1);
    registers_files_ = io_uring_register_files(&ring_, none.data(), most_registered_files) == 0;
    return 0;
  }

  // Registers a file. Returns its number in the ring, or -1 if it is not registered.
  int add_file(int descriptor) {
    if (!registers_files_) return -1;
    const auto free = std::find(used_.begin(), used_.end(), false);
    if (free == used_.end()) return -1;
    const auto number = static_cast<unsigned>(free - used_.begin());
    if (io_uring_register_files_update(&ring_, number, &descriptor, 1) != 1) return -1;
    *free = true;
    return static_cast<int>(number);
  }
  void remove_file(int number) {
    if (number < 0) return;
    const int none = -1;
    (void)io_uring_register_files_update(&ring_, static_cast<unsigned>(number), &none, 1);
    used_[static_cast<std::size_t>(number)] = false;
  }

  void expect_memory(std::span<const std::span<std::byte>> areas) {
    if (!areas_.empty()) (void)io_uring_unregister_buffers(&ring_);
    areas_.clear();
    expected_.assign(areas.begin(), areas.end());
  }
  // Registers the expected memory. This is delayed until the first use, because the kernel keeps
  // the pages of registered memory.
  void register_memory() {
    if (expected_.empty()) return;
    for (std::span<std::byte> area : expected_) {
      while (!area.empty()) {
        const std::size_t bytes = std::min(area.size(), most_registered_bytes);
        areas_.push_back({area.data(), bytes});
        area = area.subspan(bytes);
      }
    }
    expected_.clear();
    const auto count = static_cast<unsigned>(areas_.size());
    if (io_uring_register_buffers(&ring_, areas_.data(), count) != 0) areas_.clear();
  }
  // Returns the number of the registered area that contains the memory, or -1 if there is none.
  [[nodiscard]] int area_of(const iovec& memory) const {
    const auto* const start = static_cast<const std::byte*>(memory.iov_base);
    for (std::size_t i = 0; i < areas_.size(); ++i) {
      const auto* const area = static_cast<const std::byte*>(areas_[i].iov_base);
      if (start >= area && start + memory.iov_len <= area + areas_[i].iov_len) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  [[nodiscard]] io_uring* get() { return &ring_; }

 private:
  io_uring ring_{};
  bool open_ = false;
  bool registers_files_ = false;
  std::array<bool, most_registered_files> used_{};
  std::vector<std::span<std::byte>> expected_;  // not yet registered
  std::vector<iovec> areas_;
};

class UringFile final : public SystemFile {
 public:
  UringFile(OpenedSystemFile opened, std::shared_ptr<Ring> ring)
      : SystemFile(std::move(opened)),
        ring_(std::move(ring)),
        number_(ring_->add_file(SystemFile::file().descriptor())) {}
  UringFile(const UringFile&) = delete;
  UringFile& operator=(const UringFile&) = delete;
  ~UringFile() override { forget(); }

  Status close() override {
    forget();
    return SystemFile::close();
  }
  [[nodiscard]] bool gains_from_batches(bool /*writing*/) const override { return true; }
  // Makes an entry that was prepared for the file's descriptor use its registered number instead.
  void use_in(io_uring_sqe* entry) const {
    if (number_ < 0) return;
    entry->fd = number_;
    entry->flags |= IOSQE_FIXED_FILE;
  }

 private:
  void forget() {
    ring_->remove_file(number_);
    number_ = -1;
  }

  std::shared_ptr<Ring> ring_;
  int number_;
};

class UringEngine final : public Engine {
 public:
  UringEngine() : ring_(std::make_shared<Ring>()), slots_(most_in_flight) {
    for (Slot& slot : slots_) free_.push_back(&slot);
  }
  int open_ring() { return ring_->open(); }

  [[nodiscard]] std::string_view name() const override { return "io_uring"; }
  [[nodiscard]] EngineAbilities abilities() const override { return {.several_at_once = true}; }

  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override {
    auto opened = open_system_file(path, opening);
    if (!opened) return opened.error();
    return std::unique_ptr<EngineFile>(
        std::make_unique<UringFile>(std::move(opened).value(), ring_));
  }

  Status write(std::span<const FileRange> ranges, FileTraffic& traffic) override {
    announce_edges(ranges);  // most file systems serialize the writes to one file
    return move(true, ranges, traffic);
  }
  Status read(std::span<const FileRange> ranges, FileTraffic& traffic) override {
    return move(false, ranges, traffic);
  }

  Status sync(std::span<EngineFile* const> files) override {
    Status status;
    std::size_t begun = 0;
    const auto begin_next = [&] {
      if (begun == files.size()) return false;
      Slot* const slot = take_slot();
      slot->syncing = static_cast<UringFile*>(files[begun++]);
      io_uring_sqe* const entry = next_entry();
      io_uring_prep_fsync(entry, slot->syncing->file().descriptor(), IORING_FSYNC_DATASYNC);
      slot->syncing->use_in(entry);
      io_uring_sqe_set_data(entry, slot);
      return true;
    };
    return run(begin_next, [&](Slot& slot, int result) -> Status {
      if (result == -EINTR || result == -EAGAIN) return sync_once(*slot.syncing);
      if (result >= 0) return {};
      return system_failure("fdatasync", slot.syncing->path(), -1, -result);
    });
  }

  void expect_memory(std::span<const std::span<std::byte>> areas) override {
    ring_->expect_memory(areas);
  }
  void call_between_parts(std::function<void()> call) override { between_ = std::move(call); }

 private:
  struct Slot {
    RangePart part;
    bool again = false;  // the rest of the part must still be moved
    UringFile* syncing = nullptr;
  };

  static Status sync_once(UringFile& file) {
    EngineFile* const one = &file;
    return sync_system_files({&one, 1});
  }

  Slot* take_slot() {
    Slot* const slot = free_.back();
    free_.pop_back();
    slot->again = false;
    return slot;
  }
  // Returns a free entry. There is one for each slot, because entries are submitted before the next
  // ones are made.
  io_uring_sqe* next_entry() {
    ++unsubmitted_;
    return io_uring_get_sqe(ring_->get());
  }

  void prepare(bool writing, Slot& slot) {
    io_uring_sqe* const entry = next_entry();
    const auto& file = static_cast<const UringFile&>(*slot.part.range->file);
    const int descriptor = file.file().descriptor();
    const std::span<const iovec> left = slot.part.left();
    const auto offset = static_cast<std::uint64_t>(slot.part.offset);
    const int area = left.size() == 1 ? ring_->area_of(left.front()) : -1;
    void* const start = left.front().iov_base;
    const auto bytes = static_cast<unsigned>(left.front().iov_len);
    const auto count = static_cast<unsigned>(left.size());
    if (area >= 0 && writing) {
      io_uring_prep_write_fixed(entry, descriptor, start, bytes, offset, area);
    } else if (area >= 0) {
      io_uring_prep_read_fixed(entry, descriptor, start, bytes, offset, area);
    } else if (writing) {
      io_uring_prep_writev(entry, descriptor, left.data(), count, offset);
    } else {
      io_uring_prep_readv(entry, descriptor, left.data(), count, offset);
    }
    file.use_in(entry);
    io_uring_sqe_set_data(entry, &slot);
  }

  Status move(bool writing, std::span<const FileRange> ranges, FileTraffic& traffic) {
    ring_->register_memory();
    RangeParts parts(ranges, bytes_per_part);
    const auto begin_next = [&] {
      Slot* const slot = take_slot();
      if (!parts.next(slot->part)) {
        free_.push_back(slot);
        return false;
      }
      ++traffic.calls;
      prepare(writing, *slot);
      return true;
    };
    return run(begin_next, [&](Slot& slot, int result) -> Status {
      RangePart& part = slot.part;
      if (result == -EINTR || result == -EAGAIN) {
        result = 0;
      } else if (result < 0 || (writing && result == 0)) {
        return system_failure(writing ? "write" : "read", part.range->file->path(), part.offset,
                              result < 0 ? -result : EIO);
      } else if (result == 0) {
        return system_file_ends_early(*part.range);
      }
      (writing ? traffic.written : traffic.read) += result;
      traffic.moved += result;
      part.advance(result);
      slot.again = part.bytes > 0;
      if (slot.again) {
        ++traffic.calls;
        prepare(writing, slot);
      }
      return {};
    });
  }

  // Calls begin_next() whenever a slot is free, until it returns false or a request fails, and
  // judge(slot, result) for each completion. Returns when nothing is in flight.
  template <typename BeginNext, typename Judge>
  Status run(const BeginNext& begin_next, const Judge& judge) {
    if (!broken_.ok()) return broken_;
    Status first;
    bool more = true;
    while (true) {
      while (more && first.ok() && !free_.empty()) more = begin_next();
      const auto in_flight = static_cast<unsigned>(slots_.size() - free_.size());
      if (in_flight == 0) return first;
      if (Status entered = enter(in_flight); !entered.ok()) return entered;
      if (between_) between_();
      io_uring_cqe* answer = nullptr;
      while (io_uring_peek_cqe(ring_->get(), &answer) == 0) {
        auto* const slot = static_cast<Slot*>(io_uring_cqe_get_data(answer));
        const int result = answer->res;
        io_uring_cqe_seen(ring_->get(), answer);
        slot->again = false;
        Status status = judge(*slot, result);
        if (!status.ok() && first.ok()) first = std::move(status);
        if (!slot->again) free_.push_back(slot);
      }
    }
  }

  // Submits the prepared entries and waits for a completion. If the kernel permanently rejects
  // submissions, waits for the requests in flight; after that, the engine can no longer be used.
  Status enter(unsigned in_flight) {
    const int taken = io_uring_submit_and_wait(ring_->get(), 1);
    if (taken >= 0) {
      unsubmitted_ -= std::min(unsubmitted_, static_cast<unsigned>(taken));
      return {};
    }
    if (taken == -EINTR || taken == -EAGAIN || taken == -EBUSY) return {};
    for (unsigned left = in_flight - unsubmitted_; left > 0;) {
      io_uring_cqe* answer = nullptr;
      if (io_uring_wait_cqe(ring_->get(), &answer) != 0) continue;
      io_uring_cqe_seen(ring_->get(), answer);
      --left;
    }
    broken_ = system_failure("io_uring_enter", "", -1, -taken);
    return broken_;
  }

  std::shared_ptr<Ring> ring_;
  std::vector<Slot> slots_;  // the ring's completions point here: never resized
  std::vector<Slot*> free_;
  unsigned unsubmitted_ = 0;
  Status broken_;
  std::function<void()> between_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_uring_engine() {
  auto engine = std::make_unique<UringEngine>();
  if (const int refused = engine->open_ring(); refused != 0) {
    Error error = system_failure("set-up of io_uring", "", -1, refused);
    error.code = ErrorCode::unsupported;
    return error;
  }
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace weir::storage
