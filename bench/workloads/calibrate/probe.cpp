#include "workloads/calibrate/probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "common/clock.hpp"
#include "common/page.hpp"
#include "measurement/busy_work.hpp"
#include "measurement/page_cache.hpp"
#include "measurement/payload.hpp"

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

Probe::Probe(const Job& job, FailureGuard& guard, const ClockOffset& offset, TestFile file)
    : job_(job), guard_(guard), meeting_(job, offset), test_file_(std::move(file)) {}

std::int64_t Probe::pieces_per_file(std::int64_t piece_bytes) const {
  return std::max<std::int64_t>(1, test_file_.bytes_per_rank / piece_bytes);
}

std::int64_t Probe::part_begin() const { return test_file_.shared ? job_.rank * written_ : 0; }

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
  // The first rank of each node removes a shared file, because its file system may be the node's.
  const bool removes = !test_file_.shared || job_.node_rank == 0;
  const std::string& path = test_file_.path;
  if (Status met = meeting_.meet(removes ? remove_if_there(path) : Status()); !met) return met;
  auto opened = storage::File::open(path, {.write = true, .create = true});
  Status status;
  if (opened) {
    file_.emplace(std::move(opened).value());
    auto moved = engine_->open(path, {.write = true});
    if (moved) {
      moved_ = std::move(moved).value();
    } else {
      status = moved.error();
    }
  } else {
    status = opened.error();
  }
  return meeting_.meet(std::move(status));
}

Status Probe::move(const TransferRequest& request, storage::PieceRequest& piece) {
  piece.set(request.direction, *moved_, request.offset, request.buffer, request.bytes,
            request.durability);
  if (Status begun = engine_->submit(piece); !begun) return begun;
  return engine_->wait(piece, job_.deadline_ns());
}

Status Probe::move(const TransferRequest& request, Times* times) {
  guard_.entering(request.direction == Direction::read ? "read" : "write", &test_file_.path,
                  request.offset);
  times->start_ns = monotonic_ns();
  storage::PieceRequest piece;
  Status status = move(request, piece);
  times->end_ns = monotonic_ns();
  guard_.left();
  return status;
}

Result<std::int64_t> Probe::move_pieces(std::int64_t pieces, TransferRequest request,
                                        storage::Durability last) {
  // Between two meetings ranks move small pieces one after the other, as a run does: a meeting
  // takes longer than such a piece, and its end is not at the same time on all ranks.
  const std::int64_t at_once = std::max<std::int64_t>(
      1, std::min(bytes_between_meetings, buffers_.bytes_each()) / request.bytes);
  std::int64_t total_ns = 0;
  for (std::int64_t first = 0; first < pieces; first += at_once) {
    const std::int64_t end = std::min(pieces, first + at_once);
    std::byte* const buffer = buffers_.at(first / at_once);
    const std::int64_t begin = part_begin() + first * request.bytes;
    if (request.direction == Direction::write) {
      const PayloadStream stream{.seed = payload_seed,
                                 .file = static_cast<std::uint32_t>(job_.rank),
                                 .generation = generation_};
      fill_payload(stream, static_cast<std::uint64_t>(begin) / 8,
                   {reinterpret_cast<std::uint64_t*>(buffer),
                    static_cast<std::size_t>((end - first) * request.bytes / 8)});
    }
    if (Status status = meeting_.meet({}); !status) return status.error();
    Times times;
    Status moved;
    for (std::int64_t piece = first; moved.ok() && piece < end; ++piece) {
      request.buffer = buffer + (piece - first) * request.bytes;
      request.offset = part_begin() + piece * request.bytes;
      if (piece + 1 == pieces) request.durability = last;
      Times of_piece;
      moved = move(request, &of_piece);
      if (piece == first) times.start_ns = of_piece.start_ns;
      times.end_ns = of_piece.end_ns;
    }
    const auto span_ns = meeting_.span(std::move(moved), times);
    if (!span_ns) return span_ns.error();
    total_ns += span_ns.value();
  }
  return total_ns;
}

Result<double> Probe::rate_of_rounds(
    std::int64_t pieces, std::int64_t per_round, std::int64_t piece_bytes,
    const std::function<Result<std::int64_t>(std::int64_t)>& round) const {
  const std::int64_t at_once = std::min(pieces, per_round);
  const std::int64_t rounds = pieces / at_once;
  std::int64_t total_ns = 0;
  for (std::int64_t done = 0; done < rounds; ++done) {
    const auto ns = round(at_once);
    if (!ns) return ns.error();
    total_ns += ns.value();
  }
  return static_cast<double>(rounds * at_once * piece_bytes) * job_.size / seconds_of(total_ns);
}

Result<double> Probe::write(std::int64_t pieces, std::int64_t piece_bytes,
                            storage::Durability durability) {
  return rate_of_rounds(pieces, pieces_per_file(piece_bytes), piece_bytes, [&](std::int64_t n) {
    return write_new_file(n, piece_bytes, durability, durability);
  });
}

Result<double> Probe::write_synced_once(std::int64_t pieces, std::int64_t piece_bytes) {
  return rate_of_rounds(pieces, pieces_per_file(piece_bytes), piece_bytes, [&](std::int64_t n) {
    return write_new_file(n, piece_bytes, storage::Durability::none, storage::Durability::full);
  });
}

Result<std::int64_t> Probe::write_new_file(std::int64_t pieces, std::int64_t piece_bytes,
                                           storage::Durability durability,
                                           storage::Durability last) {
  if (Status status = make_new_file(); !status) return status.error();
  ++generation_;
  written_ = pieces * piece_bytes;
  return move_pieces(
      pieces, {.direction = Direction::write, .bytes = piece_bytes, .durability = durability},
      last);
}

Result<double> Probe::read_new_pages(std::int64_t pieces, std::int64_t piece_bytes) {
  constexpr auto none = storage::Durability::none;
  return rate_of_rounds(
      pieces, pieces_per_file(piece_bytes), piece_bytes,
      [&](std::int64_t n) -> Result<std::int64_t> {
        if (const auto written = write_new_file(n, piece_bytes, none, none); !written) {
          return written.error();
        }
        return move_pieces(n, {.direction = Direction::read, .bytes = piece_bytes}, none);
      });
}

Result<double> Probe::read_dropped_pages(std::int64_t pieces, std::int64_t piece_bytes) {
  return rate_of_rounds(
      pieces, written_ / piece_bytes, piece_bytes, [&](std::int64_t n) -> Result<std::int64_t> {
        Status status = storage::drop_cached_pages(*file_, part_begin(), n * piece_bytes);
        if (status = meeting_.meet(std::move(status)); !status) return status.error();
        return move_pieces(n, {.direction = Direction::read, .bytes = piece_bytes},
                           storage::Durability::none);
      });
}

Result<double> Probe::fsync() {
  if (Status status = meeting_.meet({}); !status) return status.error();
  storage::PieceRequest piece;
  const std::int64_t offset =
      test_file_.shared ? job_.size * written_ + job_.rank * page_bytes : written_;
  guard_.entering("fsync", &test_file_.path, offset);
  Status status = move({.direction = Direction::write,
                        .buffer = buffers_.at(0),
                        .bytes = page_bytes,
                        .offset = offset,
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
  guard_.entering("read", &test_file_.path, 0);
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
