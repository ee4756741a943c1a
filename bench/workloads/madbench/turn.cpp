#include "workloads/madbench/turn.hpp"

#include <utility>

#include "common/clock.hpp"

namespace weir::bench::madbench {

void Turn::begin(storage::Engine& engine, File& file, const TransferRequest& request,
                 const std::string& path, bool background, std::int64_t deadline_ns) {
  engine_ = &engine;
  file_ = &file;
  request_ = request;
  piece_.in_background = background;
  status_ = {};
  timing_ = {};
  stage_ = Stage::waiting;
  token_.ask();
  if (background) {
    progress();
    return;
  }
  const std::int64_t asked = monotonic_ns();
  if (Status status = token_.wait(deadline_ns); !status) {
    // This does not call end(), because the turn never came and there is none to pass on.
    status_ = std::move(status);
    stage_ = Stage::idle;
    return;
  }
  timing_.token_wait_ns = monotonic_ns() - asked;
  guard_.entering(request.direction == Direction::read ? "read" : "write", &path, request.offset);
  move();
  guard_.left();
  if (stage_ == Stage::moving) end(engine_->wait(piece_, deadline_ns));
}

void Turn::move() {
  stage_ = Stage::moving;
  const std::int64_t before = monotonic_ns();
  Status status = file_->submit(piece_, request_);
  timing_.start_ns = before;
  timing_.foreground_ns += monotonic_ns() - before;
  if (!status) end(std::move(status));
}

void Turn::end(Status status) {
  timing_.moved_ns = piece_.times.moved_ns;
  timing_.end_ns = piece_.times.durable_ns;
  status_ = std::move(status);
  stage_ = Stage::idle;
  token_.pass();
}

void Turn::progress() {
  if (stage_ == Stage::waiting && token_.arrived()) move();
  if (stage_ != Stage::moving) return;
  if (engine_->poll(piece_)) end(piece_.status);
}

Status Turn::finish(std::int64_t deadline_ns) {
  if (stage_ == Stage::waiting) {
    const std::int64_t before = monotonic_ns();
    if (Status status = token_.wait(deadline_ns); !status) return status;
    timing_.token_wait_ns += monotonic_ns() - before;
    move();
  }
  if (stage_ == Stage::moving) {
    const std::int64_t before = monotonic_ns();
    Status status = engine_->wait(piece_, deadline_ns);
    timing_.foreground_ns += monotonic_ns() - before;
    end(std::move(status));
  }
  return status_;
}

}  // namespace weir::bench::madbench
