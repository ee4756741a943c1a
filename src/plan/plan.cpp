#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "array/linear_range.hpp"
#include "plan/placing.hpp"

namespace weir::plan {
namespace {

// In groups of at most this many ranks that do not follow each other, and if the distribution is
// explicit, the contributors are found by asking each rank. In larger groups, the holders of the
// elements are looked up, and those in other groups are skipped.
constexpr std::int64_t few_ranks = 256;
constexpr std::int64_t unlimited = std::int64_t{1} << 62;

Status check(const Parameters& parameters, const Request& request) {
  if (parameters.aggregators < 1 || parameters.alignment < 1) {
    return invalid_argument(fmt::format(
        "{} aggregators and file domains aligned to {} bytes are given: give at least 1 of each",
        parameters.aggregators, parameters.alignment));
  }
  for (const ArrayRequest& one : request.arrays) {
    if (parameters.strategy == Strategy::direct) break;  // it uses no buffers
    if (parameters.buffer_bytes < one.image.element_bytes()) {
      return invalid_argument(fmt::format(
          "a buffer has {} bytes for elements of {} bytes: give room for at least one element",
          parameters.buffer_bytes, one.image.element_bytes()));
    }
  }
  return {};
}

// Visits elements [first, last) of a section, numbered in `order`, as sections in that order.
template <typename Visit>
void cut(const array::Section& section, array::Order order, std::int64_t first, std::int64_t last,
         Visit visit) {
  const array::Shape counts = array::Shape::create(section.count).value();
  array::RangeBoxes boxes(counts, order, first, last);
  for (array::Box box; boxes.next(box);) {
    array::Section inside{section.start, box.extent, section.stride};
    for (int d = 0; d < section.dimensions(); ++d) {
      inside.start[d] += box.lower[d] * section.stride[d];
    }
    visit(inside);
  }
}

// Merges contributors of the same rank; the result is in ascending order of ranks.
std::vector<Contributor> merged(std::vector<Contributor> found) {
  const auto not_ascending = [](const Contributor& a, const Contributor& b) {
    return a.rank >= b.rank;
  };
  if (std::adjacent_find(found.begin(), found.end(), not_ascending) == found.end()) return found;
  std::sort(found.begin(), found.end(),
            [](const Contributor& a, const Contributor& b) { return a.rank < b.rank; });
  std::vector<Contributor> ranks;
  for (const Contributor& one : found) {
    if (!ranks.empty() && ranks.back().rank == one.rank) {
      ranks.back().bytes += one.bytes;
    } else {
      ranks.push_back(one);
    }
  }
  return ranks;
}

}  // namespace

Plan::Plan(Request request, const Parameters& parameters, topology::AggregatorPlacement placement,
           std::int64_t group)
    : request_(std::move(request)),
      parameters_(parameters),
      placement_(std::move(placement)),
      group_(group) {}

Result<std::shared_ptr<const Plan>> Plan::create(Request request,
                                                 const topology::Topology& topology,
                                                 const Parameters& parameters, std::int64_t group) {
  if (Status status = request.check(); !status) return status.error();
  if (Status status = check(parameters, request); !status) return status.error();
  if (request.ranks() > topology.ranks()) {
    return invalid_argument(fmt::format("arrays are distributed over {} ranks, but the job has {}",
                                        request.ranks(), topology.ranks()));
  }
  auto placement = topology::AggregatorPlacement::create(
      topology, gathers_within(parameters.strategy), parameters.aggregators,
      {parameters.holders, parameters.targets, parameters.placement, parameters.nodes_per_way_out});
  if (!placement) return placement.error();
  const std::shared_ptr<Plan> plan(
      new Plan(std::move(request), parameters, std::move(placement).value(), group));
  const bool direct = parameters.strategy == Strategy::direct;
  plan->aggregators_ = direct ? 0 : plan->placement_.aggregators_in(group);
  plan->find_ranks();
  plan->make_schedules();
  if (Status status = plan->place_by_data(); !status) return status.error();
  return std::shared_ptr<const Plan>(plan);
}

Status Plan::place_by_data() {
  const bool is_placed = placement_.within() == topology::GatherWithin::io_group &&
                         topology::depends_on_data(parameters_.placement);
  if (aggregators_ == 0 || !is_placed) return {};
  if (aggregators_ > most_placed_by_data) {
    return Error(
        ErrorCode::unsupported,
        fmt::format("placement {} is for at most {} aggregators in a group, but there are "
                    "{}: give fewer aggregators, smaller I/O groups or placement spread",
                    topology::name_of(parameters_.placement), most_placed_by_data, aggregators_));
  }
  auto placed = placement_.at_positions(group_, positions_by_data(*this, placement_));
  if (!placed) return placed.error();
  placement_ = std::move(placed).value();
  return {};
}

void Plan::make_schedules() {
  const bool direct = parameters_.strategy == Strategy::direct;
  Parameters used = parameters_;
  if (direct) {
    // There is one unit in all, or one per chunk: nothing is buffered or divided among aggregators.
    used.buffer_bytes = unlimited;
    used.assignment = DomainAssignment::contiguous;
  }
  const std::int64_t holders = std::max<std::int64_t>(1, aggregators_);
  std::vector<array::Section> asked;
  asked.reserve(request_.arrays.size());
  for (const ArrayRequest& one : request_.arrays) {
    asked.push_back(direct || all_ranks() ? one.section : held_by_group(one));
  }
  make_bundles(asked, holders);
  // The bundle that contains each array, and the bundle that is named after it.
  const std::size_t arrays = request_.arrays.size();
  std::vector<int> inside(arrays, -1);
  for (std::size_t number = 0; number < bundles_.size(); ++number) {
    for (const int array : bundles_[number].arrays) {
      inside[static_cast<std::size_t>(array)] = static_cast<int>(number);
    }
  }
  std::int64_t steps = 0;
  std::int64_t small = 0;
  std::int64_t distributed = 0;  // bundles assigned so far
  bool goes_on = false;          // the previous array was a bundle, too
  schedules_.reserve(arrays);
  for (std::size_t number = 0; number < arrays; ++number) {
    const ArrayRequest& one = request_.arrays[number];
    if (inside[number] < 0) {
      Units units(one.image, asked[number], holders, used);
      const bool takes_turns = one.image.dense() != nullptr && units.count() < holders;
      const std::int64_t rotation = takes_turns ? small % holders : 0;
      if (takes_turns) small += units.count();
      schedules_.push_back({units, steps, rotation});
      steps += schedules_.back().units.steps();
      scheduled_.push_back(static_cast<int>(number));
      most_parts_ = std::max(most_parts_, schedules_.back().units.most_parts());
      goes_on = false;
      continue;
    }
    const bool first = bundles_[static_cast<std::size_t>(inside[number])].piece.id.array ==
                       static_cast<int>(number);
    array::Section nothing = asked[number];
    nothing.count[0] = 0;
    schedules_.push_back({Units(one.image, nothing, holders, used), steps, 0});
    if (!first) continue;
    // Each aggregator gets one bundle before the next step begins.
    if (!goes_on || distributed % holders == 0) ++steps;
    goes_on = true;
    PieceId& id = bundles_[static_cast<std::size_t>(inside[number])].piece.id;
    id.step = steps - 1;
    id.aggregator = distributed++ % holders;
    schedules_.back().bundle = inside[number];
    scheduled_.push_back(static_cast<int>(number));
  }
}

// All requested elements of a bundle form one piece.
void Plan::make_bundles(const std::vector<array::Section>& asked, std::int64_t holders) {
  Parameters whole = parameters_;
  whole.buffer_bytes = unlimited;
  whole.assignment = DomainAssignment::contiguous;
  for (Bundle& arrays : bundles_of(request_, asked, holders, parameters_)) {
    PlannedBundle bundle;
    bundle.held = true;
    std::vector<Slab> slabs;
    slabs.reserve(arrays.size());
    for (const int array : arrays) {
      const auto number = static_cast<std::size_t>(array);
      const Units units(request_.arrays[number].image, asked[number], 1, whole);
      // Rows of the array decide where a unit ends, so there may be two, whatever the buffers.
      for (std::int64_t unit = 0; unit < units.count(); ++unit) {
        for (const Units::Content& content : units.contents(unit)) {
          add_slab(array, units, content, bundle.piece.bytes, slabs);
        }
      }
      bundle.held = bundle.held && holds_everything(array);
    }
    bundle.piece.slabs = SlabList(std::move(slabs));
    bundle.piece.id.array = *std::min_element(arrays.begin(), arrays.end());
    bundle.arrays = std::move(arrays);
    bundles_.push_back(std::move(bundle));
  }
}

std::int64_t Plan::groups(const topology::Topology& topology, Strategy strategy) {
  return gathers_within(strategy) == topology::GatherWithin::node ? topology.nodes()
                                                                  : topology.io_groups();
}

std::int64_t Plan::group_of(const topology::Topology& topology, Strategy strategy,
                            std::int64_t rank) {
  const std::int64_t node = topology.node_of(rank);
  return gathers_within(strategy) == topology::GatherWithin::node ? node
                                                                  : topology.io_group_of_node(node);
}

template <typename Visit>
void Plan::visit_ranks(const Visit& visit) const {
  for (std::int64_t position = 0; position < placement_.nodes_of(group_); ++position) {
    const std::int64_t node = placement_.node_at(group_, position);
    for (std::int64_t i = 0; i < topology().ranks_on(node); ++i) visit(topology().rank_on(node, i));
  }
}

void Plan::find_ranks() {
  if (all_ranks()) {
    group_ranks_ = last_rank_ = topology().ranks();
    return;
  }
  first_rank_ = topology().ranks();
  visit_ranks([this](std::int64_t rank) {
    ++group_ranks_;
    first_rank_ = std::min(first_rank_, rank);
    last_rank_ = std::max(last_rank_, rank + 1);
  });
}

array::Section Plan::held_by_group(const ArrayRequest& request) const {
  const int dimensions = request.shape().dimensions();
  array::Indices lower(dimensions, std::numeric_limits<std::int64_t>::max());
  array::Indices upper(dimensions, 0);
  visit_ranks([&](std::int64_t rank) {
    if (rank >= request.memory->ranks()) return;
    for (std::int64_t number = 0; number < request.memory->pieces(rank); ++number) {
      const array::Box box = request.memory->piece(rank, number).bounding_box();
      if (box.empty()) continue;
      for (int d = 0; d < dimensions; ++d) {
        lower[d] = std::min(lower[d], box.lower[d]);
        upper[d] = std::max(upper[d], box.upper(d));
      }
    }
  });
  array::Box held{lower, upper};
  for (int d = 0; d < dimensions; ++d) {
    held.lower[d] = std::min(lower[d], upper[d]);
    held.extent[d] = upper[d] - held.lower[d];
  }
  return array::intersect(request.section, held);
}

std::optional<std::int64_t> Plan::aggregator_at(std::int64_t rank) const {
  if (aggregators_ == 0 || placement_.group_of_rank(rank) != group_) return std::nullopt;
  const std::int64_t number = placement_.aggregator_at(rank);
  return number < 0 ? std::nullopt : std::optional(number);
}

std::int64_t Plan::turn_for(std::int64_t rank, std::int64_t aggregator) const {
  if (aggregators_ <= 1) return 0;
  const std::int64_t place = placement_.place_of(group_, aggregator);
  return (place - placement_.first_place_for(rank) + aggregators_) % aggregators_;
}

PieceId Plan::id_of(int array, std::int64_t unit) const {
  const Schedule& schedule = schedules_[static_cast<std::size_t>(array)];
  const std::int64_t holders = std::max<std::int64_t>(1, aggregators_);
  return {schedule.first_step + schedule.units.step_of(unit),
          (schedule.units.aggregator_of(unit) + schedule.rotation) % holders, array, unit, 0};
}

std::optional<std::int64_t> Plan::unit_at(std::int64_t aggregator, int array,
                                          std::int64_t step) const {
  const Schedule& schedule = schedules_[static_cast<std::size_t>(array)];
  const std::int64_t holders = std::max<std::int64_t>(1, aggregators_);
  return schedule.units.unit_at((aggregator - schedule.rotation + holders) % holders, step);
}

void Plan::add_slab(int array, const Units& units, const Units::Content& content,
                    std::int64_t& bytes, std::vector<Slab>& slabs) const {
  const ArrayRequest& request = request_.arrays[static_cast<std::size_t>(array)];
  std::int64_t file = 0;
  const array::Layout in_file = units.layout(content, file);
  const array::Layout in_buffer =
      array::Layout::packed(content.section.count, request.image.element_bytes(),
                            request.image.order(), bytes)
          .value();
  if (file != no_file) file += request.first_file;
  slabs.push_back({array, content.section, file, in_file, in_buffer});
  bytes += slabs.back().bytes();
}

Piece Plan::piece(const PieceId& id) const {
  const Schedule& schedule = schedules_[static_cast<std::size_t>(id.array)];
  if (schedule.bundle >= 0) return bundles_[static_cast<std::size_t>(schedule.bundle)].piece;
  Piece piece{id, {}, 0};
  const ArrayRequest& request = request_.arrays[static_cast<std::size_t>(id.array)];
  const Units& units = schedule.units;
  // The part consists of elements [first, last) of the unit; `before` elements are in earlier
  // contents.
  const std::int64_t first = id.part * units.elements_per_part();
  const std::int64_t last = first + units.elements_per_part();
  std::int64_t before = 0;
  std::vector<Slab> slabs;
  const auto add = [&](const Units::Content& content) {
    add_slab(id.array, units, content, piece.bytes, slabs);
  };
  for (const Units::Content& content : units.contents(id.unit)) {
    const std::int64_t elements = content.section.elements();
    const std::int64_t from = std::clamp<std::int64_t>(first - before, 0, elements);
    const std::int64_t to = std::clamp<std::int64_t>(last - before, 0, elements);
    if (from == 0 && to == elements) {
      add(content);
    } else if (from < to) {
      cut(content.section, request.image.order(), from, to, [&](const array::Section& section) {
        add({section, content.chunk});
      });
    }
    before += elements;
  }
  piece.slabs = SlabList(std::move(slabs));
  return piece;
}

Piece Plan::piece(const PieceId& id, const std::vector<Units::Content>& contents) const {
  Piece piece{id, {}, 0};
  std::vector<Slab> slabs;
  slabs.reserve(contents.size());
  for (const Units::Content& content : contents) {
    add_slab(id.array, units(id.array), content, piece.bytes, slabs);
  }
  piece.slabs = SlabList(std::move(slabs));
  return piece;
}

const Bundle* Plan::bundle(int array) const {
  const int number = schedules_[static_cast<std::size_t>(array)].bundle;
  return number < 0 ? nullptr : &bundles_[static_cast<std::size_t>(number)].arrays;
}

bool Plan::holds_everything(int array) const {
  return all_ranks() &&
         request_.arrays[static_cast<std::size_t>(array)].memory->regular() != nullptr;
}

bool Plan::holds_everything(const PieceId& id) const {
  const int bundle = schedules_[static_cast<std::size_t>(id.array)].bundle;
  return bundle < 0 ? holds_everything(id.array) : bundles_[static_cast<std::size_t>(bundle)].held;
}

std::int64_t Plan::parts(int array, std::int64_t rank) const {
  const SharedDistribution& memory = request_.arrays[static_cast<std::size_t>(array)].memory;
  return rank < memory->ranks() ? memory->pieces(rank) : 0;
}

array::Region Plan::part(int array, std::int64_t rank, std::int64_t number) const {
  return request_.arrays[static_cast<std::size_t>(array)].memory->piece(rank, number);
}

void Plan::add_share(int array, const array::Section& section, std::int64_t rank,
                     std::vector<Contributor>& found) const {
  const array::Region wanted(section);
  const std::int64_t element_bytes =
      request_.arrays[static_cast<std::size_t>(array)].image.element_bytes();
  for (std::int64_t number = 0; number < parts(array, rank); ++number) {
    const std::int64_t elements = array::common_elements(part(array, rank, number), wanted);
    if (elements > 0) found.push_back({rank, elements * element_bytes});
  }
}

void Plan::add_regular(int array, const array::Section& section, std::int64_t first,
                       std::int64_t last, std::vector<Contributor>& found) const {
  const ArrayRequest& request = request_.arrays[static_cast<std::size_t>(array)];
  array::RanksMeeting ranks(*request.memory->regular(), array::Region(section), first, last);
  for (array::RanksMeeting::Share share; ranks.next(share);) {
    if (!is_consecutive() && placement_.group_of_rank(share.rank) != group_) continue;
    found.push_back({share.rank, share.elements * request.image.element_bytes()});
  }
}

void Plan::add_contributions(int array, const array::Section& section,
                             std::vector<Contributor>& found) const {
  const ArrayRequest& request = request_.arrays[static_cast<std::size_t>(array)];
  const bool regular = request.memory->regular() != nullptr;
  const bool few = !all_ranks() && group_ranks_ <= few_ranks;
  if (few && !(regular && is_consecutive())) {
    visit_ranks([&](std::int64_t rank) { add_share(array, section, rank, found); });
    return;
  }
  if (regular) {
    add_regular(array, section, first_rank_, last_rank_, found);
    return;
  }
  const array::Region wanted(section);
  for (const array::Distribution::Piece& held : request.memory->pieces_meeting(wanted)) {
    if (!all_ranks() && placement_.group_of_rank(held.rank) != group_) continue;
    const std::int64_t elements =
        array::common_elements(request.memory->piece(held.rank, held.number), wanted);
    found.push_back({held.rank, elements * request.image.element_bytes()});
  }
}

std::vector<Contributor> Plan::contributors(const Piece& piece) const {
  std::vector<Contributor> found;
  for (const Slab& slab : piece.slabs) add_contributions(slab.array, slab.section, found);
  return merged(std::move(found));
}

std::vector<Contributor> Plan::contributors(const PieceId& id) const {
  if (bundle(id.array) != nullptr || units(id.array).most_parts() > 1) {
    return contributors(piece(id));
  }
  std::vector<Contributor> found;
  for (const array::Section& section : units(id.array).sections(id.unit)) {
    add_contributions(id.array, section, found);
  }
  return merged(std::move(found));
}

std::vector<Contributor> Plan::contributors_on(std::int64_t node, const Piece& piece) const {
  std::vector<Contributor> found;
  const std::int64_t ranks = topology().ranks_on(node);
  for (const Slab& slab : piece.slabs) {
    const SharedDistribution& memory = request_.arrays[static_cast<std::size_t>(slab.array)].memory;
    if (memory->regular() != nullptr) {
      const std::int64_t first = topology().rank_on(node, 0);
      if (topology().rank_on(node, ranks - 1) - first == ranks - 1) {
        add_regular(slab.array, slab.section, first, first + ranks, found);
        continue;
      }
      for (std::int64_t i = 0; i < ranks; ++i) {
        add_share(slab.array, slab.section, topology().rank_on(node, i), found);
      }
      continue;
    }
    // An index finds the boxes that intersect the slab, of all ranks; these are few.
    const array::Region wanted(slab.section);
    for (const array::Distribution::Piece& held : memory->pieces_meeting(wanted)) {
      if (topology().node_of(held.rank) != node) continue;
      const std::int64_t elements =
          array::common_elements(memory->piece(held.rank, held.number), wanted);
      found.push_back({held.rank, elements * slab.in_buffer.element_bytes()});
    }
  }
  return merged(std::move(found));
}

}  // namespace weir::plan
