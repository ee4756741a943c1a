// POSIX calls: one at a time, or many in flight by io_uring. A part of an array is moved with one
// call for each of its runs.
#include <fcntl.h>

#include <utility>

#include "interfaces/interface.hpp"
#include "system/file.hpp"

namespace weir::bench {
namespace {

class PosixFile final : public File {
 public:
  PosixFile(storage::Engine& engine, std::unique_ptr<storage::EngineFile> file,
            storage::Durability durability, const FileRequest& request)
      : engine_(engine), file_(std::move(file)), durability_(durability), runs_(request.runs) {}

  Status move(const TransferRequest& request) override {
    if (request.durability == storage::Durability::none) {
      const storage::Slice slice{request.buffer, request.bytes};
      const storage::FileRange range{file_.get(), request.offset, {&slice, 1}};
      storage::FileTraffic traffic;
      return request.direction == Direction::read ? engine_.read({&range, 1}, traffic)
                                                  : engine_.write({&range, 1}, traffic);
    }
    storage::PieceRequest piece;
    if (Status begun = submit(piece, request); !begun) return begun;
    return engine_.wait(piece, storage::no_deadline);  // submit() does all the work
  }

  Status submit(storage::PieceRequest& piece, const TransferRequest& request) override {
    piece.set(request.direction, *file_, request.offset, request.buffer, request.bytes,
              request.durability);
    return engine_.submit(piece);
  }

  Status move_part(Direction direction, std::byte* memory) override {
    Status status;
    for_each_run(*runs_, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
      status =
          move({.direction = direction, .buffer = memory + from, .bytes = bytes, .offset = to});
      return status.ok();
    });
    return status;
  }

  Status sync() override {
    storage::EngineFile* const file = file_.get();
    return engine_.sync({&file, 1}, durability_);
  }

  Status close() override { return file_->close(); }

 private:
  storage::Engine& engine_;
  std::unique_ptr<storage::EngineFile> file_;
  storage::Durability durability_;
  const std::vector<array::StridedCopy>* runs_;
};

class PosixSession final : public Session {
 public:
  PosixSession(std::unique_ptr<storage::Engine> engine, bool in_flight,
               const SessionSettings& settings)
      : Session(settings), engine_(std::move(engine)), in_flight_(in_flight) {}

  storage::Engine* queue() override { return in_flight_ ? engine_.get() : nullptr; }

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    if (Status made = preallocate(request); !made) return made.error();
    auto file = engine_->open(
        request.path,
        {.write = request.write, .create = request.create, .direct = settings().direct});
    if (!file) return file.error();
    return std::unique_ptr<File>(std::make_unique<PosixFile>(*engine_, std::move(file).value(),
                                                             settings().durability, request));
  }

 private:
  Status preallocate(const FileRequest& request) const {
    int rank = 0;
    MPI_Comm_rank(request.communicator, &rank);
    if (!request.write || !settings().preallocate || rank != 0) return {};
    auto file = storage::File::open(request.path, {.write = true, .create = request.create});
    if (!file) return file.error();
    const int refused = posix_fallocate(file.value().descriptor(), 0, request.bytes);
    if (refused != 0) return system_failure("posix_fallocate", request.path, -1, refused);
    return file.value().close();
  }

  std::unique_ptr<storage::Engine> engine_;
  bool in_flight_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_posix(const Interface& interface,
                                            const SessionSettings& settings) {
  std::unique_ptr<storage::Engine> engine;
  if (interface.can.queue) {
    auto uring =
        storage::make_uring_engine({.in_flight = static_cast<unsigned>(settings.queue_depth)});
    if (!uring) return uring.error();
    engine = std::move(uring).value();
  } else {
    engine = storage::make_posix_engine();
  }
  return std::unique_ptr<Session>(
      std::make_unique<PosixSession>(std::move(engine), interface.can.queue, settings));
}

}  // namespace weir::bench
