#include "aggregation/region_request.hpp"

#include <utility>

#include "array/explicit_distribution.hpp"
#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {

using array::BoxTable;

RegionRequest::RegionRequest(CollectiveState& state, OpenArray* file, Direction direction,
                             const OwnRegion& own)
    : state_(state), file_(file), direction_(direction), own_(own) {}

std::int64_t RegionRequest::find_known() {
  known_ = state_.known_regions.find(file_->shape(), own_.region);
  const bool may_overlap = known_ != nullptr && direction_ == Direction::write &&
                           !state_.disjoint.has(known_->all.fingerprint());
  if (may_overlap) known_ = nullptr;
  return known_ != nullptr ? known_->number : -1 - state_.rank;
}

void RegionRequest::begin(bool all_remember_the_same) {
  if (state_.broken) {
    end(broken_collective());
  } else if (known_ != nullptr && all_remember_the_same) {
    regions_ = known_->all;
    begin_moving(take_regions());
  } else {
    begin_gathering();
  }
}

BoxTable RegionRequest::table_in(std::shared_ptr<std::byte> image) const {
  return {file_->shape(), state_.ranks, state_.ranks, std::move(image), BoxTable::Content::regions};
}

void RegionRequest::begin_gathering() {
  const auto bytes =
      BoxTable::image_bytes(file_->shape(), state_.ranks, state_.ranks, BoxTable::Content::regions);
  if (!bytes) {  // on all ranks alike
    end(bytes.error());
    return;
  }
  table_bytes_ = bytes.value();
  if (state_.region_tables.has_place_for(table_bytes_)) {
    set_own({});
    return;
  }
  sharing_.emplace(state_.group->descriptors(), RegionTables::memory_bytes(table_bytes_),
                   MemorySharing::ReservedBy::first);
}

void RegionRequest::take_memory() {
  auto shared = sharing_->take();
  Status possible;
  if (shared) {
    state_.region_tables.add(std::move(shared).value(), table_bytes_);
    added_ = true;
  } else {
    possible = shared.error();
    possible.error().message += "; that memory holds the regions of all ranks";
  }
  set_own(possible);
}

void RegionRequest::set_own(const Status& possible) {
  if (possible.ok()) table_in(state_.region_tables.next()).set_region(state_.rank, own_.region);
  step_ = Step::gathering;
  begin_agreement({.possible = possible, .asks = true});
}

void RegionRequest::begin_agreement(const Call& call) {
  agreement_ = std::make_unique<Agreement>();
  agreement_->start(state_.group->agreements(), state_.communicator, call);
}

void RegionRequest::end_gathering() {
  if (!agreement_->outcome().ok()) {
    if (sharing_) state_.region_tables.take_back(added_);
    end(agreement_->outcome());
    return;
  }
  if (state_.group->own_place() != 0) {
    take_table();
    return;
  }
  step_ = Step::combining;
  auto image = state_.region_tables.next();
  const BoxTable table = table_in(image);
  if (state_.group->nodes() > 1) {
    table.clear_regions_but([&](std::int64_t rank) { return state_.group->is_on_node(rank); });
  } else {
    table.clear_regions_but([](std::int64_t) { return true; });
  }
  combination_ = std::make_unique<NodeCombination>(table.box_words(), std::move(image),
                                                   state_.group->leaders());
}

bool RegionRequest::combine() {
  const auto done = combination_->step();
  if (!done) {
    state_.group->revocation().revoke(done.error());
    give_up(done.error());
    return true;
  }
  if (!done.value()) return is_revoked();
  combination_.reset();
  make_table();
  return true;
}

void RegionRequest::make_table() {
  const BoxTable table = table_in(state_.region_tables.next());
  for (std::int64_t rank = 0; rank < state_.ranks; ++rank) table.set_count(rank, 1);
  Status made = table.add_up_counts();
  if (made.ok()) made = table.list_boxes();
  if (!made.ok()) {
    // The first ranks of all nodes fail together, and the other ranks wait for them.
    state_.group->revocation().revoke(made.error());
    give_up(made.error());
    return;
  }
  table.build_below(0, 0);
  state_.region_tables.hand_out(state_.group->places());
  state_.group->agreements().release(agreement_->round());
  take_table();
}

void RegionRequest::take_table() {
  regions_.emplace(array::Distribution(array::ExplicitDistribution(
      std::make_shared<const BoxTable>(table_in(state_.region_tables.take())))));
  const auto dropped = state_.known_regions.add(file_->shape(), own_.region, *regions_);
  if (dropped) state_.planner->forget(*dropped);
  const Status possible = take_regions();
  if (direction_ == Direction::read) {
    begin_moving(possible);
  } else {
    step_ = Step::checking;
    begin_agreement({.possible = possible});
  }
}

Status RegionRequest::take_regions() {
  part_ = {.file = file_, .memory = &*regions_, .pieces = own_.pieces};
  inner_ = std::make_unique<CollectiveRequest>(state_, direction_);
  return inner_->take(std::span(&part_, 1));
}

// `possible` is equal on all ranks.
void RegionRequest::begin_moving(const Status& possible) {
  if (!possible.ok()) {
    end(possible);
    return;
  }
  step_ = Step::inner;
  inner_->begin(true);
}

bool RegionRequest::advance() {
  switch (step_) {
    case Step::sharing:
      if (!sharing_->step()) return is_revoked();
      take_memory();
      return true;
    case Step::gathering:
      if (!agreement_->test()) return is_revoked();
      end_gathering();
      return true;
    case Step::combining:
      return combine();
    case Step::checking:
      if (!agreement_->test()) return is_revoked();
      begin_moving(agreement_->outcome());
      return true;
    case Step::inner:
      if (!inner_->test()) return false;
      figures_ = inner_->figures();
      end(inner_->wait());
      return true;
    case Step::ended:
      break;
  }
  return false;
}

void RegionRequest::end(Status outcome) {
  // The inner request does this for what fails in it. A step without what a rank wanted to write is
  // not committed; after an invalid argument the program may go on.
  if (!outcome.ok() && direction_ == Direction::write && step_ != Step::inner &&
      outcome.error().code != ErrorCode::invalid_argument) {
    file_->set_failed();
  }
  outcome_ = std::move(outcome);
  step_ = Step::ended;
  state_.figures = figures_;
}

void RegionRequest::refuse(const Status& outcome) {
  // Null if this rank's arguments named no array.
  if (file_ == nullptr) {
    outcome_ = outcome;
    step_ = Step::ended;
  } else {
    end(outcome);
  }
}

bool RegionRequest::test() {
  while (step_ != Step::ended && advance()) {
  }
  return step_ == Step::ended;
}

void RegionRequest::give_up(const Error& error) {
  state_.broken = true;
  // Other ranks or MPI may still use the memory of these objects, so they are never freed.
  if (combination_ != nullptr) combination_->keep_for_good();
  [[maybe_unused]] const auto* const agreement = agreement_.release();
  end(error);
}

bool RegionRequest::is_revoked() {
  ranks::Revocation& revocation = state_.group->revocation();
  if (!revocation.is_revoked()) return false;
  give_up(revocation.error());
  return true;
}

Status RegionRequest::wait() {
  ranks::Patience patience(state_.settings.deadline_seconds, state_.group->life());
  while (step_ != Step::ended) {
    if (step_ == Step::inner) {
      (void)inner_->wait();  // each of its steps has a deadline
      (void)advance();
    } else if (advance()) {
      patience.reset();
    } else if (step_ == Step::gathering || step_ == Step::checking) {
      agreement_->nap();  // keeps everything else moving
      if (!patience.has_time()) give_up(patience.passed("the other ranks"));
    } else {
      ranks::keep_moving(state_.group->revocation());
      if (!patience.look_again()) give_up(patience.passed("the other ranks"));
    }
  }
  return outcome_;
}

}  // namespace weir::aggregation
