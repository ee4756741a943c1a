// Messages in place of busy work: in each computation the ranks of the function's gang level send
// each other a given number of bytes, which travel beside the transfers of ASYNC and between those
// of SYNC.
//
// Rank r of n ranks sends to rank r + n/2, so that messages leave every node if ranks fill nodes in
// order. A message has `message_bytes` or what is left, and both ends of it hold its number. A rank
// checks these of every message, and each word of the last message of a computation, outside the
// times of the exchange.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "measurement/job.hpp"
#include "measurement/ring.hpp"
#include "workloads/madbench/exchanges.hpp"
#include "workloads/madbench/io_work.hpp"

namespace weir::bench::madbench {

inline constexpr std::int64_t message_bytes = std::int64_t{1} << 20;
inline constexpr std::int64_t most_message_bytes = std::int64_t{1} << 40;  // of a computation
// A message is sent from one buffer while one is received into the other.
inline constexpr std::int64_t message_buffers = 2;
// A computation is recorded as at most so many exchanges.
inline constexpr std::int64_t most_exchanges_per_computation = 1024;

class MessageWork final : public IoWork {
 public:
  // `bytes`: sent by each rank in a computation, a multiple of 8. Collective over the job.
  static Result<std::unique_ptr<MessageWork>> create(const Job& job, const Size& size,
                                                     std::int64_t bytes, int compressible_percent,
                                                     Buffers& buffers);
  MessageWork(const MessageWork&) = delete;
  MessageWork& operator=(const MessageWork&) = delete;
  ~MessageWork() override;

  [[nodiscard]] bool is_busy_work() const override { return false; }
  Status begin(Function function) override;
  Status compute(Function function, const Step& step,
                 const std::function<void()>& progress) override;
  [[nodiscard]] std::span<const Exchange> exchanges() const override { return exchanges_; }
  void abandon() override { abandoned_ = true; }

 private:
  MessageWork(const Job& job, const Size& size, std::int64_t bytes, int compressible_percent,
              Buffers& buffers, Ring messages);

  Status exchange(MPI_Comm communicator, std::int64_t bytes, const std::function<void()>& progress);
  [[nodiscard]] Status check_ends(std::int64_t bytes) const;
  [[nodiscard]] Status check_words(std::int64_t bytes) const;
  [[nodiscard]] Error changed(const std::string& what) const;

  const Job& job_;
  std::int64_t bytes_;
  Ring messages_;
  MPI_Comm all_ = MPI_COMM_NULL;
  MPI_Comm gang_ = MPI_COMM_NULL;
  int sender_ = 0;                   // world rank of whoever sent the latest message
  std::uint64_t number_ = 0;         // of the latest message; equal on all ranks
  std::vector<Exchange> exchanges_;  // of the latest repetition
  bool abandoned_ = false;
};

}  // namespace weir::bench::madbench
