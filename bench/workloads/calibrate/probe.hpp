// Single measurements by all ranks together, one trial at a time.
//
// Every function is collective and gives every rank the same figure, or every rank an error: the
// ranks tell each other of a failure when they meet after the operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/meeting.hpp"
#include "measurement/ring.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/transfer.hpp"

namespace weir::bench::calibrate {

class Probe {
 public:
  // `path`: this rank's test file, which the guard removes. `offset`: of this rank's clock.
  Probe(const Job& job, FailureGuard& guard, const ClockOffset& offset, std::string path);

  // Sees to it that the buffers hold at least `bytes` each; before anything else.
  Status provide_buffers(std::int64_t bytes);

  // Bytes per second of copying `copies` times between the two buffers: by rank 0 alone, with the
  // others asleep, or by all ranks.
  Result<double> memory_copy_one_rank(std::int64_t copies);
  Result<double> memory_copy(std::int64_t copies);

  // Bytes per second of writing `pieces` consecutive pieces to a new file; `durability` of each.
  Result<double> write(std::int64_t pieces, std::int64_t piece_bytes,
                       storage::Durability durability);
  // Bytes per second of writing with one full sync, of the whole file, after the last piece.
  Result<double> write_synced_once(std::int64_t pieces, std::int64_t piece_bytes);
  // Bytes per second of reading the pieces back; with `drop`, after dropping their pages from the
  // cache.
  Result<double> read(std::int64_t pieces, std::int64_t piece_bytes, bool drop);

  // Seconds of one fsync after 4 KiB more, slowest rank.
  Result<double> fsync();
  // Seconds of one 8-byte read of a resident page, mean of `calls`, slowest rank.
  Result<double> call(std::int64_t calls);
  // Seconds of one meeting of all ranks, mean of `count`, slowest rank.
  Result<double> barrier(std::int64_t count);
  // Busy-work operations per second of the slowest rank.
  Result<double> busy_work(std::int64_t operations);

  // The rank that failed first, after an error.
  [[nodiscard]] int failed_rank() const { return meeting_.failed_rank(); }

 private:
  Result<double> copy(std::int64_t copies, bool takes_part, int ranks, Waiting waiting);
  // `last` is the durability of the last piece, the request's that of all before it.
  Result<double> move_pieces(std::int64_t pieces, storage::TransferRequest request,
                             storage::Durability last);
  Result<double> write_new_file(std::int64_t pieces, std::int64_t piece_bytes,
                                storage::Durability durability, storage::Durability last);
  Status move(const storage::TransferRequest& request, Times* times);
  Status make_new_file();

  const Job& job_;
  FailureGuard& guard_;
  Meeting meeting_;
  std::string path_;
  Ring buffers_;
  std::optional<storage::File> file_;
  std::int64_t written_ = 0;      // bytes in the file
  std::uint32_t generation_ = 0;  // of the payload: no two pieces are alike
  double consumed_ = 0;           // results of busy work
};

}  // namespace weir::bench::calibrate
