#include "workloads/madbench/turn.hpp"

#include <utility>

#include "common/clock.hpp"

namespace weir::bench::madbench {

void Turn::begin(storage::Transfer& transfer, const storage::TransferRequest& request,
                 const std::string& file, bool background, std::int64_t deadline_ns) {
  transfer_ = &transfer;
  request_ = request;
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
  guard_.entering(request.direction == Direction::read ? "read" : "write", &file, request.offset);
  move();
  guard_.left();
  if (stage_ == Stage::moving) end(transfer_->wait(deadline_ns));
}

void Turn::move() {
  stage_ = Stage::moving;
  const std::int64_t before = monotonic_ns();
  Status status = transfer_->start(request_);
  timing_.start_ns = before;
  timing_.foreground_ns += monotonic_ns() - before;
  if (!status) end(std::move(status));
}

void Turn::end(Status status) {
  const storage::TransferTiming moved = transfer_->timing();
  timing_.moved_ns = moved.moved_ns;
  timing_.end_ns = moved.end_ns;
  status_ = std::move(status);
  stage_ = Stage::idle;
  token_.pass();
}

void Turn::progress() {
  if (stage_ == Stage::waiting && token_.arrived()) move();
  if (stage_ != Stage::moving) return;
  const Result<bool> done = transfer_->poll();
  if (!done) {
    end(done.error());
  } else if (done.value()) {
    end({});
  }
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
    Status status = transfer_->wait(deadline_ns);
    timing_.foreground_ns += monotonic_ns() - before;
    end(std::move(status));
  }
  return status_;
}

}  // namespace weir::bench::madbench
