#include "workloads/madbench/message_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "measurement/payload.hpp"

namespace weir::bench::madbench {
namespace {

constexpr int message_tag = 1;
constexpr std::uint64_t message_seed = 0x6d657373'61676573;
constexpr std::int64_t sent = 0;  // numbers of the buffers
constexpr std::int64_t received = 1;

std::span<std::uint64_t> words_of_message(const Ring& messages, std::int64_t buffer,
                                          std::int64_t bytes) {
  return {reinterpret_cast<std::uint64_t*>(messages.at(buffer)),
          static_cast<std::size_t>(bytes / 8)};
}

PayloadStream stream_from(int sender) {
  return {.seed = message_seed, .file = static_cast<std::uint32_t>(sender)};
}

}  // namespace

Result<std::unique_ptr<MessageWork>> MessageWork::create(const Job& job, const Size& size,
                                                         std::int64_t bytes,
                                                         int compressible_percent,
                                                         Buffers& buffers) {
  auto messages = Ring::create(message_buffers, message_bytes);
  int failed_rank = none_failed;
  Status status = agree_on(job, messages ? Status() : messages.error(), &failed_rank);
  if (!status) return status.error();
  return std::unique_ptr<MessageWork>(new MessageWork(job, size, bytes, compressible_percent,
                                                      buffers, std::move(messages).value()));
}

MessageWork::MessageWork(const Job& job, const Size& size, std::int64_t bytes,
                         int compressible_percent, Buffers& buffers, Ring messages)
    : IoWork(size, 0, compressible_percent, buffers),
      job_(job),
      bytes_(bytes),
      messages_(std::move(messages)) {
  MPI_Comm_dup(job.world, &all_);
  MPI_Comm_split(job.world, static_cast<int>(job.rank / (size.no_pe / size.no_gang)), job.rank,
                 &gang_);
  fill_payload(stream_from(job.rank), 0, words_of_message(messages_, sent, message_bytes));
}

MessageWork::~MessageWork() {
  // After a failure the other ranks may be anywhere in the code, and freeing would have to wait for
  // them.
  if (abandoned_) return;
  MPI_Comm_free(&gang_);
  MPI_Comm_free(&all_);
}

Status MessageWork::begin(Function function) {
  if (function == Function::S) exchanges_.clear();
  return {};
}

Status MessageWork::compute(Function function, const Step& step,
                            const std::function<void()>& progress) {
  const bool all = step.action == Action::remap || compute_level(function) == GangLevel::all_ranks;
  const std::int64_t messages = (bytes_ + message_bytes - 1) / message_bytes;
  const std::int64_t messages_per_exchange =
      (messages + most_exchanges_per_computation - 1) / most_exchanges_per_computation;
  Status right;  // others wait for all messages of this rank, also after a wrong one
  Exchange under_way{.start_ns = monotonic_ns()};
  for (std::int64_t i = 0; i < messages; ++i) {
    const std::int64_t bytes = std::min(message_bytes, bytes_ - i * message_bytes);
    if (Status status = exchange(all ? all_ : gang_, bytes, progress); !status) {
      return status;
    }
    if (right.ok()) right = check_ends(bytes);
    under_way.bytes += bytes;
    const bool is_last = i + 1 == messages;
    if (!is_last && (i + 1) % messages_per_exchange != 0) continue;
    under_way.end_ns = monotonic_ns();
    exchanges_.push_back(under_way);
    under_way = {.start_ns = under_way.end_ns};
    if (is_last && right.ok()) right = check_words(bytes);
  }
  return right;
}

Status MessageWork::exchange(MPI_Comm communicator, std::int64_t bytes,
                             const std::function<void()>& progress) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  const int from = (rank - ranks / 2 + ranks) % ranks;
  sender_ = job_.rank - rank + from;  // the ranks of a gang are consecutive
  ++number_;
  const auto words = words_of_message(messages_, sent, bytes);
  words.front() = words.back() = number_;
  MPI_Request requests[2];
  MPI_Irecv(messages_.at(received), static_cast<int>(bytes), MPI_BYTE, from, message_tag,
            communicator, &requests[0]);
  MPI_Isend(messages_.at(sent), static_cast<int>(bytes), MPI_BYTE, (rank + ranks / 2) % ranks,
            message_tag, communicator, &requests[1]);
  const std::int64_t deadline_ns = job_.deadline_ns();
  for (MPI_Request& request : requests) {
    // A transfer that ends meanwhile is noticed at once: its end is when it is asked for.
    int done = 0;
    while (progress && done == 0 && monotonic_ns() < deadline_ns) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      progress();
      if (done == 0) std::this_thread::yield();
    }
    Status status = wait_for(request, deadline_ns, "exchanging messages (--messages)");
    if (!status) return status;
  }
  return {};
}

Status MessageWork::check_ends(std::int64_t bytes) const {
  const auto words = words_of_message(messages_, received, bytes);
  if (words.front() == number_ && words.back() == number_) return {};
  return changed(fmt::format("its ends have the numbers {} and {}", words.front(), words.back()));
}

Status MessageWork::check_words(std::int64_t bytes) const {
  const auto words = words_of_message(messages_, received, bytes);
  if (words.size() <= 2) return {};
  const auto wrong = check_payload(stream_from(sender_), 1, words.subspan(1, words.size() - 2), {},
                                   static_cast<std::uint64_t>(message_bytes / 8));
  if (wrong.empty()) return {};
  return changed(fmt::format("at byte {}: {}", wrong.front().first_byte, wrong.front().text));
}

Error MessageWork::changed(const std::string& what) const {
  Error error(ErrorCode::corrupt,
              fmt::format("message {} from rank {} arrived changed: {}", number_, sender_, what));
  error.operation = "verify";
  error.rank = job_.rank;
  return error;
}

}  // namespace weir::bench::madbench
