#include "stager/receivers.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "stager/event_poll.hpp"
#include "stager/scarce_memory.hpp"
#include "transport/messages.hpp"

namespace weir::stager {
namespace {

// Messages and bytes of a batch; what is behind them is in the next one. So many bytes are still in
// the processor's cache when they are copied to their places.
constexpr std::size_t most_batched_messages = 64;
constexpr std::size_t most_batched_bytes = std::size_t{256} << 10;
constexpr std::uint64_t wake_key = 0;  // clients have larger numbers
constexpr int longest_sleep_ms = 500;

bool brings_bytes(const Event& event) {
  return std::holds_alternative<transport::BlockBytes>(std::get<Received>(event).message);
}

}  // namespace

class Receiver {
 public:
  Receiver(EventPoll poll, std::unique_ptr<Mailbox<ClientId>> added,
           Mailbox<ReceivedBatch*>* batches)
      : poll_(std::move(poll)),
        added_(std::move(added)),
        batches_(batches),
        thread_([this] { run(); }) {}
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() {
    {
      const std::lock_guard<std::mutex> guard(answer_mutex_);
      is_ending_ = true;
    }
    answered_.notify_all();
    added_->add(wake_key);
    thread_.join();
  }

  Status add(ClientId client, std::shared_ptr<storage::FrameSocket> socket) {
    const int descriptor = socket->descriptor();
    {
      const std::lock_guard<std::mutex> guard(clients_mutex_);
      clients_[client] = std::make_shared<Source>(std::move(socket), std::nullopt);
    }
    // The socket may have frames already, of which the poll knows nothing.
    added_->add(client);
    return poll_.add(descriptor, client, EPOLLIN);
  }
  void remove(ClientId client) {
    const std::lock_guard<std::mutex> guard(clients_mutex_);
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;
    poll_.remove(found->second->socket->descriptor());
    clients_.erase(found);
  }
  [[nodiscard]] std::size_t clients() {
    const std::lock_guard<std::mutex> guard(clients_mutex_);
    return clients_.size();
  }
  void answer() {
    {
      const std::lock_guard<std::mutex> guard(answer_mutex_);
      is_answered_ = true;
    }
    answered_.notify_all();
  }

 private:
  struct Source {
    Source(std::shared_ptr<storage::FrameSocket> from, std::optional<Event> first)
        : socket(std::move(from)), held(std::move(first)) {}
    std::shared_ptr<storage::FrameSocket> socket;
    std::optional<Event> held;  // behind bytes that had to find their place first
    bool has_ended = false;
  };

  void run() {
    const PatientMemory patient;
    while (!is_over()) {
      std::set<ClientId> clients = std::exchange(unread_, {});
      for (const std::uint64_t key : poll_.wait(clients.empty() ? longest_sleep_ms : 0)) {
        if (key != wake_key) clients.insert(key);
      }
      for (const ClientId client : added_->take()) {
        if (client != wake_key) clients.insert(client);
      }
      for (const ClientId client : clients) {
        if (!serve(client)) return;
      }
    }
  }
  bool is_over() {
    const std::lock_guard<std::mutex> guard(answer_mutex_);
    return is_ending_;
  }
  std::shared_ptr<Source> source_of(ClientId client) {
    const std::lock_guard<std::mutex> guard(clients_mutex_);
    const auto found = clients_.find(client);
    return found == clients_.end() ? nullptr : found->second;
  }

  // Returns false if the stager ends.
  bool serve(ClientId client) {
    const std::shared_ptr<Source> source = source_of(client);
    if (source == nullptr || source->has_ended) return true;
    ReceivedBatch batch;
    batch.client = client;
    batch.receiver = this;
    const auto more = with_memory([&]() -> Result<bool> { return read(*source, &batch); });
    if (!more) {
      batch.end = more.error();
    } else if (more.value()) {
      unread_.insert(client);
    }
    if (batch.events.empty() && batch.end.ok()) return true;
    if (!batch.end.ok()) {
      source->has_ended = true;
      poll_.remove(source->socket->descriptor());
    }
    batches_->add(&batch);
    {
      std::unique_lock<std::mutex> lock(answer_mutex_);
      answered_.wait(lock, [&] { return is_answered_ || is_ending_; });
      if (!std::exchange(is_answered_, false)) return false;
    }
    const std::lock_guard<std::mutex> guard(clients_mutex_);
    if (!clients_.contains(client)) return true;
    for (const ReceivedBatch::Copy& one : batch.copies) std::ranges::copy(one.bytes, one.to);
    return true;
  }

  // Returns whether there may be more, of which the poll knows nothing.
  static bool read(Source& source, ReceivedBatch* batch) {
    std::size_t bytes = 0;
    if (source.held) batch->events.push_back(std::move(*std::exchange(source.held, std::nullopt)));
    while (batch->events.size() < most_batched_messages && bytes < most_batched_bytes) {
      auto frame = source.socket->next();
      if (!frame) {
        batch->end = frame.error();
        return false;
      }
      if (!frame.value()) return false;
      bytes += frame.value()->payload.size();
      auto message = transport::parse(frame.value()->payload);
      if (!message) {
        batch->end = message.error();
        return false;
      }
      const bool is_behind_bytes = !batch->events.empty() && brings_bytes(batch->events.back());
      Event event = Received{.client = batch->client, .message = std::move(message).value()};
      if (is_behind_bytes && !brings_bytes(event)) {
        source.held = std::move(event);
        return true;
      }
      batch->events.push_back(std::move(event));
    }
    return true;
  }

  EventPoll poll_;
  std::unique_ptr<Mailbox<ClientId>> added_;
  Mailbox<ReceivedBatch*>* batches_;
  std::mutex clients_mutex_;  // held while bytes are copied
  std::map<ClientId, std::shared_ptr<Source>> clients_;
  std::set<ClientId> unread_;  // of the receiver's thread
  std::mutex answer_mutex_;
  std::condition_variable answered_;
  bool is_answered_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

Receivers::Receivers(std::unique_ptr<Mailbox<ReceivedBatch*>> batches)
    : batches_(std::move(batches)) {}

Receivers::~Receivers() = default;

Result<std::unique_ptr<Receivers>> Receivers::open(int threads) {
  auto batches = Mailbox<ReceivedBatch*>::open();
  if (!batches) return batches.error();
  std::unique_ptr<Receivers> made(new Receivers(std::move(batches).value()));
  for (int i = 0; i < threads; ++i) {
    auto poll = EventPoll::open();
    if (!poll) return poll.error();
    auto added = Mailbox<ClientId>::open();
    if (!added) return added.error();
    Status watched = poll.value().add(added.value()->descriptor(), wake_key, EPOLLIN);
    if (!watched.ok()) return watched.error();
    made->threads_.push_back(std::make_unique<Receiver>(
        std::move(poll).value(), std::move(added).value(), made->batches_.get()));
  }
  return made;
}

Status Receivers::add(ClientId client, std::shared_ptr<storage::FrameSocket> socket) {
  const auto least = std::ranges::min_element(
      threads_, {}, [](const std::unique_ptr<Receiver>& one) { return one->clients(); });
  receivers_.emplace(client, least->get());
  return (*least)->add(client, std::move(socket));
}

void Receivers::remove(ClientId client) {
  const auto found = receivers_.find(client);
  if (found == receivers_.end()) return;
  found->second->remove(client);
  receivers_.erase(found);
}

void Receivers::answer(ReceivedBatch* batch) { batch->receiver->answer(); }

}  // namespace weir::stager
