#include "stager/server.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "common/clock.hpp"
#include "stager/journal.hpp"
#include "stager/journal_replay.hpp"
#include "stager/session_files.hpp"
#include "stager/spill_file.hpp"
#include "stager/stager.hpp"
#include "system/descriptor_socket.hpp"
#include "system/frame_socket.hpp"
#include "system/network_listener.hpp"
#include "system/process_name.hpp"
#include "system/shared_memory.hpp"
#include "system/uninterrupted.hpp"
#include "transport/proof.hpp"
#include "transport/rendezvous.hpp"
#include "transport/ucx.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t least_blocks = 16;
constexpr std::int64_t reserved_together = std::int64_t{64} << 20;
// Events of epoll that are no connections.
constexpr std::uint64_t listener_key = 0;
constexpr std::uint64_t news_key = 1;
constexpr std::uint64_t signal_key = 2;
constexpr std::uint64_t network_key = 3;
constexpr std::uint64_t ucx_key = 4;
constexpr std::uint64_t first_client = 16;
// Connections over a network on which no secret has been told yet. Each may have sent a frame in
// part; others wait in the system's queue meanwhile.
constexpr std::size_t most_strangers = 1024;
// How long an address of another stager is tried before the next one.
constexpr std::int64_t most_connecting_ns = 5 * second_ns;
constexpr int longest_nap_ms = 500;
// UCX says that it has something to do: how often it does that before others get their turn, and
// how long it is left alone then.
constexpr int most_rearmings = 8;
constexpr int unarmed_nap_ms = 1;
// Messages of one connection that are handled before others are looked at.
constexpr int most_messages_together = 64;

Result<storage::File> owned(int descriptor, const char* operation) {
  if (descriptor < 0) return system_failure(operation, "", -1, errno);
  return storage::File::passed(descriptor, "", 0);
}

// What ranks of other nodes connect to.
struct Service {
  storage::NetworkListener listener;
  std::string secret;
  transport::RendezvousFile file;
};

// Events that other threads have for the thread of the state machine.
class News {
 public:
  explicit News(storage::File event) : event_(std::move(event)) {}

  void add(Event event) {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      events_.push_back(std::move(event));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written =
        storage::uninterrupted([&] { return ::write(event_.descriptor(), &one, sizeof one); });
  }
  std::vector<Event> take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got =
        storage::uninterrupted([&] { return ::read(event_.descriptor(), &count, sizeof count); });
    const std::lock_guard<std::mutex> guard(mutex_);
    return std::exchange(events_, {});
  }
  [[nodiscard]] int descriptor() const { return event_.descriptor(); }

 private:
  storage::File event_;
  std::mutex mutex_;
  std::vector<Event> events_;
};

// Threads that execute jobs in the order in which they come.
class Workers {
 public:
  explicit Workers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] { run(); });
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& one : threads_) one.join();
  }
  void add(std::function<void()> job) {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return is_ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

// Each rank of the node is a connection, and a shell's limit is often 1,024.
void allow_many_connections() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

class Server {
 public:
  Server(const ServerSettings& settings, storage::FrameListener listener,
         storage::SharedMemory memory, storage::File epoll, storage::File signals,
         std::unique_ptr<News> news, std::unique_ptr<SpillFile> spill,
         std::unique_ptr<Journal> journal, const transport::SessionId& secret,
         std::optional<Service> service, std::unique_ptr<transport::UcxReceiver> ucx,
         const std::string& offered_ucx, std::function<void(const std::string&)> say)
      : settings_(settings),
        blocks_(settings.memory_bytes / settings.block_bytes),
        listener_(std::move(listener)),
        memory_(std::move(memory)),
        epoll_(std::move(epoll)),
        signals_(std::move(signals)),
        news_(std::move(news)),
        spill_(std::move(spill)),
        journal_(std::move(journal)),
        say_(std::move(say)),
        service_(std::move(service)),
        secret_(reinterpret_cast<const char*>(secret.data()), secret.size()),
        stager_({.blocks = blocks_,
                 .block_bytes = settings.block_bytes,
                 .spill_slots = spill_ == nullptr ? 0 : spill_->slots(),
                 .name = fmt::format("{} {}", storage::process_name(), monotonic_ns()),
                 .client_blocks = settings.client_memory / settings.block_bytes,
                 .client_files = settings.client_files,
                 .connections = settings.connections,
                 .host = storage::host_name(),
                 .secret = secret_,
                 .rank_secret = service_ ? service_->secret : std::string(),
                 .has_journal = journal_ != nullptr,
                 .ucx = offered_ucx}),
        ucx_(std::move(ucx)),
        recorder_(1),
        workers_(settings.threads),
        reserving_([this] { reserve(); }) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    {
      const std::lock_guard<std::mutex> guard(reserve_mutex_);
      is_ending_ = true;
    }
    reserve_changed_.notify_all();
    reserving_.join();
  }

  Status run() {
    if (service_) {
      Status watched = watch_network(std::move(service_->listener));
      if (!watched.ok()) return watched;
    }
    for (const auto& [descriptor, key] :
         {std::pair(listener_->descriptor(), listener_key),
          std::pair(news_->descriptor(), news_key), std::pair(signals_.descriptor(), signal_key)}) {
      if (Status watched = watch(descriptor, key, EPOLLIN, EPOLL_CTL_ADD); !watched.ok()) {
        return watched;
      }
    }
    if (ucx_ != nullptr) {
      Status watched = watch(ucx_->descriptor(), ucx_key, EPOLLIN, EPOLL_CTL_ADD);
      if (!watched.ok()) return watched;
    }
    std::int64_t ticked_ns = monotonic_ns();
    std::int64_t worked_ns = ticked_ns;
    while (!has_ended_) {
      std::array<epoll_event, 64> events{};
      const int count = storage::uninterrupted([&] {
        return ::epoll_wait(epoll_.descriptor(), events.data(), static_cast<int>(events.size()),
                            longest_wait_ms());
      });
      take_pieces();
      const std::set<ClientId> unread = std::exchange(unread_, {});
      for (int i = 0; i < count; ++i) look_at(events.at(static_cast<std::size_t>(i)));
      for (const ClientId client : unread) look_at_client(client);
      go_on_accepting();
      const std::int64_t now_ns = monotonic_ns();
      if (now_ns - ticked_ns >= second_ns) {
        ticked_ns = now_ns;
        handle(Tick{});
        std::vector<SessionId> due;
        std::swap(due, retries_);
        for (const SessionId session : due) handle(RetryDue{session});
        give_up_slow_links(now_ns);
      }
      if (!stager_.is_idle() || !clients_.empty()) worked_ns = now_ns;
      const bool is_over = settings_.idle_seconds > 0 &&
                           static_cast<double>(now_ns - worked_ns) > settings_.idle_seconds * 1e9;
      const bool was_last = settings_.until_programs_end && has_served_ && stager_.is_idle();
      if (is_over || was_last) has_ended_ = true;
    }
    service_.reset();  // removes the rendezvous file
    // Whoever waits for the end of this stager sees its connection end, and then finds no socket.
    listener_.reset();
    return {};
  }

 private:
  struct Client {
    explicit Client(storage::FrameSocket connection) : socket(std::move(connection)) {}
    storage::FrameSocket socket;
    std::uint32_t watched = EPOLLIN;
    bool is_closing = false;  // ends when everything is sent
  };
  // A connection to another stager that is being made.
  struct Link {
    SessionId session = 0;
    std::vector<std::string> addresses;
    std::size_t tried = 0;  // addresses so far
    std::int64_t began_ns = 0;
  };

  Status watch(int descriptor, std::uint64_t key, std::uint32_t what, int operation) const {
    epoll_event event{};
    event.events = what;
    event.data.u64 = key;
    if (::epoll_ctl(epoll_.descriptor(), operation, descriptor, &event) == 0) return {};
    return system_failure("epoll_ctl", settings_.socket, -1, errno);
  }

  // What came over UCX is taken between two waits, whatever the wait has ended for.
  void take_pieces() {
    if (ucx_ == nullptr) return;
    const auto take = [&](ClientId client, const transport::UcxPiece& piece,
                          std::span<const std::byte> bytes) {
      brought_ = bytes;
      handle(Piece{client, piece, std::ssize(bytes)});
      brought_ = {};
    };
    for (const ClientId client : ucx_->progress(take)) {
      if (!clients_.contains(client)) continue;
      say_("the connection of a rank over UCX has failed");
      drop(client);
    }
  }
  [[nodiscard]] int longest_wait_ms() {
    if (!unread_.empty()) return 0;
    for (int i = 0; ucx_ != nullptr && !ucx_->arm(); ++i) {
      if (i == most_rearmings) return unarmed_nap_ms;
      take_pieces();
    }
    return longest_nap_ms;
  }

  // Runs in a thread of its own: the stager takes no more memory than programs need.
  void reserve() {
    const std::int64_t step = reserved_blocks();
    for (std::int64_t first = 0; first < blocks_; first += step) {
      {
        std::unique_lock<std::mutex> lock(reserve_mutex_);
        reserve_changed_.wait(lock, [&] { return is_ending_ || needs_more_; });
        if (is_ending_) return;
        needs_more_ = false;
      }
      const std::int64_t count = std::min(step, blocks_ - first);
      Status reserved =
          memory_.reserve(first * settings_.block_bytes, count * settings_.block_bytes);
      if (!reserved.ok()) {
        say_(fmt::format("only {} of {} MiB of memory could be had: {}",
                         first * settings_.block_bytes >> 20, settings_.memory_bytes >> 20,
                         reserved.error().text()));
        news_->add(NoMoreBlocks{});
        return;
      }
      news_->add(BlocksReady{count});
    }
  }

  void look_at(const epoll_event& event) {
    if (event.data.u64 == listener_key) {
      while (auto socket = listener_->accept()) accept(std::move(*socket), false);
    } else if (event.data.u64 == network_key) {
      accept_strangers();
    } else if (event.data.u64 == news_key) {
      for (const Event& one : news_->take()) handle(one);
    } else if (event.data.u64 == ucx_key) {
      // take_pieces() has done what there was to do.
    } else if (event.data.u64 == signal_key) {
      signalfd_siginfo info{};
      [[maybe_unused]] const ssize_t got =
          storage::uninterrupted([&] { return ::read(signals_.descriptor(), &info, sizeof info); });
      say_("told to stop by a signal: ends when everything is stored");
      handle(Stopping{});
    } else {
      look_at_client(event.data.u64);
    }
  }

  void accept(storage::FrameSocket socket, bool is_remote) {
    const ClientId client = next_client_++;
    if (!watch(socket.descriptor(), client, EPOLLIN, EPOLL_CTL_ADD).ok()) return;
    Connected connected{.client = client, .is_remote = is_remote};
    if (is_remote) {
      const auto nonce = transport::new_nonce();
      if (!nonce) {
        say_(nonce.error().text());
        return;
      }
      connected.nonce = nonce.value();
    }
    clients_.try_emplace(client, std::move(socket));
    handle(connected);
  }

  Status watch_network(storage::NetworkListener listener) {
    Status watched = watch(listener.descriptor(), network_key, EPOLLIN, EPOLL_CTL_ADD);
    if (watched.ok()) network_.emplace(std::move(listener));
    return watched;
  }

  void accept_strangers() {
    while (stager_.strangers() < most_strangers) {
      auto socket = network_->accept();
      if (!socket) return;
      accept(std::move(*socket), true);
    }
    (void)watch(network_->descriptor(), network_key, 0, EPOLL_CTL_MOD);
    is_full_ = true;
  }

  void go_on_accepting() {
    if (!is_full_ || stager_.strangers() >= most_strangers) return;
    is_full_ = !watch(network_->descriptor(), network_key, EPOLLIN, EPOLL_CTL_MOD).ok();
  }

  // Tries the next address of the other stager.
  void connect_next(Link link, const Error& before) {
    while (link.tried < link.addresses.size()) {
      auto socket = storage::FrameSocket::begin_connection(link.addresses[link.tried++]);
      if (!socket) continue;
      const ClientId client = next_client_++;
      const std::uint32_t both = std::uint32_t{EPOLLIN | EPOLLOUT};
      if (!watch(socket.value().descriptor(), client, both, EPOLL_CTL_ADD).ok()) continue;
      link.began_ns = monotonic_ns();
      clients_.try_emplace(client, std::move(socket).value()).first->second.watched = both;
      links_.insert_or_assign(client, std::move(link));
      return;
    }
    Error error = before;
    error.message = fmt::format("the stager of rank 0 cannot be reached at {}: {}",
                                fmt::join(link.addresses, ", "), before.message);
    handle(Linked{link.session, error});
  }

  // A network may lose what is sent to an address that is not its own.
  void give_up_slow_links(std::int64_t now_ns) {
    std::vector<ClientId> slow;
    for (const auto& [client, link] : links_) {
      if (now_ns - link.began_ns > most_connecting_ns) slow.push_back(client);
    }
    for (const ClientId client : slow) {
      next_address(client, Error(ErrorCode::deadline, "no answer within 5 s"));
    }
  }

  void next_address(ClientId client, const Error& why) {
    Link link = std::move(links_.at(client));
    links_.erase(client);
    clients_.erase(client);
    connect_next(std::move(link), why);
  }

  void look_at_link(ClientId client) {
    if (const int reason = clients_.at(client).socket.connecting_error(); reason != 0) {
      next_address(client, system_failure("connect", "", -1, reason));
      return;
    }
    const SessionId session = links_.at(client).session;
    links_.erase(client);
    handle(Linked{session, client});
    watch_rest(client);
  }

  void look_at_client(ClientId client) {
    if (links_.contains(client)) {
      look_at_link(client);
      return;
    }
    for (int messages = 0; messages < most_messages_together; ++messages) {
      const auto found = clients_.find(client);
      if (found == clients_.end()) return;
      const Status sent = found->second.socket.send_rest();
      if (found->second.is_closing) {
        if (!sent.ok() || !found->second.socket.has_rest()) clients_.erase(found);
        return;
      }
      if (!sent.ok()) {
        drop(client);
        return;
      }
      auto frame = found->second.socket.next();
      if (!frame) {
        if (frame.error().code == ErrorCode::corrupt) say_(frame.error().text());
        drop(client);
        return;
      }
      if (!frame.value()) {
        watch_rest(client);
        return;
      }
      take(client, std::move(*frame.value()));
    }
    // Others are looked at first.
    watch_rest(client);
    unread_.insert(client);
  }

  void take(ClientId client, storage::Frame frame) {
    auto message = transport::parse(frame.payload);
    if (!message) {
      say_(message.error().text());
      (void)reply(client, transport::Refused{message.error().message});
      drop(client);
      return;
    }
    Received received{.client = client, .message = std::move(message).value()};
    passed_ = std::move(frame.passed);
    const auto* const parcel = std::get_if<transport::Parcel>(&received.message);
    if (parcel != nullptr && parcel->block >= 0 && parcel->block < blocks_) {
      received.extents =
          transport::extents_of({memory_.data() + parcel->block * settings_.block_bytes,
                                 static_cast<std::size_t>(settings_.block_bytes)},
                                parcel->extents);
    }
    const auto* const bytes = std::get_if<transport::BlockBytes>(&received.message);
    if (bytes != nullptr) brought_ = bytes->bytes;
    handle(received);
    brought_ = {};
  }

  [[nodiscard]] std::int64_t reserved_blocks() const {
    return std::max<std::int64_t>(1, reserved_together / settings_.block_bytes);
  }

  void handle(const Event& event) {
    std::vector<Action> actions = stager_.handle(event);
    // A program may end before the next event is looked for.
    has_served_ = has_served_ || !stager_.is_idle();
    for (Action& action : actions) std::visit([&](auto& one) { carry_out(one); }, action);
    if (!stager_.needs_more_blocks(reserved_blocks())) return;
    {
      const std::lock_guard<std::mutex> guard(reserve_mutex_);
      needs_more_ = true;
    }
    reserve_changed_.notify_all();
  }

  Status reply(ClientId client, const transport::Message& message) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) return {};
    const bool passes =
        std::holds_alternative<transport::Welcome>(message) && !found->second.socket.is_network();
    Status sent =
        found->second.socket.send(transport::encode(message), passes ? &memory_.file() : nullptr);
    watch_rest(client);
    return sent;
  }

  void carry_out(Send& action) {
    // A rank that is gone is noticed when its connection is looked at.
    (void)reply(action.client, action.message);
  }
  void carry_out(Disconnect& action) {
    const auto found = clients_.find(action.client);
    if (found == clients_.end()) return;
    detach(action.client);
    storage::FrameSocket& socket = found->second.socket;
    // What still arrives is not read any more, so only room for sending matters.
    const bool goes_on = socket.has_rest() &&
                         watch(socket.descriptor(), action.client, EPOLLOUT, EPOLL_CTL_MOD).ok();
    if (goes_on) {
      found->second.is_closing = true;
    } else {
      clients_.erase(found);
    }
  }
  void carry_out(Trust& action) {
    const auto found = clients_.find(action.client);
    if (found != clients_.end()) found->second.socket.trust();
  }
  void carry_out(Fill& action) {
    std::ranges::copy(brought_, memory_.data() + action.block * settings_.block_bytes + action.at);
  }
  void carry_out(AttachUcx& action) {
    transport::Attached answer;
    const auto token = ucx_->attach(action.client, action.address);
    if (token) {
      answer.address = ucx_->address();
      answer.token = token.value();
    } else {
      say_(fmt::format("a rank sends its bytes over TCP: {}", token.error().text()));
      answer.outcome.status = token.error();
    }
    (void)reply(action.client, answer);
  }
  void carry_out(Seal& action) { execute(action); }
  void carry_out(OpenNetwork& action) {
    Status opened;
    if (!network_) {
      auto made = storage::NetworkListener::listen(settings_.listen);
      opened = made ? watch_network(std::move(made).value()) : Status(made.error());
      // The log of a stager of a few programs stays only if something went wrong.
      if (opened.ok() && !settings_.until_programs_end) {
        say_(fmt::format("stagers of other nodes can join at {}",
                         fmt::join(network_->addresses(), ", ")));
      }
    }
    if (opened.ok()) {
      (void)reply(action.client, transport::Listening{network_->addresses(), secret_});
    } else {
      (void)reply(action.client, transport::Refused{opened.error().text()});
    }
  }
  void carry_out(Connect& action) {
    connect_next({.session = action.session, .addresses = std::move(action.addresses)},
                 Error(ErrorCode::io, "it has no address"));
  }
  void carry_out(Write& action) { execute(std::move(action)); }
  void carry_out(Spill& action) {
    execute_beside(action.job, [blocks = std::move(action.blocks), this] { return spill(blocks); });
  }
  void carry_out(EmptySpill& action) {
    execute_beside(action.job, [this] { return spill_->empty(); });
  }
  void carry_out(Record& action) {
    const std::span<std::byte> block(memory_.data() + action.block * settings_.block_bytes,
                                     static_cast<std::size_t>(settings_.block_bytes));
    const JobId job = action.job;
    record(job, [one = std::move(action), block, this] {
      return journal_->put(one.session, one.files, one.extents, block);
    });
  }
  void carry_out(RecordStep& action) {
    const bool is_locked = files_of(action.session).has_lock(action.step.path);
    const JobId job = action.job;
    record(job, [one = std::move(action), is_locked, this] {
      return journal_->end_step(one.session, one.step, is_locked);
    });
  }
  void carry_out(Commit& action) { execute(std::move(action)); }
  void carry_out(AcquireLock& action) {
    (void)files_of(action.session);
    execute_beside(action.job, [files = files_.at(action.session), given = action] {
      return files->take_lock(given.path, given.program);
    });
  }
  void carry_out(KeepLock& action) {
    if (!passed_) return;  // the file system of the file has no locks
    passed_->renamed(storage::lock_path(action.path));
    files_of(action.session)
        .keep_lock(action.path, storage::WriterLock::adopt(std::move(*passed_)));
    passed_.reset();
  }
  void carry_out(Unlock& action) { files_of(action.session).release_lock(action.path); }
  void carry_out(RetryLater& action) {
    if (told_of_space_ != action.session) {
      say_(
          "a file system has no space left, or a quota is used up: what was accepted is kept and "
          "tried again every second");
      told_of_space_ = action.session;
    }
    retries_.push_back(action.session);
  }
  void carry_out(Forget& action) {
    files_.erase(action.session);
    if (journal_ == nullptr) return;
    recorder_.add([session = action.session, this] { journal_->forget(session); });
  }
  void carry_out(End& /*action*/) { has_ended_ = true; }

  SessionFiles& files_of(SessionId session) {
    std::shared_ptr<SessionFiles>& files = files_[session];
    if (files == nullptr) {
      const std::span<std::byte> memory(memory_.data(),
                                        static_cast<std::size_t>(blocks_ * settings_.block_bytes));
      files = std::make_shared<SessionFiles>(memory, settings_.block_bytes, spill_.get(),
                                             settings_.drops);
    }
    return *files;
  }

  template <typename Job>
  void execute(Job job) {
    (void)files_of(job.session);
    const JobId number = job.job;
    std::shared_ptr<SessionFiles> files = files_.at(job.session);
    execute_beside(number, [files = std::move(files), given = std::move(job), this] {
      Status done = files->execute(given);
      if (done.ok()) note_stored(given);
      return done;
    });
  }
  template <typename Job>
  void note_stored(const Job& /*job*/) {}
  void note_stored(const Commit& job) {
    if (journal_ == nullptr || job.step.update.changes.empty()) return;
    recorder_.add(
        [session = job.session, path = job.step.path, this] { journal_->stored(session, path); });
  }

  void execute_beside(JobId number, std::function<Status()> job) {
    execute_by(workers_, number, std::move(job));
  }
  // Records are in the journal in the order in which they were begun.
  void record(JobId number, std::function<Status()> job) {
    execute_by(recorder_, number, std::move(job));
  }
  void execute_by(Workers& workers, JobId number, std::function<Status()> job) {
    workers.add([number, job = std::move(job), this] {
      Status done = job();
      if (!done.ok()) say_(done.error().text());
      news_->add(JobEnded{number, std::move(done)});
    });
  }

  [[nodiscard]] Status spill(std::span<const SpilledBlock> blocks) const {
    for (const SpilledBlock& one : blocks) {
      const std::span<std::byte> bytes(memory_.data() + one.block * settings_.block_bytes,
                                       static_cast<std::size_t>(one.bytes));
      if (Status put = spill_->put(one.slot, one.stamp, bytes); !put.ok()) return put;
    }
    return {};
  }

  void watch_rest(ClientId client) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;
    const std::uint32_t wanted = found->second.socket.has_rest() ? std::uint32_t{EPOLLIN | EPOLLOUT}
                                                                 : std::uint32_t{EPOLLIN};
    if (wanted == found->second.watched) return;
    if (watch(found->second.socket.descriptor(), client, wanted, EPOLL_CTL_MOD).ok()) {
      found->second.watched = wanted;
    }
  }

  void drop(ClientId client) {
    if (clients_.erase(client) == 0) return;
    detach(client);
    handle(Disconnected{client});
  }

  // Called when the connection of a client ends.
  void detach(ClientId client) {
    if (ucx_ != nullptr) ucx_->detach(client);
  }

  ServerSettings settings_;
  std::int64_t blocks_;
  std::optional<storage::FrameListener> listener_;
  storage::SharedMemory memory_;
  storage::File epoll_;
  storage::File signals_;
  std::unique_ptr<News> news_;
  std::unique_ptr<SpillFile> spill_;  // null: nothing is spilled
  std::unique_ptr<Journal> journal_;  // null: there is none. The recorder alone uses it
  std::function<void(const std::string&)> say_;
  std::optional<Service> service_;  // nothing: ranks of this node only
  std::string secret_;
  Stager stager_;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = first_client;
  std::optional<storage::NetworkListener> network_;  // once a session on several nodes asked for it
  bool is_full_ = false;                             // of strangers: no more are accepted
  std::map<ClientId, Link> links_;
  std::optional<storage::File> passed_;  // with the message that is handled
  std::span<const std::byte> brought_;   // bytes of the message or piece that is handled
  std::set<ClientId> unread_;            // may have sent more than was read
  std::map<SessionId, std::shared_ptr<SessionFiles>> files_;
  std::vector<SessionId> retries_;
  SessionId told_of_space_ = 0;
  std::unique_ptr<transport::UcxReceiver> ucx_;  // null: no bytes come over UCX
  bool has_served_ = false;                      // there was a session
  bool has_ended_ = false;
  std::mutex reserve_mutex_;
  std::condition_variable reserve_changed_;
  bool needs_more_ = true;
  bool is_ending_ = false;
  Workers recorder_;  // for the journal; workers use it
  Workers workers_;
  std::thread reserving_;
};

// Nothing: ranks of this node only. The rendezvous file is written last, so that who finds it can
// connect.
Result<std::optional<Service>> open_service(const ServerSettings& settings) {
  if (settings.rendezvous.empty()) return std::optional<Service>();
  if (settings.listen.empty()) {
    return invalid_argument(
        "a stager for ranks of other nodes listens only where it is told: give the address of this "
        "node with --listen");
  }
  const auto secret = transport::new_nonce();
  if (!secret) return secret.error();
  auto listener = storage::NetworkListener::listen(settings.listen);
  if (!listener) return listener.error();
  const std::string text(reinterpret_cast<const char*>(secret.value().data()),
                         secret.value().size());
  auto file =
      transport::RendezvousFile::write(settings.rendezvous, {listener.value().addresses(), text});
  if (!file) return file.error();
  return std::optional(Service{std::move(listener).value(), text, std::move(file).value()});
}

Error without_ucx(Error why) {
  why.message = fmt::format("bytes cannot come over UCX: {}; give --carrier tcp", why.message);
  return why;
}

}  // namespace

Status serve(const ServerSettings& settings, const std::function<void()>& ready,
             const std::function<void(const std::string&)>& say) {
  if (settings.block_bytes < 4096 || settings.memory_bytes / settings.block_bytes < least_blocks) {
    return invalid_argument(fmt::format("a stager needs memory for {} blocks of {} bytes",
                                        least_blocks, settings.block_bytes));
  }
  if (settings.client_memory > 0 && settings.client_memory < settings.block_bytes) {
    return invalid_argument(fmt::format("the memory for one program is {} bytes: give at least {}",
                                        settings.client_memory, settings.block_bytes));
  }
  if (settings.offers_ucx && settings.rendezvous.empty()) {
    return invalid_argument(
        "UCX carries the bytes of ranks of other nodes, which find the stager by its rendezvous "
        "file: give one with --rendezvous, or leave out --carrier");
  }
  allow_many_connections();
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, one);
  if (const int reason = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); reason != 0) {
    return system_failure("pthread_sigmask", "", -1, reason);
  }
  // A file that may grow no further is an error of the write.
  (void)std::signal(SIGXFSZ, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): before threads start
  auto listener = storage::FrameListener::listen(settings.socket);
  if (!listener) return listener.error();
  auto memory = storage::SharedMemory::create(settings.memory_bytes / settings.block_bytes *
                                              settings.block_bytes);
  if (!memory) return memory.error();
  auto epoll = owned(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  if (!epoll) return epoll.error();
  auto signal = owned(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
  if (!signal) return signal.error();
  auto event = owned(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  if (!event) return event.error();
  std::unique_ptr<SpillFile> spill;
  if (!settings.spill.empty()) {
    auto made = SpillFile::create(settings.spill, settings.spill_quota, settings.block_bytes);
    if (!made) return made.error();
    spill = std::move(made).value();
  }
  std::unique_ptr<Journal> journal;
  std::vector<std::string> replayed;
  if (!settings.journal.empty()) {
    auto made = Journal::create(settings.journal, settings.journal_quota);
    if (!made) return made.error();
    journal = std::move(made).value();
    replay_journals(journal->folder(), [&](const std::string& line) { replayed.push_back(line); });
  }
  const auto secret = storage::new_secret();
  if (!secret) return secret.error();
  std::unique_ptr<transport::UcxReceiver> ucx;
  std::string offered_ucx;
  if (settings.offers_ucx) {
    const auto version = transport::ucx_version();
    auto opened = version ? transport::UcxReceiver::open() : version.error();
    if (!opened) return without_ucx(opened.error());
    ucx = std::move(opened).value();
    offered_ucx = version.value();
  }
  auto service = open_service(settings);
  if (!service) return service.error();
  std::optional<std::vector<std::string>> addresses;
  if (service.value()) addresses = service.value()->listener.addresses();
  Server server(settings, std::move(listener).value(), std::move(memory).value(),
                std::move(epoll).value(), std::move(signal).value(),
                std::make_unique<News>(std::move(event).value()), std::move(spill),
                std::move(journal), secret.value(), std::move(service).value(), std::move(ucx),
                offered_ucx, say);
  ready();
  // The log has the lines: it is there from now on.
  if (addresses) {
    say(fmt::format("serves ranks of other nodes at {}", fmt::join(*addresses, ", ")));
  }
  for (const std::string& line : replayed) say(line);
  return server.run();
}

}  // namespace weir::stager
