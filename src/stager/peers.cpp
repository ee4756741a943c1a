// The stagers of other nodes: what they tell, and what happens where one is lost. They are reached
// over a network, so a connection is worth nothing until the other side has told a secret, and then
// only the few messages that stagers exchange are taken from it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "stager/stager.hpp"
#include "transport/proof.hpp"

namespace weir::stager {
namespace {

bool is_secret(const std::string& given, const std::string& secret) {
  return !secret.empty() &&
         transport::is_same(std::as_bytes(std::span(given)), std::as_bytes(std::span(secret)));
}

}  // namespace

Error Stager::lost_peer(const std::string& host) {
  return Error(ErrorCode::io,
               fmt::format("the stager on {} has ended, or the connection to it has; what it had "
                           "not yet stored is lost",
                           host));
}

void Stager::take_from_peer(ClientId number, const Received& event) {
  const transport::Message& message = event.message;
  const SessionId session_number = clients_.at(number).session;
  if (const auto* const peer = std::get_if<transport::Peer>(&message)) {
    if (session_number == 0) {
      let_in(number, *peer);
    } else {
      refuse(number, "a second Peer");
    }
    return;
  }
  const auto found = sessions_.find(session_number);
  if (found == sessions_.end()) {
    refuse(number, "the first message over a network was neither Knock nor Peer");
    return;
  }
  Session& session = found->second;
  if (const auto* const refused = std::get_if<transport::Refused>(&message)) {
    say(fmt::format("{} ends the connection: {}", name_of(clients_.at(number)), refused->reason));
    actions_.emplace_back(Disconnect{number});
    remove(number);
    return;
  }
  if (const auto* const failed = std::get_if<transport::SessionFailed>(&message)) {
    take_failure(session_number, session, failed->reason.status);
    return;
  }
  const auto* const joined = std::get_if<transport::Joined>(&message);
  if (joined != nullptr && number == session.home.client &&
      session.home.state == Home::State::joining) {
    take_joined(session_number, session, joined->outcome.status);
    return;
  }
  if (number == session.home.client) {
    if (const auto* const share = std::get_if<transport::RecordShare>(&message)) {
      record_share(session_number, session, *share, event.may_be_stored);
      return;
    }
    if (const auto* const published = std::get_if<transport::Published>(&message)) {
      take_published(session_number, session, published->ticket);
      return;
    }
  }
  const auto peer = std::ranges::find(session.peers, number, &PeerState::client);
  const auto* const recorded = std::get_if<transport::ShareRecorded>(&message);
  if (recorded != nullptr && peer != session.peers.end()) {
    end_share_of(session_number, session, number, recorded->ticket, recorded->outcome.status);
    advance(session_number, session);
    end_if_over(session_number);
    return;
  }
  if (const auto* const chunks = std::get_if<transport::EncodedChunks>(&message);
      chunks != nullptr && peer != session.peers.end()) {
    peer->chunks.push_back(std::make_shared<const transport::EncodedChunks>(*chunks));
    return;
  }
  const auto* const sealed = std::get_if<transport::Sealed>(&message);
  if (sealed == nullptr || peer == session.peers.end()) {
    refuse(number, "a message that a stager does not send to another");
    return;
  }
  peer->sealed = std::max(peer->sealed, sealed->seal);
  advance(session_number, session);
  end_if_over(session_number);
}

// A stager that came after the ranks have left would have nothing to tell.
void Stager::let_in(ClientId number, const transport::Peer& message) {
  const auto known = by_name_.find(message.session);
  Status possible;
  if (!is_secret(message.secret, settings_.secret)) {
    possible = invalid_argument("the stager of rank 0 was told a wrong secret");
  } else if (known == by_name_.end() || sessions_.at(known->second).clients.empty()) {
    possible = invalid_argument("the stager of rank 0 does not have the session");
  }
  send(number, transport::Joined{{possible}});
  if (!possible.ok()) {
    actions_.emplace_back(Disconnect{number});
    remove(number);
    return;
  }
  clients_.at(number).session = known->second;
  Session& session = sessions_.at(known->second);
  const bool was_journaled = is_journaled(session);
  session.peers.push_back({.client = number,
                           .host = message.host,
                           .sealed = 0,
                           .keeps_journal = message.keep_journals});
  if (was_journaled) say_if_not_journaled(session);
  actions_.emplace_back(TrustStager{number});
  if (!session.failure.ok()) send(number, transport::SessionFailed{{session.failure}});
}

void Stager::say_if_not_journaled(const Session& session) {
  if (!settings_.has_journal || is_journaled(session)) return;
  say(
      fmt::format("the steps of {} are not in the journal, since another stager of its ranks keeps "
                  "none: what it has accepted does not survive this stager",
                  session.program));
}

void Stager::take(const Linked& event) {
  const auto found = sessions_.find(event.session);
  if (found == sessions_.end() || found->second.home.state != Home::State::joining) {
    if (event.client) actions_.emplace_back(Disconnect{event.client.value()});
    return;
  }
  Session& session = found->second;
  if (!event.client) {
    take_joined(event.session, session, event.client.error());
    return;
  }
  const ClientId number = event.client.value();
  Client& link = clients_[number];
  link.is_remote = true;
  link.session = event.session;
  session.home.client = number;
  send(number, transport::Peer{session.name, session.home.secret, settings_.host,
                               session.home.keep_journals && settings_.has_journal});
}

void Stager::take_joined(SessionId number, Session& session, const Status& outcome) {
  session.home.state = outcome.ok() ? Home::State::joined : Home::State::none;
  session.home.secret.clear();
  if (outcome.ok()) {
    say_if_not_journaled(session);
    actions_.emplace_back(TrustStager{session.home.client});
  }
  for (const ClientId rank : std::exchange(session.home.waiting, {})) {
    send(rank, transport::Joined{{outcome}});
  }
  if (!outcome.ok() && session.home.client != 0) {
    const ClientId link = std::exchange(session.home.client, 0);
    actions_.emplace_back(Disconnect{link});
    clients_.erase(link);
  }
  end_if_over(number);
}

void Stager::take_failure(SessionId number, Session& session, const Status& why) {
  if (!session.failure.ok() || why.ok()) return;
  fail(session, why);
  if (session.home.state == Home::State::joining) {
    take_joined(number, session, why);
  } else {
    end_if_over(number);
  }
  grant();
}

// Where the session is over on the other side, it is over on this side, too, and has nothing left
// that could be lost.
void Stager::remove_peer(ClientId client, SessionId number, Session& session) {
  if (client == session.home.client) {
    session.home.client = 0;
    take_failure(number, session,
                 Error(ErrorCode::io,
                       "the stager that publishes the steps has ended, or the connection to it "
                       "has; steps that were not stored are lost"));
    return;
  }
  const auto peer = std::ranges::find(session.peers, client, &PeerState::client);
  if (peer == session.peers.end()) return;
  peer->client = 0;
  while (true) {
    const auto waits = std::ranges::find_if(
        session.shared, [&](const SharedStep& one) { return one.awaited.contains(client); });
    if (waits == session.shared.end()) break;
    end_share_of(number, session, client, waits->share.ticket, lost_peer(peer->host));
  }
  advance(number, session);  // a commit that waits for it fails
  end_if_over(number);
}

const PeerState* Stager::late_peer(const Session& session, std::uint64_t seal) {
  const PeerState* late = nullptr;
  for (const PeerState& one : session.peers) {
    if (one.sealed >= seal) continue;
    if (one.client == 0) return &one;  // the commit cannot be carried out any more
    late = &one;
  }
  return late;
}

std::vector<std::shared_ptr<const transport::EncodedChunks>> Stager::told_chunks(
    const Session& session, std::uint64_t seal) {
  std::vector<std::shared_ptr<const transport::EncodedChunks>> told;
  for (const PeerState& one : session.peers) {
    std::ranges::copy_if(one.chunks, std::back_inserter(told),
                         [seal](const auto& chunks) { return chunks->seal == seal; });
  }
  return told;
}

// Seals grow, and commits come in their order.
void Stager::forget_chunks(Session& session, std::uint64_t seal) {
  for (PeerState& one : session.peers) {
    std::erase_if(one.chunks, [seal](const auto& chunks) { return chunks->seal <= seal; });
  }
}

// The record of this stager comes last, so whoever finds it knows that all others have theirs.
void Stager::ask_for_shares(SessionId number, Session& session, CommitItem& commit,
                            ClientId client) {
  commit.has_shares = commit.awaits_shares = true;
  SharedStep& shared = session.shared.emplace_back();
  shared.commit = &commit;
  shared.client = client;
  shared.share = {
      .session = session.name, .ticket = commit.ticket, .number = 0, .hosts = {settings_.host}};
  for (const PeerState& one : session.peers) shared.share.hosts.push_back(one.host);
  transport::RecordShare question{shared.share, commit.step};
  for (const PeerState& one : session.peers) {
    ++question.share.number;
    if (one.client == 0) {
      shared.outcome = lost_peer(one.host);
      continue;
    }
    shared.awaited.insert(one.client);
    send(one.client, question);
  }
  if (shared.awaited.empty()) record_shared_step(number, session, session.shared.size() - 1);
}

void Stager::end_share_of(SessionId number, Session& session, ClientId peer, std::uint64_t ticket,
                          const Status& outcome) {
  const auto found = std::ranges::find_if(
      session.shared, [&](const SharedStep& one) { return one.share.ticket == ticket; });
  if (found == session.shared.end() || found->awaited.erase(peer) == 0) return;
  if (!outcome.ok()) found->outcome = outcome;
  if (!found->awaited.empty()) return;
  record_shared_step(number, session,
                     static_cast<std::size_t>(std::distance(session.shared.begin(), found)));
}

void Stager::record_shared_step(SessionId number, Session& session, std::size_t index) {
  const auto at = session.shared.begin() + static_cast<std::ptrdiff_t>(index);
  const SharedStep shared = std::move(*at);
  session.shared.erase(at);
  shared.commit->awaits_shares = false;
  RecordStep record = recordings_.begin(++last_job_, number, shared.commit, shared.client);
  record.share = shared.share;
  record.refused = shared.outcome;
  actions_.emplace_back(std::move(record));
}

void Stager::record_share(SessionId number, Session& session, const transport::RecordShare& message,
                          const Status& may_be_stored) {
  if (!session.failure.ok()) return;  // the other one is told
  const std::uint64_t ticket = message.share.ticket;
  Status possible = may_be_stored;
  if (possible.ok() && !is_journaled(session)) {
    possible = Error(ErrorCode::unsupported,
                     fmt::format("the stager on {} keeps no journal", settings_.host));
  }
  if (possible.ok() && !session.shares.emplace(ticket, message.step.path).second) {
    possible = invalid_argument("a share was to be recorded twice");
  }
  if (possible.ok()) {
    actions_.emplace_back(recordings_.begin(++last_job_, number, message));
  } else {
    send(session.home.client, transport::ShareRecorded{ticket, {possible}});
  }
}

void Stager::end_share(Session& session, const Recording& ended) {
  if (!ended.outcome.ok()) session.shares.erase(ended.ticket);
  if (session.home.client == 0) return;
  send(session.home.client, transport::ShareRecorded{ended.ticket, {ended.outcome}});
}

void Stager::take_published(SessionId number, Session& session, std::uint64_t ticket) {
  const auto found = session.shares.find(ticket);
  if (found == session.shares.end()) return;  // it was not recorded
  actions_.emplace_back(ForgetShare{number, found->second});
  session.shares.erase(found);
  end_if_over(number);
}

void Stager::tell_peers(const Session& session, const transport::Message& message) {
  for (const PeerState& one : session.peers) {
    if (one.client != 0) send(one.client, message);
  }
}

void Stager::tell_peers_of_failure(const Session& session) {
  tell_peers(session, transport::SessionFailed{{session.failure}});
  if (session.home.client != 0) {
    send(session.home.client, transport::SessionFailed{{session.failure}});
  }
}

// What was sent before still arrives.
void Stager::leave_peers(const Session& session) {
  for (const PeerState& one : session.peers) {
    if (one.client == 0) continue;
    actions_.emplace_back(Disconnect{one.client});
    clients_.erase(one.client);
  }
  if (session.home.client == 0) return;
  actions_.emplace_back(Disconnect{session.home.client});
  clients_.erase(session.home.client);
}

}  // namespace weir::stager
