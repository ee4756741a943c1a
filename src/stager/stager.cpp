#include "stager/stager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace weir::stager {
namespace {

// Seconds for which somebody may be connected over a network without showing who it is.
constexpr int most_ticks_of_a_stranger = 10;

}  // namespace

Stager::Stager(const StagerSettings& settings)
    : settings_(settings),
      blocks_(settings.blocks, settings.client_blocks),
      slots_(settings.spill_slots) {}

std::size_t Stager::strangers() const {
  return static_cast<std::size_t>(std::count_if(
      clients_.begin(), clients_.end(),
      [](const auto& one) { return one.second.is_remote && one.second.session == 0; }));
}

std::vector<Action> Stager::handle(const Event& event) {
  actions_.clear();
  std::visit([&](const auto& one) { take(one); }, event);
  if (!wanting_.empty()) make_room();
  empty_spill();
  if (is_stopping_ && sessions_.empty() && !has_ended_) {
    has_ended_ = true;
    for (const auto& [number, client] : clients_) {
      if (client.stops) send(number, transport::Report{report()});
    }
    actions_.emplace_back(End{});
  }
  return std::move(actions_);
}

void Stager::send(ClientId client, transport::Message message) {
  actions_.emplace_back(Send{client, std::move(message)});
}

void Stager::say(std::string line) { actions_.emplace_back(Say{std::move(line)}); }

std::string Stager::name_of(const Client& client) const {
  const auto session = sessions_.find(client.session);
  if (session == sessions_.end()) return "somebody who has not said who it is";
  const std::string& program = session->second.program;
  return client.is_remote ? fmt::format("another stager of {}", program)
                          : fmt::format("rank {} of {}", client.rank, program);
}

void Stager::refuse(ClientId client, std::string reason) {
  send(client, transport::Refused{std::move(reason)});
  actions_.emplace_back(Disconnect{client});
  remove(client);
}

void Stager::take(const Stopping& /*event*/) { is_stopping_ = true; }

void Stager::take(const Tick& /*event*/) {
  slots_.try_again();
  std::vector<ClientId> strangers;
  for (auto& [number, client] : clients_) {
    // A check has a deadline of its own.
    const bool is_stranger = client.is_remote && client.session == 0 && !client.proves;
    if (is_stranger && ++client.ticks > most_ticks_of_a_stranger) {
      strangers.push_back(number);
    }
    if (client.stops) send(number, transport::Alive{});
    const auto found = sessions_.find(client.session);
    if (found == sessions_.end() || client.is_remote) continue;
    const Session& session = found->second;
    const bool awaits =
        std::any_of(session.waiting.begin(), session.waiting.end(),
                    [&, waiting = number](const auto& one) { return one.first == waiting; });
    const bool joins = std::find(session.home.waiting.begin(), session.home.waiting.end(),
                                 number) != session.home.waiting.end();
    const bool locks = client.locks != 0;
    if (client.wanted == 0 && !client.drains && !client.commits && !awaits && !joins && !locks) {
      continue;
    }
    send(number, transport::Alive{reason_to_wait(client.session, session)});
  }
  for (const ClientId stranger : strangers) refuse(stranger, "it did not say who it is");
  for (auto& [number, session] : sessions_) {
    session.queue.end_waits(SessionQueue::Waits::long_ones);
    advance(number, session);
  }
}

// ---- Connections --------------------------------------------------------------------------------

void Stager::take(const Connected& event) {
  Client& client = clients_.try_emplace(event.client).first->second;
  client.is_remote = event.is_remote;
  client.nonce = event.nonce;
}

void Stager::take(const Disconnected& event) {
  const auto found = clients_.find(event.client);
  if (found != clients_.end() && !found->second.is_remote) {
    const auto session = sessions_.find(found->second.session);
    if (session != sessions_.end()) ++session->second.lost_ranks;
  }
  remove(event.client);
}

// Bytes that could not be read are not used, so that the step to which they belong cannot end.
void Stager::take(const Unreadable& event) {
  const auto found = clients_.find(event.client);
  if (found == clients_.end()) return;
  const std::string line = fmt::format("{} is sent away by the stager on {}: {}",
                                       name_of(found->second), settings_.host, event.why.message);
  // A socket's path is that of the other side.
  say(event.why.file.empty() ? line : fmt::format("{} ({})", line, event.why.file));
  refuse(event.client, line);
}

void Stager::remove(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const SessionId number = found->second.session;
  const bool is_remote = found->second.is_remote;
  const auto session = sessions_.find(number);
  for (const auto& [block, filled] : found->second.granted) {
    blocks_.give_back(block);
    if (session != sessions_.end()) session->second.unfinished += filled.begin;
  }
  blocks_.forget(client);
  std::erase(wanting_, client);
  if (session != sessions_.end() && !is_remote) {
    --ranks_;
    for (const auto& [file, named] : found->second.files) {
      forget_path(session->second, named->path);
    }
  }
  clients_.erase(found);
  if (session != sessions_.end() && is_remote) {
    remove_peer(client, number, session->second);
  } else if (session != sessions_.end()) {
    Session& left = session->second;
    left.clients.erase(client);
    std::erase(left.home.waiting, client);
    std::erase_if(left.waiting, [&](const auto& one) { return one.first == client; });
    if (left.clients.empty()) {
      left.queue.end_waits(SessionQueue::Waits::all);
      drop_unfinished(left);
      say_if_lost(left);
    }
    advance(number, left);
    end_if_over(number);
  }
  grant();
}

void Stager::say_if_lost(const Session& session) {
  if (session.lost_ranks == 0) return;
  say(
      fmt::format("{} was lost: connections of its ranks, {} in number, ended without a farewell. "
                  "Accepted steps that are still to be stored: {}. Bytes of a step that had not "
                  "ended, which are dropped: {}",
                  session.program, session.lost_ranks, session.queue.steps(), session.unfinished));
}

void Stager::end_if_over(SessionId number) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;
  const Session& session = found->second;
  if (!session.clients.empty() || !session.queue.empty() || session.job != 0) return;
  const bool has_share =
      session.failure.ok() && session.home.client != 0 && !session.shares.empty();
  if (has_share) return;  // until the step is published
  leave_peers(found->second);
  by_name_.erase(session.name);
  sessions_.erase(found);
  actions_.emplace_back(Forget{number});
}

// ---- Messages -----------------------------------------------------------------------------------

void Stager::take(const Received& event) {
  const auto found = clients_.find(event.client);
  if (found == clients_.end()) return;  // it was refused, and has not noticed yet
  using namespace transport;
  if (found->second.is_remote) {
    if (!take_from_stranger(event.client, event.message)) {
      take_from_peer(event.client, event);
    }
    return;
  }
  // A rank of another node passes no open file, and this stager's memory is not its own.
  const bool is_of_the_node = std::holds_alternative<LockFile>(event.message) ||
                              std::holds_alternative<HandOver>(event.message) ||
                              std::holds_alternative<AskReport>(event.message) ||
                              std::holds_alternative<Stop>(event.message);
  const bool is_of_another_node = std::holds_alternative<BlockBytes>(event.message) ||
                                  std::holds_alternative<Attach>(event.message) ||
                                  std::holds_alternative<TakeLock>(event.message);
  if (found->second.is_remote_rank ? is_of_the_node : is_of_another_node) {
    refuse(event.client,
           "a message that is sent only by programs on the stager's node, or only by "
           "those on others");
    return;
  }
  const bool needs_session = !std::holds_alternative<Hello>(event.message) &&
                             !std::holds_alternative<AskReport>(event.message) &&
                             !std::holds_alternative<Stop>(event.message);
  if (needs_session && found->second.session == 0) {
    refuse(event.client, "the first message was no Hello");
    return;
  }
  if (!event.may_be_stored.ok()) {
    refuse(event.client, event.may_be_stored.error().text());
    return;
  }
  if (const auto* const filled = std::get_if<FilledBlock>(&event.message)) {
    take_filled_block(event, *filled);
    return;
  }
  std::visit([&](const auto& one) { take(event.client, one); }, event.message);
}

template <typename Other>
void Stager::take(ClientId client, const Other& /*message*/) {
  refuse(client, "a message that only a stager sends");
}

void Stager::take(ClientId client, const transport::LockFile& message) {
  actions_.emplace_back(KeepLock{clients_.at(client).session, message.path});
}

void Stager::take(ClientId number, const transport::Hello& message) {
  Client& client = clients_.at(number);
  if (client.session != 0) {
    refuse(number, "a second Hello");
    return;
  }
  if (is_stopping_) {
    refuse(number, "the stager was told to stop, and takes no more sessions");
    return;
  }
  const auto before = by_name_.find(message.session);
  if (before != by_name_.end() && sessions_.at(before->second).clients.empty()) {
    refuse(number, "all ranks of the session have left: open a new one");
    return;
  }
  if (settings_.connections > 0 && ranks_ >= settings_.connections) {
    refuse(number, fmt::format("{} ranks are connected, which is the limit of the stager "
                               "(weir stage start --connections)",
                               ranks_));
    return;
  }
  const std::int64_t of_program =
      before == by_name_.end() ? 0 : std::ssize(sessions_.at(before->second).clients);
  if (settings_.client_connections > 0 && of_program >= settings_.client_connections) {
    refuse(number, fmt::format("{} ranks of the program are connected, which is the limit for one "
                               "program (weir stage start --client-connections)",
                               of_program));
    return;
  }
  // Each rank needs a block of its own while it hands over.
  if (settings_.client_blocks > 0 && of_program >= settings_.client_blocks) {
    refuse(number,
           fmt::format("the memory for one program has {} blocks of {} bytes, one for each rank, "
                       "and {} ranks of the program are connected (weir stage start "
                       "--client-memory)",
                       settings_.client_blocks, settings_.block_bytes, settings_.client_blocks));
    return;
  }
  ++ranks_;
  const auto [known, is_new] = by_name_.try_emplace(message.session, last_session_ + 1);
  if (is_new) ++last_session_;
  client.session = known->second;
  client.rank = message.rank;
  Session& session = sessions_[client.session];
  if (is_new) {
    session.name = message.session;
    session.program = message.program;
  }
  session.clients.insert(number);
  send(number, transport::Welcome{blocks_.most(), settings_.block_bytes, settings_.name,
                                  client.is_remote_rank ? settings_.ucx : std::string(),
                                  settings_.has_journal});
}

void Stager::take(ClientId client, const transport::NameFile& message) {
  Client& rank = clients_.at(client);
  if (rank.files.contains(message.file)) {
    refuse(client, "a file's number was used twice");
    return;
  }
  auto& paths = sessions_.at(rank.session).paths;
  if (settings_.client_files > 0 && !paths.contains(message.path) &&
      std::ssize(paths) >= settings_.client_files) {
    refuse(client, fmt::format("{} would be file {} that the program has open, and the limit of "
                               "the stager is {} (weir stage start --client-files)",
                               message.path, paths.size() + 1, settings_.client_files));
    return;
  }
  ++paths[message.path];
  rank.files.emplace(message.file, std::make_shared<const transport::NameFile>(message));
}

void Stager::forget_path(Session& session, const std::string& path) {
  const auto named = session.paths.find(path);
  if (named != session.paths.end() && --named->second == 0) session.paths.erase(named);
}

void Stager::take(ClientId client, const transport::ForgetFile& message) {
  Client& rank = clients_.at(client);
  const auto named = rank.files.find(message.file);
  if (named == rank.files.end()) return;
  forget_path(sessions_.at(rank.session), named->second->path);
  rank.files.erase(named);
}

void Stager::take(ClientId number, const transport::Reserve& message) {
  Client& client = clients_.at(number);
  if (message.blocks < 1 || client.wanted > 0) {
    refuse(number, "an impossible number of blocks was asked for");
    return;
  }
  client.wanted = message.blocks;
  wanting_.push_back(number);
  grant();
}

std::int64_t Stager::blocks_of(const transport::SessionId& session) const {
  const auto found = by_name_.find(session);
  return found == by_name_.end() ? 0 : blocks_.of(found->second);
}

void Stager::take_filled_block(const Received& event, const transport::FilledBlock& filled) {
  Client& client = clients_.at(event.client);
  const auto granted = client.granted.extract(filled.block);
  if (granted.empty()) {
    refuse(event.client, "a block was handed over that was not granted");
    return;
  }
  BlockItem item{.block = filled.block, .bytes = 0, .files = {}, .extents = nullptr};
  std::vector<transport::BlockExtent> extents;
  std::unordered_map<std::uint64_t, std::size_t> indices;
  std::optional<std::uint64_t> last_file;  // most extents are of the same file as the one before
  std::size_t last_index = 0;
  std::string problem;
  if (!event.extents) {
    problem = event.extents.error().message;
  } else if (client.is_remote_rank && !is_filled(granted.mapped(), event.extents.value())) {
    problem = "a block was handed over of which bytes are missing";
  } else {
    extents = event.extents.value();
  }
  for (transport::BlockExtent& extent : extents) {
    if (extent.file != last_file) {
      const auto named = client.files.find(extent.file);
      if (named == client.files.end()) {
        problem = "a filled block has bytes for a file that was not named";
        break;
      }
      const auto [index, is_new] = indices.try_emplace(extent.file, item.files.size());
      if (is_new) item.files.push_back(named->second);
      item.may_wait = named->second->may_wait && (item.may_wait || item.files.size() == 1);
      item.at_once = item.at_once || named->second->at_once;
      last_file = extent.file;
      last_index = index->second;
    }
    extent.file = last_index;
    item.bytes += extent.bytes;
  }
  if (!problem.empty()) {
    blocks_.give_back(filled.block);
    refuse(event.client, std::move(problem));
    return;
  }
  item.extents = std::make_shared<const std::vector<transport::BlockExtent>>(std::move(extents));
  Session& session = sessions_.at(client.session);
  if (!session.failure.ok()) {
    blocks_.give_back(filled.block);
    grant();
    return;
  }
  session.carriers.insert(!client.is_remote_rank      ? "shared memory"
                          : granted.mapped().over_ucx ? "UCX"
                                                      : "TCP");
  Item& last = session.queue.push(std::move(item));
  if (is_journaled(session)) {
    actions_.emplace_back(
        recordings_.begin(++last_job_, client.session, &std::get<BlockItem>(last)));
  }
  advance(client.session, session);
}

void Stager::end_hand_over(Client& client, std::int64_t waited_ns) {
  Session& session = sessions_.at(client.session);
  constexpr std::int64_t ceiling = std::numeric_limits<std::int64_t>::max() / 2;
  const std::int64_t told = std::clamp<std::int64_t>(waited_ns, 0, ceiling);
  client.waited_ns = std::min(ceiling, client.waited_ns + told);
  session.longest_waited_ns = std::max(session.longest_waited_ns, client.waited_ns);
  for (const auto& [block, filled] : client.granted) blocks_.give_back(block);
  client.granted.clear();
}

void Stager::take(ClientId number, const transport::Flush& message) {
  Client& client = clients_.at(number);
  end_hand_over(client, message.waited_ns);
  send(number, transport::Flushed{{sessions_.at(client.session).failure}});
  grant();
}

void Stager::take(ClientId number, const transport::HandOver& message) {
  Client& client = clients_.at(number);
  if (message.blocks < 0 || client.wanted > 0) {
    refuse(number, "an impossible number of blocks was asked for");
    return;
  }
  end_hand_over(client, message.waited_ns);
  grant();
  transport::Granted granted;
  for (std::int64_t ahead = blocks_ahead(client, message.blocks); ahead > 0; --ahead) {
    granted.blocks.push_back(blocks_.take(client.session, number));
    client.granted.emplace(granted.blocks.back(), Filled{});
  }
  send(number, std::move(granted));
}

void Stager::take(ClientId number, const transport::CommitStep& message) {
  const SessionId session_number = clients_.at(number).session;
  Session& session = sessions_.at(session_number);
  const std::uint64_t ticket = ++session.tickets;
  // A commit without changes ends no step: it waits for what an array by itself was given. One
  // without a seal does not wait for other stagers, so their shares could be removed too early.
  const bool is_recorded = session.failure.ok() && is_journaled(session) &&
                           !message.update.changes.empty() &&
                           (session.peers.empty() || message.seal > 0);
  if (!is_recorded) send(number, transport::Accepted{ticket, {session.failure}});
  if (!session.failure.ok()) return;
  auto& commit = std::get<CommitItem>(session.queue.push(CommitItem{ticket, message}));
  if (is_recorded) {
    clients_.at(number).commits = true;
    if (session.peers.empty()) {
      actions_.emplace_back(recordings_.begin(++last_job_, session_number, &commit, number));
    } else {
      ask_for_shares(session_number, session, commit, number);
    }
  }
  advance(session_number, session);
}

void Stager::take(ClientId number, const transport::UnlockFile& message) {
  const SessionId session_number = clients_.at(number).session;
  Session& session = sessions_.at(session_number);
  const std::uint64_t ticket = ++session.tickets;
  send(number, transport::Accepted{ticket, {session.failure}});
  if (!session.failure.ok()) {
    actions_.emplace_back(Unlock{session_number, message.path});
    return;
  }
  session.queue.push(UnlockItem{ticket, message.path});
  advance(session_number, session);
}

void Stager::take(ClientId number, const transport::Listen& /*message*/) {
  actions_.emplace_back(OpenNetwork{number});
}

void Stager::take(ClientId number, const transport::JoinHome& message) {
  const SessionId session_number = clients_.at(number).session;
  Session& session = sessions_.at(session_number);
  if (!session.failure.ok() || session.home.state == Home::State::joined) {
    send(number, transport::Joined{{session.failure}});
    return;
  }
  session.home.waiting.push_back(number);
  if (session.home.state == Home::State::joining) return;
  session.home.state = Home::State::joining;
  session.home.secret = message.secret;
  session.home.keep_journals = message.keep_journals;
  actions_.emplace_back(Connect{session_number, message.addresses});
}

void Stager::take(ClientId number, const transport::SealStep& message) {
  const SessionId session_number = clients_.at(number).session;
  Session& session = sessions_.at(session_number);
  if (session.failure.ok() && session.home.state != Home::State::joined) {
    refuse(number, "a step was sealed, but the stager has joined no other");
    return;
  }
  const std::uint64_t ticket = ++session.tickets;
  send(number, transport::Accepted{ticket, {session.failure}});
  if (!session.failure.ok()) return;
  session.queue.push(SealItem{ticket, message});
  advance(session_number, session);
}

Status Stager::result_of(const Session& session, std::uint64_t ticket) {
  return ticket <= session.done ? Status() : session.failure;
}

void Stager::take(ClientId number, const transport::Await& message) {
  Session& session = sessions_.at(clients_.at(number).session);
  if (message.ticket == 0 || message.ticket > session.tickets) {
    refuse(number, "a ticket that was not given");
    return;
  }
  if (message.ticket <= session.done || !session.failure.ok()) {
    send(number, transport::Stored{message.ticket, {result_of(session, message.ticket)}});
    return;
  }
  session.waiting.emplace_back(number, message.ticket);
}

void Stager::take(ClientId number, const transport::Drain& /*message*/) {
  Client& client = clients_.at(number);
  Session& session = sessions_.at(client.session);
  client.drains = true;
  if (!session.failure.ok()) {
    answer_drains(session);
    return;
  }
  session.queue.push(DrainItem{number});
  advance(client.session, session);
}

void Stager::take(ClientId client, const transport::Goodbye& /*message*/) {
  actions_.emplace_back(Disconnect{client});
  remove(client);
}

// The rank could not read what it was sent.
void Stager::take(ClientId number, const transport::Refused& message) {
  say(fmt::format("{} ends its session: {}", name_of(clients_.at(number)), message.reason));
  actions_.emplace_back(Disconnect{number});
  remove(number);
}

void Stager::take(ClientId client, const transport::AskReport& /*message*/) {
  send(client, transport::Report{report()});
}

void Stager::take(ClientId client, const transport::Stop& /*message*/) {
  is_stopping_ = true;
  clients_.at(client).stops = true;
}

}  // namespace weir::stager
