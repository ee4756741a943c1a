// Single measurements by all ranks together, one trial at a time.
//
// Every function is collective. It returns the same figure on every rank, or an error on every
// rank: the ranks inform each other of a failure when they meet after the operation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "engines/engine.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/meeting.hpp"
#include "measurement/ring.hpp"
#include "measurement/transfer_request.hpp"
#include "system/file.hpp"

namespace weir::bench::calibrate {

// Ranks meet after each piece that is not smaller.
inline constexpr std::int64_t bytes_between_meetings = std::int64_t{1} << 20;

// The file that a rank moves data to and from.
struct TestFile {
  std::string path;
  bool shared = false;              // by all ranks, each of which has a part of its own
  std::int64_t bytes_per_rank = 0;  // at most; but at least one piece
};

class Probe {
 public:
  // The guard removes the test file. `offset` is that of this rank's clock.
  Probe(const Job& job, FailureGuard& guard, const ClockOffset& offset, TestFile file);

  [[nodiscard]] std::int64_t pieces_per_file(std::int64_t piece_bytes) const;
  // Returns the bytes of this rank in the file that was written last.
  [[nodiscard]] std::int64_t file_bytes() const { return written_; }

  // Makes the buffers hold at least `bytes` each. Call it before everything else.
  Status provide_buffers(std::int64_t bytes);

  // Returns the bytes per second of copying `copies` times between the two buffers: by rank 0
  // alone, with the other ranks asleep, or by all ranks.
  Result<double> memory_copy_one_rank(std::int64_t copies);
  Result<double> memory_copy(std::int64_t copies);

  // Returns the bytes per second of writing `pieces` consecutive pieces to a new file, each with
  // `durability`. More pieces than fit the file are written to one new file after the other; making
  // a file does not count.
  Result<double> write(std::int64_t pieces, std::int64_t piece_bytes,
                       storage::Durability durability);
  // Returns the bytes per second of writing with one full sync of each whole file after its last
  // piece.
  Result<double> write_synced_once(std::int64_t pieces, std::int64_t piece_bytes);
  // Returns the bytes per second of reading pieces that were just written for the first time, as a
  // run does it. In tmpfs that is slower than reading them again. Writing them does not count.
  Result<double> read_new_pages(std::int64_t pieces, std::int64_t piece_bytes);
  // Returns the bytes per second of reading the file that was written last, after its pages were
  // dropped from the cache: again and again for more pieces than it has.
  Result<double> read_dropped_pages(std::int64_t pieces, std::int64_t piece_bytes);

  // Returns the seconds of one fsync after another 4 KiB were written, on the slowest rank.
  Result<double> fsync();
  // Returns the seconds of one 8-byte read of a resident page, the mean of `calls`, on the slowest
  // rank.
  Result<double> call(std::int64_t calls);
  // Returns the seconds of one meeting of all ranks, the mean of `count`, on the slowest rank.
  Result<double> barrier(std::int64_t count);
  // Returns the busy-work operations per second of the slowest rank.
  Result<double> busy_work(std::int64_t operations);

  // Returns the lowest rank that failed, after an error.
  [[nodiscard]] int failed_rank() const { return meeting_.failed_rank(); }

 private:
  Result<double> copy(std::int64_t copies, bool takes_part, int ranks, Waiting waiting);
  // Moves `pieces` pieces in rounds of at most `per_round`, each of which returns its nanoseconds.
  Result<double> rate_of_rounds(
      std::int64_t pieces, std::int64_t per_round, std::int64_t piece_bytes,
      const std::function<Result<std::int64_t>(std::int64_t)>& round) const;
  // Returns the nanoseconds. `last` is the durability of the last piece; `request` has that of all
  // pieces before it.
  Result<std::int64_t> move_pieces(std::int64_t pieces, TransferRequest request,
                                   storage::Durability last);
  Result<std::int64_t> write_new_file(std::int64_t pieces, std::int64_t piece_bytes,
                                      storage::Durability durability, storage::Durability last);
  // Returns where this rank's part of the file begins.
  [[nodiscard]] std::int64_t part_begin() const;
  Status move(const TransferRequest& request, storage::PieceRequest& piece);
  Status move(const TransferRequest& request, Times* times);
  Status make_new_file();

  const Job& job_;
  FailureGuard& guard_;
  Meeting meeting_;
  TestFile test_file_;
  Ring buffers_;
  std::optional<storage::File> file_;  // for what concerns the page cache
  std::unique_ptr<storage::Engine> engine_ = storage::make_posix_engine();
  std::unique_ptr<storage::EngineFile> moved_;
  std::int64_t written_ = 0;      // bytes of this rank in the file
  std::uint32_t generation_ = 0;  // of the payload: no two pieces are alike
  double consumed_ = 0;           // results of busy work
};

}  // namespace weir::bench::calibrate
