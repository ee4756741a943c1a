#include "stager/server_resources.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <tuple>
#include <utility>

#include "stager/proof_checks.hpp"
#include "system/descriptor_socket.hpp"
#include "system/uninterrupted.hpp"
#include "transport/proof.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t least_blocks = 16;
// A stager that starts waits so long for the others of its steps.
constexpr int most_first_looks = 25;
constexpr std::chrono::milliseconds between_first_looks(200);

// Each rank of the node is a connection, and a shell's limit is often 1,024.
void allow_many_connections() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

// Messages are allocated and freed all the time. If their memory were given back to the system each
// time, page faults would cost more than copying them (docs/measurements/library.md). The process
// calls this before it starts threads.
void keep_freed_memory() {
  constexpr int kept_bytes = 8 << 20;
  constexpr int least_mapped_bytes = 1 << 20;
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread
  (void)::mallopt(M_TRIM_THRESHOLD, kept_bytes);
  (void)::mallopt(M_MMAP_THRESHOLD, least_mapped_bytes);
  // NOLINTEND(concurrency-mt-unsafe)
}

Status check(const ServerSettings& settings) {
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
  if (settings.authentication != transport::Authentication::cookie && settings.rendezvous.empty()) {
    return invalid_argument(
        "MUNGE is for ranks of other nodes, which find the stager by its rendezvous file: give one "
        "with --rendezvous, or leave out --auth");
  }
  if (!settings.listen.empty() && settings.rendezvous.empty()) {
    // Stagers of other nodes may ask for this address at any time. A wrong one is an error now.
    const auto tried = storage::NetworkListener::listen(settings.listen);
    if (!tried) return tried.error();
  }
  return {};
}

// Blocks the signals that end the stager in this thread and in those that it starts, and returns a
// descriptor that tells of them.
Result<storage::File> signals_by_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, one);
  if (const int reason = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); reason != 0) {
    return system_failure("pthread_sigmask", "", -1, reason);
  }
  // A file that may grow no further is an error of the write.
  (void)std::signal(SIGXFSZ, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): before threads start
  return owned(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
}

Result<Service> open_service(const ServerSettings& settings) {
  if (settings.listen.empty()) {
    return invalid_argument(
        "a stager for ranks of other nodes listens only where it is told: give the address of this "
        "node with --listen");
  }
  const auto drawn = transport::new_nonce();
  if (!drawn) return drawn.error();
  auto listener = storage::NetworkListener::listen(settings.listen);
  if (!listener) return listener.error();
  const std::string key(reinterpret_cast<const char*>(drawn.value().data()), drawn.value().size());
  auto file = transport::RendezvousFile::write(
      settings.rendezvous, {listener.value().addresses(), key, settings.authentication});
  if (!file) return file.error();
  return Service{std::move(listener).value(), key, std::move(file).value()};
}

// Brings the bytes of ranks of other nodes over UCX; the text is its version.
Result<std::pair<std::unique_ptr<transport::UcxReceiver>, std::string>> open_ucx() {
  const auto version = transport::ucx_version();
  auto opened = version ? transport::UcxReceiver::open() : version.error();
  if (!opened) {
    Error why = opened.error();
    why.message = fmt::format("bytes cannot come over UCX: {}; give --carrier tcp", why.message);
    return why;
  }
  return std::pair(std::move(opened).value(), version.value());
}

}  // namespace

Result<ServerResources> ServerResources::open(const ServerSettings& settings) {
  if (Status checked = check(settings); !checked.ok()) return checked.error();
  allow_many_connections();
  keep_freed_memory();
  auto signals = signals_by_descriptor();
  if (!signals) return signals.error();
  auto listener = storage::FrameListener::listen(settings.socket);
  if (!listener) return listener.error();
  auto memory = storage::SharedMemory::create(settings.memory_bytes / settings.block_bytes *
                                              settings.block_bytes);
  if (!memory) return memory.error();
  auto poll = EventPoll::open();
  if (!poll) return poll.error();
  auto news = News::open();
  if (!news) return news.error();
  const auto secret = storage::new_secret();
  if (!secret) return secret.error();
  ServerResources made{.poll = std::move(poll).value(),
                       .listener = std::move(listener).value(),
                       .memory = std::move(memory).value(),
                       .signals = std::move(signals).value(),
                       .news = std::move(news).value(),
                       .spill = nullptr,
                       .journal = nullptr,
                       .replayed = {},
                       .shares = {},
                       .in_use = {},
                       .root = std::nullopt,
                       .secret = secret.value(),
                       .ucx = nullptr,
                       .offered_ucx = {},
                       .authenticator = nullptr,
                       .service = std::nullopt,
                       .receivers = nullptr};
  if (!settings.root.empty()) {
    auto opened = storage::RootFolder::open(settings.root);
    if (!opened) return opened.error();
    made.root.emplace(std::move(opened).value());
  }
  if (!settings.spill.empty()) {
    auto opened = SpillFile::create(settings.spill, settings.spill_quota, settings.block_bytes);
    if (!opened) return opened.error();
    made.spill = std::move(opened).value();
  }
  if (!settings.journal.empty()) {
    auto opened = Journal::create(settings.journal, settings.journal_quota);
    if (!opened) return opened.error();
    made.journal = std::move(opened).value();
    const storage::RootFolder* const root = made.root ? &*made.root : nullptr;
    const auto say = [&](const std::string& line) { made.replayed.push_back(line); };
    made.shares = replay_journals(made.journal->folder(), root, say, &made.in_use);
    // Stagers that are started together store their steps before any program opens the files.
    for (int looks = 0; looks < most_first_looks && !made.shares.empty(); ++looks) {
      std::this_thread::sleep_for(between_first_looks);
      (void)go_on_with_shares(made.shares, root, say);
    }
  }
  if (settings.rendezvous.empty()) return made;
  if (settings.offers_ucx) {
    auto opened = open_ucx();
    if (!opened) return opened.error();
    std::tie(made.ucx, made.offered_ucx) = std::move(opened).value();
  }
  auto authenticator = open_authenticator(settings.authentication);
  if (!authenticator) return authenticator.error();
  made.authenticator = std::move(authenticator).value();
  auto receivers = Receivers::open(settings.receivers);
  if (!receivers) return receivers.error();
  made.receivers = std::move(receivers).value();
  auto service = open_service(settings);
  if (!service) return service.error();
  made.service.emplace(std::move(service).value());
  return made;
}

}  // namespace weir::stager
