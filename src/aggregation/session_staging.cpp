#include "aggregation/session_staging.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

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

// What rank 0 tells the others.
struct Invitation {
  transport::SessionId session{};
  std::string stager;
  transport::Listening listening;        // empty if there is one stager
  std::shared_ptr<StagerClient> client;  // of rank 0
};

// Called by rank 0.
Result<Invitation> invite(const CollectiveState& state, bool has_several) {
  const auto secret = storage::new_secret();
  if (!secret) return secret.error();
  Invitation made{.session = secret.value(), .stager = {}, .listening = {}, .client = nullptr};
  auto connected = connect(state, made.session);
  if (!connected) return connected.error();
  made.client = std::move(connected).value();
  made.stager = made.client->stager();
  if (!has_several) return made;
  auto listening = made.client->listen();
  if (!listening) return listening.error();
  made.listening = std::move(listening).value();
  return made;
}

// The two messages that a stager would get anyway carry what the ranks have to know.
std::string text_of(const Invitation& one) {
  std::string text;
  const auto add = [&](const transport::Message& message) {
    const std::vector<std::byte> bytes = transport::encode(message);
    const std::uint64_t length = bytes.size();
    text.append(reinterpret_cast<const char*>(&length), sizeof length);
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  add(transport::Hello{.session = one.session, .rank = 0, .program = one.stager});
  add(one.listening);
  return text;
}

Result<Invitation> parse_invitation(std::string_view text) {
  Invitation made;
  const auto take = [&]() -> Result<transport::Message> {
    std::uint64_t length = 0;
    if (text.size() >= sizeof length) std::memcpy(&length, text.data(), sizeof length);
    text.remove_prefix(std::min(text.size(), sizeof length));
    const std::string_view bytes = text.substr(0, length);
    text.remove_prefix(bytes.size());
    return transport::parse(std::as_bytes(std::span(bytes)));
  };
  auto hello = take();
  if (!hello) return hello.error();
  auto listening = take();
  if (!listening) return listening.error();
  auto* const session = std::get_if<transport::Hello>(&hello.value());
  auto* const addresses = std::get_if<transport::Listening>(&listening.value());
  if (session == nullptr || addresses == nullptr) {
    return Error(ErrorCode::corrupt, "what rank 0 tells of its stager is damaged");
  }
  made.session = session->session;
  made.stager = std::move(session->program);
  made.listening = std::move(*addresses);
  return made;
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
  const bool has_several = state.group->nodes() > 1;
  std::shared_ptr<StagerClient> client;
  Result<std::string> told = std::string();
  if (state.rank == 0) {
    auto found = invite(state, has_several);
    if (found) {
      client = std::move(found.value().client);
      told = text_of(found.value());
    } else {
      told = found.error();
    }
  }
  told = told_by_rank_0(state, told, "the stager");
  if (!told) return told.error();
  const auto home = parse_invitation(told.value());
  if (!home) return home.error();
  if (client == nullptr) {
    auto connected = connect(state, home.value().session);
    if (connected) {
      client = std::move(connected).value();
    } else {
      possible = connected.error();
    }
  }
  const bool is_home = client != nullptr && client->stager() == home.value().stager;
  if (client != nullptr && !is_home && !has_several) {
    possible = invalid_argument(
        "the ranks of a node reach different stagers: give all of them the same "
        "WEIR_STAGER_SOCKET");
  }
  const bool joins = has_several && !is_home && client != nullptr && state.group->own_place() == 0;
  if (joins) possible = client->join(home.value().listening);
  if (Status agreed = agree_on(state, possible); !agreed.ok()) return agreed.error();
  if (has_several) {
    // A stager that has not joined would never be told that a step has ended.
    if (!is_home && !joins) possible = client->join({});
    if (Status agreed = agree_on(state, possible); !agreed.ok()) return agreed.error();
  }
  client->set_waiting([group = state.group.get()]() -> Status {
    ranks::keep_moving(group->revocation());
    return group->revocation().is_revoked() ? Status(group->revocation().error()) : Status();
  });
  std::unique_ptr<SessionStaging> made(new SessionStaging(std::move(client)));
  made->has_several_ = has_several;
  made->has_joined_ = joins;
  return made;
}

Status SessionStaging::seal(std::uint64_t number, storage::StepDurability durability) {
  return has_joined_ ? stager_->seal({number, durability}) : Status();
}

Status SessionStaging::settle(CollectiveState& state) {
  if (!has_several_) return {};
  Status agreed = agree_on(state, stager_->drain());
  if (agreed.ok()) note_settled();
  return agreed;
}

Status SessionStaging::settle_after(CollectiveState& state, std::uint64_t seal) {
  if (last_write_ && *last_write_ >= seal) return settle(state);
  note_settled();
  return {};
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
