#include "workloads/metadata/item_ring.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "engines/engine.hpp"
#include "engines/uring.hpp"

namespace weir::bench::metadata {
namespace {

struct RingCall {
  Action action;
  int code;
  const char* name;  // its name in the kernel's documentation
};
constexpr RingCall calls[] = {
    {Action::create, IORING_OP_OPENAT, "openat"},
    {Action::write, IORING_OP_OPENAT, "openat"},
    {Action::read, IORING_OP_OPENAT, "openat"},
    {Action::stat, IORING_OP_STATX, "statx"},
    {Action::lstat, IORING_OP_STATX, "statx"},
    {Action::directory_stat, IORING_OP_STATX, "statx"},
    {Action::unlink, IORING_OP_UNLINKAT, "unlinkat"},
    {Action::rmdir, IORING_OP_UNLINKAT, "unlinkat"},
    {Action::remove_links, IORING_OP_UNLINKAT, "unlinkat"},
    {Action::remove_symlinks, IORING_OP_UNLINKAT, "unlinkat"},
    {Action::mkdir, IORING_OP_MKDIRAT, "mkdirat"},
    {Action::rename, IORING_OP_RENAMEAT, "renameat"},
    {Action::rename_across, IORING_OP_RENAMEAT, "renameat"},
    {Action::directory_rename, IORING_OP_RENAMEAT, "renameat"},
    {Action::link, IORING_OP_LINKAT, "linkat"},
    {Action::symlink, IORING_OP_SYMLINKAT, "symlinkat"},
};

class LiburingItemRing final : public ItemRing {
 public:
  explicit LiburingItemRing(int depth) : found_(static_cast<std::size_t>(depth)) {}
  LiburingItemRing(const LiburingItemRing&) = delete;
  LiburingItemRing& operator=(const LiburingItemRing&) = delete;

  ~LiburingItemRing() override {
    while (in_flight_ > 0) {
      Answer answer;
      if (wait({&answer, 1}) < 0) break;
    }
  }

  // Returns 0 or errno.
  int open() { return ring_.open(static_cast<unsigned>(found_.size())); }

  void begin(int slot, Action action, Place place, Place second) override {
    io_uring_sqe* entry = next();
    switch (action) {
      case Action::create:
        io_uring_prep_openat(entry, place.directory, place.path,
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_made);
        break;
      case Action::write:
        io_uring_prep_openat(entry, place.directory, place.path, O_WRONLY | O_CLOEXEC, 0);
        break;
      case Action::read:
        io_uring_prep_openat(entry, place.directory, place.path, O_RDONLY | O_CLOEXEC, 0);
        break;
      case Action::stat:
      case Action::lstat:
      case Action::directory_stat:
        io_uring_prep_statx(entry, place.directory, place.path,
                            action == Action::lstat ? AT_SYMLINK_NOFOLLOW : 0, STATX_BASIC_STATS,
                            &found_[static_cast<std::size_t>(slot)]);
        break;
      case Action::mkdir:
        io_uring_prep_mkdirat(entry, place.directory, place.path, 0755);
        break;
      case Action::rename:
      case Action::rename_across:
      case Action::directory_rename:
        io_uring_prep_renameat(entry, place.directory, place.path, second.directory, second.path,
                               0);
        break;
      case Action::link:
        io_uring_prep_linkat(entry, place.directory, place.path, second.directory, second.path, 0);
        break;
      case Action::symlink:
        io_uring_prep_symlinkat(entry, place.path, second.directory, second.path);
        break;
      default:
        io_uring_prep_unlinkat(entry, place.directory, place.path,
                               action == Action::rmdir ? AT_REMOVEDIR : 0);
        break;
    }
    give_slot(entry, slot);
  }

  void close(int slot, int descriptor) override {
    io_uring_sqe* entry = next();
    io_uring_prep_close(entry, descriptor);
    give_slot(entry, slot);
  }

  void move(int slot, int descriptor, bool writing, void* memory, unsigned bytes,
            std::int64_t offset) override {
    io_uring_sqe* entry = next();
    const auto at = static_cast<__u64>(offset);
    if (writing) {
      io_uring_prep_write(entry, descriptor, memory, bytes, at);
    } else {
      io_uring_prep_read(entry, descriptor, memory, bytes, at);
    }
    give_slot(entry, slot);
  }

  void sync(int slot, int descriptor, bool data_only) override {
    io_uring_sqe* entry = next();
    io_uring_prep_fsync(entry, descriptor, data_only ? IORING_FSYNC_DATASYNC : 0);
    give_slot(entry, slot);
  }

  int wait(std::span<Answer> answers) override {
    while (true) {
      if (const int refused = ring_.enter(storage::no_deadline); refused != 0) return -refused;
      std::size_t count = 0;
      while (count < answers.size()) {
        const auto one = ring_.take();
        if (!one) break;
        answers[count++] = {slot_of(*one), one->result};
        --in_flight_;
      }
      if (count > 0) return static_cast<int>(count);
    }
  }

 private:
  // Returns an entry for the caller to prepare and then to give its slot. There is one for every
  // slot, because a slot has at most one call in flight.
  io_uring_sqe* next() {
    ++in_flight_;
    return ring_.next_entry();
  }
  void give_slot(io_uring_sqe* entry, int slot) {
    io_uring_sqe_set_data(entry, &found_[static_cast<std::size_t>(slot)]);
  }
  int slot_of(const storage::UringCompletion& one) {
    return static_cast<int>(static_cast<struct statx*>(one.pointer) - found_.data());
  }

  storage::Uring ring_;
  std::vector<struct statx> found_;  // by slot
  int in_flight_ = 0;
};

Error unsupported(const std::string& what) {
  Error error;
  error.code = ErrorCode::unsupported;
  error.operation = "set-up of io_uring";
  error.message = "metadata: --api io_uring: " + what + "; use --api POSIX or AT";
  return error;
}

}  // namespace

bool ring_can(Action action) {
  return std::any_of(std::begin(calls), std::end(calls),
                     [&](const RingCall& call) { return call.action == action; });
}

Result<std::unique_ptr<ItemRing>> make_item_ring(int depth, std::span<const Action> actions) {
  io_uring_probe* probe = io_uring_get_probe();
  if (probe == nullptr) return unsupported("the kernel does not provide it, or not to this user");
  std::string missing;
  for (const RingCall& call : calls) {
    const bool needed = std::find(actions.begin(), actions.end(), call.action) != actions.end();
    if (!needed || io_uring_opcode_supported(probe, call.code) != 0) continue;
    if (missing.find(call.name) != std::string::npos) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", call.name);
  }
  io_uring_free_probe(probe);
  if (!missing.empty()) return unsupported("the kernel's io_uring lacks " + missing);
  auto ring = std::make_unique<LiburingItemRing>(depth);
  if (const int refused = ring->open(); refused != 0) {
    Error error = system_failure("set-up of io_uring", "", -1, refused);
    error.code = ErrorCode::unsupported;
    return error;
  }
  return std::unique_ptr<ItemRing>(std::move(ring));
}

}  // namespace weir::bench::metadata
