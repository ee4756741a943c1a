// The engine that moves ranges by io_uring.
//
// clang-format off
//   request ─► operation ─► parts, each in a slot and an entry of the ring ─► sync of each file ─► end
// clang-format on
// An operation begins its parts as long as slots are free; each completion frees a slot for the
// next part of the operation that waits longest. When all parts have been moved, it begins the
// syncs. A failure only prevents further parts and syncs of its operation from being begun.
//
// Invariants: the kernel owns a part's slot and memory from the preparation of its entry until its
// completion is taken. An operation ends when none of its entries is in flight. If an operation
// waits for slots, some slot is in flight.
//
// A request in the background must end without its caller. Its entries have IOSQE_ASYNC: without
// it, the kernel would first try to move the bytes during the submission, that is, in the caller's
// time. If it makes one file durable and all its parts find slots, its entries are a chain of
// links:
//
// clang-format off
//   part ─► part ─► … ─► sync
// clang-format on
// The kernel begins an entry of a chain only if the previous entry moved all its bytes; otherwise
// it cancels the rest. The engine then begins what was cancelled without a chain.
//
// Open files and memory that transfers use repeatedly are registered with the ring. For each
// request, this saves the kernel a look-up and, past the page cache, the pinning of pages.
// Registration is omitted if the kernel rejects it (locked memory is limited for users other than
// root).
#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>
#include <vector>

#include "engines/announcement.hpp"
#include "engines/blocking_engine.hpp"
#include "engines/engine.hpp"
#include "engines/range_parts.hpp"
#include "engines/system_file.hpp"
#include "engines/uring.hpp"

namespace weir::storage {
namespace {

// Longest part of a blocking call: the parts of a long range are in flight at the same time.
constexpr std::int64_t most_bytes_of_blocking_part = 1 << 20;

// The ring is destroyed after the last file that is registered with it.
class UringFile final : public SystemFile {
 public:
  UringFile(OpenedSystemFile opened, std::shared_ptr<Uring> ring)
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

  std::shared_ptr<Uring> ring_;
  int number_;
};

class UringEngine final : public Engine {
 public:
  explicit UringEngine(const EngineLimits& limits)
      : ring_(std::make_shared<Uring>()),
        bytes_per_call_(limits.bytes_per_call),
        slots_(limits.in_flight) {
    for (Slot& slot : slots_) free_.push_back(&slot);
  }
  UringEngine(const UringEngine&) = delete;
  UringEngine& operator=(const UringEngine&) = delete;

  ~UringEngine() override {
    in_kernel_ -= ring_->drop_unsubmitted();
    if (in_kernel_ == 0 || !broken_.ok()) return;
    for (Slot& slot : slots_) {
      if (slot.operation == nullptr) continue;
      io_uring_sqe* const entry = ring_->next_entry();
      io_uring_prep_cancel(entry, &slot, 0);
      io_uring_sqe_set_data(entry, nullptr);
    }
    wait_for_kernel();  // if a cancellation is rejected, the wait for its entry is longer
  }

  int open_ring() { return ring_->open(static_cast<unsigned>(slots_.size())); }

  [[nodiscard]] std::string_view name() const override { return "io_uring"; }
  [[nodiscard]] EngineAbilities abilities() const override {
    return {.several_at_once = true, .in_background = true};
  }

  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override {
    auto opened = open_system_file(path, opening);
    if (!opened) return opened.error();
    return std::unique_ptr<EngineFile>(
        std::make_unique<UringFile>(std::move(opened).value(), ring_));
  }

  void expect_memory(std::span<const std::span<std::byte>> areas) override {
    ring_->expect_memory(areas);
  }

 private:
  struct Operation {
    EngineRequest* request = nullptr;  // null: not used
    RangeParts parts;
    bool has_parts = false;          // not all parts have been begun
    std::vector<EngineFile*> files;  // to be made durable
    std::size_t synced = 0;          // number of files whose sync was begun
    unsigned in_flight = 0;          // entries
    bool is_chained = false;         // the entries are links of a chain, which goes on
    bool syncs_again = false;        // the sync of the chain may have come before some of its parts
    bool waits = false;              // is in waiting_
    io_uring_sqe* last = nullptr;    // the last entry that was prepared
  };
  struct Slot {
    Operation* operation = nullptr;  // null: free
    RangePart part;
    UringFile* syncing = nullptr;  // null: the slot moves the part
    bool is_linked = false;
  };

  void start(EngineRequest& request) override {
    if (!broken_.ok()) {
      request.status = broken_;
      end(request);
      return;
    }
    ring_->register_memory();
    const bool moves = !only_syncs(request);
    // Most file systems serialize the writes to one file.
    if (moves && request.direction == Direction::write) announce_edges(request.ranges);
    Operation& operation = unused_operation();
    operation.request = &request;
    operation.has_parts = moves;
    operation.parts = RangeParts(
        request.ranges, is_blocking(request) ? most_bytes_of_blocking_part : bytes_per_call_);
    operation.files.clear();
    if (request.durability != Durability::none) operation.files = files_of(request);
    operation.synced = 0;
    operation.is_chained = request.in_background && operation.files.size() == 1;
    operation.syncs_again = false;
    operation.last = nullptr;
    wait_for_slots(operation);
    use_free_slots();
    submit_urgent();
  }

  void advance(std::int64_t until_ns) override {
    if (in_kernel_ == 0) return;
    enter(until_ns);
  }

  Operation& unused_operation() {
    if (unused_.empty()) {
      operations_.push_back(std::make_unique<Operation>());
      return *operations_.back();
    }
    Operation& unused = *unused_.back();
    unused_.pop_back();
    return unused;
  }
  void wait_for_slots(Operation& operation) {
    if (!std::exchange(operation.waits, true)) waiting_.push_back(&operation);
  }

  void use_free_slots() {
    while (!waiting_.empty() && !free_.empty()) {
      Operation& operation = *waiting_.front();
      if (begin_next(operation)) continue;
      waiting_.pop_front();
      operation.waits = false;
      settle(operation);
    }
    // A chain whose rest has to wait for slots ends here; the sync follows when all parts are
    // moved.
    if (waiting_.empty() || waiting_.front()->last == nullptr) return;
    Operation& cut = *waiting_.front();
    if (!std::exchange(cut.is_chained, false)) return;
    cut.last->flags &= static_cast<unsigned char>(~IOSQE_IO_LINK);
  }

  // Begins the next part or sync of the operation. Returns whether it did; there is a free slot.
  bool begin_next(Operation& operation) {
    if (!operation.request->status.ok()) return false;
    if (operation.has_parts) {
      Slot* const slot = free_.back();
      operation.has_parts = operation.parts.next(slot->part);
      if (operation.has_parts) {
        prepare(operation, *take_slot(operation));
        return true;
      }
    }
    if (operation.synced == operation.files.size()) return false;
    if (operation.in_flight > 0 && !operation.is_chained && operation.synced == 0) return false;
    Slot* const slot = take_slot(operation);
    slot->syncing = static_cast<UringFile*>(operation.files[operation.synced++]);
    prepare(operation, *slot);
    return true;
  }

  Slot* take_slot(Operation& operation) {
    Slot* const slot = free_.back();
    free_.pop_back();
    slot->operation = &operation;
    slot->syncing = nullptr;
    return slot;
  }
  void free_slot(Slot& slot) {
    slot.operation = nullptr;
    free_.push_back(&slot);
  }

  void prepare(Operation& operation, Slot& slot) {
    io_uring_sqe* const entry = ring_->next_entry();
    if (slot.syncing != nullptr) {
      const bool data = operation.request->durability == Durability::data;
      io_uring_prep_fsync(entry, slot.syncing->file().descriptor(),
                          data ? IORING_FSYNC_DATASYNC : 0);
      slot.syncing->use_in(entry);
    } else {
      prepare_part(entry, operation.request->direction == Direction::write, slot.part);
      ++operation.request->traffic.calls;
    }
    io_uring_sqe_set_data(entry, &slot);
    slot.is_linked = operation.is_chained;
    if (operation.request->in_background) entry->flags |= IOSQE_ASYNC;
    if (operation.is_chained && slot.syncing == nullptr) entry->flags |= IOSQE_IO_LINK;
    if (operation.request->in_background) is_urgent_ = true;
    operation.last = entry;
    ++operation.in_flight;
    ++in_kernel_;
  }

  void prepare_part(io_uring_sqe* entry, bool writing, const RangePart& part) const {
    const auto& file = static_cast<const UringFile&>(*part.range->file);
    const int descriptor = file.file().descriptor();
    const std::span<const iovec> left = part.left();
    const auto offset = static_cast<std::uint64_t>(part.offset);
    const int area = left.size() == 1 ? ring_->area_of(left.front()) : -1;
    void* const memory = left.front().iov_base;
    const auto bytes = static_cast<unsigned>(left.front().iov_len);
    const auto count = static_cast<unsigned>(left.size());
    if (area >= 0 && writing) {
      io_uring_prep_write_fixed(entry, descriptor, memory, bytes, offset, area);
    } else if (area >= 0) {
      io_uring_prep_read_fixed(entry, descriptor, memory, bytes, offset, area);
    } else if (count == 1 && writing) {
      io_uring_prep_write(entry, descriptor, memory, bytes, offset);
    } else if (count == 1) {
      io_uring_prep_read(entry, descriptor, memory, bytes, offset);
    } else if (writing) {
      io_uring_prep_writev(entry, descriptor, left.data(), count, offset);
    } else {
      io_uring_prep_readv(entry, descriptor, left.data(), count, offset);
    }
    file.use_in(entry);
  }

  // Passes what is prepared to the kernel, takes what has ended, and begins what follows.
  void enter(std::int64_t until_ns) {
    if (!submit(until_ns)) return;
    while (const auto one = ring_->take()) complete(*static_cast<Slot*>(one->pointer), one->result);
    use_free_slots();
    submit_urgent();
  }

  void submit_urgent() {
    if (std::exchange(is_urgent_, false)) (void)submit(0);
  }

  // Returns whether the engine can go on.
  bool submit(std::int64_t until_ns) {
    if (const int refused = ring_->enter(until_ns); refused != 0) {
      give_up(system_failure("io_uring_enter", "", -1, refused));
      return false;
    }
    if (ring_->unsubmitted() == 0) return true;
    // If the kernel takes only a part of a chain, it executes the rest as a chain of its own.
    for (const auto& operation : operations_) {
      if (std::exchange(operation->is_chained, false)) operation->syncs_again = true;
    }
    return true;
  }

  void complete(Slot& slot, int result) {
    Operation& operation = *slot.operation;
    EngineRequest& request = *operation.request;
    --operation.in_flight;
    --in_kernel_;
    const bool again = result == -EINTR || result == -EAGAIN;
    const bool was_cancelled = result == -ECANCELED && slot.is_linked;
    if (again || was_cancelled) operation.is_chained = false;
    if (slot.syncing != nullptr) {
      if (again || was_cancelled || std::exchange(operation.syncs_again, false)) {
        operation.synced = 0;  // the syncs of several files are all repeated
      } else if (result < 0) {
        fail(request, system_failure(request.durability == Durability::data ? "fdatasync" : "fsync",
                                     slot.syncing->path(), -1, -result));
      }
    } else if (again || was_cancelled) {
      if (request.status.ok()) return prepare(operation, slot);
    } else if (complete_part(request, slot.part, result) && request.status.ok()) {
      operation.is_chained = false;  // parts after it may be in flight nevertheless
      return prepare(operation, slot);
    }
    free_slot(slot);
    settle(operation);
  }

  // Returns whether a rest of the part is to be moved.
  bool complete_part(EngineRequest& request, RangePart& part, int result) {
    const bool writing = request.direction == Direction::write;
    moved(request);
    if (result < 0 || (writing && result == 0)) {
      fail(request,
           system_failure(writing ? "write" : "read", part.range->file->path(), part.offset,
                          result < 0 ? -result : EIO),
           part.range);
      return false;
    }
    if (result == 0) {
      fail(request, system_file_ends_early(*part.range));
      return false;
    }
    (writing ? request.traffic.written : request.traffic.read) += result;
    request.traffic.moved += result;
    part.advance(result);
    return part.bytes > 0;
  }

  // Keeps the first failure of a request, or one that lies before it: several parts may fail.
  static void fail(EngineRequest& request, Error error, const FileRange* range = nullptr) {
    if (!request.status.ok() &&
        (error.offset < 0 || error.offset >= request.status.error().offset)) {
      return;
    }
    request.status = range != nullptr ? explained(*range, request.direction, std::move(error))
                                      : Status(std::move(error));
  }

  // Ends an operation of which nothing is in flight or left to begin; lets it begin its syncs when
  // its parts have been moved.
  void settle(Operation& operation) {
    if (operation.request == nullptr || operation.in_flight > 0 || operation.waits) return;
    EngineRequest& request = *operation.request;
    if (request.status.ok() && operation.synced < operation.files.size()) {
      wait_for_slots(operation);
      return;
    }
    operation.request = nullptr;
    unused_.push_back(&operation);
    end(request);
  }

  void wait_for_kernel() {
    while (in_kernel_ > 0) {
      if (ring_->enter(no_deadline) != 0) return;
      while (const auto one = ring_->take()) in_kernel_ -= one->pointer != nullptr ? 1 : 0;
    }
  }

  // Ends all requests after the kernel has permanently refused submissions. The kernel first
  // releases their memory.
  void give_up(Error error) {
    in_kernel_ -= ring_->drop_unsubmitted();
    wait_for_kernel();
    broken_ = std::move(error);
    waiting_.clear();
    for (const auto& operation : operations_) {
      if (operation->request == nullptr) continue;
      fail(*operation->request, broken_.error());
      end(*std::exchange(operation->request, nullptr));
    }
  }

  std::shared_ptr<Uring> ring_;
  std::int64_t bytes_per_call_;
  std::vector<Slot> slots_;  // the ring's completions point here: never resized
  std::vector<Slot*> free_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> unused_;
  std::deque<Operation*> waiting_;  // for slots
  unsigned in_kernel_ = 0;          // entries that were prepared and whose completion was not taken
  bool is_urgent_ = false;          // an entry of a request in the background was prepared
  Status broken_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_uring_engine(const EngineLimits& limits) {
  if (limits.in_flight < 1 || limits.in_flight > most_uring_entries) {
    return invalid_argument("the depth of an io_uring queue must lie between 1 and 4096");
  }
  auto engine = std::make_unique<UringEngine>(limits);
  if (const int refused = engine->open_ring(); refused != 0) {
    Error error = system_failure("set-up of io_uring", "", -1, refused);
    error.code = ErrorCode::unsupported;
    return error;
  }
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace weir::storage
