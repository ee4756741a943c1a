#include "workloads/calibrate/probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "common/clock.hpp"
#include "common/page.hpp"
#include "measurement/page_cache.hpp"
#include "measurement/payload.hpp"
#include "measurement/busy_work.hpp"

namespace weir::bench::calibrate {
namespace {

constexpr std::uint64_t payload_seed =
    0x57656972;  // an arbitrary seed; the data must only be incompressible

// A missing file is no error: the file system may not be shared by all ranks. Other errors of
// unlink are.
Status remove_if_there(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_failure("unlink", path, -1, errno);
}

}  // namespace

Probe::Probe(const Job& job, FailureGuard& guard, const ClockOffset& offset, std::string path)
    : job_(job), guard_(guard), meeting_(job, offset), path_(std::move(path)) {}

Status Probe::provide_buffers(std::int64_t bytes) {
  if (buffers_.bytes_each() >= bytes) return {};
  buffers_ = Ring();  // frees the old buffers first
  Status status;
  if (auto larger = Ring::create(2, bytes)) {
    buffers_ = std::move(larger).value();
  } else {
    status = larger.error();
  }
  return meeting_.meet(std::move(status));
}

Result<double> Probe::memory_copy_one_rank(std::int64_t copies) {
  return copy(copies, job_.rank == 0, 1, Waiting::asleep);
}

Result<double> Probe::memory_copy(std::int64_t copies) {
  return copy(copies, true, job_.size, Waiting::awake);
}

Result<double> Probe::copy(std::int64_t copies, bool takes_part, int ranks, Waiting waiting) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  Times times{.start_ns = monotonic_ns(), .end_ns = 0};
  for (std::int64_t i = 0; takes_part && i < copies; ++i) {
    std::memcpy(buffers_.at(i + 1), buffers_.at(i),
                static_cast<std::size_t>(buffers_.bytes_each()));
    // The copy must happen although nothing reads its result.
    asm volatile("" : : "r"(buffers_.at(i + 1)) : "memory");
  }
  times.end_ns = monotonic_ns();
  const auto span_ns = meeting_.span({}, times, waiting);
  if (!span_ns) return span_ns.error();
  return static_cast<double>(copies * buffers_.bytes_each()) * ranks / seconds_of(span_ns.value());
}

Status Probe::make_new_file() {
  file_.reset();
  written_ = 0;
  if (Status removed = remove_if_there(path_); !removed) return removed;
  auto opened = storage::File::open(path_, {.write = true, .create = true, .truncate = true});
  if (!opened) return opened.error();
  file_.emplace(std::move(opened).value());
  auto moved = engine_->open(path_, {.write = true});
  if (!moved) return moved.error();
  moved_ = std::move(moved).value();
  return {};
}

Status Probe::move(const TransferRequest& request, storage::PieceRequest& piece) {
  piece.set(request.direction, *moved_, request.offset, request.buffer, request.bytes,
            request.durability);
  if (Status begun = engine_->submit(piece); !begun) return begun;
  return engine_->wait(piece, job_.deadline_ns());
}

Status Probe::move(const TransferRequest& request, Times* times) {
  guard_.entering(request.direction == Direction::read ? "read" : "write", &path_, request.offset);
  times->start_ns = monotonic_ns();
  storage::PieceRequest piece;
  Status status = move(request, piece);
  times->end_ns = monotonic_ns();
  guard_.left();
  return status;
}

Result<double> Probe::move_pieces(std::int64_t pieces, TransferRequest request,
                                  storage::Durability last) {
  std::int64_t total_ns = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    request.buffer = buffers_.at(piece);
    request.offset = piece * request.bytes;
    if (piece + 1 == pieces) request.durability = last;
    if (request.direction == Direction::write) {
      const PayloadStream stream{.seed = payload_seed,
                                 .file = static_cast<std::uint32_t>(job_.rank),
                                 .generation = generation_};
      fill_payload(stream, static_cast<std::uint64_t>(request.offset) / 8,
                   {reinterpret_cast<std::uint64_t*>(request.buffer),
                    static_cast<std::size_t>(request.bytes / 8)});
    }
    if (Status status = meeting_.meet({}); !status) return status.error();
    Times times;
    Status moved = move(request, &times);
    const auto span_ns = meeting_.span(std::move(moved), times);
    if (!span_ns) return span_ns.error();
    total_ns += span_ns.value();
  }
  return static_cast<double>(pieces * request.bytes) * job_.size / seconds_of(total_ns);
}

Result<double> Probe::write(std::int64_t pieces, std::int64_t piece_bytes,
                            storage::Durability durability) {
  return write_new_file(pieces, piece_bytes, durability, durability);
}

Result<double> Probe::write_synced_once(std::int64_t pieces, std::int64_t piece_bytes) {
  return write_new_file(pieces, piece_bytes, storage::Durability::none, storage::Durability::full);
}

Result<double> Probe::write_new_file(std::int64_t pieces, std::int64_t piece_bytes,
                                     storage::Durability durability, storage::Durability last) {
  if (Status status = meeting_.meet(make_new_file()); !status) return status.error();
  ++generation_;
  auto rate = move_pieces(
      pieces, {.direction = Direction::write, .bytes = piece_bytes, .durability = durability},
      last);
  if (rate) written_ = pieces * piece_bytes;
  return rate;
}

Result<double> Probe::read(std::int64_t pieces, std::int64_t piece_bytes, bool drop) {
  Status status;
  if (drop) status = storage::drop_cached_pages(*file_, 0, pieces * piece_bytes);
  if (status = meeting_.meet(std::move(status)); !status) return status.error();
  return move_pieces(pieces, {.direction = Direction::read, .bytes = piece_bytes},
                     storage::Durability::none);
}

Result<double> Probe::fsync() {
  if (Status status = meeting_.meet({}); !status) return status.error();
  storage::PieceRequest piece;
  guard_.entering("fsync", &path_, written_);
  Status status = move({.direction = Direction::write,
                        .buffer = buffers_.at(0),
                        .bytes = page_bytes,
                        .offset = written_,
                        .durability = storage::Durability::full},
                       piece);
  guard_.left();
  if (status = meeting_.meet(std::move(status)); !status) return status.error();
  written_ += page_bytes;
  return meeting_.slowest(seconds_of(piece.times.durable_ns - piece.times.moved_ns));
}

Result<double> Probe::call(std::int64_t calls) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  const storage::Slice slice{buffers_.at(0), 8};
  const storage::FileRange word{moved_.get(), 0, {&slice, 1}};
  storage::FileTraffic traffic;
  guard_.entering("read", &path_, 0);
  Status status;
  const std::int64_t start_ns = monotonic_ns();
  for (std::int64_t i = 0; status.ok() && i < calls; ++i) {
    status = engine_->read({&word, 1}, traffic);
  }
  const double seconds = seconds_of(monotonic_ns() - start_ns);
  guard_.left();
  if (status = meeting_.meet(std::move(status)); !status) return status.error();
  return meeting_.slowest(seconds / static_cast<double>(calls));
}

Result<double> Probe::barrier(std::int64_t count) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  const std::int64_t start_ns = monotonic_ns();
  for (std::int64_t i = 0; i < count; ++i) {
    if (Status status = meeting_.meet({}); !status) return status.error();
  }
  return meeting_.slowest(seconds_of(monotonic_ns() - start_ns) / static_cast<double>(count));
}

Result<double> Probe::busy_work(std::int64_t operations) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  const std::int64_t start_ns = monotonic_ns();
  consumed_ += bench::busy_work(operations, {});
  auto seconds = meeting_.slowest(seconds_of(std::max<std::int64_t>(1, monotonic_ns() - start_ns)));
  if (!seconds) return seconds;
  return static_cast<double>(operations) / seconds.value();
}

}  // namespace weir::bench::calibrate
