// A report is what a stager tells people of its state.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stager/stager.hpp"

namespace weir::stager {

std::string Stager::reason_to_wait(SessionId number, const Session& session) const {
  if (session.waits_for_space) return "the file system has no space left, or a quota is used up";
  const bool is_full = blocks_.room_of(number) < 1;
  if ((is_full || is_short_of_blocks()) &&
      std::any_of(wanting_.begin(), wanting_.end(),
                  [&](ClientId client) { return session.clients.contains(client); })) {
    std::string full = is_full ? "the program has all of the stager's memory that one may have"
                               : "the stager's memory is full";
    if (settings_.spill_slots == 0) return full;
    const bool moves = slots_.is_moving() || slots_.is_usable();
    return full +
           (moves ? ", and its data move to the spill file" : ", and the spill file takes no more");
  }
  if (session.queue.empty()) return "";
  const auto* const commit = std::get_if<CommitItem>(&session.queue.first());
  if (commit == nullptr || session.job != 0) return "";
  if (commit->awaits_shares) return "other stagers have not recorded their shares";
  const PeerState* const late = late_peer(session, commit->step.seal);
  return late == nullptr ? ""
                         : fmt::format("the stager on {} has not stored its share", late->host);
}

std::string Stager::report() const {
  nlohmann::ordered_json all;
  all["stager"] = settings_.name;
  all["memory_bytes"] = blocks_.most() * settings_.block_bytes;
  all["ready_bytes"] = blocks_.ready() * settings_.block_bytes;
  all["free_bytes"] = blocks_.free() * settings_.block_bytes;
  all["client_memory_bytes"] = settings_.client_blocks * settings_.block_bytes;
  all["client_files"] = settings_.client_files;
  all["client_connections"] = settings_.client_connections;
  all["connections"] = settings_.connections;
  all["spill_bytes"] = settings_.spill_slots * settings_.block_bytes;
  all["spilled_bytes"] = (slots_.all() - slots_.free()) * settings_.block_bytes;
  all["spill_failure"] = slots_.failure().ok() ? "" : slots_.failure().error().text();
  all["has_journal"] = settings_.has_journal;
  all["journal_failure"] = recordings_.failure();
  all["waiting_shares"] = waiting_shares_;
  all["ucx"] = settings_.ucx;
  all["stopping"] = is_stopping_;
  all["sessions"] = nlohmann::ordered_json::array();
  for (const auto& [number, session] : sessions_) {
    nlohmann::ordered_json one;
    one["program"] = session.program;
    one["ranks"] = session.clients.size();
    one["memory_bytes"] = blocks_.of(number) * settings_.block_bytes;
    one["files"] = session.paths.size();
    one["held_bytes"] = session.queue.held_bytes();
    one["written_bytes"] = session.written;
    one["blocked_seconds"] = static_cast<double>(session.longest_waited_ns) / 1e9;
    one["carriers"] = session.carriers;
    one["steps_to_store"] = session.queue.steps();
    one["waits_for_space"] = session.waits_for_space;
    one["waits_for"] = reason_to_wait(number, session);
    one["joined_stagers"] = session.peers.size();
    one["not_in_journal"] = settings_.has_journal && !is_journaled(session)
                                ? "another stager of its ranks keeps none"
                                : "";
    one["has_joined"] = session.home.state == Home::State::joined;
    one["failure"] = session.failure.ok() ? "" : session.failure.error().text();
    all["sessions"].push_back(std::move(one));
  }
  // Programs and files may have names that are no UTF-8, which JSON cannot have.
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weir::stager
