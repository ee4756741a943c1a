#include "workloads/probe/run_file.hpp"

#include <algorithm>

#include "common/clock.hpp"
#include "common/page.hpp"

namespace weir::bench::probe {

using storage::Durability;

std::int64_t RunFile::pieces_per_file(std::int64_t piece_bytes) const {
  return std::max<std::int64_t>(1, place_.bytes_per_rank / piece_bytes);
}

std::int64_t RunFile::part_begin() const { return place_.shared ? job_.rank * written_ : 0; }

Status RunFile::make_new_file() {
  // The first rank of each node removes a shared file, because its file system may be the node's.
  const bool removes = !place_.shared || job_.node_rank == 0;
  if (Status met = meeting_.meet(removes ? file_.remove() : Status()); !met) return met;
  Status made = file_.make();
  if (made) made = check_file_is_on_targets(place_.path, place_.targets);
  return meeting_.meet(std::move(made));
}

// The file needs a page for the attempt; the pieces replace it.
Status RunFile::open_direct() {
  std::byte* const page = instrument_.buffer(0);
  Times times;
  Status status = file_.move({.direction = Direction::write},
                             {.begin = 0, .bytes = page_bytes, .count = 1}, page, &times);
  if (!status) return status;
  const auto opened = file_.open_direct(page);
  if (!opened) return opened.error();
  if (opened.value()) return {};
  return Error{ErrorCode::unsupported, "O_DIRECT is not possible on this file system", place_.path};
}

Result<std::int64_t> RunFile::move_pieces(std::int64_t pieces, std::int64_t piece_bytes,
                                          Pattern pattern, Durability last) {
  // Between two meetings ranks move small pieces one after the other, as a run does: a meeting
  // takes longer than such a piece, and its end is not at the same time on all ranks.
  const std::int64_t at_once = std::max<std::int64_t>(
      1, std::min(bytes_between_meetings, instrument_.buffer_bytes()) / piece_bytes);
  std::int64_t total_ns = 0;
  for (std::int64_t first = 0; first < pieces; first += at_once) {
    const std::int64_t end = std::min(pieces, first + at_once);
    std::byte* const buffer = instrument_.buffer(first / at_once);
    const std::int64_t begin = part_begin() + first * piece_bytes;
    if (pattern.direction == Direction::write) {
      file_.fill(buffer, begin, (end - first) * piece_bytes, generation_);
    }
    if (Status status = meeting_.meet({}); !status) return status.error();
    const bool has_last = end == pieces;
    Times times;
    Status moved = file_.move(pattern,
                              {.begin = begin,
                               .bytes = piece_bytes,
                               .count = end - first - (has_last ? 1 : 0),
                               .image_begin = begin},
                              buffer, &times);
    if (moved && has_last) {
      Times of_last;
      pattern.durability = last;
      moved = file_.move(pattern,
                         {.begin = part_begin() + (pieces - 1) * piece_bytes,
                          .bytes = piece_bytes,
                          .count = 1,
                          .image_begin = begin},
                         buffer, &of_last);
      times.end_ns = of_last.end_ns;
    }
    const auto span_ns = meeting_.span(std::move(moved), times);
    if (!span_ns) return span_ns.error();
    total_ns += span_ns.value();
  }
  return total_ns;
}

Result<double> RunFile::rate_of_rounds(
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

Result<double> RunFile::write(std::int64_t pieces, std::int64_t piece_bytes,
                              Durability durability) {
  return rate_of_rounds(pieces, pieces_per_file(piece_bytes), piece_bytes, [&](std::int64_t n) {
    return write_new_file(n, piece_bytes, durability, durability);
  });
}

Result<double> RunFile::write_direct(std::int64_t pieces, std::int64_t piece_bytes) {
  const auto write_one = [&](std::int64_t n) -> Result<std::int64_t> {
    Status status = make_new_file();
    if (status) status = meeting_.meet(open_direct());
    if (!status) return status.error();
    ++generation_;
    written_ = n * piece_bytes;
    return move_pieces(n, piece_bytes, {.direction = Direction::write, .direct = true},
                       Durability::none);
  };
  return rate_of_rounds(pieces, pieces_per_file(piece_bytes), piece_bytes, write_one);
}

Result<double> RunFile::read_direct(std::int64_t pieces, std::int64_t piece_bytes) {
  return rate_of_rounds(pieces, written_ / piece_bytes, piece_bytes, [&](std::int64_t n) {
    return move_pieces(n, piece_bytes, {.direction = Direction::read, .direct = true},
                       Durability::none);
  });
}

Result<double> RunFile::write_synced_once(std::int64_t pieces, std::int64_t piece_bytes) {
  return rate_of_rounds(pieces, pieces_per_file(piece_bytes), piece_bytes, [&](std::int64_t n) {
    return write_new_file(n, piece_bytes, Durability::none, Durability::full);
  });
}

Result<std::int64_t> RunFile::write_new_file(std::int64_t pieces, std::int64_t piece_bytes,
                                             Durability durability, Durability last) {
  if (Status status = make_new_file(); !status) return status.error();
  ++generation_;
  written_ = pieces * piece_bytes;
  return move_pieces(pieces, piece_bytes, {.direction = Direction::write, .durability = durability},
                     last);
}

Result<double> RunFile::read_new_pages(std::int64_t pieces, std::int64_t piece_bytes) {
  return rate_of_rounds(
      pieces, pieces_per_file(piece_bytes), piece_bytes,
      [&](std::int64_t n) -> Result<std::int64_t> {
        if (const auto written = write_new_file(n, piece_bytes, Durability::none, Durability::none);
            !written) {
          return written.error();
        }
        return move_pieces(n, piece_bytes, {.direction = Direction::read}, Durability::none);
      });
}

Result<double> RunFile::read_dropped_pages(std::int64_t pieces, std::int64_t piece_bytes) {
  return rate_of_rounds(
      pieces, written_ / piece_bytes, piece_bytes, [&](std::int64_t n) -> Result<std::int64_t> {
        Status status = file_.drop_pages(part_begin(), n * piece_bytes);
        if (status = meeting_.meet(std::move(status)); !status) return status.error();
        return move_pieces(n, piece_bytes, {.direction = Direction::read}, Durability::none);
      });
}

Result<double> RunFile::first_read(std::int64_t piece_bytes) {
  Status status = file_.drop_pages(part_begin(), written_);
  if (status = meeting_.meet(std::move(status)); !status) return status.error();
  const auto ns = move_pieces(1, piece_bytes, {.direction = Direction::read}, Durability::none);
  if (!ns) return ns.error();
  return seconds_of(ns.value());
}

Result<double> RunFile::fsync() {
  if (Status status = meeting_.meet({}); !status) return status.error();
  const std::int64_t offset =
      place_.shared ? job_.size * written_ + job_.rank * page_bytes : written_;
  double seconds = 0;
  Status status = file_.write_and_sync(offset, 1, instrument_.buffer(0), &seconds);
  if (status = meeting_.meet(std::move(status)); !status) return status.error();
  written_ += page_bytes;
  return meeting_.slowest(seconds);
}

Result<double> RunFile::call(std::int64_t calls) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  Times times;
  Status status = file_.read_words(calls, instrument_.buffer(0), &times);
  if (status = meeting_.meet(std::move(status)); !status) return status.error();
  return meeting_.slowest(seconds_of(times.end_ns - times.start_ns) / static_cast<double>(calls));
}

}  // namespace weir::bench::probe
