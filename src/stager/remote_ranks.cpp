// Ranks of other nodes: how they show who they are, and how their bytes come into the blocks that
// they were granted, in messages or over UCX. What a rank sends names a block and never a place in
// it, so that it can fill only blocks of its own, each byte once, and hand over only what it has
// filled: no bytes of another program reach its files.
#include <utility>

#include "stager/stager.hpp"
#include "transport/proof.hpp"

namespace weir::stager {

bool Stager::take_from_stranger(ClientId number, const transport::Message& message) {
  Client& client = clients_.at(number);
  const auto* const knock = std::get_if<transport::Knock>(&message);
  const auto* const prove = std::get_if<transport::Prove>(&message);
  if (client.proves) {
    refuse(number, "something was said before the proof was checked");
    return true;
  }
  if (client.session != 0 || (knock == nullptr && prove == nullptr)) return false;
  if (settings_.rank_key.empty()) {
    refuse(number, "the stager serves the programs of its own node");
    return true;
  }
  if (knock != nullptr && !client.has_knocked) {
    client.has_knocked = true;
    client.awaited_proof =
        transport::proof_of(transport::Side::rank, settings_.rank_key, knock->nonce, client.nonce);
    client.own_proof = transport::proof_of(transport::Side::stager, settings_.rank_key,
                                           knock->nonce, client.nonce);
    send(number, transport::Challenge{client.nonce, client.own_proof});
    return true;
  }
  if (prove == nullptr || !client.has_knocked) {
    refuse(number, "a proof was shown before the challenge, or a second Knock came");
    return true;
  }
  client.proves = true;
  actions_.emplace_back(CheckProof{number, prove->shown, client.awaited_proof, client.own_proof});
  return true;
}

void Stager::take(const ProofChecked& event) {
  const auto found = clients_.find(event.client);
  if (found == clients_.end() || !std::exchange(found->second.proves, false)) return;
  if (!event.shown) {
    refuse(event.client, event.shown.error().message);
    return;
  }
  found->second.is_remote = false;
  found->second.is_remote_rank = true;
  send(event.client, transport::Vouch{event.shown.value()});
  actions_.emplace_back(Trust{event.client});
}

void Stager::take(ClientId number, const transport::BlockBytes& message) {
  Filled* const filled =
      place(number, message.block, message.at_end, std::ssize(message.bytes), nullptr);
  if (filled != nullptr) filled->over_ucx = false;
}

void Stager::take(ClientId number, const transport::Attach& message) {
  Client& client = clients_.at(number);
  if (settings_.ucx.empty() || std::exchange(client.has_attached, true)) {
    refuse(number, "UCX was asked for twice, or was not offered");
    return;
  }
  actions_.emplace_back(AttachUcx{number, message.address});
}

void Stager::take(const Piece& event) {
  const auto client = clients_.find(event.client);
  if (client == clients_.end() || !client->second.has_attached) return;
  const transport::UcxPiece& what = event.what;
  if (!event.is_whole) {
    refuse(event.client, "bytes that came over UCX were damaged on the way");
    return;
  }
  Filled* const filled = place(event.client, what.block, what.at_end, event.bytes, &what);
  if (filled == nullptr) return;
  const std::int64_t there = filled->begin + filled->end;
  filled->over_ucx = there == event.bytes || filled->over_ucx;
  if (there == what.total) send(event.client, transport::Brought{what.block, there});
}

Stager::Filled* Stager::place(ClientId number, std::int64_t block, bool at_end, std::int64_t bytes,
                              const transport::UcxPiece* piece) {
  Client& client = clients_.at(number);
  const auto granted = client.granted.find(block);
  if (granted == client.granted.end()) {
    refuse(number, "bytes came for a block that was not granted");
    return nullptr;
  }
  Filled& filled = granted->second;
  const std::int64_t there = filled.begin + filled.end;
  if (bytes < 1 || bytes > settings_.block_bytes - there) {
    refuse(number, "more bytes came for a block than it has room for, or none");
    return nullptr;
  }
  // Pieces in another order than that in which they were sent would be at wrong places.
  std::int64_t& part = at_end ? filled.end : filled.begin;
  if (piece != nullptr && (piece->before != part || piece->total < there + bytes)) {
    refuse(number, "bytes came for a block in another order than they were sent, or too many");
    return nullptr;
  }
  const std::int64_t at = at_end ? settings_.block_bytes - part - bytes : part;
  part += bytes;
  actions_.emplace_back(Fill{block, at});
  return &filled;
}

bool Stager::is_filled(const Filled& filled, std::span<const transport::BlockExtent> extents) {
  std::int64_t bytes = 0;
  for (const transport::BlockExtent& one : extents) bytes += one.bytes;
  return filled.begin == bytes && filled.end == std::ssize(extents) * transport::extent_bytes;
}

void Stager::take(ClientId number, const transport::TakeLock& message) {
  Client& client = clients_.at(number);
  if (client.locks != 0) {
    refuse(number, "a lock was asked for before the answer to another one");
    return;
  }
  const Session& session = sessions_.at(client.session);
  client.locks = ++last_job_;
  lockings_[client.locks] = {.session = client.session, .client = number, .path = message.path};
  actions_.emplace_back(AcquireLock{client.locks, client.session, message.path, session.program});
}

bool Stager::end_locking(const JobEnded& event) {
  const auto found = lockings_.find(event.job);
  if (found == lockings_.end()) return false;
  const Locking ended = std::move(lockings_.extract(found).mapped());
  const auto client = clients_.find(ended.client);
  if (client != clients_.end()) {
    client->second.locks = 0;
    send(ended.client, transport::Locked{{event.status}});
  } else if (event.status.ok() && sessions_.contains(ended.session)) {
    actions_.emplace_back(Unlock{ended.session, ended.path});  // nobody will ask for it
  }
  return true;
}

}  // namespace weir::stager
