#include "aggregation/region_request.hpp"

#include <limits>
#include <utility>

#include "common/clock.hpp"
#include "ranks/progress.hpp"

namespace weir::aggregation {

using plan::Direction;

RegionRequest::RegionRequest(CollectiveState& state, OpenArray& file, Direction direction,
                             const OwnRegion& own, std::shared_ptr<RankRegions> known,
                             LearnRegions learn)
    : state_(state),
      file_(file),
      direction_(direction),
      own_(own),
      regions_(std::move(known)),
      learn_(std::move(learn)) {
  if (state.broken) {
    end(broken_collective());
    return;
  }
  state_.current = this;
  if (regions_ == nullptr) {
    gather();
  } else {
    begin_moving();
  }
}

RegionRequest::~RegionRequest() { (void)wait(); }

void RegionRequest::gather() {
  gathered_->mine = numbers_of(own_.region);
  const std::size_t each = gathered_->mine.size();
  if (state_.ranks > std::numeric_limits<int>::max() / static_cast<int>(each)) {
    end(invalid_argument("regions of so many ranks are more than 2^31 numbers"));  // on all ranks
    return;
  }
  gathered_->all.resize(each * static_cast<std::size_t>(state_.ranks));
  const Status begun =
      ranks::gather_at_all(gathered_->pending, gathered_->mine.data(), static_cast<int>(each),
                           gathered_->all.data(), MPI_INT64_T, state_.communicator);
  if (!begun.ok()) {
    state_.group->revocation().revoke(begun.error());
    give_up(begun.error());
  }
}

void RegionRequest::take_gathered() {
  auto made = RankRegions::create(file_.shape(), std::move(gathered_->all));
  if (!made) {  // on all ranks
    end(made.error());
    return;
  }
  regions_ = std::move(made).value();
  learn_(regions_);
  begin_moving();
}

void RegionRequest::begin_moving() {
  if (!regions_->strided()) {
    part_ = {.file = &file_, .memory = &regions_->boxes(), .pieces = own_.pieces};
    step_ = Step::inner;
    inner_ = std::make_unique<CollectiveRequest>(state_, std::span(&part_, 1), direction_);
    return;
  }
  step_ = Step::checking;
  agreement_ = std::make_unique<Agreement>();
  agreement_->start(state_.group->agreements(), state_.communicator,
                    direction_ == Direction::write ? regions_->check_apart(state_.rank) : Status(),
                    CallFingerprint());
}

void RegionRequest::move() {
  figures_.strategy = plan::Strategy::direct;
  figures_.aggregators = state_.ranks;
  figures_.bytes_asked = own_.region.elements() * file_.type().bytes();
  const std::int64_t began = monotonic_ns();
  Status moved;
  if (direction_ == Direction::write) file_.begin_writing();
  {
    const ranks::LifeSigns::During storage(state_.group->life(), ranks::LifeSigns::What::storage);
    moved = move_alone(file_, direction_, own_.region, own_.pieces.front());
  }
  figures_.storage_ns = monotonic_ns() - began;
  (direction_ == Direction::write ? figures_.bytes_stored : figures_.bytes_fetched) =
      figures_.bytes_asked;
  step_ = Step::ending;
  agreement_->start(state_.group->agreements(), state_.communicator, moved, CallFingerprint());
}

bool RegionRequest::advance() {
  switch (step_) {
    case Step::gathering: {
      const auto done = ranks::test(gathered_->pending);
      if (!done) {
        state_.group->revocation().revoke(done.error());
        give_up(done.error());
        return true;
      }
      if (!done.value()) return is_revoked();
      take_gathered();
      return true;
    }
    case Step::inner:
      if (!inner_->test()) return false;
      figures_ = inner_->figures();
      end(inner_->wait());
      return true;
    case Step::checking:
      if (!agreement_->test()) return is_revoked();
      if (agreement_->outcome().ok()) {
        move();
      } else {
        end(agreement_->outcome());
      }
      return true;
    case Step::ending:
      if (!agreement_->test()) return is_revoked();
      if (!agreement_->outcome().ok() && direction_ == Direction::write) file_.set_failed();
      end(agreement_->outcome());
      return true;
    case Step::ended:
      break;
  }
  return false;
}

void RegionRequest::end(Status outcome) {
  outcome_ = std::move(outcome);
  step_ = Step::ended;
  if (state_.current == this) state_.current = nullptr;
  state_.figures = figures_;
}

bool RegionRequest::test() {
  while (step_ != Step::ended && advance()) {
  }
  return step_ == Step::ended;
}

void RegionRequest::give_up(const Error& error) {
  state_.broken = true;
  // Other ranks or MPI may still use what these hold, so they are never freed.
  gathered_.keep_for_good();
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
      (void)inner_->wait();  // it has the deadline of each of its steps
      (void)advance();
    } else if (advance()) {
      patience.reset();
    } else if (step_ == Step::gathering) {
      ranks::keep_moving(state_.group->revocation());
      if (!patience.look_again()) give_up(patience.passed("the other ranks"));
    } else {
      agreement_->nap();  // which keeps everything else moving
      if (!patience.has_time()) give_up(patience.passed("the other ranks"));
    }
  }
  return outcome_;
}

}  // namespace weir::aggregation
