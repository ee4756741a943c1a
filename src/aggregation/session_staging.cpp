#include "aggregation/session_staging.hpp"

#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "aggregation/collective_state.hpp"
#include "ranks/progress.hpp"
#include "system/descriptor_socket.hpp"
#include "system/incomplete.hpp"
#include "system/process_name.hpp"
#include "transport/staged_engine.hpp"

namespace weir::aggregation {
namespace {

using transport::StagerClient;

// A stager that a session started ends after so long without work.
constexpr double idle_seconds = 60;

Result<std::shared_ptr<StagerClient>> connect(const CollectiveState& state,
                                              const transport::SessionId& session) {
  const std::string socket = transport::default_socket();
  auto client = StagerClient::connect(
      socket, {.session = session, .rank = state.rank, .program = storage::process_name()},
      state.settings.deadline_seconds);
  if (!client) return client.error();
  return std::shared_ptr<StagerClient>(std::move(client).value());
}

}  // namespace

SessionStaging::SessionStaging(std::shared_ptr<StagerClient> stager)
    : stager_(std::move(stager)),
      files_(std::make_shared<storage::OpenFiles>(transport::make_staged_engine(stager_))) {}

Result<std::unique_ptr<SessionStaging>> SessionStaging::open(CollectiveState& state) {
  // The first rank of each node starts its stager. Rank 0 tells the session's name and its stager.
  const std::string socket = transport::default_socket();
  Status possible;
  if (state.group->own_place() == 0) {
    possible = transport::start_stager(socket, transport::stager_program(), idle_seconds,
                                       state.settings.deadline_seconds);
  }
  if (Status started = agree_on(state, possible); !started.ok()) return started.error();
  transport::SessionId session{};
  std::shared_ptr<StagerClient> client;
  Result<std::string> told = std::string();
  if (state.rank == 0) {
    const auto secret = storage::new_secret();
    auto connected = secret ? connect(state, session = secret.value())
                            : Result<std::shared_ptr<StagerClient>>(secret.error());
    if (connected) {
      client = std::move(connected).value();
      told = std::string(reinterpret_cast<const char*>(session.data()), session.size()) +
             client->stager();
    } else {
      told = connected.error();
    }
  }
  told = told_by_rank_0(state, told, "the stager");
  if (!told) return told.error();
  const std::string_view text = told.value();
  if (client == nullptr && text.size() > session.size()) {
    std::memcpy(session.data(), text.data(), session.size());
    auto connected = connect(state, session);
    if (connected) {
      client = std::move(connected).value();
    } else {
      possible = connected.error();
    }
  }
  if (client != nullptr && client->stager() != text.substr(session.size())) {
    possible = Error(ErrorCode::unsupported,
                     "staging \"node\" works for sessions whose ranks are on one node: open the "
                     "session without staging, or on the ranks of one node");
  }
  if (Status agreed = agree_on(state, possible); !agreed.ok()) return agreed.error();
  client->set_waiting([group = state.group.get()]() -> Status {
    ranks::keep_moving(group->revocation());
    return group->revocation().is_revoked() ? Status(group->revocation().error()) : Status();
  });
  return std::unique_ptr<SessionStaging>(new SessionStaging(std::move(client)));
}

void SessionStaging::note(const std::string& path, std::uint64_t ticket) {
  tickets_[storage::absolute_path(path)] = ticket;
}

Status SessionStaging::wait_for(const std::string& path) {
  const auto found = tickets_.find(storage::absolute_path(path));
  if (found == tickets_.end()) return {};
  Status done = stager_->wait(found->second, std::numeric_limits<double>::infinity());
  tickets_.erase(found);
  return done;
}

}  // namespace weir::aggregation
