#include "stager/stager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace weir::stager {
namespace {

// What storage may have again later.
bool is_want_of_space(const Status& status) {
  return !status.ok() &&
         (status.error().system_error == ENOSPC || status.error().system_error == EDQUOT);
}

// Seconds for which somebody may be connected over a network without showing a secret.
constexpr int most_ticks_of_a_stranger = 10;

}  // namespace

Stager::Stager(const StagerSettings& settings) : settings_(settings) {
  for (std::int64_t slot = settings.spill_slots; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

std::vector<Action> Stager::handle(const Event& event) {
  actions_.clear();
  std::visit([&](const auto& one) { take(one); }, event);
  if (!wanting_.empty()) make_room();
  empty_spill();
  if (is_stopping_ && sessions_.empty() && !has_ended_) {
    has_ended_ = true;
    actions_.emplace_back(End{});
  }
  return std::move(actions_);
}

void Stager::send(ClientId client, transport::Message message) {
  actions_.emplace_back(Send{client, std::move(message)});
}

void Stager::refuse(ClientId client, std::string reason) {
  send(client, transport::Refused{std::move(reason)});
  actions_.emplace_back(Disconnect{client});
  remove(client);
}

void Stager::take(const BlocksReady& event) {
  // The block that becomes free last is given next, since the processor may have it in its cache.
  std::vector<std::int64_t> all;
  for (std::int64_t i = event.blocks; i > 0; --i) all.push_back(ready_ + i - 1);
  free_.insert(free_.begin(), all.begin(), all.end());
  ready_ += event.blocks;
  grant();
}

void Stager::take(const NoMoreBlocks& /*event*/) { settings_.blocks = ready_; }

void Stager::take(const Stopping& /*event*/) { is_stopping_ = true; }

// ---- Connections --------------------------------------------------------------------------------

void Stager::take(const Connected& event) {
  Client& client = clients_.try_emplace(event.client).first->second;
  client.is_remote = event.is_remote;
  client.nonce = event.nonce;
}

void Stager::take(const Disconnected& event) { remove(event.client); }

void Stager::remove(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const SessionId number = found->second.session;
  const bool is_remote = found->second.is_remote;
  for (const auto& [block, filled] : found->second.granted) free_block(block);
  std::erase(wanting_, client);
  const auto session = sessions_.find(number);
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
    if (left.clients.empty()) drop_unfinished(left);
    advance(number, left);
    end_if_over(number);
  }
  grant();
}

// Called when no rank of the session is left. What is in a job stays until the job has ended.
void Stager::drop_unfinished(Session& session) {
  while (session.queue.size() > session.in_job) {
    Item& last = session.queue.back();
    const auto* const parcel = std::get_if<ParcelItem>(&last);
    if (parcel != nullptr && !parcel->at_once) {
      free_parcel(*parcel);
    } else if (!std::holds_alternative<DrainItem>(last)) {
      return;
    }
    remove_last(session);
  }
}

void Stager::remove_last(Session& session) {
  const auto* const parcel = std::get_if<ParcelItem>(&session.queue.back());
  if (parcel == nullptr || parcel->at_once) --session.urgent;
  const auto* const commit = std::get_if<CommitItem>(&session.queue.back());
  const auto recording = recordings_.find(parcel != nullptr   ? parcel->recording
                                          : commit != nullptr ? commit->recording
                                                              : 0);
  if (recording != recordings_.end()) {
    recording->second.parcel = nullptr;
    recording->second.commit = nullptr;
  }
  session.queue.pop_back();
}

void Stager::end_if_over(SessionId number) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;
  const Session& session = found->second;
  if (!session.clients.empty() || !session.queue.empty() || session.job != 0) return;
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
      take_from_peer(event.client, event.message);
    }
    return;
  }
  // A rank of another node passes no open file, and this stager's memory is not its own.
  const bool is_of_the_node = std::holds_alternative<LockFile>(event.message) ||
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
  if (const auto* const parcel = std::get_if<Parcel>(&event.message)) {
    take_parcel(event, *parcel);
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
  // Each rank needs a block of its own while it hands over.
  if (settings_.client_blocks > 0 && before != by_name_.end() &&
      std::ssize(sessions_.at(before->second).clients) >= settings_.client_blocks) {
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
  Session& session = sessions_[client.session];
  if (is_new) {
    session.name = message.session;
    session.program = message.program;
  }
  session.clients.insert(number);
  send(number, transport::Welcome{settings_.blocks, settings_.block_bytes, settings_.name,
                                  client.is_remote_rank ? settings_.ucx : std::string()});
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

// Gives blocks to the ranks that wait for them, the longest waiting first. A rank gets what there
// is and its session may have: with less than it wanted it can go on.
void Stager::grant() {
  for (auto next = wanting_.begin(); next != wanting_.end() && !free_.empty();) {
    const ClientId number = *next;
    Client& client = clients_.at(number);
    Session& session = sessions_.at(client.session);
    if (room_of(session) < 1) {
      ++next;
      continue;
    }
    next = wanting_.erase(next);
    transport::Granted granted;
    while (client.wanted > 0 && !free_.empty() && room_of(session) > 0) {
      granted.blocks.push_back(free_.back());
      client.granted.emplace(free_.back(), Filled{});
      owners_[free_.back()] = client.session;
      ++session.blocks;
      free_.pop_back();
      --client.wanted;
    }
    client.wanted = 0;
    send(number, std::move(granted));
  }
}

std::int64_t Stager::room_of(const Session& session) const {
  return settings_.client_blocks > 0 ? settings_.client_blocks - session.blocks
                                     : std::numeric_limits<std::int64_t>::max();
}

std::int64_t Stager::blocks_of(const transport::SessionId& session) const {
  const auto found = by_name_.find(session);
  return found == by_name_.end() ? 0 : sessions_.at(found->second).blocks;
}

void Stager::free_block(std::int64_t block) {
  free_.push_back(block);
  const auto owner = owners_.find(block);
  if (owner == owners_.end()) return;
  const auto session = sessions_.find(owner->second);
  if (session != sessions_.end()) --session->second.blocks;
  owners_.erase(owner);
}

void Stager::take_parcel(const Received& event, const transport::Parcel& parcel) {
  Client& client = clients_.at(event.client);
  const auto granted = client.granted.extract(parcel.block);
  if (granted.empty()) {
    refuse(event.client, "a block was handed over that was not granted");
    return;
  }
  ParcelItem item{.block = parcel.block, .bytes = 0, .files = {}, .extents = {}};
  std::unordered_map<std::uint64_t, std::size_t> indices;
  std::string problem;
  if (!event.extents) {
    problem = event.extents.error().message;
  } else if (client.is_remote_rank && !is_filled(granted.mapped(), event.extents.value())) {
    problem = "a block was handed over of which bytes are missing";
  } else {
    item.extents = event.extents.value();
  }
  for (transport::ParcelExtent& extent : item.extents) {
    const auto named = client.files.find(extent.file);
    if (named == client.files.end()) {
      problem = "a parcel has bytes for a file that was not named";
      break;
    }
    const auto [index, is_new] = indices.try_emplace(extent.file, item.files.size());
    if (is_new) item.files.push_back(named->second);
    item.at_once = item.at_once || named->second->at_once;
    extent.file = index->second;
    item.bytes += extent.bytes;
  }
  if (!problem.empty()) {
    free_block(parcel.block);
    refuse(event.client, std::move(problem));
    return;
  }
  Session& session = sessions_.at(client.session);
  if (!session.failure.ok()) {
    free_block(parcel.block);
    grant();
    return;
  }
  session.carriers.insert(!client.is_remote_rank      ? "shared memory"
                          : granted.mapped().over_ucx ? "UCX"
                                                      : "TCP");
  if (item.at_once) ++session.urgent;
  session.queue.emplace_back(std::move(item));
  if (is_journaled(session)) {
    auto& last = std::get<ParcelItem>(session.queue.back());
    last.recording = ++last_job_;
    recordings_[last.recording] = {.session = client.session, .parcel = &last, .block = last.block};
    actions_.emplace_back(
        Record{last.recording, client.session, last.block, last.files, last.extents});
  }
  advance(client.session, session);
}

void Stager::take(ClientId number, const transport::Flush& /*message*/) {
  Client& client = clients_.at(number);
  for (const auto& [block, filled] : client.granted) free_block(block);
  client.granted.clear();
  send(number, transport::Flushed{{sessions_.at(client.session).failure}});
  grant();
}

void Stager::take(ClientId number, const transport::CommitStep& message) {
  const SessionId session_number = clients_.at(number).session;
  Session& session = sessions_.at(session_number);
  const std::uint64_t ticket = ++session.tickets;
  // A commit without changes ends no step: it waits for what an array by itself was given.
  const bool is_recorded =
      session.failure.ok() && is_journaled(session) && !message.update.changes.empty();
  if (!is_recorded) send(number, transport::Accepted{ticket, {session.failure}});
  if (!session.failure.ok()) return;
  session.queue.emplace_back(CommitItem{ticket, message});
  ++session.urgent;
  if (is_recorded) {
    auto& last = std::get<CommitItem>(session.queue.back());
    last.recording = ++last_job_;
    recordings_[last.recording] = {
        .session = session_number, .commit = &last, .client = number, .ticket = ticket};
    clients_.at(number).commits = true;
    actions_.emplace_back(RecordStep{last.recording, session_number, message});
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
  session.queue.emplace_back(UnlockItem{ticket, message.path});
  ++session.urgent;
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
  session.queue.emplace_back(SealItem{ticket, message});
  ++session.urgent;
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
  session.queue.emplace_back(DrainItem{number});
  ++session.urgent;
  advance(client.session, session);
}

void Stager::take(ClientId client, const transport::Goodbye& /*message*/) {
  actions_.emplace_back(Disconnect{client});
  remove(client);
}

void Stager::take(ClientId client, const transport::AskReport& /*message*/) {
  send(client, transport::Report{report()});
}

void Stager::take(ClientId client, const transport::Stop& /*message*/) {
  is_stopping_ = true;
  send(client, transport::Report{report()});
}

// ---- Jobs ---------------------------------------------------------------------------------------

void Stager::advance(SessionId number, Session& session) {
  if (session.job != 0 || !session.failure.ok()) return;
  while (!session.queue.empty() && (session.urgent > 0 || writes_for_room_)) {
    Item& first = session.queue.front();
    if (const auto* const parcel = std::get_if<ParcelItem>(&first)) {
      if (!parcel->is_moving && parcel->recording == 0) write_parcels(number, session);
      return;
    }
    if (const auto* const seal = std::get_if<SealItem>(&first)) {
      session.job = ++last_job_;
      session.in_job = 1;
      actions_.emplace_back(Seal{session.job, number, seal->step.durability});
      return;
    }
    if (const auto* const commit = std::get_if<CommitItem>(&first)) {
      if (commit->recording != 0) return;
      if (const PeerState* const late = late_peer(session, commit->step.seal)) {
        if (late->client != 0) return;  // until it tells, or its connection ends
        fail(session, lost_peer(late->host));
        grant();
        return;
      }
      session.job = ++last_job_;
      session.in_job = 1;
      actions_.emplace_back(Commit{session.job, number, commit->step});
      return;
    }
    if (const auto* const unlock = std::get_if<UnlockItem>(&first)) {
      actions_.emplace_back(Unlock{number, unlock->path});
      end_ticket(session, unlock->ticket);
    } else {
      const ClientId client = std::get<DrainItem>(first).client;
      const auto found = clients_.find(client);
      if (found != clients_.end()) {
        found->second.drains = false;
        send(client, transport::Drained{});
      }
    }
    session.queue.pop_front();
    --session.urgent;
  }
}

void Stager::write_parcels(SessionId number, Session& session) {
  session.job = ++last_job_;
  session.in_job = 0;
  Write write{.job = session.job, .session = number, .files = {}, .extents = {}};
  std::unordered_map<const transport::NameFile*, std::size_t> indices;
  std::int64_t bytes = 0;
  std::int64_t read_back = 0;
  for (const Item& item : session.queue) {
    const auto* const parcel = std::get_if<ParcelItem>(&item);
    if (parcel == nullptr || parcel->is_moving || parcel->recording != 0) break;
    if (bytes > 0 && bytes + parcel->bytes > settings_.most_written_together) break;
    std::int64_t block = parcel->block;
    if (parcel->spilled) {
      if (read_back > 0 && read_back + parcel->bytes > settings_.most_read_back_together) break;
      read_back += parcel->bytes;
      block = std::ssize(write.spilled);
      write.spilled.push_back(*parcel->spilled);
    }
    std::int64_t at = 0;
    for (const transport::ParcelExtent& extent : parcel->extents) {
      const transport::NameFile* const named = parcel->files[extent.file].get();
      const auto [index, is_new] = indices.try_emplace(named, write.files.size());
      if (is_new) write.files.push_back(*named);
      write.extents.push_back({.block = block,
                               .at = at,
                               .bytes = extent.bytes,
                               .file = index->second,
                               .offset = extent.offset,
                               .is_spilled = parcel->spilled.has_value()});
      at += extent.bytes;
    }
    bytes += parcel->bytes;
    ++session.in_job;
  }
  actions_.emplace_back(std::move(write));
}

void Stager::take(const JobEnded& event) {
  if (event.job == spilling_.job) {
    end_spill(event.status);
    return;
  }
  if (recordings_.contains(event.job)) {
    end_recording(event.job, event.status);
    return;
  }
  if (end_locking(event)) return;
  const auto found = std::find_if(sessions_.begin(), sessions_.end(),
                                  [&](const auto& one) { return one.second.job == event.job; });
  if (found == sessions_.end()) return;
  const SessionId number = found->first;
  Session& session = found->second;
  if (is_want_of_space(event.status) && session.failure.ok()) {
    session.waits_for_space = true;
    actions_.emplace_back(RetryLater{number});
    return;  // the job counts as under way
  }
  session.waits_for_space = false;
  session.job = 0;
  if (!session.failure.ok()) {
    drop_behind(session, 0);
    answer_drains(session);
  } else if (!event.status.ok()) {
    fail(session, event.status);
  } else {
    for (; session.in_job > 0; --session.in_job) {
      const Item& first = session.queue.front();
      if (const auto* const parcel = std::get_if<ParcelItem>(&first)) {
        session.written += parcel->bytes;
        if (parcel->at_once) --session.urgent;
        free_parcel(*parcel);
      } else if (const auto* const seal = std::get_if<SealItem>(&first)) {
        end_ticket(session, seal->ticket);
        --session.urgent;
        if (session.home.client != 0) send(session.home.client, transport::Sealed{seal->step.seal});
      } else {
        end_ticket(session, std::get<CommitItem>(first).ticket);
        --session.urgent;
      }
      session.queue.pop_front();
    }
    if (session.clients.empty()) drop_unfinished(session);
    grant();
    advance(number, session);
  }
  grant();
  end_if_over(number);
}

void Stager::take(const RetryDue& event) {
  const auto found = sessions_.find(event.session);
  if (found == sessions_.end() || !found->second.waits_for_space) return;
  Session& session = found->second;
  session.job = 0;
  session.in_job = 0;
  if (!session.failure.ok()) {
    drop_behind(session, 0);
    answer_drains(session);
  }
  // A session that no rank will continue, and that has nothing accepted left, need not wait.
  if (session.clients.empty()) drop_unfinished(session);
  if (session.queue.empty()) session.waits_for_space = false;
  // The step's end or the rank that waits for blocks still needs it: the same job begins again.
  advance(event.session, session);
  if (session.job == 0) session.waits_for_space = false;
  end_if_over(event.session);
}

void Stager::take(const Tick& /*event*/) {
  spill_pauses_ = false;
  std::vector<ClientId> strangers;
  for (auto& [number, client] : clients_) {
    if (client.is_remote && client.session == 0 && ++client.ticks > most_ticks_of_a_stranger) {
      strangers.push_back(number);
    }
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
    send(number, transport::Alive{reason_to_wait(session)});
  }
  for (const ClientId stranger : strangers) refuse(stranger, "it did not say who it is");
}

std::string Stager::reason_to_wait(const Session& session) const {
  if (session.waits_for_space) return "the file system has no space left, or a quota is used up";
  const bool is_full = room_of(session) < 1;
  if ((is_full || is_short_of_blocks()) &&
      std::any_of(wanting_.begin(), wanting_.end(),
                  [&](ClientId client) { return session.clients.contains(client); })) {
    std::string full = is_full ? "the program has all of the stager's memory that one may have"
                               : "the stager's memory is full";
    if (settings_.spill_slots == 0) return full;
    const bool moves = !spilling_.blocks.empty() || is_spill_usable();
    return full +
           (moves ? ", and its data move to the spill file" : ", and the spill file takes no more");
  }
  if (session.queue.empty()) return "";
  const auto* const commit = std::get_if<CommitItem>(&session.queue.front());
  if (commit == nullptr || session.job != 0) return "";
  const PeerState* const late = late_peer(session, commit->step.seal);
  return late == nullptr ? ""
                         : fmt::format("the stager on {} has not stored its share", late->host);
}

void Stager::end_ticket(Session& session, std::uint64_t ticket) {
  session.done = ticket;
  std::erase_if(session.waiting, [&](const auto& one) {
    if (one.second > ticket) return false;
    send(one.first, transport::Stored{one.second, {}});
    return true;
  });
}

// What is in a job stays until the job has ended, since a thread uses its blocks.
void Stager::fail(Session& session, const Status& why) {
  session.failure = why;
  drop_behind(session, session.job == 0 ? 0 : session.in_job);
  answer_drains(session);
  for (const auto& [client, ticket] : session.waiting) {
    send(client, transport::Stored{ticket, {why}});
  }
  session.waiting.clear();
  tell_peers_of_failure(session);
}

void Stager::drop_behind(Session& session, std::size_t items) {
  if (items == 0) session.in_job = 0;
  while (session.queue.size() > items) {
    const Item& last = session.queue.back();
    if (const auto* const parcel = std::get_if<ParcelItem>(&last)) free_parcel(*parcel);
    remove_last(session);
  }
}

// Called where a session has failed. Ranks that go on without the stager must know that it writes
// nothing of theirs any more, so the answer waits for the job under way.
void Stager::answer_drains(const Session& session) {
  if (session.job != 0) return;
  for (const ClientId rank : session.clients) {
    if (std::exchange(clients_.at(rank).drains, false)) {
      send(rank, transport::Drained{{session.failure}});
    }
  }
}

// ---- The journal --------------------------------------------------------------------------------

void Stager::end_recording(JobId job, const Status& status) {
  const Recording ended = recordings_.extract(job).mapped();
  const auto session = sessions_.find(ended.session);
  if (!status.ok()) {
    journal_failure_ = status.error().text();
  } else if (ended.ticket != 0) {
    journal_failure_.clear();
  }
  if (ended.ticket != 0) {
    const auto client = clients_.find(ended.client);
    if (client != clients_.end()) {
      client->second.commits = false;
      const Status failure = session != sessions_.end() ? session->second.failure : Status();
      send(ended.client, transport::Accepted{ended.ticket, {failure}});
    }
  } else if (ended.parcel == nullptr) {
    free_block(ended.block);
  }
  if (ended.parcel != nullptr) ended.parcel->recording = 0;
  if (ended.commit != nullptr) ended.commit->recording = 0;
  if (session != sessions_.end()) {
    advance(ended.session, session->second);
    end_if_over(ended.session);
  }
  grant();
}

// ---- Spilling -----------------------------------------------------------------------------------

void Stager::free_parcel(const ParcelItem& parcel) {
  if (parcel.recording != 0) return;  // the end of its recording frees it
  if (parcel.is_moving) {
    spilling_.dropped.insert(parcel.block);
  } else if (parcel.spilled) {
    free_slots_.push_back(parcel.spilled->slot);
  } else {
    free_block(parcel.block);
  }
}

void Stager::make_room() {
  const std::set<SessionId> full = full_sessions();
  if (full.empty() || !spilling_.blocks.empty()) return;
  // Where no parcel can move now, all blocks are those of ranks and jobs, which will free them.
  if (is_spill_usable()) {
    begin_spill(full);
    return;
  }
  writes_for_room_ = true;
  for (const SessionId number : full) advance(number, sessions_.at(number));
  writes_for_room_ = false;
  for (const SessionId number : full) end_if_over(number);
}

// Where all memory is in use, those are all sessions, and else those that have as much as one may.
std::set<SessionId> Stager::full_sessions() const {
  std::set<SessionId> full;
  if (is_short_of_blocks()) {
    for (const auto& [number, session] : sessions_) full.insert(number);
    return full;
  }
  if (settings_.client_blocks == 0) return full;
  for (const ClientId client : wanting_) {
    const SessionId number = clients_.at(client).session;
    if (room_of(sessions_.at(number)) < 1) full.insert(number);
  }
  return full;
}

std::vector<Stager::ParcelItem*> Stager::movable_parcels(Session& session) {
  std::vector<ParcelItem*> found;
  for (std::size_t i = session.queue.size(); i > session.in_job; --i) {
    auto* const parcel = std::get_if<ParcelItem>(&session.queue[i - 1]);
    if (parcel != nullptr && !parcel->spilled && parcel->recording == 0) found.push_back(parcel);
  }
  return found;
}

// The session that has most in memory is asked first.
void Stager::begin_spill(const std::set<SessionId>& full) {
  if (spilling_.job != 0) return;
  SessionId chosen = 0;
  std::vector<ParcelItem*> parcels;
  for (const SessionId number : full) {
    std::vector<ParcelItem*> found = movable_parcels(sessions_.at(number));
    if (found.size() <= parcels.size()) continue;
    parcels = std::move(found);
    chosen = number;
  }
  if (parcels.empty()) return;
  spilling_ = {.job = ++last_job_, .session = chosen, .blocks = {}, .dropped = {}};
  std::int64_t bytes = 0;
  for (ParcelItem* const parcel : parcels) {
    if (free_slots_.empty()) break;
    if (bytes > 0 && bytes + parcel->bytes > settings_.most_written_together) break;
    bytes += parcel->bytes;
    parcel->is_moving = true;
    spilling_.blocks.push_back({.block = parcel->block,
                                .slot = free_slots_.back(),
                                .bytes = parcel->bytes,
                                .stamp = ++last_stamp_});
    free_slots_.pop_back();
  }
  spill_is_used_ = true;
  actions_.emplace_back(Spill{spilling_.job, spilling_.blocks});
}

// Bytes that could not move are still in memory, so nothing is lost.
void Stager::end_spill(const Status& status) {
  const Spilling ended = std::exchange(spilling_, {});
  if (ended.blocks.empty()) return;  // its space was given back
  if (is_want_of_space(status)) {
    spill_pauses_ = true;
  } else if (!status.ok()) {
    spill_failure_ = status;
  }
  std::map<std::int64_t, SpilledBlock> moved;  // by block
  for (SpilledBlock one : ended.blocks) {
    const std::int64_t block = std::exchange(one.block, -1);
    const bool is_dropped = ended.dropped.contains(block);
    if (is_dropped || status.ok()) free_block(block);
    if (is_dropped || !status.ok()) free_slots_.push_back(one.slot);
    if (!is_dropped) moved.emplace(block, one);
  }
  const auto found = sessions_.find(ended.session);
  if (found != sessions_.end()) {
    for (Item& item : found->second.queue) {
      auto* const parcel = std::get_if<ParcelItem>(&item);
      if (parcel == nullptr || !std::exchange(parcel->is_moving, false)) continue;
      if (status.ok()) parcel->spilled = moved.at(std::exchange(parcel->block, -1));
    }
    advance(ended.session, found->second);
    end_if_over(ended.session);
  }
  grant();
}

void Stager::empty_spill() {
  if (!spill_is_used_ || spilling_.job != 0 || free_slots() < settings_.spill_slots) return;
  spill_is_used_ = false;
  spilling_ = {.job = ++last_job_, .session = 0, .blocks = {}, .dropped = {}};
  actions_.emplace_back(EmptySpill{spilling_.job});
}

// ---- For people ---------------------------------------------------------------------------------

std::string Stager::report() const {
  nlohmann::ordered_json all;
  all["stager"] = settings_.name;
  all["memory_bytes"] = settings_.blocks * settings_.block_bytes;
  all["ready_bytes"] = ready_ * settings_.block_bytes;
  all["free_bytes"] = free_blocks() * settings_.block_bytes;
  all["client_memory_bytes"] = settings_.client_blocks * settings_.block_bytes;
  all["client_files"] = settings_.client_files;
  all["connections"] = settings_.connections;
  all["spill_bytes"] = settings_.spill_slots * settings_.block_bytes;
  all["spilled_bytes"] = (settings_.spill_slots - free_slots()) * settings_.block_bytes;
  all["spill_failure"] = spill_failure_.ok() ? "" : spill_failure_.error().text();
  all["has_journal"] = settings_.has_journal;
  all["journal_failure"] = journal_failure_;
  all["ucx"] = settings_.ucx;
  all["stopping"] = is_stopping_;
  all["sessions"] = nlohmann::ordered_json::array();
  for (const auto& [number, session] : sessions_) {
    std::int64_t held = 0;
    std::int64_t steps = 0;
    for (const Item& item : session.queue) {
      if (const auto* const parcel = std::get_if<ParcelItem>(&item)) held += parcel->bytes;
      if (std::holds_alternative<CommitItem>(item) || std::holds_alternative<SealItem>(item)) {
        ++steps;
      }
    }
    nlohmann::ordered_json one;
    one["program"] = session.program;
    one["ranks"] = session.clients.size();
    one["memory_bytes"] = session.blocks * settings_.block_bytes;
    one["files"] = session.paths.size();
    one["held_bytes"] = held;
    one["written_bytes"] = session.written;
    one["carriers"] = session.carriers;
    one["steps_to_store"] = steps;
    one["waits_for_space"] = session.waits_for_space;
    one["waits_for"] = reason_to_wait(session);
    one["joined_stagers"] = session.peers.size();
    one["has_joined"] = session.home.state == Home::State::joined;
    one["failure"] = session.failure.ok() ? "" : session.failure.error().text();
    all["sessions"].push_back(std::move(one));
  }
  return all.dump();
}

}  // namespace weir::stager
