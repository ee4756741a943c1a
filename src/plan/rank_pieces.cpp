#include "plan/rank_pieces.hpp"

#include <algorithm>
#include <utility>

#include "array/linear_range.hpp"
#include "plan/piece_sample.hpp"

namespace weir::plan {
namespace {

const ArrayRequest& request_of(const Plan& plan, int array) {
  return plan.request().arrays[static_cast<std::size_t>(array)];
}

}  // namespace

std::int64_t slots_of_a_holder(std::int64_t buffers, std::int64_t holders) {
  return std::max(buffers, (least_messages_under_way + holders - 1) / holders);
}

std::int64_t messages_at_once(const Plan& plan, std::int64_t buffers) {
  const std::int64_t nodes =
      gathers_within(plan.parameters().strategy) == topology::GatherWithin::node
          ? 1
          : plan.topology().nodes_in_group(plan.group());
  const std::int64_t holders = std::max<std::int64_t>(1, (plan.aggregators() - 1) / nodes + 1);
  return holders * slots_of_a_holder(buffers, holders);
}

AggregatorPieces::AggregatorPieces(std::shared_ptr<const Plan> plan, std::int64_t aggregator)
    : plan_(std::move(plan)), aggregator_(aggregator) {}

bool AggregatorPieces::find_unit() {
  const Units& units = plan_->units(array_);
  if (units.count() == 0) return false;
  const array::Region asked(units.asked());
  while (const auto own = plan_->unit_at(aggregator_, array_, step_)) {
    // Units are in the order of steps, so the next requested unit, of whichever aggregator, tells
    // how many of this aggregator's units can be skipped.
    const auto unit = units.next(asked, *own);
    if (!unit) return false;
    if (*unit == *own) {
      ++step_;
      next_ = plan_->id_of(array_, *own);
      parts_ = parts_of(units, *own);
      if (parts_ > 0) return true;
      continue;
    }
    if (*unit > units.last_in_order(*own)) return false;
    step_ = std::max(step_ + 1, units.step_of(*unit));
  }
  return false;
}

bool AggregatorPieces::next(Piece& piece) {
  PieceId id;
  if (!next(id)) return false;
  piece = plan_->piece(id);
  return true;
}

bool AggregatorPieces::next(PieceId& id) {
  while (next_.part >= parts_) {
    if (place_ >= plan_->scheduled().size()) return false;
    array_ = plan_->scheduled()[place_];
    if (!bundle_taken_ && plan_->bundle(array_) != nullptr) {
      bundle_taken_ = true;
      id = plan_->piece({0, 0, array_, 0, 0}).id;
      if (id.aggregator == aggregator_) return true;
    }
    if (!find_unit()) {
      ++place_;
      bundle_taken_ = false;
      step_ = 0;
      parts_ = 0;
      next_ = {};
    }
  }
  id = next_;
  ++next_.part;
  return true;
}

RankPieces::RankPieces(std::shared_ptr<const Plan> plan, std::int64_t rank)
    : plan_(std::move(plan)), rank_(rank) {}

bool RankPieces::meets(const Bundle& bundle) const {
  return std::any_of(bundle.begin(), bundle.end(), [&](int array) {
    const array::Region asked(request_of(*plan_, array).section);
    for (std::int64_t number = 0; number < plan_->parts(array, rank_); ++number) {
      if (array::meet(plan_->part(array, rank_, number), asked)) return true;
    }
    return false;
  });
}

void RankPieces::begin_array() {
  const Units& units = plan_->units(array_);
  regions_.clear();
  if (units.count() == 0) {
    const Bundle* const bundle = plan_->bundle(array_);
    if (bundle != nullptr && meets(*bundle)) {
      found_.push_back(plan_->piece({0, 0, array_, 0, 0}).id);
    }
    return;
  }
  const array::Box around = units.asked().bounding_box();
  all_asked_for_ = around.extent == units.asked().count;
  for (std::int64_t number = 0; number < plan_->parts(array_, rank_); ++number) {
    const array::Region region = plan_->part(array_, rank_, number).clipped(around);
    if (region.empty()) continue;
    // There is one cursor per domain if domains are contiguous, and otherwise one cursor.
    auto unit = units.next(region, 0);
    while (unit) {
      cursors_.push({plan_->id_of(array_, *unit), regions_.size()});
      unit = units.next(region, units.last_in_order(*unit) + 1);
    }
    regions_.push_back(region);
  }
}

bool RankPieces::next(PieceId& id) {
  while (found_.empty()) {
    if (!find_step()) return false;
  }
  id = found_.back();
  found_.pop_back();
  return true;
}

bool RankPieces::find_step() {
  if (cursors_.empty()) {
    const auto& scheduled = plan_->scheduled();
    if (place_ >= scheduled.size()) return false;
    array_ = scheduled[place_++];
    begin_array();
    // Several bundles share a step, one for each aggregator.
    while (!found_.empty() && place_ < scheduled.size() &&
           plan_->bundle(scheduled[place_]) != nullptr &&
           plan_->piece({0, 0, scheduled[place_], 0, 0}).id.step == found_.front().step) {
      array_ = scheduled[place_++];
      begin_array();
    }
    put_in_order();
    return true;
  }
  const Units& units = plan_->units(array_);
  const std::int64_t step = cursors_.top().id.step;
  std::vector<std::size_t> meeting;
  while (!cursors_.empty() && cursors_.top().id.step == step) {
    const PieceId first = cursors_.top().id;
    meeting.clear();
    while (!cursors_.empty() && cursors_.top().id == first) {
      const std::size_t region = cursors_.top().region;
      cursors_.pop();
      meeting.push_back(region);
      const auto unit = units.next(regions_[region], first.unit + 1);
      if (unit && *unit <= units.last_in_order(first.unit)) {
        cursors_.push({plan_->id_of(array_, *unit), region});
      }
    }
    find_parts(first, meeting);
  }
  put_in_order();
  return true;
}

void RankPieces::put_in_order() {
  if (found_.size() < 2) return;
  std::vector<std::pair<std::int64_t, PieceId>> turns;
  turns.reserve(found_.size());
  for (const PieceId& id : found_) turns.emplace_back(plan_->turn_for(rank_, id.aggregator), id);
  std::sort(turns.begin(), turns.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.part, a.first) > std::pair(b.second.part, b.first);
  });
  for (std::size_t i = 0; i < turns.size(); ++i) found_[i] = turns[i].second;
}

void RankPieces::find_parts(const PieceId& first, const std::vector<std::size_t>& regions) {
  const Units& units = plan_->units(array_);
  if (units.most_parts() == 1 && all_asked_for_) {
    found_.push_back(first);
    return;
  }
  std::vector<PieceId> parts;
  const array::Order order = request_of(*plan_, array_).image.order();
  std::int64_t before = 0;
  for (const array::Section& section : units.sections(first.unit)) {
    const array::Region asked(section);
    for (const std::size_t number : regions) {
      const array::Region inside = regions_[number].clipped(section.bounding_box());
      if (inside.empty() || !array::meet(inside, asked)) continue;
      // The first and the last element of the section that the region can contain.
      array::Indices low;
      array::Indices high;
      for (int d = 0; d < section.dimensions(); ++d) {
        low.push_back(asked.along(d).position(inside.along(d).lower()));
        high.push_back(asked.along(d).position(inside.along(d).upper()) - 1);
      }
      const array::Shape counts = array::Shape::create(section.count).value();
      const std::int64_t in_part = units.elements_per_part();
      const std::int64_t last = (before + array::linear_number(counts, order, high)) / in_part;
      for (std::int64_t part = (before + array::linear_number(counts, order, low)) / in_part;
           part <= last; ++part) {
        parts.push_back(first);
        parts.back().part = part;
      }
    }
    before += section.elements();
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  // No region may have a share of some parts between the first and the last one.
  const auto is_empty = [&](const PieceId& id) {
    const Piece piece = plan_->piece(id);
    return std::none_of(piece.slabs.begin(), piece.slabs.end(), [&](const Slab& slab) {
      const array::Region asked(slab.section);
      return std::any_of(regions.begin(), regions.end(),
                         [&](std::size_t number) { return array::meet(regions_[number], asked); });
    });
  };
  if (before > units.elements_per_part()) std::erase_if(parts, is_empty);
  found_.insert(found_.end(), parts.begin(), parts.end());
}

}  // namespace weir::plan
