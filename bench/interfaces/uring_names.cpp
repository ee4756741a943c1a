// Calls on names by io_uring: many are in flight, and each is answered separately. A call that
// moves content opens the file, moves the pieces, makes them durable and closes it, one step after
// the other, while other calls advance.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/uring.hpp"
#include "interfaces/interface.hpp"

namespace weir::bench {
namespace {

struct RingCall {
  NameCall call;
  int code;
  const char* name;  // its name in the kernel's documentation
};
constexpr RingCall calls[] = {
    {NameCall::create, IORING_OP_OPENAT, "openat"},
    {NameCall::write, IORING_OP_OPENAT, "openat"},
    {NameCall::read, IORING_OP_OPENAT, "openat"},
    {NameCall::stat, IORING_OP_STATX, "statx"},
    {NameCall::lstat, IORING_OP_STATX, "statx"},
    {NameCall::unlink, IORING_OP_UNLINKAT, "unlinkat"},
    {NameCall::rmdir, IORING_OP_UNLINKAT, "unlinkat"},
    {NameCall::mkdir, IORING_OP_MKDIRAT, "mkdirat"},
    {NameCall::rename, IORING_OP_RENAMEAT, "renameat"},
    {NameCall::link, IORING_OP_LINKAT, "linkat"},
    {NameCall::symlink, IORING_OP_SYMLINKAT, "symlinkat"},
};

class UringNames final : public NameCalls {
 public:
  UringNames(const SessionSettings& settings, const NameMemory& memory)
      : memory_(memory),
        durability_(settings.durability),
        slots_(static_cast<std::size_t>(settings.queue_depth)) {}
  UringNames(const UringNames&) = delete;
  UringNames& operator=(const UringNames&) = delete;

  ~UringNames() override {
    while (in_flight_ > 0 && ring_.enter(storage::no_deadline) == 0) {
      while (ring_.take()) --in_flight_;
    }
  }

  // Returns 0 or errno.
  int open() { return ring_.open(static_cast<unsigned>(slots_.size())); }

  void begin(int slot, const NameRequest& request) override {
    Slot& taken = slots_[static_cast<std::size_t>(slot)];
    taken = {.request = request, .step = Step::calling};
    const Place& place = request.place;
    const Place& second = request.second;
    io_uring_sqe* entry = next();
    switch (request.call) {
      case NameCall::create:
        io_uring_prep_openat(entry, place.directory, place.path,
                             O_WRONLY | O_CREAT | O_CLOEXEC | (request.exclusive ? O_EXCL : 0),
                             mode_made);
        break;
      case NameCall::write:
        io_uring_prep_openat(entry, place.directory, place.path, O_WRONLY | O_CLOEXEC, 0);
        break;
      case NameCall::read:
        io_uring_prep_openat(entry, place.directory, place.path, O_RDONLY | O_CLOEXEC, 0);
        break;
      case NameCall::stat:
      case NameCall::lstat:
        io_uring_prep_statx(entry, place.directory, place.path,
                            request.call == NameCall::lstat ? AT_SYMLINK_NOFOLLOW : 0,
                            STATX_BASIC_STATS, &taken.found);
        break;
      case NameCall::mkdir:
        io_uring_prep_mkdirat(entry, place.directory, place.path, 0755);
        break;
      case NameCall::rename:
        io_uring_prep_renameat(entry, place.directory, place.path, second.directory, second.path,
                               0);
        break;
      case NameCall::link:
        io_uring_prep_linkat(entry, place.directory, place.path, second.directory, second.path, 0);
        break;
      case NameCall::symlink:
        io_uring_prep_symlinkat(entry, place.path, second.directory, second.path);
        break;
      default:
        io_uring_prep_unlinkat(entry, place.directory, place.path,
                               request.call == NameCall::rmdir ? AT_REMOVEDIR : 0);
        break;
    }
    io_uring_sqe_set_data(entry, &taken);
  }

  int wait(std::span<Answer> answers) override {
    while (true) {
      if (const int refused = ring_.enter(storage::no_deadline); refused != 0) return -refused;
      bool advanced = false;
      std::size_t ended = 0;
      while (ended < answers.size()) {
        const auto one = ring_.take();
        if (!one) break;
        Slot& slot = *static_cast<Slot*>(one->pointer);
        --in_flight_;
        advanced = true;
        if (!go_on(slot, one->result)) continue;
        answers[ended++] = {static_cast<int>(&slot - slots_.data()), slot.error};
      }
      if (advanced) return static_cast<int>(ended);
    }
  }

 private:
  enum class Step { calling, moving, syncing, closing };

  struct Slot {
    NameRequest request{};
    Step step = Step::calling;
    int descriptor = -1;
    int error = 0;  // the first
    std::int64_t moved = 0;
    struct statx found {};
  };

  // Returns an entry for the caller to prepare and then to give its slot. There is one for every
  // slot, because a slot has at most one system call in flight.
  io_uring_sqe* next() {
    ++in_flight_;
    return ring_.next_entry();
  }

  // Processes an answer and begins the next step. Returns whether the call has ended.
  bool go_on(Slot& slot, int result) {
    const NameRequest& request = slot.request;
    const bool reads = request.call == NameCall::read;
    const bool opens = reads || request.call == NameCall::create || request.call == NameCall::write;
    if (result < 0 && slot.error == 0) slot.error = -result;
    if (slot.step == Step::calling && result >= 0) slot.descriptor = result;
    if (slot.step == Step::moving && result >= 0) {
      if (result != piece_of(slot)) slot.error = short_transfer;
      slot.moved += result;
    }
    if (slot.step == Step::closing || !opens || slot.descriptor < 0) return true;
    const bool syncs = !reads && request.bytes > 0 && durability_ != storage::Durability::none &&
                       slot.step != Step::syncing;
    io_uring_sqe* entry = next();
    if (slot.error == 0 && slot.moved < request.bytes) {
      slot.step = Step::moving;
      const auto bytes = static_cast<unsigned>(piece_of(slot));
      const auto offset = static_cast<__u64>(slot.moved);
      // No code examines what is read, so all reads may share the memory.
      if (reads) {
        io_uring_prep_read(entry, slot.descriptor, memory_.buffer.data(), bytes, offset);
      } else {
        io_uring_prep_write(entry, slot.descriptor, memory_.content.data(), bytes, offset);
      }
    } else if (slot.error == 0 && syncs) {
      slot.step = Step::syncing;
      io_uring_prep_fsync(entry, slot.descriptor,
                          durability_ == storage::Durability::data ? IORING_FSYNC_DATASYNC : 0);
    } else {
      slot.step = Step::closing;
      io_uring_prep_close(entry, slot.descriptor);
    }
    io_uring_sqe_set_data(entry, &slot);
    return false;
  }

  [[nodiscard]] std::int64_t piece_of(const Slot& slot) const {
    return std::min(slot.request.bytes - slot.moved,
                    static_cast<std::int64_t>(memory_.content.size()));
  }

  NameMemory memory_;
  storage::Durability durability_;
  storage::Uring ring_;
  std::vector<Slot> slots_;
  int in_flight_ = 0;  // system calls
};

Error unsupported(const std::string& what) {
  Error error;
  error.code = ErrorCode::unsupported;
  error.operation = "set-up of io_uring";
  error.message = what;
  return error;
}

}  // namespace

Result<std::unique_ptr<NameCalls>> uring_name_calls(const SessionSettings& settings,
                                                    const NameMemory& memory, NameCallSet needed) {
  io_uring_probe* probe = io_uring_get_probe();
  if (probe == nullptr) return unsupported("the kernel does not offer it, or not to this user");
  std::string missing;
  for (const RingCall& call : calls) {
    if (!needed.has(call.call) || io_uring_opcode_supported(probe, call.code) != 0) continue;
    if (missing.find(call.name) != std::string::npos) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", call.name);
  }
  io_uring_free_probe(probe);
  if (!missing.empty()) return unsupported("the kernel's io_uring has no " + missing);
  auto names = std::make_unique<UringNames>(settings, memory);
  if (const int refused = names->open(); refused != 0) {
    Error error = system_failure("set-up of io_uring", "", -1, refused);
    error.code = ErrorCode::unsupported;
    return error;
  }
  return std::unique_ptr<NameCalls>(std::move(names));
}

}  // namespace weir::bench
