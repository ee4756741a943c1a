#include "aggregation/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/array_file.hpp"
#include "aggregation/byte_file.hpp"
#include "aggregation/call_queue.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/node_board.hpp"
#include "aggregation/own_region.hpp"
#include "aggregation/plan_choice.hpp"
#include "aggregation/region_request.hpp"
#include "aggregation/request.hpp"
#include "aggregation/shared_boxes.hpp"
#include "aggregation/step_file.hpp"
#include "plan/choice.hpp"
#include "ranks/messages.hpp"
#include "ranks/splitting.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {

std::string_view name_of(const std::optional<plan::Strategy>& strategy) {
  return strategy ? plan::name_of(*strategy) : "automatic";
}

std::string_view name_of(const std::optional<plan::Engine>& engine) {
  return engine ? plan::name_of(*engine) : "automatic";
}

namespace {

constexpr std::array<std::pair<StagingLost, std::string_view>, 2> staging_lost_choices = {{
    {StagingLost::fail, "fail"},
    {StagingLost::direct, "direct"},
}};
constexpr std::array<std::pair<StagingClose, std::string_view>, 2> staging_close_choices = {{
    {StagingClose::stored, "stored"},
    {StagingClose::handed_over, "handed-over"},
}};
constexpr std::array<std::pair<FileDurability, std::string_view>, 4> durability_choices = {{
    {{.storage = storage::StepDurability::step}, "step"},
    {{.storage = storage::StepDurability::operation}, "operation"},
    {{.storage = storage::StepDurability::none}, "none"},
    {{.storage = storage::StepDurability::step, .in_journal = true}, "journal"},
}};

// Returns what explain() says of arrays that the ranks of a session with stagers write themselves.
// The price of what stagers store is part of the choice's own text.
std::string unstaged_text(std::span<const RequestedPart> parts) {
  std::vector<std::string> reasons;
  std::string text;
  for (const RequestedPart& one : parts) {
    std::string why = one.file->why_not_staged();
    if (why.empty() || std::ranges::find(reasons, why) != reasons.end()) continue;
    text += fmt::format("\nstaging: the ranks write \"{}\" themselves, without a stager: {}",
                        storage::printable(one.file->name()), why);
    reasons.push_back(std::move(why));
  }
  return text;
}

}  // namespace

std::vector<std::string_view> staging_lost_names() {
  std::vector<std::string_view> names;
  names.reserve(staging_lost_choices.size());
  for (const auto& [choice, name] : staging_lost_choices) names.push_back(name);
  return names;
}

std::string_view name_of(StagingLost choice) {
  return staging_lost_choices.at(static_cast<std::size_t>(choice)).second;
}

std::optional<StagingLost> parse_staging_lost(std::string_view name) {
  for (const auto& [choice, known] : staging_lost_choices) {
    if (known == name) return choice;
  }
  return std::nullopt;
}

std::vector<std::string_view> staging_close_names() {
  std::vector<std::string_view> names;
  names.reserve(staging_close_choices.size());
  for (const auto& [choice, name] : staging_close_choices) names.push_back(name);
  return names;
}

std::optional<StagingClose> parse_staging_close(std::string_view name) {
  for (const auto& [choice, known] : staging_close_choices) {
    if (known == name) return choice;
  }
  return std::nullopt;
}

std::vector<std::string_view> durability_names() {
  std::vector<std::string_view> names;
  names.reserve(durability_choices.size());
  for (const auto& [choice, name] : durability_choices) names.push_back(name);
  return names;
}

std::string_view name_of(const FileDurability& durability) {
  const auto* const found = std::ranges::find_if(durability_choices, [&](const auto& one) {
    return one.first.storage == durability.storage && one.first.in_journal == durability.in_journal;
  });
  return found == durability_choices.end() ? "" : found->second;
}

std::optional<FileDurability> parse_durability(std::string_view name) {
  for (const auto& [choice, known] : durability_choices) {
    if (known == name) return choice;
  }
  return std::nullopt;
}

namespace {

constexpr double default_deadline_seconds = 600;
// Size of the largest buffer; MPI takes the size of a message as an int.
constexpr std::int64_t most_buffer_bytes = std::int64_t{1} << 30;
constexpr std::int64_t most_buffers = 64;
constexpr std::int64_t most_aggregators = 4096;

Status check(const CollectiveSettings& settings) {
  const auto within = [](std::int64_t value, std::int64_t most, const char* name) -> Status {
    if (value >= 0 && value <= most) return {};
    return invalid_argument(
        fmt::format("{} is {}: give 1 to {}, or 0 to let Weir choose", name, value, most));
  };
  for (const Status& status :
       {within(settings.aggregators, most_aggregators, "aggregators"),
        within(settings.buffer_bytes, most_buffer_bytes, "buffer_bytes"),
        within(settings.buffers, most_buffers, "buffers"),
        within(settings.alignment_bytes, std::int64_t{1} << 40, "alignment_bytes"),
        within(settings.ranks_per_node, std::int64_t{1} << 30, "ranks_per_node")}) {
    if (!status.ok()) return status;
  }
  if (settings.buffers == 1) {
    return invalid_argument(
        "buffers is 1: give at least 2, so that one is filled while another is moved");
  }
  const bool possible_deadline =
      settings.deadline_seconds >= 0 && settings.deadline_seconds <= 1e9;  // false for NaN
  if (!possible_deadline) {
    return invalid_argument(fmt::format("deadline_seconds is {:g}: give 0 or more, up to 1e9",
                                        settings.deadline_seconds));
  }
  return {};
}

std::string text_of(const plan::FileRates& rates) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", rates.call_seconds, rates.core_bytes_per_second,
                     rates.node_bytes_per_second, rates.one_at_a_time,
                     rates.storage_bytes_per_second, rates.group_bytes_per_second,
                     rates.turns.call_seconds, rates.turns.bytes_per_second,
                     rates.turns.of_io_groups);
}

// Returns the rates and targets as text. Plans depend on them, so all ranks compare them in order
// to create equal plans.
std::string text_of(const plan::PlatformRates& rates, const topology::FileTargets& targets) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                     rates.core_copy_bytes_per_second, rates.node_copy_bytes_per_second,
                     rates.copy_run_seconds, rates.cores_per_node, text_of(rates.write),
                     text_of(rates.read), text_of(rates.direct_write), text_of(rates.direct_read),
                     rates.uring_write_seconds, rates.uring_read_seconds, rates.mpi_io_seconds,
                     rates.cached_bytes, rates.shared_block_seconds, rates.link_bytes_per_second,
                     rates.message_seconds, rates.hop_bytes_per_second, rates.piece_seconds,
                     rates.overlap, rates.early_arrivals, rates.by_flows, targets.count,
                     targets.stripe_bytes, targets.lock_bytes);
}

// Determines the engines that all ranks have. After a missed deadline the communicator must not be
// used.
Status share_engines(CollectiveState& state, ranks::Revocation& revocation, double deadline,
                     plan::Engines& engines) {
  ranks::KeptUntilDone<std::array<unsigned, 2>> masks;
  (*masks)[0] = state.engines->available().bits();
  ranks::Pending pending;
  Status done = ranks::finish(ranks::reduce_to_all(pending, &(*masks)[0], &(*masks)[1], 1,
                                                   MPI_UNSIGNED, MPI_BAND, state.communicator),
                              pending, {revocation, deadline, "which engines the ranks have"});
  if (!done.ok()) {
    masks.keep_for_good();
    return done;
  }
  engines = plan::Engines((*masks)[1]);
  return {};
}

}  // namespace

Collective::Collective(CollectiveState state)
    : state_(std::make_unique<CollectiveState>(std::move(state))),
      calls_(std::make_unique<CallQueue>(*state_)) {}

Collective::~Collective() {
  state_->engines->call_between_parts(nullptr);
  state_->staging.reset();
  state_->lost_staging.reset();
  if (state_->broken || (state_->group != nullptr && state_->group->revocation().is_revoked())) {
    if (state_->group != nullptr) state_->group->abandon();
    return;
  }
  state_->group.reset();
}

void Collective::release_locks() {
  state_->locks.release();
  if (state_->staging != nullptr) state_->staging->stager().leave();
}
Status Collective::leave_lost_stagers() { return aggregation::leave_lost_stagers(*state_); }
int Collective::rank() const { return state_->rank; }
int Collective::ranks() const { return state_->ranks; }
std::int64_t Collective::nodes() const { return state_->group->nodes(); }
const CollectiveSettings& Collective::settings() const { return state_->settings; }
const CollectiveFigures* Collective::figures() const {
  return state_->requests == 0 ? nullptr : &state_->figures;
}
std::int64_t Collective::blocked_ns() const { return waited_for_stager_ns(*state_); }
CallQueue& Collective::calls() { return *calls_; }

Result<std::unique_ptr<StepFile>> Collective::create_file(
    const std::string& path, const storage::FileDescription& description,
    const FileSettings& settings) {
  return StepFile::create(*state_, path, description, settings);
}

Result<std::unique_ptr<StepFile>> Collective::open_file(const std::string& path,
                                                        const FileSettings& settings,
                                                        bool writable) {
  return StepFile::open(*state_, path, settings, writable);
}

Status Collective::extend_file(StepFile& file, const storage::Additions& added) {
  return file.extend(*state_, added);
}
Status Collective::begin_step(StepFile& file) { return file.begin_step(*state_); }
void Collective::end_own_step(StepFile& file, Call& call) {
  call.possible = file.end_own_step(*state_);
  call.unstored = file.unstored();
}
Status Collective::end_step(StepFile& file, const Status& voted) {
  return file.end_step(*state_, voted);
}
Status Collective::wait_for_step(StepFile& file, double seconds) {
  return file.wait_for_step(*state_, seconds);
}
Result<bool> Collective::is_step_stored(StepFile& file) { return file.is_step_stored(*state_); }
Status Collective::abort_step(StepFile& file) { return file.abort_step(*state_); }
Status Collective::drop_steps(StepFile& file, std::int64_t steps) {
  return file.drop_steps(*state_, steps);
}
Status Collective::close_file(StepFile& file) { return file.close(*state_); }
Status Collective::close_own_part(StepFile& file) { return file.close_own_part(*state_); }

std::unique_ptr<ByteFile> Collective::open_bytes(const std::string& path, bool writable,
                                                 const topology::FileTargets& targets,
                                                 std::optional<storage::DataFiles> staged_as) {
  return std::make_unique<ByteFile>(*state_, path, writable, targets, std::move(staged_as));
}

NodeBoard* Collective::board() {
  if (!has_tried_board_) {
    has_tried_board_ = true;
    if (auto made = NodeBoard::create(*state_, *calls_)) board_ = std::move(made).value();
  }
  return board_.get();
}

bool Collective::stages_bytes() const {
  return state_->staging != nullptr && !state_->staging->has_several() &&
         state_->settings.durability.storage != storage::StepDurability::operation;
}

bool Collective::stages_elsewhere() const {
  return state_->staging != nullptr && state_->staging->is_on_other_nodes();
}

Status Collective::drain() {
  if (state_->staging == nullptr) return {};
  const ranks::LifeSigns::During storage(state_->group->life(), ranks::LifeSigns::What::storage);
  return state_->staging->stager().drain();
}

Status Collective::reach_stager() {
  if (state_->staging == nullptr) return {};
  const ranks::LifeSigns::During storage(state_->group->life(), ranks::LifeSigns::What::storage);
  return state_->staging->stager().check();
}

Status Collective::wait_for_bytes(const std::string& path) {
  if (state_->staging == nullptr) return array_is_lost(path);
  return state_->staging->wait_for_array(*state_, path, state_->settings.deadline_seconds);
}

Result<plan::SharedDistribution> Collective::distribute(const array::Shape& shape,
                                                        const array::BoxList& mine) {
  auto made = share_boxes(*state_, shape, mine.numbers());
  if (!made) return made.error();
  return plan::SharedDistribution(std::move(made).value());
}

std::shared_ptr<Request> Collective::begin(const Call& call, Direction direction,
                                           std::span<const ArrayPart> parts,
                                           std::shared_ptr<const void> memory) {
  auto work = std::make_unique<CollectiveRequest>(*state_, direction);
  Call whole = call;
  if (call.possible.ok()) whole.possible = work->take(parts);
  if (whole.possible.ok()) whole.digest = work->fingerprint(call.digest);
  return calls_->submit(std::move(whole), std::move(work), std::move(memory));
}

std::shared_ptr<Request> Collective::begin_regions(const Call& call, OpenArray* file,
                                                   Direction direction, const OwnRegion& own,
                                                   std::shared_ptr<const void> memory) {
  auto work = std::make_unique<RegionRequest>(*state_, file, direction, own);
  Call whole = call;
  if (call.possible.ok()) whole.possible = check_array(*file, direction);
  whole.remembered = whole.possible.ok() ? work->find_known() : -1;
  return calls_->submit(std::move(whole), std::move(work), std::move(memory));
}

// What a rank remembers says also in which direction it moves, so that ranks with different ones do
// not remember the same.
std::optional<Status> Collective::move_known_regions(const Call& call, OpenArray& file,
                                                     Direction direction, const OwnRegion* own) {
  std::unique_ptr<RegionRequest> work;
  std::int64_t known = -1;
  if (own != nullptr && check_array(file, direction).ok()) {
    work = std::make_unique<RegionRequest>(*state_, &file, direction, *own);
    known = work->find_known();
  }
  Call whole = call;
  whole.remembered =
      known < 0 ? -1 - state_->rank : 2 * known + (direction == Direction::write ? 1 : 0);
  CallQueue::Turn turn(*calls_, std::move(whole));
  if (!turn.entered().ok()) return turn.entered();
  if (known < 0 || !turn.all_remember_the_same()) return std::nullopt;
  work->begin(true);
  Status moved = work->wait();
  turn.end(moved);
  // In a broken session other ranks or MPI may still use the memory of these objects.
  if (calls_->broken()) {
    [[maybe_unused]] const auto* const kept = work.release();
  }
  return moved;
}

Status Collective::move_alone(OpenArray& file, Direction direction, const OwnRegion& own) {
  if (state_->broken) return broken_collective();
  const ranks::LifeSigns::During storage(state_->group->life(), ranks::LifeSigns::What::storage);
  if (file.is_staged() && state_->staging != nullptr) {
    if (state_->staging->has_several() &&
        file.is_handed_over(&own.region, state_->staging->settlements())) {
      return invalid_argument(
          "stagers of several nodes may still hold a part of this region: call "
          "weir_file_step_wait(), or a collective read, before a rank moves it alone",
          file.path());
    }
    // The stager writes first what was handed over first, so that it is there to be read.
    if (Status drained = state_->staging->stager().drain(); !drained.ok()) return drained;
  }
  return aggregation::move_alone(file, direction, own.region, own.pieces.front());
}

Status Collective::can_journal() const { return aggregation::can_journal(*state_); }

Result<std::string> Collective::explain(std::span<const ArrayPart> parts, Direction direction) {
  std::vector<RequestedPart> checked;
  for (const ArrayPart& part : parts) {
    if (part.file == nullptr || part.file->closed())
      return invalid_argument("the array is not open");
    if (part.memory == nullptr) return invalid_argument("the distribution is missing");
    checked.push_back({.part = &part, .file = part.file});
  }
  const auto planned = plan_request(*state_->planner, state_->settings, checked, direction);
  if (!planned) return planned.error();
  std::string explained = planned.value()->choice.explain();
  if (direction == Direction::write && state_->staging != nullptr)
    explained += unstaged_text(checked);
  return state_->notice.empty() ? explained : explained + "\n" + state_->notice;
}

Status Collective::sync(OpenArray& file) {
  if (file.is_staged() && file.origin().at_once) {
    Status stored = state_->staging == nullptr ? array_is_lost(file.path())
                                               : state_->staging->sync_array(*state_, file.path());
    if (!stored.ok()) return stored;
  }
  Status agreed = agree_on(*state_, file.sync(begin_sync(*state_)));
  learn_losses(*state_, agreed);
  return agreed;
}

Result<std::unique_ptr<Collective>> Collective::create(MPI_Comm communicator,
                                                       const CollectiveSettings& settings) {
  CollectiveState state;
  state.settings = settings;
  CollectiveSettings& chosen = state.settings;
  state.engines = std::make_shared<EngineSet>(settings.before_engine, settings.slice_mover);
  if (chosen.deadline_seconds == 0) chosen.deadline_seconds = default_deadline_seconds;
  if (chosen.buffer_bytes == 0) {
    chosen.buffer_bytes = plan::usual_buffer_bytes(chosen.targets);
    chosen.shorter_pieces = true;
  }
  Status possible = check(settings);
  const double deadline = possible.ok() ? chosen.deadline_seconds : default_deadline_seconds;
  state.communicator = communicator;
  ranks::Channel channel(state.communicator);  // used until the group has channels
  const auto place = ranks::place_in(state.communicator, channel.revocation());
  if (!place) {
    channel.abandon();
    return place.error();
  }
  state.rank = place.value().own;
  state.ranks = place.value().ranks;

  if (possible.ok() && settings.engine) possible = state.engines->check(*settings.engine);
  const Call call = Call::of(
      fmt::format(
          "Collective::create({} {} {} {} {} {} {} io_groups '{}' {} {} {} {} {} {} '{}'; {})",
          name_of(settings.strategy), name_of(settings.engine), settings.aggregators,
          settings.buffer_bytes, settings.buffers, settings.deadline_seconds,
          settings.ranks_per_node, settings.io_groups.text(), settings.node_places.has_value(),
          settings.alignment_bytes, settings.staging.text(), name_of(settings.staging_lost),
          name_of(settings.durability), topology::name_of(settings.placement),
          settings.network ? settings.network->text() : std::string(),
          text_of(settings.rates, settings.targets)),
      possible);
  Status agreed = agree(channel, state.communicator, call, deadline);
  if (agreed.ok() && !settings.engine) {
    agreed = share_engines(state, channel.revocation(), deadline, chosen.engines);
    if (!agreed.ok()) return agreed.error();
  }
  if (agreed.ok()) {
    state.group = std::make_unique<NodeGroup>();
    const RankLayout::Grouping grouping{chosen.io_groups, chosen.node_places};
    Status made =
        state.group->create(state.communicator, chosen.ranks_per_node, grouping, chosen.aggregators,
                            chosen.buffers, chosen.buffer_bytes, deadline, channel.revocation());
    if (made.ok() && chosen.network) made = state.group->connect_by(*chosen.network);
    const bool over = !made.ok() && ranks::ends_communication(made.error());
    agreed = over ? made : agree(channel, state.communicator, {.possible = made}, deadline);
  }
  if (!agreed.ok()) {
    if (ranks::ends_communication(agreed.error())) {
      channel.abandon();
      if (state.group != nullptr) state.group->abandon();
    } else {
      state.group.reset();
    }
    return agreed.error();
  }
  if (chosen.rates.cores_per_node == 0) {
    chosen.rates.cores_per_node = state.group->cores_per_node();
  }
  if (const std::int64_t got = state.group->buffer_bytes(); got < chosen.buffer_bytes) {
    state.notice = fmt::format(
        "buffers have {} bytes instead of {}, because a node has too little memory to share; "
        "writing and reading may be slower",
        got, chosen.buffer_bytes);
    if (state.rank == 0) fmt::print(stderr, "weir: {}\n", state.notice);
    chosen.buffer_bytes = got;
  }
  chosen.buffers = state.group->buffers();
  if (state.group->own_holder() >= 0) {
    std::vector<std::span<std::byte>> buffers;
    buffers.reserve(static_cast<std::size_t>(chosen.buffers));
    for (std::int64_t number = 0; number < chosen.buffers; ++number) {
      buffers.emplace_back(state.group->buffer(state.group->own_holder(), number),
                           static_cast<std::size_t>(chosen.buffer_bytes));
    }
    state.engines->expect_memory(std::move(buffers));
  }
  if (state.group->nodes() > 1) {
    // While a piece moves to or from storage, messages of other pieces are under way: MPI advances
    // long messages only during calls on both sides.
    state.engines->call_between_parts([group = state.group.get()] { group->revocation().look(); });
  }
  if (chosen.staging.stages()) {
    auto staging = SessionStaging::open(state);
    if (!staging) return staging.error();
    state.staging = std::move(staging).value();
  }
  // Without stagers, writes are compared with those that a stager of each node would store.
  chosen.stagers = state.staging == nullptr
                       ? plan::Stagers{.count = state.group->nodes(), .exist = false}
                       : plan::Stagers{.count = state.staging->stagers(),
                                       .on_other_nodes = state.staging->stager().is_remote()};
  if (chosen.durability.in_journal) {
    // All ranks know the same of their stagers.
    if (Status can = aggregation::can_journal(state); !can.ok()) return can.error();
  }
  state.planner =
      std::make_unique<plan::Planner>(state.group->topology(), chosen.targets, chosen.rates,
                                      state.rank, state.group->holders_per_node());
  state.planner->set_chooser(&choose_plan);
  if (const auto source = state.group->groups_source()) {
    chosen.groups_are_suggested = *source != topology::PlaceSource::description;
    if (chosen.io_groups_origin.empty()) chosen.io_groups_origin = topology::text_of(*source);
  }
  if (!chosen.io_groups_origin.empty()) {
    state.planner->set_io_groups_origin(", from " + chosen.io_groups_origin);
  } else if (!chosen.io_groups_asked.empty()) {
    state.planner->explain_one_io_group(fmt::format(
        "one, because none could be made from {}: the place of some node is unknown, or "
        "all nodes share one, or none do",
        chosen.io_groups_asked));
  }
  return std::unique_ptr<Collective>(new Collective(std::move(state)));
}

}  // namespace weir::aggregation
