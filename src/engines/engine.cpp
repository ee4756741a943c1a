#include "engines/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/checked.hpp"
#include "common/clock.hpp"
#include "engines/blocking_engine.hpp"

namespace weir::storage {
namespace {

// While a blocking call waits, the caller's work between parts is called at least this often.
constexpr std::int64_t call_interval_ns = 1'000'000;

const char* name_of(Direction direction) { return direction == Direction::read ? "read" : "write"; }

// Fails on a request that no engine can execute.
Status check(const EngineRequest& request) {
  const auto refuse = [&](const FileRange& range, const std::string& reason) {
    Error error =
        invalid_argument(fmt::format("cannot {}: {}", name_of(request.direction), reason));
    error.operation = name_of(request.direction);
    if (range.file != nullptr) error.file = range.file->path();
    error.offset = range.offset;
    return error;
  };
  if (request.ranges.empty()) return refuse({}, "the request has no range");
  for (const FileRange& range : request.ranges) {
    if (range.file == nullptr) return refuse(range, "a range has no file");
    if (request.in_flight()) return refuse(range, "the request is in flight already");
    if (range.offset < 0) {
      return refuse(range, fmt::format("the offset {} is negative", range.offset));
    }
    std::int64_t end = range.offset;
    for (const Slice& slice : range.slices) {
      if (slice.data == nullptr) return refuse(range, "there is no buffer");
      if (slice.bytes <= 0) {
        return refuse(range, fmt::format("the size {} is not positive", slice.bytes));
      }
      const auto sum = checked_add(end, slice.bytes);
      if (!sum) return refuse(range, "the end lies beyond the largest file offset");
      end = *sum;
    }
    if (request.direction == Direction::read && request.durability != Durability::none) {
      return refuse(range, "only a write can be made durable");
    }
    if (range.slices.empty() != only_syncs(request)) return refuse(range, "a range has no bytes");
  }
  return {};
}

Error deadline_passed(const EngineRequest& request) {
  const FileRange& range = request.ranges.front();
  std::int64_t bytes = 0;
  for (const FileRange& one : request.ranges) bytes += one.bytes();
  Error error;
  error.code = ErrorCode::deadline;
  error.operation = name_of(request.direction);
  error.file = range.file->path();
  error.offset = range.offset;
  error.message =
      fmt::format("{} of {} bytes did not finish before its deadline", error.operation, bytes);
  return error;
}

}  // namespace

std::int64_t FileRange::bytes() const { return bytes_of(slices); }

Status Engine::submit(EngineRequest& request) {
  if (Status checked = check(request); !checked.ok()) return checked;
  request.status = {};
  request.traffic = {};
  request.times = {.submitted_ns = monotonic_ns()};
  request.state_ = EngineRequest::State::begun;
  ++in_flight_;
  start(request);
  return {};
}

EngineRequest* Engine::poll() {
  advance(0);
  return take_ended(first_ended_);
}

bool Engine::poll(EngineRequest& request) {
  if (request.state_ == EngineRequest::State::begun) advance(0);
  if (request.state_ == EngineRequest::State::ended) take_ended(&request);
  return request.state_ == EngineRequest::State::idle;
}

// Requests that were submitted since the last call begin even if another one has already ended.
Result<EngineRequest*> Engine::wait(std::int64_t deadline_ns) {
  if (in_flight_ == 0) return invalid_argument("waited for a request while none is in flight");
  advance(first_ended_ != nullptr ? 0 : deadline_ns);
  while (first_ended_ == nullptr) {
    if (monotonic_ns() >= deadline_ns) {
      return Error(ErrorCode::deadline,
                   fmt::format("none of {} requests ended before the deadline", in_flight_));
    }
    advance(deadline_ns);
  }
  return take_ended(first_ended_);
}

Status Engine::wait(EngineRequest& request, std::int64_t deadline_ns) {
  while (!poll(request)) {
    if (monotonic_ns() >= deadline_ns) return deadline_passed(request);
    advance(deadline_ns);
  }
  return request.status;
}

Status Engine::move_now(Direction direction, std::span<const FileRange> ranges,
                        FileTraffic& traffic) {
  EngineRequest request(direction, ranges, Durability::none);
  return run(request, traffic);
}

Status Engine::sync(std::span<EngineFile* const> files, Durability durability) {
  if (files.empty()) return {};
  std::vector<FileRange> ranges;
  ranges.reserve(files.size());
  for (EngineFile* const file : files) ranges.push_back({file, 0, {}});
  EngineRequest request(Direction::write, ranges, durability);
  FileTraffic none;
  return run(request, none);
}

Status Engine::run(EngineRequest& request, FileTraffic& traffic) {
  request.state_ = EngineRequest::State::blocking;
  start(request);
  while (request.state_ != EngineRequest::State::idle) {
    advance(between_ ? monotonic_ns() + call_interval_ns : no_deadline);
    if (between_) between_();
  }
  traffic.calls += request.traffic.calls;
  traffic.written += request.traffic.written;
  traffic.read += request.traffic.read;
  traffic.moved += request.traffic.moved;
  return std::move(request.status);
}

void Engine::moved(EngineRequest& request) {
  if (!is_blocking(request)) request.times.moved_ns = monotonic_ns();
}

void Engine::end(EngineRequest& request) {
  if (is_blocking(request)) {
    request.state_ = EngineRequest::State::idle;
    return;
  }
  RequestTimes& times = request.times;
  if (times.moved_ns == 0) times.moved_ns = monotonic_ns();
  if (times.durable_ns == 0) {
    times.durable_ns = request.durability == Durability::none ? times.moved_ns : monotonic_ns();
  }
  request.state_ = EngineRequest::State::ended;
  (last_ended_ != nullptr ? last_ended_->next_ : first_ended_) = &request;
  last_ended_ = &request;
}

// Takes the request, which is null or in the list, out of the list of ended requests.
EngineRequest* Engine::take_ended(EngineRequest* request) {
  if (request == nullptr) return nullptr;
  EngineRequest* before = nullptr;
  for (EngineRequest* one = first_ended_; one != request; one = one->next_) before = one;
  (before != nullptr ? before->next_ : first_ended_) = request->next_;
  if (last_ended_ == request) last_ended_ = before;
  request->next_ = nullptr;
  request->state_ = EngineRequest::State::idle;
  --in_flight_;
  return request;
}

std::vector<EngineFile*> files_of(const EngineRequest& request) {
  std::vector<EngineFile*> files;
  files.reserve(request.ranges.size());
  for (const FileRange& range : request.ranges) files.push_back(range.file);
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

void BlockingEngine::start(EngineRequest& request) {
  if (!only_syncs(request)) {
    request.status = move(request.direction, request.ranges, request.traffic);
  }
  moved(request);
  if (request.status.ok() && request.durability != Durability::none) {
    request.status = make_durable(files_of(request), request.durability);
  }
  end(request);
}

std::unique_ptr<Engine> make_background_engine() {
  auto uring = make_uring_engine();
  return uring ? std::move(uring).value() : make_thread_engine();
}

}  // namespace weir::storage
