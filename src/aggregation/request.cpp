#include "aggregation/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregation/direct_move.hpp"
#include "aggregation/exchange.hpp"
#include "aggregation/waiting.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

Status prefixed(Status status, std::size_t number, std::size_t count) {
  if (!status.ok() && count > 1) {
    status.error().message = fmt::format("array {}: {}", number, status.error().message);
  }
  return status;
}

}  // namespace

CollectiveRequest::CollectiveRequest(CollectiveState& state, std::span<const ArrayPart> parts,
                                     plan::Direction direction)
    : state_(state), parts_(parts.begin(), parts.end()), direction_(direction) {
  if (state.broken) {
    end(broken_collective());
    return;
  }
  const std::int64_t began = monotonic_ns();
  Status possible;
  checked_.reserve(parts_.size());
  for (std::size_t number = 0; number < parts_.size() && possible.ok(); ++number) {
    possible = prefixed(check_part(number), number, parts_.size());
  }
  figures_.plan_ns = monotonic_ns() - began;
  state_.current = this;
  agreement_ = std::make_unique<Agreement>();
  fingerprint_ = make_fingerprint();
  agreement_->start(state_.communicator, possible, fingerprint_);
}

CollectiveRequest::~CollectiveRequest() { (void)wait(); }

CallFingerprint CollectiveRequest::make_fingerprint() const {
  CallFingerprint fingerprint;
  fingerprint.add(Argument::call, writing() ? "write" : "read");
  fingerprint.add(Argument::call, std::uint64_t{parts_.size()});
  for (const ArrayPart& part : parts_) {
    const auto* const file = dynamic_cast<const OpenArray*>(part.file);
    fingerprint.add(Argument::files, file != nullptr ? file->number() : 0);
    if (file != nullptr && file->step()) {
      fingerprint.add(Argument::files, static_cast<std::uint64_t>(*file->step()));
    }
    if (part.memory != nullptr) fingerprint.add(*part.memory);
    fingerprint.add(part.section);
  }
  return fingerprint;
}

Status CollectiveRequest::check_part(std::size_t number) {
  const ArrayPart& part = parts_[number];
  auto* const file = dynamic_cast<OpenArray*>(part.file);
  if (file == nullptr || file->closed()) return invalid_argument("the array on disk is not open");
  const auto refuse = [&](const std::string& message) {
    Error error = invalid_argument(message);
    error.file = file->path();
    return error;
  };
  if (writing() && !file->writable()) return refuse("the array is open for reading only");
  if (writing() && !file->refusal().empty()) return refuse(file->refusal());
  if (!writing() && file->has_chunk_table() && file->has_places()) {
    return refuse("encoded chunks of a step that has begun are read when it has ended");
  }
  if (is_like_before(number)) {
    checked_.push_back({&part, file});
    return {};
  }
  if (part.memory == nullptr) return refuse("there is no distribution in memory");
  const array::Shape& shape = file->shape();
  if ((*part.memory)->shape() != shape) {
    return refuse(fmt::format("memory holds an array of {}, the file one of {}",
                              (*part.memory)->shape().text(), shape.text()));
  }
  if ((*part.memory)->ranks() > state_.ranks) {
    return refuse(fmt::format("a distribution over {} ranks on a communicator of {}",
                              (*part.memory)->ranks(), state_.ranks));
  }
  const auto inside =
      array::Section::create(shape, {part.section.start.begin(), part.section.start.end()},
                             {part.section.count.begin(), part.section.count.end()},
                             {part.section.stride.begin(), part.section.stride.end()});
  if (!inside) return refuse(inside.error().message);
  if (Status memory = check_memory(part); !memory.ok()) {
    memory.error().file = file->path();
    return memory;
  }
  const auto* const boxes = (*part.memory)->explicit_boxes();
  if (boxes != nullptr && writing() && !state_.disjoint.contains(part.memory->fingerprint())) {
    if (Status disjoint = boxes->check_disjoint(); !disjoint.ok()) return disjoint;
    state_.disjoint.insert(part.memory->fingerprint());
  }
  checked_.push_back({&part, file});
  return {};
}

bool CollectiveRequest::is_like_before(std::size_t number) const {
  if (number == 0) return false;
  const ArrayPart& part = parts_[number];
  const ArrayPart& before = parts_[number - 1];
  return part.memory != nullptr && part.memory == before.memory && part.pieces.size() == 1 &&
         before.pieces.size() == 1 && part.pieces.front().data != nullptr &&
         part.pieces.front().layout == before.pieces.front().layout &&
         part.file->type() == before.file->type() && part.file->shape() == before.file->shape() &&
         part.section == before.section;
}

Status CollectiveRequest::check_memory(const ArrayPart& part) const {
  const array::Distribution& memory = **part.memory;
  const std::int64_t expected = state_.rank < memory.ranks() ? memory.pieces(state_.rank) : 0;
  if (static_cast<std::int64_t>(part.pieces.size()) != expected) {
    return invalid_argument(fmt::format("{} pieces of memory where the distribution has {}",
                                        part.pieces.size(), expected));
  }
  const std::int64_t element_bytes = part.file->type().bytes();
  for (std::size_t number = 0; number < part.pieces.size(); ++number) {
    const MemoryPiece& piece = part.pieces[number];
    const array::Region held = memory.piece(state_.rank, static_cast<std::int64_t>(number));
    if (piece.layout.extents() != held.local_extents()) {
      return invalid_argument(fmt::format("memory piece {} of {} where the distribution has {}",
                                          number, array::extents_text(piece.layout.extents()),
                                          array::extents_text(held.local_extents())));
    }
    if (piece.layout.element_bytes() != element_bytes) {
      return invalid_argument(
          fmt::format("memory piece {} of elements of {} bytes; the array's have {}", number,
                      piece.layout.element_bytes(), element_bytes));
    }
    if (piece.data == nullptr && !held.empty()) {
      return invalid_argument(fmt::format("memory piece {} has no address", number));
    }
    if (!writing() && !piece.layout.elements_are_apart()) {
      return invalid_argument(
          fmt::format("memory piece {}: elements overlap, so they cannot be read into", number));
    }
  }
  return {};
}

Result<std::shared_ptr<const plan::Planned>> CollectiveRequest::planned() {
  const std::int64_t hits = state_.planner->cache().hits();
  auto planned = plan_request(*state_.planner, state_.settings, checked_, direction_);
  if (!planned) return planned.error();
  figures_.plan_reused = state_.planner->cache().hits() > hits;
  figures_.strategy = planned.value()->choice.parameters().strategy;
  figures_.engine = planned.value()->choice.engine();
  const plan::Plan& plan = *planned.value()->plan;
  figures_.aggregators =
      figures_.strategy == plan::Strategy::direct
          ? state_.ranks
          : plan.aggregators() * plan::Plan::groups(plan.topology(), figures_.strategy);
  figures_.bytes_asked = planned.value()->bytes;
  return planned;
}

void CollectiveRequest::start_moving() {
  // Counted only now: a call that the ranks did not agree on may be none on some of them.
  number_ = ++state_.requests;
  moving_since_ns_ = monotonic_ns();
  if (checked_.empty()) {  // on all ranks
    end({});
    return;
  }
  const auto plan = planned();
  figures_.plan_ns += monotonic_ns() - moving_since_ns_;
  if (!plan) {
    end(plan.error());
    return;
  }
  for (const RequestedPart& one : checked_) {
    one.file->use_engine(figures_.engine, direction_);
    one.file->sums().set_turn(number_);
  }
  MoveContext context{.communicator = state_.communicator,
                      .group = *state_.group,
                      .plan = plan.value()->plan,
                      .bundles = plan.value()->bundles,
                      .parts = checked_,
                      .rank = state_.rank,
                      .request = number_,
                      .buffers = state_.settings.buffers,
                      .rates = state_.settings.rates,
                      .stores = state_.stores,
                      .figures = figures_};
  if (figures_.strategy == plan::Strategy::direct) {
    move_ = std::make_unique<DirectMove>(std::move(context));
  } else {
    move_ = std::make_unique<Exchange>(std::move(context));
  }
}

// How this rank's part of the moving ended; durable where that is asked for after each write.
Status CollectiveRequest::moved_durably() {
  Status status = move_->status();
  if (!writing()) {
    for (const RequestedPart& one : checked_) {
      if (status.ok()) {
        const bool whole = one.part->section.elements() == one.file->shape().elements();
        status = one.file->end_reading(whole);
      } else {
        one.file->sums().give_up_reading();
      }
    }
    return status;
  }
  for (const RequestedPart& one : checked_) {
    one.file->sums().give_up_reading();  // of what was read to be changed
    Status ended = one.file->end_writing();
    if (status.ok()) status = std::move(ended);
  }
  for (const RequestedPart& one : checked_) {
    if (!status.ok()) break;
    if (one.file->origin().sync_each) status = one.file->sync();
  }
  return status;
}

bool CollectiveRequest::advance() {
  switch (step_) {
    case Step::agreeing:
      if (!agreement_->test()) return false;
      if (!agreement_->outcome().ok()) {
        end(agreement_->outcome());
      } else {
        step_ = Step::moving;  // or ended, at once
        start_moving();
      }
      return true;
    case Step::moving: {
      bool moved = false;
      while (move_->step()) moved = true;
      if (!move_->done()) return moved;
      const std::int64_t spent = monotonic_ns() - moving_since_ns_;
      figures_.wait_ns = std::max<std::int64_t>(
          0, spent - figures_.plan_ns - figures_.gather_ns - figures_.storage_ns);
      agreement_->start(state_.communicator, moved_durably(), fingerprint_);
      step_ = Step::ending;
      return true;
    }
    case Step::ending:
      if (!agreement_->test()) return false;
      end(agreement_->outcome());
      return true;
    case Step::ended:
      break;
  }
  return false;
}

void CollectiveRequest::end(const Status& outcome) {
  outcome_ = outcome;
  if (!outcome.ok() && writing() && step_ != Step::agreeing) {
    for (const RequestedPart& one : checked_) one.file->set_failed();
  }
  step_ = Step::ended;
  if (state_.current == this) state_.current = nullptr;
  state_.figures = figures_;
  move_.reset();
}

bool CollectiveRequest::test() {
  while (step_ != Step::ended && advance()) {
  }
  return step_ == Step::ended;
}

Status CollectiveRequest::wait() {
  Patience patience(state_.settings.deadline_seconds);
  while (step_ != Step::ended) {
    if (advance()) {
      patience.reset();
      continue;
    }
    const bool slept = step_ == Step::moving && move_->sleep();
    if (!(slept ? patience.has_time() : patience.look_again())) {
      state_.broken = true;
      // Other ranks or MPI may still use what these hold, so they are never freed.
      [[maybe_unused]] const auto* const agreement = agreement_.release();
      [[maybe_unused]] const auto* const move = move_.release();
      end(deadline_passed("the other ranks", state_.settings.deadline_seconds));
    }
  }
  return outcome_;
}

}  // namespace weir::aggregation
