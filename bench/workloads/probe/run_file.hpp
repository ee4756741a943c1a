// The simplest I/O of a run by all ranks together: every rank moves consecutive pieces to or from a
// file of its own, or its own part of a file of all ranks.
//
// The ranks meet before and after each piece, or each mebibyte of smaller ones, and a rate is the
// bytes of all ranks over the sum of the spans between two meetings. Every function is collective,
// and returns the same figure on every rank, or an error on every rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/status.hpp"
#include "measurement/chosen_targets.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/meeting.hpp"
#include "workloads/probe/instrument.hpp"
#include "workloads/probe/target_file.hpp"

namespace weir::bench::probe {

// Ranks meet after each piece that is not smaller.
inline constexpr std::int64_t bytes_between_meetings = MiB;

class RunFile {
 public:
  struct Place {
    std::string path;
    bool shared = false;              // by all ranks, each of which has a part of its own
    std::int64_t bytes_per_rank = 0;  // at most; but at least one piece
    ChosenTargets targets = {};
  };

  // Uses the instrument's buffers. The guard removes the file.
  RunFile(const Job& job, FailureGuard& guard, Instrument& instrument, Place place)
      : job_(job),
        instrument_(instrument),
        meeting_(instrument.meeting()),
        place_(std::move(place)),
        file_(guard, place_.path, static_cast<std::uint32_t>(job.rank)) {}

  [[nodiscard]] std::int64_t pieces_per_file(std::int64_t piece_bytes) const;
  // Returns the bytes of this rank in the file that was written last.
  [[nodiscard]] std::int64_t bytes() const { return written_; }

  // Returns the bytes per second of writing `pieces` consecutive pieces to a new file, each with
  // `durability`. More pieces than fit the file are written to one new file after the other; making
  // a file does not count.
  Result<double> write(std::int64_t pieces, std::int64_t piece_bytes,
                       storage::Durability durability);
  // Returns the bytes per second of writing new files with O_DIRECT and without a sync. Fails if
  // the file system rejects O_DIRECT.
  Result<double> write_direct(std::int64_t pieces, std::int64_t piece_bytes);
  // Returns the bytes per second of writing with one full sync of each whole file after its last
  // piece.
  Result<double> write_synced_once(std::int64_t pieces, std::int64_t piece_bytes);
  // Returns the bytes per second of reading pieces that were just written for the first time, as a
  // run does it. In tmpfs that is slower than reading them again. Writing them does not count.
  Result<double> read_new_pages(std::int64_t pieces, std::int64_t piece_bytes);
  // Returns the bytes per second of reading the file that was written last, after its pages were
  // dropped from the cache: again and again for more pieces than it has.
  Result<double> read_dropped_pages(std::int64_t pieces, std::int64_t piece_bytes);
  // Returns the bytes per second of reading the file that write_direct() wrote last with O_DIRECT:
  // again and again for more pieces than it has.
  Result<double> read_direct(std::int64_t pieces, std::int64_t piece_bytes);
  // Returns the seconds of the first read of the file that was written last, after its pages were
  // dropped from the cache. Systems read ahead of it, so it can take longer than those after it.
  Result<double> first_read(std::int64_t piece_bytes);

  // Returns the seconds of one fsync after another 4 KiB were written, on the slowest rank.
  Result<double> fsync();
  // Returns the seconds of one 8-byte read of a resident page, the mean of `calls`, on the slowest
  // rank.
  Result<double> call(std::int64_t calls);

 private:
  // Moves `pieces` pieces in rounds of at most `per_round`, each of which returns its nanoseconds.
  Result<double> rate_of_rounds(
      std::int64_t pieces, std::int64_t per_round, std::int64_t piece_bytes,
      const std::function<Result<std::int64_t>(std::int64_t)>& round) const;
  // Returns the nanoseconds. `last` is the durability of the last piece; `pattern` has that of all
  // pieces before it.
  Result<std::int64_t> move_pieces(std::int64_t pieces, std::int64_t piece_bytes, Pattern pattern,
                                   storage::Durability last);
  Result<std::int64_t> write_new_file(std::int64_t pieces, std::int64_t piece_bytes,
                                      storage::Durability durability, storage::Durability last);
  Status open_direct();
  // Returns where this rank's part of the file begins.
  [[nodiscard]] std::int64_t part_begin() const;
  Status make_new_file();

  const Job& job_;
  Instrument& instrument_;
  Meeting& meeting_;
  Place place_;
  TargetFile file_;
  std::int64_t written_ = 0;      // bytes of this rank in the file
  std::uint32_t generation_ = 0;  // of the payload: no two pieces are alike
};

}  // namespace weir::bench::probe
