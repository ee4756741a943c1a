#include "aggregation/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregation/direct_move.hpp"
#include "aggregation/exchange.hpp"
#include "array/fingerprint.hpp"
#include "common/clock.hpp"
#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {
namespace {

Status prefixed(Status status, std::size_t number, std::size_t count) {
  if (!status.ok() && count > 1) {
    status.error().message = fmt::format("array {}: {}", number, status.error().message);
  }
  return status;
}

// Number of checks for messages in a wait, between two checks of everything else that has to move.
constexpr std::int64_t looks_per_progress = 16;
// A rank that sleeps between its shares of the data looks at MPI at least this often.
constexpr std::int64_t progress_interval_ns = 50'000'000;

bool is_same_section(const array::Section* a, const array::Section* b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

// Returns what decides which aggregator, and therefore which stager, gets a chunk.
plan::Parameters chunk_writers(const plan::Parameters& chosen) {
  return {.strategy = chosen.strategy,
          .aggregators = chosen.aggregators,
          .buffer_bytes = chosen.buffer_bytes,
          .holders = chosen.holders,
          .targets = chosen.targets,
          .placement = chosen.placement,
          .nodes_per_way_out = chosen.nodes_per_way_out};
}

bool is_same_layout(const MemoryPiece& a, const MemoryPiece& b) {
  return a.layout == b.layout ||
         (a.layout != nullptr && b.layout != nullptr && *a.layout == *b.layout);
}

}  // namespace

Status check_array(const OpenArray& file, Direction direction) {
  if (file.closed()) return invalid_argument("the array is not open");
  const bool writing = direction == Direction::write;
  if (writing && !file.refusal().empty()) return invalid_argument(file.refusal(), file.path());
  if (!writing && file.has_chunk_table() && file.has_places()) {
    return invalid_argument("encoded chunks of a step cannot be read before the step has ended",
                            file.path());
  }
  return {};
}

CollectiveRequest::CollectiveRequest(CollectiveState& state, Direction direction)
    : state_(state), direction_(direction) {}

Status CollectiveRequest::take(std::span<const ArrayPart> parts) {
  const std::int64_t began = monotonic_ns();
  parts_.assign(parts.begin(), parts.end());
  checked_.reserve(parts_.size());
  Status possible;
  for (const ArrayPart& part : parts_) {
    if (takes_like_before(part)) continue;
    possible = prefixed(check_part(part), checked_.size(), parts_.size());
    if (!possible.ok()) break;
  }
  figures_.plan_ns = monotonic_ns() - began;
  return possible;
}

// Values that several successive parts share are added once, with the number of the first part.
std::uint64_t CollectiveRequest::fingerprint(std::uint64_t call) const {
  array::Fingerprint all;
  const auto add = [&](std::uint64_t number) { all.add(static_cast<std::int64_t>(number)); };
  add(call);
  add(writing() ? 1 : 0);
  add(checked_.size());
  const RequestedPart* before = nullptr;
  std::uint64_t number = 0;
  for (const RequestedPart& one : checked_) {
    const ArrayPart& part = *one.part;
    add(one.file->number());
    if (before == nullptr || one.file->step() != before->file->step()) {
      add(number);
      all.add(one.file->step().value_or(-1));
    }
    if (before == nullptr || part.memory->fingerprint() != before->part->memory->fingerprint()) {
      add(number);
      add(part.memory->fingerprint());
    }
    if (before == nullptr || !is_same_section(part.section, before->part->section)) {
      const array::Section section = part.section != nullptr ? *part.section : array::Section();
      add(number);
      for (const array::Indices& along : {section.start, section.count, section.stride}) {
        all.add(along);
      }
    }
    before = &one;
    ++number;
  }
  return all.value();
}

void CollectiveRequest::take(const ArrayPart& part, OpenArray& file, bool like_before) {
  checked_.push_back({.part = &part,
                      .file = &file,
                      .swapped = file.swapped_together(),
                      .like_before = like_before});
}

bool CollectiveRequest::takes_like_before(const ArrayPart& part) {
  if (checked_.empty()) return false;
  const ArrayPart& before = *checked_.back().part;
  OpenArray* const file = part.file;
  const bool is_like = file != nullptr && !file->closed() && file->kind() != 0 &&
                       file->kind() == checked_.back().file->kind() &&
                       (!writing() || file->may_be_written()) && part.memory == before.memory &&
                       part.pieces.size() == 1 && before.pieces.size() == 1 &&
                       part.pieces.front().data != nullptr &&
                       is_same_layout(part.pieces.front(), before.pieces.front()) &&
                       is_same_section(part.section, before.section);
  if (is_like) take(part, *file, true);
  return is_like;
}

Status CollectiveRequest::check_part(const ArrayPart& part) {
  OpenArray* const file = part.file;
  if (Status possible = check_array(*file, direction_); !possible.ok()) return possible;
  if ((*part.memory)->ranks() > state_.ranks) {
    return invalid_argument(fmt::format("a distribution over {} ranks on a communicator of {}",
                                        (*part.memory)->ranks(), state_.ranks),
                            file->path());
  }
  const auto* const boxes = (*part.memory)->explicit_boxes();
  // Each rank checks its own boxes: together the ranks check every pair.
  if (boxes != nullptr && state_.rank < boxes->ranks() && writing() &&
      !state_.disjoint.has(part.memory->fingerprint())) {
    if (Status disjoint = boxes->check_disjoint(state_.rank); !disjoint.ok()) return disjoint;
    state_.disjoint.add(part.memory->fingerprint());
  }
  if (file->kind() == 0) {
    const OpenArray* const before = checked_.empty() ? nullptr : checked_.back().file;
    const bool is_alike = before != nullptr && before->kind() != 0 && file->is_alike(*before);
    file->set_kind(is_alike ? before->kind() : ++state_.kinds);
  }
  take(part, *file, false);
  return {};
}

Result<std::shared_ptr<const plan::Planned>> CollectiveRequest::planned() {
  const std::int64_t hits = state_.planner->cache().hits();
  auto planned = plan_request(*state_.planner, state_.settings, checked_, direction_);
  if (!planned) return planned.error();
  figures_.plan_reused = state_.planner->cache().hits() > hits;
  figures_.strategy = planned.value()->choice.parameters().strategy;
  figures_.engine = planned.value()->choice.engine();
  if (Status kept = keeps_stagers(planned.value()->choice.parameters()); !kept.ok()) {
    return kept.error();
  }
  const plan::Plan& plan = *planned.value()->plan;
  figures_.aggregators =
      figures_.strategy == plan::Strategy::direct
          ? state_.ranks
          : plan.aggregators() * plan::Plan::groups(plan.topology(), figures_.strategy);
  figures_.bytes_asked = planned.value()->bytes;
  figures_.account.asked = figures_.bytes_asked;
  return planned;
}

bool CollectiveRequest::has_other_stagers(const RequestedPart& one,
                                          const plan::Parameters& chosen) const {
  return writing() && state_.staging != nullptr && state_.staging->has_several() &&
         one.file->is_staged() && one.file->encoded() != nullptr &&
         one.file->has_other_chunk_writers(chunk_writers(chosen));
}

// A stager that gets a part of a chunk, of which another one has encoded a part, reads that part in
// the file. Where it is in a file with a table, only the other one knows.
Status CollectiveRequest::keeps_stagers(const plan::Parameters& chosen) const {
  for (const RequestedPart& one : checked_) {
    if (!one.file->has_chunk_table() || !has_other_stagers(one, chosen)) continue;
    return Error(ErrorCode::unsupported,
                 fmt::format("array \"{}\": its chunks would go to other stagers than those of an "
                             "earlier call in this step, because of the other arrays of one of "
                             "these calls: write it in a call of its own",
                             one.file->name()),
                 one.file->path());
  }
  return {};
}

// Each account gets the figures of the whole request, even if it writes several files: a step only
// compares how much was requested and not stored.
template <typename Tell>
void CollectiveRequest::for_each_account(const Tell& tell) {
  std::vector<StepAccount*> told;
  for (const RequestedPart& one : checked_) {
    StepAccount* const account = one.file->origin().account.get();
    if (account == nullptr || (!told.empty() && told.back() == account)) continue;
    if (std::ranges::find(told, account) != told.end()) continue;
    told.push_back(account);
    tell(*account);
  }
}

void CollectiveRequest::begin(bool /*all_remember_the_same*/) {
  if (state_.broken) {
    outcome_ = broken_collective();
    step_ = Step::ended;
    return;
  }
  // The request is counted only now, since some ranks may not have made a call that was not agreed
  // on.
  number_ = ++state_.requests;
  moving_since_ns_ = monotonic_ns();
  waited_before_ns_ = waited_for_stager_ns(state_);
  if (checked_.empty()) {  // on all ranks alike
    end({});
    return;
  }
  for (const RequestedPart& one : checked_) {
    if (writing()) break;
    if (Status learned = one.file->learn_places(); !learned.ok()) {
      end(learned);
      return;
    }
  }
  const auto plan = planned();
  figures_.plan_ns += monotonic_ns() - moving_since_ns_;
  if (!plan) {
    end(plan.error());
    return;
  }
  planned_ = plan.value();
  if (!must_drain()) {
    begin_moving();
    return;
  }
  {
    const ranks::LifeSigns::During storing(state_.group->life(), ranks::LifeSigns::What::storage);
    drained_ = state_.staging->stager().drain();
  }
  if (!state_.staging->has_several()) {
    begin_moving();
    return;
  }
  agreement_ = std::make_unique<Agreement>();
  agreement_->start(state_.group->agreements(), state_.communicator, {.possible = drained_});
  step_ = Step::draining;
}

// Returns, equal on all ranks, whether what was handed to stagers before has to be in the files
// first: it may be read now, or, where stagers do not order their writes, be overwritten.
bool CollectiveRequest::must_drain() {
  SessionStaging* const staging = state_.staging.get();
  if (staging == nullptr || !writing()) return staging != nullptr;
  return staging->has_several() && std::any_of(checked_.begin(), checked_.end(), [&](auto& one) {
           return one.file->is_handed_over(one.part->section, staging->settlements()) ||
                  has_other_stagers(one, planned_->choice.parameters());
         });
}

void CollectiveRequest::begin_moving() {
  waited_before_moving_ns_ = waited_for_stager_ns(state_);
  if (writing()) {
    const auto staged =
        std::ranges::count_if(checked_, [](auto& one) { return one.file->is_staged(); });
    figures_.handed_over = staged == 0                      ? HandedOverArrays::nothing
                           : staged == std::ssize(checked_) ? HandedOverArrays::all
                                                            : HandedOverArrays::some;
  }
  if (writing() && state_.staging != nullptr && state_.staging->has_several()) {
    state_.staging->note_write();
    for (const RequestedPart& one : checked_) {
      if (!one.file->is_staged()) continue;
      one.file->note_handed_over(one.part->section, state_.staging->settlements());
      one.file->note_chunk_writers(chunk_writers(planned_->choice.parameters()));
    }
  }
  if (writing())
    for_each_account([&](StepAccount& account) { account.ask(figures_.account.asked); });
  for (RequestedPart& one : checked_) {
    // Earlier requests may have changed this since the parts were taken.
    one.watched = one.file->sums().is_watching();
    watched_ = watched_ || one.watched;
    one.file->use_engine(figures_.engine, direction_);
    if (writing()) one.file->begin_writing(OpenArray::Writers::all_ranks);
    if (one.watched) one.file->sums().set_turn(number_);
  }
  MoveContext context{.communicator = state_.communicator,
                      .group = *state_.group,
                      .plan = planned_->plan,
                      .pieces = planned_->pieces,
                      .parts = checked_,
                      .watched = watched_,
                      .rank = state_.rank,
                      .request = number_,
                      .buffers = state_.settings.buffers,
                      .rates = state_.settings.rates,
                      .stores = state_.stores,
                      .figures = figures_};
  if (NodeDescriptors* const descriptors = state_.group->descriptors()) {
    descriptors->begin_request(
        [schedule = planned_->plan, group = state_.group.get()](std::int64_t place) {
          return moves_bytes(schedule, group->rank_at(place));
        });
  }
  if (figures_.strategy == plan::Strategy::direct) {
    move_ = std::make_unique<DirectMove>(std::move(context));
  } else {
    move_ = std::make_unique<Exchange>(std::move(context));
  }
}

// Returns the outcome of moving on this rank, and makes data durable if each write has to be.
Status CollectiveRequest::moved_durably() {
  const ranks::LifeSigns::During storing(state_.group->life(), ranks::LifeSigns::What::storage);
  Status status = move_->status();
  if (!drained_.ok()) status = drained_;
  // After an aggregator has failed, a rank has handed over nothing to it, and learns that here.
  if (status.ok()) status = figures_.account.check();
  if (!writing()) {
    for (const RequestedPart& one : checked_) {
      if (!one.watched) continue;
      if (status.ok()) {
        const array::Section* const section = one.part->section;
        const bool whole =
            section == nullptr || section->elements() == one.file->shape().elements();
        status = one.file->end_reading(whole);
      } else {
        one.file->sums().give_up_reading();
      }
    }
    return status;
  }
  for (const RequestedPart& one : checked_) {
    if (one.watched) one.file->sums().give_up_reading();  // of data read to be changed
    if (one.like_before) continue;                        // dense: nothing is buffered
    Status ended = one.file->end_writing();
    if (status.ok()) status = std::move(ended);
  }
  // When the write returns, its bytes are the stager's: they survive this process.
  if (status.ok() && state_.staging != nullptr) {
    transport::StagerClient& stager = state_.staging->stager();
    const bool are_unordered =
        std::ranges::all_of(checked_, [](auto& one) { return one.file->is_unordered(); });
    status = are_unordered ? stager.hand_over_unanswered() : stager.hand_over();
  }
  for (const RequestedPart& one : checked_) {
    if (!status.ok()) break;
    if (one.file->origin().sync_each) status = one.file->sync();
  }
  return status;
}

bool CollectiveRequest::advance() {
  switch (step_) {
    case Step::draining:
      if (!agreement_->test()) return is_revoked();
      if (Status drained = agreement_->outcome(); !drained.ok()) {
        end(drained);
        return true;
      }
      state_.staging->note_settled();
      step_ = Step::moving;
      begin_moving();
      return true;
    case Step::moving: {
      bool moved = false;
      while (move_->step()) moved = true;
      if (is_revoked()) return true;
      if (!move_->done()) return moved;
      const std::int64_t spent = monotonic_ns() - moving_since_ns_;
      const std::int64_t waited_ns = waited_for_stager_ns(state_);
      figures_.storage_ns =
          std::max<std::int64_t>(0, figures_.storage_ns - (waited_ns - waited_before_moving_ns_));
      figures_.wait_ns =
          std::max<std::int64_t>(0, spent - figures_.plan_ns - figures_.gather_ns -
                                        figures_.storage_ns - (waited_ns - waited_before_ns_));
      const Status moved_all = moved_durably();
      figures_.blocked_ns = waited_for_stager_ns(state_) - waited_before_ns_;
      agreement_ = std::make_unique<Agreement>();
      agreement_->start(
          state_.group->agreements(), state_.communicator,
          {.possible = moved_all, .unstored = writing() ? figures_.account.unstored() : 0});
      step_ = Step::ending;
      return true;
    }
    case Step::ending:
      if (!agreement_->test()) return is_revoked();
      end(agreement_->outcome());
      return true;
    case Step::ended:
      break;
  }
  return false;
}

void CollectiveRequest::end(const Status& outcome) {
  outcome_ = outcome;
  if (!outcome.ok() && writing()) {
    learn_losses(state_, outcome);
    for (const RequestedPart& one : checked_) one.file->set_failed();
  }
  if (outcome.ok() && writing()) {
    for_each_account([&](StepAccount& account) { account.store(figures_.account.moved); });
  }
  step_ = Step::ended;
  state_.figures = figures_;
  if (state_.group->descriptors() != nullptr) state_.group->descriptors()->end_request();
  move_.reset();
}

void CollectiveRequest::give_up(const Error& error) {
  state_.broken = true;
  // Other ranks or MPI may still use the memory of these objects, so they are never freed.
  [[maybe_unused]] const auto* const agreement = agreement_.release();
  [[maybe_unused]] const auto* const move = move_.release();
  end(error);
}

void CollectiveRequest::refuse(const Status& outcome) {
  if (writing() && outcome.error().code != ErrorCode::invalid_argument) {
    for (const RequestedPart& one : checked_) one.file->set_failed();
  }
  outcome_ = outcome;
  step_ = Step::ended;
}

bool CollectiveRequest::is_revoked() {
  ranks::Revocation& revocation = state_.group->revocation();
  if (!revocation.is_revoked()) return false;
  give_up(revocation.error());
  return true;
}

bool CollectiveRequest::test() {
  while (step_ != Step::ended && advance()) {
  }
  return step_ == Step::ended;
}

Status CollectiveRequest::wait() {
  ranks::Patience patience(state_.settings.deadline_seconds, state_.group->life());
  std::int64_t looks = 0;
  std::int64_t naps = 0;  // since the request last made progress
  std::int64_t kept_moving_ns = monotonic_ns();
  while (step_ != Step::ended) {
    if (advance()) {
      patience.reset();
      naps = 0;
      continue;
    }
    bool slept = true;
    if (step_ != Step::moving) {
      agreement_->nap();  // keeps everything else moving
    } else {
      const std::int64_t nap_ns = state_.group->nap_ns(naps);
      const std::int64_t began_ns = monotonic_ns();
      slept = move_->sleep(naps++);
      // Each look at MPI may yield the processor to ranks that have more to do, while others wait
      // for this rank's share. A rank that is woken for its share therefore looks rarely; one whose
      // nap ends without news has time.
      const std::int64_t now_ns = monotonic_ns();
      const bool is_due =
          slept ? now_ns - began_ns >= nap_ns || now_ns - kept_moving_ns >= progress_interval_ns
                : ++looks % looks_per_progress == 0;
      if (is_due) {
        ranks::keep_moving(state_.group->revocation());
        kept_moving_ns = now_ns;
      }
    }
    if (!(slept ? patience.has_time() : patience.look_again())) {
      give_up(patience.passed("the other ranks"));
    }
  }
  return outcome_;
}

}  // namespace weir::aggregation
