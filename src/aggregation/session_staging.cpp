#include "aggregation/session_staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/stager_ranks.hpp"
#include "formats/open_any.hpp"
#include "ranks/messages.hpp"
#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"
#include "stored/file_description.hpp"
#include "system/descriptor_socket.hpp"
#include "system/incomplete.hpp"
#include "system/process_name.hpp"
#include "transport/staged_engine.hpp"
#include "transport/stager_start.hpp"

namespace weir::aggregation {
namespace {

using transport::StagerClient;

// A stager that a session started ends after so long without work.
constexpr const char* idle_seconds = "60";
// Files of which a line says whether the last accepted step is stored.
constexpr std::size_t most_fates = 64;

using Where = topology::StagerPlacement::Where;

bool has_stager_ranks(const CollectiveState& state) {
  return state.settings.staging.where() == Where::ranks;
}

std::string socket_of(const CollectiveState& state) {
  return has_stager_ranks(state) ? socket_of_divided() : transport::default_socket();
}

// Starts the stager of this node, unless its ranks have stagers of their own, or a service.
Status start_for_node(const CollectiveState& state) {
  if (state.settings.staging.where() == Where::service) return {};
  const std::string socket = socket_of(state);
  if (socket.empty()) {
    return invalid_argument(fmt::format(
        "staging is '{}', and this rank has no stager: call weir_init_staging first, and open "
        "sessions on the ranks that it gives back",
        state.settings.staging.text()));
  }
  if (has_stager_ranks(state) || state.group->own_place() != 0) return {};
  return transport::start_stager(socket, transport::stager_program(),
                                 {"--stager-idle-seconds", idle_seconds},
                                 state.settings.deadline_seconds);
}

// Collective. Rank 0 reads where the stagers of a service are. Ranks that follow each other have
// the same one.
Result<transport::StagerPlace> find_stager(CollectiveState& state) {
  if (state.settings.staging.where() != Where::service) {
    return transport::StagerPlace(socket_of(state));
  }
  const std::string& path = state.settings.staging.rendezvous();
  Result<std::string> found = std::string();
  if (state.rank == 0) {
    const auto stagers = transport::read_rendezvous(path);
    found = stagers ? Result<std::string>(transport::text_of(stagers.value())) : stagers.error();
  }
  const auto told = told_by_rank_0(state, found, "where the stagers are");
  if (!told) return told.error();
  auto stagers = transport::parse_rendezvous(told.value(), path);
  if (!stagers) return stagers.error();
  auto& all = stagers.value();
  const std::int64_t own = std::int64_t{state.rank} * std::ssize(all) / state.ranks;
  return transport::StagerPlace(std::move(all[static_cast<std::size_t>(own)]));
}

Result<std::shared_ptr<StagerClient>> connect(const CollectiveState& state,
                                              const transport::StagerPlace& place,
                                              const transport::SessionId& session) {
  auto client = StagerClient::connect(
      place, {.session = session, .rank = state.rank, .program = storage::process_name()},
      state.settings.deadline_seconds);
  if (!client) {
    const bool is_service = state.settings.staging.where() == Where::service;
    return is_service ? with_file(client.error(), state.settings.staging.rendezvous())
                      : client.error();
  }
  return std::shared_ptr<StagerClient>(std::move(client).value());
}

// Collective. Rank 0 makes the session's name.
Result<transport::SessionId> name_session(CollectiveState& state) {
  Result<std::string> made = std::string();
  if (state.rank == 0) {
    const auto secret = storage::new_secret();
    if (secret) {
      made =
          std::string(reinterpret_cast<const char*>(secret.value().data()), secret.value().size());
    } else {
      made = secret.error();
    }
  }
  const auto told = told_by_rank_0(state, made, "the session's name");
  if (!told) return told.error();
  transport::SessionId session{};
  std::memcpy(session.data(), told.value().data(), std::min(session.size(), told.value().size()));
  return session;
}

// A rank tells the others this of its stager.
struct StagerOfRank {
  std::int64_t number = 0;  // the same for ranks with one stager only
  std::int64_t has_journal = 0;
};

// Collective. Returns what each rank tells.
Result<std::vector<StagerOfRank>> stagers_of_ranks(CollectiveState& state,
                                                   const StagerClient& client) {
  struct Told {
    StagerOfRank mine;
    std::vector<StagerOfRank> all;
  };
  ranks::KeptUntilDone<Told> told;
  told->mine = {.number = static_cast<std::int64_t>(Call::of(client.stager()).digest),
                .has_journal = client.has_journal() ? 1 : 0};
  told->all.resize(static_cast<std::size_t>(state.ranks));
  constexpr int numbers = sizeof(StagerOfRank) / sizeof(std::int64_t);
  ranks::Pending pending;
  const Status done =
      finish(state,
             ranks::gather_at_all(pending, &told->mine.number, numbers, &told->all.data()->number,
                                  MPI_INT64_T, state.communicator),
             pending, "the other ranks to find their stagers");
  if (done.ok()) return std::move(told->all);
  told.keep_for_good();
  return done.error();
}

// Collective. Lets the other stagers join that of rank 0, by a rank of each, which `joins`.
Status join_stagers(CollectiveState& state, StagerClient& client, bool joins, bool keep_journals) {
  Result<std::string> found = std::string();
  if (state.rank == 0) {
    const auto listening = client.listen();
    if (listening) {
      const std::vector<std::byte> bytes = transport::encode(listening.value());
      found = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else {
      found = listening.error();
    }
  }
  const auto told = told_by_rank_0(state, found, "the stager of rank 0");
  if (!told) return told.error();
  Status joined;
  if (joins) {
    const auto message = transport::parse(std::as_bytes(std::span(told.value())));
    const auto* const home =
        message ? std::get_if<transport::Listening>(&message.value()) : nullptr;
    joined = home != nullptr
                 ? client.join(*home, keep_journals)
                 : Error(ErrorCode::corrupt, "what rank 0 tells of its stager is damaged");
  }
  return agree_on(state, joined);
}

}  // namespace

SessionStaging::SessionStaging(std::shared_ptr<StagerClient> stager)
    : stager_(std::move(stager)),
      files_(std::make_shared<storage::OpenFiles>(transport::make_staged_engine(stager_))) {}

Result<std::unique_ptr<SessionStaging>> SessionStaging::open(CollectiveState& state) {
  if (Status started = agree_on(state, start_for_node(state)); !started.ok())
    return started.error();
  const auto session = name_session(state);
  if (!session) return session.error();
  const auto place = find_stager(state);
  if (!place) return place.error();
  auto connected = connect(state, place.value(), session.value());
  Status agreed = agree_on(state, connected ? Status() : Status(connected.error()));
  if (!agreed.ok()) return agreed.error();
  const std::shared_ptr<StagerClient> client = std::move(connected).value();
  const auto stagers = stagers_of_ranks(state, *client);
  if (!stagers) return stagers.error();
  const auto& all = stagers.value();
  const auto has_own = [&](const StagerOfRank& one) {
    return one.number == all[static_cast<std::size_t>(state.rank)].number;
  };
  const bool has_several = std::ranges::any_of(
      all, [&](const StagerOfRank& one) { return one.number != all.front().number; });
  const bool joins =
      state.rank != 0 && std::ranges::find_if(all, has_own) == all.begin() + state.rank;
  const auto without = std::ranges::find(all, 0, &StagerOfRank::has_journal);
  if (has_several) {
    Status joined = join_stagers(state, *client, joins, without == all.end());
    if (!joined.ok()) return joined.error();
  }
  client->set_waiting([group = state.group.get()]() -> Status {
    ranks::keep_moving(group->revocation());
    return group->revocation().is_revoked() ? Status(group->revocation().error()) : Status();
  });
  std::unique_ptr<SessionStaging> made(new SessionStaging(client));
  made->has_several_ = has_several;
  std::set<std::int64_t> numbers;
  for (const StagerOfRank& one : all) numbers.insert(one.number);
  made->stagers_ = std::ssize(numbers);
  const std::int64_t own = all[static_cast<std::size_t>(state.rank)].number;
  made->own_stager_ = std::distance(numbers.begin(), numbers.find(own));
  if (without != all.end()) {
    made->without_journal_ = fmt::format("rank {}", without - all.begin());
  }
  made->has_joined_ = joins;
  return made;
}

Status SessionStaging::seal(std::uint64_t number, storage::StepDurability durability,
                            std::uint64_t chunk_step) {
  return has_joined_ ? stager_->seal({number, durability, chunk_step}) : Status();
}

Status SessionStaging::can_journal() const {
  if (without_journal_.empty()) return {};
  return invalid_argument(
      fmt::format("durability is 'journal', but the stager of {} keeps none: start it by `weir "
                  "stage start --journal FOLDER`, or set WEIR_STAGER_JOURNAL=FOLDER for the "
                  "session that starts it",
                  without_journal_));
}

Status can_journal(const CollectiveState& state) {
  if (state.staging != nullptr) return state.staging->can_journal();
  if (state.lost_staging != nullptr) return {};  // the ranks store what they write
  return invalid_argument(
      "durability is 'journal', but staging is 'none', and only stagers keep a journal: set "
      "WEIR_STAGING or the option staging, or give the durability 'step'");
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

void SessionStaging::note(const std::string& path, std::uint64_t ticket, std::int64_t steps) {
  HandedOver& noted = tickets_[storage::absolute_path(path)];
  noted.ticket = ticket;
  if (steps > 0) noted.steps = steps;
}

Result<std::uint64_t> SessionStaging::order(const std::string& path, std::uint64_t seal,
                                            storage::StepDurability durability) {
  const auto ticket = stager_->commit(
      {.path = path, .durability = durability, .names_sums = false, .seal = seal, .update = {}});
  if (!ticket) return ticket.error();
  note(path, ticket.value().ticket);
  return ticket.value().ticket;
}

Status SessionStaging::wait_unless_stuck(std::uint64_t ticket, double seconds) {
  for (;;) {
    Status stored = stager_->wait(ticket, seconds);
    const bool is_late = !stored.ok() && stored.error().code == ErrorCode::deadline;
    if (!is_late || stager_->is_lost() || !stager_->says().empty()) return stored;
  }
}

Status SessionStaging::sync_array(CollectiveState& state, const std::string& path,
                                  storage::StepDurability durability, double seconds) {
  const std::uint64_t number = next_seal();
  Status sealed = agree_on(state, seal(number, durability));
  if (!sealed.ok()) return sealed;
  Result<std::string> found = std::string();
  if (state.rank == 0) {
    const ranks::LifeSigns::During storing(state.group->life(), ranks::LifeSigns::What::storage);
    const auto ticket = order(path, number, durability);
    Status stored = ticket ? wait_unless_stuck(ticket.value(), seconds) : Status(ticket.error());
    if (!stored.ok()) found = with_file(stored.error(), path);
  }
  const auto told = told_by_rank_0(state, found, "whether the array is stored");
  return told ? Status() : told.error();
}

Status SessionStaging::wait_for_array(CollectiveState& state, const std::string& path,
                                      double seconds) {
  Result<std::string> found = std::string();
  const auto noted = tickets_.find(storage::absolute_path(path));
  if (state.rank == 0 && noted != tickets_.end()) {
    const ranks::LifeSigns::During storing(state.group->life(), ranks::LifeSigns::What::storage);
    Status stored = wait_unless_stuck(noted->second.ticket, seconds);
    if (stored.ok()) tickets_.erase(noted);
    if (!stored.ok()) found = with_file(stored.error(), path);
  }
  const auto told = told_by_rank_0(state, found, "whether the array is stored");
  return told ? Status() : told.error();
}

Status SessionStaging::close_array(const CollectiveState& state, const std::string& path) {
  const std::uint64_t number = next_seal();
  Status sealed = seal(number, storage::StepDurability::none);
  if (!sealed.ok() || state.rank != 0) return sealed;
  const auto ticket = order(path, number, storage::StepDurability::none);
  return ticket ? Status() : with_file(ticket.error(), path);
}

void SessionStaging::note_stored(const std::string& path) {
  const auto found = tickets_.find(storage::absolute_path(path));
  if (found != tickets_.end()) found->second.steps = 0;
}

std::vector<std::string> SessionStaging::fates() const {
  std::vector<std::string> lines;
  for (const auto& [path, handed] : tickets_) {
    if (handed.steps == 0) continue;
    const std::string step = fmt::format("step {} of {}, which the stager had accepted,",
                                         handed.steps - 1, storage::printable(path));
    const auto now = steps_on_storage(path);
    if (!now) {
      lines.push_back(fmt::format("{} may not be stored, for the file cannot be read: {}", step,
                                  now.error().text()));
    } else {
      const bool is_stored = now.value().value_or(0) >= handed.steps;
      // The rank does not know here whether the stager had a journal.
      lines.push_back(step + (is_stored
                                  ? " is stored"
                                  : " is not stored: it is lost, unless the next stager finds "
                                    "it in a journal before a later step takes its place"));
    }
  }
  return lines;
}

Status SessionStaging::wait_for(const std::string& path) {
  const auto found = tickets_.find(storage::absolute_path(path));
  if (found == tickets_.end()) return {};
  Status done = stager_->wait(found->second.ticket, std::numeric_limits<double>::infinity());
  if (done.ok()) tickets_.erase(found);
  return done;
}

Result<std::optional<std::int64_t>> steps_on_storage(const std::string& path) {
  const bool is_unnamed =
      storage::is_on_disk(storage::incomplete_path(path)) && !storage::is_seen_unrenamed(path);
  if (is_unnamed) return std::optional<std::int64_t>();
  const auto opened = storage::open_any(path);
  if (!opened) return opened.error();
  return std::optional(opened.value().map.steps().value_or(1));
}

Error array_is_lost(const std::string& path) {
  return Error(ErrorCode::io,
               "a stager was lost that may have had a part of the array: open the array again, or "
               "create it again, and write it",
               path);
}

// The ranks decide together, since each knows its own stager only. All of them have handed over
// nothing more when the first one leaves, so what a stager still writes is over when it says so.
Status leave_lost_stagers(CollectiveState& state) {
  if (state.settings.staging_lost == StagingLost::fail) return {};
  if (state.staging == nullptr && state.lost_staging == nullptr) return {};
  release_asked(state);
  if (state.staging == nullptr) return {};
  Status lost = agree_on(state, state.staging->stager().check());
  if (lost.ok() || state.broken) return lost;
  Status left = agree_on(state, state.staging->stager().leave_for_good());
  if (!left.ok()) return left;
  state.lost_staging = std::move(state.staging);
  if (state.rank != 0) return {};
  fmt::print(stderr, "weir: a stager was lost: from now on the ranks write without stagers ({})\n",
             lost.error().text());
  const std::vector<std::string> fates = state.lost_staging->fates();
  for (const std::string& one : std::span(fates).first(std::min(fates.size(), most_fates))) {
    fmt::print(stderr, "weir: {}\n", one);
  }
  if (fates.size() > most_fates) {
    fmt::print(stderr, "weir: {} more files have such steps: weir ls shows what a file has\n",
               fates.size() - most_fates);
  }
  return {};
}

}  // namespace weir::aggregation
