#include "stager/server.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "common/clock.hpp"
#include "stager/block_memory.hpp"
#include "stager/connections.hpp"
#include "stager/event_poll.hpp"
#include "stager/journal.hpp"
#include "stager/journal_replay.hpp"
#include "stager/proof_checks.hpp"
#include "stager/receivers.hpp"
#include "stager/scarce_memory.hpp"
#include "stager/server_resources.hpp"
#include "stager/session_files.hpp"
#include "stager/short_turns.hpp"
#include "stager/spill_file.hpp"
#include "stager/stager.hpp"
#include "stager/stored_paths.hpp"
#include "stager/workers.hpp"
#include "system/frame_socket.hpp"
#include "system/process_name.hpp"
#include "system/root_folder.hpp"
#include "system/shared_memory.hpp"
#include "system/uninterrupted.hpp"
#include "transport/ucx.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
// Descriptors that are no connections.
constexpr std::uint64_t news_key = Connections::first_free_key;
constexpr std::uint64_t signal_key = news_key + 1;
constexpr std::uint64_t ucx_key = news_key + 2;
constexpr std::uint64_t receivers_key = news_key + 3;
constexpr int longest_nap_ms = 500;
// A stager that was started again looks so often for the others of its steps.
constexpr std::int64_t between_looks_ns = 3 * second_ns;
// UCX says that it has something to do: how often it does that before others get their turn, and
// how long it is left alone then.
constexpr int most_rearmings = 8;
constexpr int unarmed_nap_ms = 1;

class Server {
 public:
  Server(const ServerSettings& settings, ServerResources own,
         std::function<void(const std::string&)> say)
      : settings_(settings),
        signals_(std::move(own.signals)),
        news_(std::move(own.news)),
        spill_(std::move(own.spill)),
        journal_(std::move(own.journal)),
        say_(std::move(say)),
        root_(std::move(own.root)),
        service_(std::move(own.service)),
        secret_(reinterpret_cast<const char*>(own.secret.data()), own.secret.size()),
        stager_({.blocks = settings.memory_bytes / settings.block_bytes,
                 .block_bytes = settings.block_bytes,
                 .spill_slots = spill_ == nullptr ? 0 : spill_->slots(),
                 .name = fmt::format("{} {}", storage::process_name(), monotonic_ns()),
                 .client_blocks = settings.client_memory / settings.block_bytes,
                 .client_files = settings.client_files,
                 .client_connections = settings.client_connections,
                 .connections = settings.connections,
                 .host = storage::host_name(),
                 .secret = secret_,
                 .rank_key = service_ ? service_->key : std::string(),
                 .has_journal = journal_ != nullptr,
                 .ucx = own.offered_ucx}),
        ucx_(std::move(own.ucx)),
        connections_(std::move(own.poll), std::move(own.listener),
                     {.handle = [this](const Event& event) { handle(event); },
                      .take = [this](ClientId client,
                                     storage::Frame frame) { take(client, std::move(frame)); },
                      .strangers = [this] { return stager_.strangers(); },
                      .ending = [this](ClientId client) { detach(client); },
                      .say = say_}),
        memory_(
            std::move(own.memory), settings.memory_bytes / settings.block_bytes,
            settings.block_bytes, [this](Event event) { news_->add(std::move(event)); }, say_),
        receivers_(std::move(own.receivers)),
        shares_(std::move(own.shares)),
        journals_in_use_(std::move(own.in_use)),
        recorder_(1),
        replayer_(journal_ == nullptr ? 0 : 1),
        workers_(settings.threads),
        proofs_(own.authenticator == nullptr
                    ? nullptr
                    : std::make_unique<ProofChecks>(
                          std::move(own.authenticator),
                          [this](Event event) { news_->add(std::move(event)); }, say_)) {}

  Status run() {
    // Ranks wait for answers that take some microseconds each. Without this, a rank that computes
    // may go on to the end of its turn of some milliseconds first.
    ask_for_short_turns();
    if (Status begun = connections_.begin(); !begun.ok()) return begun;
    if (service_) {
      Status watched = connections_.accept_from(std::move(service_->listener));
      if (!watched.ok()) return watched;
      watched = connections_.watch(receivers_->descriptor(), receivers_key);
      if (!watched.ok()) return watched;
    }
    for (const auto& [descriptor, key] :
         {std::pair(news_->descriptor(), news_key), std::pair(signals_.descriptor(), signal_key)}) {
      if (Status watched = connections_.watch(descriptor, key); !watched.ok()) return watched;
    }
    if (ucx_ != nullptr) {
      if (Status watched = connections_.watch(ucx_->descriptor(), ucx_key); !watched.ok()) {
        return watched;
      }
    }
    const PatientMemory patient;
    std::int64_t ticked_ns = monotonic_ns();
    std::int64_t worked_ns = ticked_ns;
    while (!has_ended_) {
      keep_memory_in_reserve();
      for (const std::uint64_t key :
           connections_.wait(longest_wait_ms(), [this] { take_pieces(); })) {
        look_at(key);
      }
      take_behind_others();
      for (const ClientId client : std::exchange(dropped_, {})) connections_.drop(client);
      const std::int64_t now_ns = monotonic_ns();
      if (now_ns - ticked_ns >= second_ns) {
        ticked_ns = now_ns;
        handle(Tick{});
        std::vector<SessionId> due;
        std::swap(due, retries_);
        for (const SessionId session : due) handle(RetryDue{session});
        connections_.tick(now_ns);
        look_at_shares(now_ns);
      }
      if (!stager_.is_idle() || !connections_.empty()) worked_ns = now_ns;
      const bool is_over = settings_.idle_seconds > 0 &&
                           static_cast<double>(now_ns - worked_ns) > settings_.idle_seconds * 1e9;
      const bool was_last = settings_.until_programs_end && has_served_ && stager_.is_idle();
      if (is_over || was_last) has_ended_ = true;
    }
    service_.reset();  // removes the rendezvous file
    connections_.stop_listening();
    return {};
  }

 private:
  // What came over UCX is taken between two waits, whatever the wait has ended for.
  void take_pieces() {
    if (ucx_ == nullptr) return;
    const auto take = [&](ClientId client, const transport::UcxPiece& piece,
                          std::span<const std::byte> bytes) {
      brought_ = bytes;
      handle(Piece{client, piece, std::ssize(bytes),
                   transport::checksum_of(piece, bytes) == piece.checksum});
      brought_ = {};
    };
    for (const ClientId client : ucx_->progress(take)) {
      if (!connections_.contains(client)) continue;
      say_("the connection of a rank over UCX has failed");
      connections_.drop(client);
    }
  }
  [[nodiscard]] int longest_wait_ms() {
    if (connections_.has_unread() || !behind_others_.empty()) return 0;
    for (int i = 0; ucx_ != nullptr && !ucx_->arm(); ++i) {
      if (i == most_rearmings) return unarmed_nap_ms;
      take_pieces();
    }
    return longest_nap_ms;
  }

  void look_at(std::uint64_t key) {
    if (key == news_key) {
      for (const Event& one : news_->take()) handle(one);
    } else if (key == receivers_key) {
      for (ReceivedBatch* const batch : receivers_->take()) {
        take(*batch);
        Receivers::answer(batch);
      }
    } else if (key == signal_key) {
      signalfd_siginfo info{};
      [[maybe_unused]] const ssize_t got =
          storage::uninterrupted([&] { return ::read(signals_.descriptor(), &info, sizeof info); });
      say_("told to stop by a signal: ends when everything is stored");
      handle(Stopping{});
    }
    // take_pieces() has done what UCX had to do.
  }

  void take(ClientId client, storage::Frame frame) {
    auto message = with_memory([&] { return transport::parse(frame.payload); });
    if (!message) {
      handle(Unreadable{client, message.error()});
      return;
    }
    if (is_behind_others(message.value())) {
      connections_.pause(client);
      behind_others_.emplace_back(client, std::move(message).value());
      return;
    }
    passed_ = std::move(frame.passed);
    take(client, std::move(message).value());
  }
  void take(ClientId client, transport::Message message) {
    Event event = Received{.client = client, .message = std::move(message)};
    add_facts(event);
    handle(event);
  }

  // Takes what has come behind others, once what they have sent is taken.
  void take_behind_others() {
    if (behind_others_.empty()) return;
    auto messages = std::exchange(behind_others_, {});
    connections_.take_from_others();
    for (auto& [client, message] : messages) {
      connections_.resume(client);
      take(client, std::move(message));
    }
  }

  // Takes what a receiver has read. The bytes of its blocks are copied when this has returned.
  void take(ReceivedBatch& batch) {
    copies_ = &batch.copies;
    for (Event& event : batch.events) {
      if (!receivers_->contains(batch.client)) break;  // it was refused
      add_facts(event);
      const auto& received = std::get<Received>(event);
      const auto* const bytes = std::get_if<transport::BlockBytes>(&received.message);
      if (bytes != nullptr) brought_ = bytes->bytes;
      handle(event);
      brought_ = {};
    }
    copies_ = nullptr;
    if (batch.end.ok() || !receivers_->contains(batch.client)) return;
    const Error& why = batch.end.error();
    if (why.code == ErrorCode::io) {
      connections_.drop(batch.client);
    } else {
      handle(Unreadable{batch.client, why});
    }
  }

  void add_facts(Event& event) {
    auto& received = std::get<Received>(event);
    // The path is checked here, since a step that was accepted and cannot be stored would be lost,
    // and once more when it is stored, since links may change.
    if (root_) received.may_be_stored = check_below(&*root_, received.message);
    const auto* const filled = std::get_if<transport::FilledBlock>(&received.message);
    if (filled == nullptr || filled->block < 0 || filled->block >= memory_.blocks()) return;
    received.extents = transport::extents_of(memory_.block(filled->block), filled->extents);
  }

  void handle(const Event& event) {
    std::vector<Action> actions = stager_.handle(event);
    // A program may end before the next event is looked for.
    has_served_ = has_served_ || !stager_.is_idle();
    for (Action& action : actions) std::visit([&](auto& one) { carry_out(one); }, action);
    if (stager_.needs_more_blocks(memory_.reserved_together())) memory_.reserve_more();
  }

  // Steps of several stagers that are in the journal go on when others have started again.
  void look_at_shares(std::int64_t now_ns) {
    if (journal_ == nullptr || now_ns < next_look_ns_) return;
    next_look_ns_ = now_ns + between_looks_ns;
    replayer_.add([this] {
      const PatientMemory patient;
      for (storage::File& one : found_shares()) {
        if (auto share = take_share(std::move(one), say_)) shares_.push_back(std::move(*share));
      }
      const storage::RootFolder* const root = root_ ? &*root_ : nullptr;
      replay_journals_in_use(journals_in_use_, shares_, root, say_);
      if (shares_.empty()) return;
      const std::int64_t removed = go_on_with_shares(shares_, root, say_);
      SharesWait told;
      for (const WaitingShare& one : shares_) told.lines.push_back(one.line);
      news_->add(std::move(told));
      tend_journal([removed, this] { journal_->note_removed(removed); });
    });
  }
  // Called by the recorder with shares of a session that is over: they go on with the others.
  void add_shares(std::vector<storage::File> journals) {
    const std::lock_guard<std::mutex> guard(shares_mutex_);
    std::ranges::move(journals, std::back_inserter(found_shares_));
  }
  std::vector<storage::File> found_shares() {
    const std::lock_guard<std::mutex> guard(shares_mutex_);
    return std::exchange(found_shares_, {});
  }

  void reply(ClientId client, const transport::Message& message) {
    const bool is_welcome = std::holds_alternative<transport::Welcome>(message);
    const Status sent = connections_.send(client, message, is_welcome ? &memory_.file() : nullptr);
    const bool is_noticed = !sent.ok() && sent.error().code != ErrorCode::invalid_argument;
    if (sent.ok() || (is_noticed && !is_welcome)) return;
    // A client that waits for what cannot be sent would wait for ever.
    say_(sent.error().text());
    dropped_.push_back(client);
  }

  void carry_out(Send& action) { reply(action.client, action.message); }
  void carry_out(Disconnect& action) { connections_.close(action.client); }
  void carry_out(Say& action) { say_(action.line); }
  void carry_out(CheckProof& action) {
    std::string from = connections_.hold(action.client);
    proofs_->begin(std::move(action), std::move(from));
  }
  void carry_out(Trust& action) {
    auto socket = connections_.hand_on(action.client);
    if (socket == nullptr) return;
    if (Status added = receivers_->add(action.client, std::move(socket)); !added.ok()) {
      say_(added.error().text());
      dropped_.push_back(action.client);
    }
  }
  void carry_out(TrustStager& action) { connections_.trust(action.client); }
  void carry_out(Fill& action) {
    std::byte* const to = memory_.block(action.block).data() + action.at;
    if (copies_ != nullptr) {
      copies_->push_back({brought_, to});
    } else {
      std::ranges::copy(brought_, to);
    }
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
    reply(action.client, answer);
  }
  void carry_out(Seal& action) {
    (void)files_of(action.session);
    workers_.add([files = files_.at(action.session), given = action, this] {
      auto sealed = with_memory([&] { return files->execute(given); });
      Status done = sealed ? Status() : Status(sealed.error());
      end_job({given.job, std::move(done),
               sealed ? std::move(sealed).value() : std::vector<transport::EncodedChunks>()});
    });
  }
  void carry_out(OpenNetwork& action) {
    Status opened;
    if (connections_.network_addresses() == nullptr) {
      auto made = storage::NetworkListener::listen(settings_.listen);
      opened = made ? connections_.accept_from(std::move(made).value()) : Status(made.error());
      // The log of a stager of a few programs stays only if something went wrong.
      if (opened.ok() && !settings_.until_programs_end) {
        say_(fmt::format("stagers of other nodes can join at {}",
                         fmt::join(*connections_.network_addresses(), ", ")));
      }
    }
    if (opened.ok()) {
      reply(action.client, transport::Listening{*connections_.network_addresses(), secret_});
    } else {
      reply(action.client, transport::Refused{opened.error().text()});
    }
  }
  void carry_out(Connect& action) {
    connections_.connect(action.session, std::move(action.addresses));
  }
  void carry_out(WriteBlocks& action) {
    (void)files_of(action.session);
    const JobId job = action.job;
    const std::shared_ptr<SessionFiles> files = files_.at(action.session);
    execute_beside(job,
                   [files, given = std::move(action)] { return files->execute(to_write(given)); });
  }
  void carry_out(Spill& action) {
    execute_beside(action.job, [blocks = std::move(action.blocks), this] { return spill(blocks); });
  }
  void carry_out(EmptySpill& action) {
    execute_beside(action.job, [this] { return spill_->empty(); });
  }
  void carry_out(Record& action) {
    const std::span<std::byte> block = memory_.block(action.block);
    const JobId job = action.job;
    record(job, [one = std::move(action), block, this] {
      return journal_->put(one.session, one.files, *one.extents, block);
    });
  }
  void carry_out(RecordStep& action) {
    // The stager that publishes a shared step has the lock for all of them.
    const bool is_of_another = action.share.number > 0;
    const bool is_locked = is_of_another || files_of(action.session).has_lock(action.step.path);
    const JobId job = action.job;
    record(job, [one = std::move(action), is_locked, this] {
      return journal_->end_step(one, is_locked);
    });
  }
  void carry_out(ForgetShare& action) {
    tend_journal([one = std::move(action), this] { journal_->stored(one.session, one.path); });
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
    tend_journal([session = action.session, this] { add_shares(journal_->forget(session)); });
  }
  void carry_out(End& /*action*/) { has_ended_ = true; }

  SessionFiles& files_of(SessionId session) {
    std::shared_ptr<SessionFiles>& files = files_[session];
    if (files == nullptr) {
      files = std::make_shared<SessionFiles>(
          memory_.all(), settings_.block_bytes, spill_.get(), root_ ? &*root_ : nullptr,
          settings_.writes_by,
          std::min(settings_.threads, static_cast<int>(std::thread::hardware_concurrency())));
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
    const PatientMemory patient;  // the step is stored
    tend_journal(
        [session = job.session, path = job.step.path, this] { journal_->stored(session, path); });
  }

  void tend_journal(std::function<void()> job) {
    recorder_.add([job = std::move(job)] {
      const PatientMemory patient;
      job();
    });
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
      end_job({.job = number, .status = with_memory(job)});
    });
  }
  // Called by the thread that has executed the job.
  void end_job(JobEnded ended) {
    const PatientMemory patient;
    if (!ended.status.ok()) say_(ended.status.error().text());
    news_->add(std::move(ended));
  }

  [[nodiscard]] Status spill(std::span<const SpilledBlock> blocks) const {
    for (const SpilledBlock& one : blocks) {
      const auto bytes = memory_.block(one.block).first(static_cast<std::size_t>(one.bytes));
      if (Status put = spill_->put(one.slot, one.stamp, bytes); !put.ok()) return put;
    }
    return {};
  }

  // Called when the connection of a client ends.
  void detach(ClientId client) {
    if (receivers_ != nullptr) receivers_->remove(client);
    if (ucx_ != nullptr) ucx_->detach(client);
  }

  ServerSettings settings_;
  storage::File signals_;
  std::unique_ptr<News> news_;
  std::unique_ptr<SpillFile> spill_;  // null: nothing is spilled
  std::unique_ptr<Journal> journal_;  // null: there is none. The recorder alone uses it
  std::function<void(const std::string&)> say_;
  std::optional<storage::RootFolder> root_;  // nothing: anything may be stored
  std::optional<Service> service_;           // nothing: ranks of this node only
  std::string secret_;
  Stager stager_;
  std::unique_ptr<transport::UcxReceiver> ucx_;  // null: no bytes come over UCX
  Connections connections_;
  std::optional<storage::File> passed_;  // with the message that is handled
  std::span<const std::byte> brought_;   // bytes of the message or piece that is handled
  // The copies that the batch which is handled asks for. Null: bytes are copied at once.
  std::vector<ReceivedBatch::Copy>* copies_ = nullptr;
  std::vector<std::pair<ClientId, transport::Message>> behind_others_;
  std::vector<ClientId> dropped_;  // connections that cannot go on
  std::map<SessionId, std::shared_ptr<SessionFiles>> files_;
  std::vector<SessionId> retries_;
  SessionId told_of_space_ = 0;
  bool has_served_ = false;  // there was a session
  bool has_ended_ = false;
  BlockMemory memory_;
  std::unique_ptr<Receivers> receivers_;  // null: no ranks of other nodes are served
  std::int64_t next_look_ns_ = 0;
  // The replayer alone uses these two.
  std::vector<WaitingShare> shares_;
  std::vector<std::string> journals_in_use_;
  std::mutex shares_mutex_;  // for found_shares_
  std::vector<storage::File> found_shares_;
  Workers recorder_;  // for the journal
  Workers replayer_;
  Workers workers_;
  std::unique_ptr<ProofChecks> proofs_;  // null: no ranks of other nodes are served
};

}  // namespace

namespace {

Status serve_where_possible(const ServerSettings& settings, const std::function<void()>& ready,
                            const std::function<void(const std::string&)>& say) {
  auto opened = ServerResources::open(settings);
  if (!opened) return opened.error();
  ServerResources& own = opened.value();
  std::vector<std::string> lines;
  if (own.service) {
    lines.push_back(fmt::format("serves ranks of other nodes at {}, who show {}",
                                fmt::join(own.service->listener.addresses(), ", "),
                                settings.authentication == transport::Authentication::munge
                                    ? "by MUNGE that they are of your user"
                                    : "that they have its cookie"));
  }
  lines.insert(lines.end(), own.replayed.begin(), own.replayed.end());
  Server server(settings, std::move(own), say);
  ready();
  // The log has the lines: it is there from now on.
  for (const std::string& line : lines) say(line);
  return server.run();
}

}  // namespace

Status serve(const ServerSettings& settings, const std::function<void()>& ready,
             const std::function<void(const std::string&)>& say) {
  try {
    return with_memory([&] { return serve_where_possible(settings, ready, say); });
  } catch (const std::system_error& failed) {
    return Error(ErrorCode::insufficient,
                 fmt::format("the stager cannot start its threads: {}; let it have more processes "
                             "(ulimit -u) or memory (ulimit -v), or give fewer --threads",
                             failed.code().message()));
  }
}

}  // namespace weir::stager
