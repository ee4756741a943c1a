// The jobs of a session: which one begins next, what follows from its end, and what is dropped
// where nothing more is carried out.
#include <algorithm>
#include <utility>

#include "stager/stager.hpp"

namespace weir::stager {

void Stager::advance(SessionId number, Session& session) {
  if (session.job != 0 || !session.failure.ok()) return;
  while (!session.queue.empty() && (session.queue.is_urgent() || writes_for_room_)) {
    Item& first = session.queue.first();
    if (const auto* const filled = std::get_if<BlockItem>(&first)) {
      if (filled->is_moving || filled->recording != 0) return;
      session.job = ++last_job_;
      actions_.emplace_back(session.queue.begin_write(session.job, number, write_limits()));
      return;
    }
    if (const auto* const seal = std::get_if<SealItem>(&first)) {
      session.job = ++last_job_;
      session.queue.set_in_job(1);
      actions_.emplace_back(Seal{session.job, number, seal->step});
      return;
    }
    if (const auto* const commit = std::get_if<CommitItem>(&first)) {
      if (commit->recording != 0 || commit->awaits_shares) return;
      if (const PeerState* const late = late_peer(session, commit->step.seal)) {
        if (late->client != 0) return;  // until it tells, or its connection ends
        fail(session, lost_peer(late->host));
        grant();
        return;
      }
      session.job = ++last_job_;
      session.queue.set_in_job(1);
      actions_.emplace_back(
          Commit{session.job, number, commit->step, told_chunks(session, commit->step.seal)});
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
    session.queue.remove_first();
  }
}

// Ranks hand over in any order, and what one of them has often lies between what others have. A job
// that has only some of it writes many short ranges instead of a few long ones, and a chunk or a
// shard that is encoded is read, and written once more, by the next job that has other parts of it.
// So a job has as much as does not keep too much memory from the ranks.
WriteLimits Stager::write_limits() const {
  const std::int64_t blocks =
      settings_.client_blocks > 0 ? settings_.client_blocks : settings_.blocks;
  return {.bytes = std::max(settings_.most_written_together, blocks / 4 * settings_.block_bytes),
          .described = settings_.most_written_together,
          .read_back = settings_.most_read_back_together};
}

void Stager::take(const JobEnded& event) {
  if (slots_.is_job(event.job)) {
    end_spill(slots_.end(event.status));
    return;
  }
  if (const auto recorded = recordings_.end(event.job, event.status)) {
    end_recording(*recorded);
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
    for (std::size_t left = session.queue.in_job(); left > 0; --left) {
      const Item& first = session.queue.first();
      if (const auto* const filled = std::get_if<BlockItem>(&first)) {
        session.written += filled->bytes;
        free_filled_block(*filled);
      } else if (const auto* const seal = std::get_if<SealItem>(&first)) {
        end_ticket(session, seal->ticket);
        if (session.home.client != 0) {
          for (const auto& chunks : event.chunks) send(session.home.client, chunks);
          send(session.home.client, transport::Sealed{seal->step.seal});
        }
      } else {
        const auto& commit = std::get<CommitItem>(first);
        end_ticket(session, commit.ticket);
        if (commit.has_shares) tell_peers(session, transport::Published{commit.ticket});
        forget_chunks(session, commit.step.seal);
      }
      session.queue.remove_first();
    }
    session.queue.set_in_job(0);
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
  session.queue.set_in_job(0);
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
  for (const SharedStep& one : std::exchange(session.shared, {})) {
    accept_recorded(one.client, one.commit->ticket, why, false);
  }
  drop_behind(session, session.job == 0 ? 0 : session.queue.in_job());
  answer_drains(session);
  for (const auto& [client, ticket] : session.waiting) {
    send(client, transport::Stored{ticket, {why}});
  }
  session.waiting.clear();
  tell_peers_of_failure(session);
}

void Stager::drop_behind(Session& session, std::size_t items) {
  if (items == 0) session.queue.set_in_job(0);
  while (session.queue.size() > items) {
    const Item& last = session.queue.last();
    if (const auto* const filled = std::get_if<BlockItem>(&last)) free_filled_block(*filled);
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

void Stager::end_recording(const Recording& ended) {
  const auto session = sessions_.find(ended.session);
  if (ended.is_share) {
    if (session != sessions_.end()) end_share(session->second, ended);
  } else if (ended.ticket != 0) {
    const Status failure = session != sessions_.end() ? session->second.failure : Status();
    accept_recorded(ended.client, ended.ticket, failure, ended.outcome.ok());
  } else if (ended.filled == nullptr) {
    blocks_.give_back(ended.block);
  }
  if (session != sessions_.end()) {
    advance(ended.session, session->second);
    end_if_over(ended.session);
  }
  grant();
}

void Stager::accept_recorded(ClientId number, std::uint64_t ticket, const Status& failure,
                             bool is_recorded) {
  const auto client = clients_.find(number);
  if (client == clients_.end()) return;
  client->second.commits = false;
  send(number, transport::Accepted{ticket, {failure}, failure.ok() && is_recorded});
}

// Called when no rank of the session is left. What is in a job stays until the job has ended.
void Stager::drop_unfinished(Session& session) {
  while (session.queue.size() > session.queue.in_job()) {
    Item& last = session.queue.last();
    const auto* const filled = std::get_if<BlockItem>(&last);
    if (filled != nullptr && !filled->at_once) {
      session.unfinished += filled->bytes;
      free_filled_block(*filled);
    } else if (!std::holds_alternative<DrainItem>(last)) {
      return;
    }
    remove_last(session);
  }
}

void Stager::remove_last(Session& session) {
  recordings_.forget(session.queue.last());
  session.queue.remove_last();
}

}  // namespace weir::stager
