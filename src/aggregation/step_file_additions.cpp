// Adds arrays and attributes to a file that was already laid out, between steps. Rank 0 adds them
// by one update of the format, which readers see atomically. It then reads the file again and sends
// the result to all ranks. Arrays that are open stay open, since programs hold references to them.
#include <unordered_map>
#include <utility>

#include "aggregation/step_file.hpp"
#include "formats/additions.hpp"
#include "formats/drop_steps.hpp"
#include "formats/format.hpp"
#include "formats/open_any.hpp"

namespace weir::aggregation {

Status StepFile::may_be_extended() const {
  if (!writable_) return invalid_argument("the file is open read-only: open it for writing", path_);
  if (in_step_) return invalid_argument("a step has begun: end it or give it up first", path_);
  if (!published_) {
    return invalid_argument("its first step has not ended: begin and end it first", path_);
  }
  return {};
}

// Called by rank 0.
Result<LayoutBroadcast> StepFile::added_layout(CollectiveState& state,
                                               const storage::Additions& added) {
  if (Status alone = begin_writing(state); !alone.ok()) return alone.error();
  if (Status unchanged = writer_.check_is_unchanged(published_); !unchanged.ok())
    return unchanged.error();
  const storage::StepDurability durability = settings_.durability;
  Status done = storage::finish_drop(path_, durability);
  if (done.ok()) done = storage::add_to_file(path_, added, durability);
  writer_.note_version(place());  // data that a killed run left may be gone, even if adding fails
  if (!done.ok()) return done.error();
  auto opened = storage::find_format(format_).value()->open(path_);
  if (!opened) return opened.error();
  LayoutBroadcast layout{.map = std::move(opened).value()};
  look_up_storage(layout, map_, path_);
  return layout;
}

Status StepFile::take_added(CollectiveState& state, const storage::Additions& added,
                            LayoutBroadcast told) {
  // The arrays are in the order and terms of their descriptions: an array that was laid out in
  // column-major order keeps it.
  std::unordered_map<std::string, storage::StoredArray*> by_name;
  for (storage::StoredArray& one : told.map.arrays) by_name.emplace(one.description.name, &one);
  for (const storage::ArrayDescription& one : added.arrays) {
    const auto found = by_name.find(one.name);
    if (found == by_name.end()) return told.map.get(one.name).error();
    storage::StoredArray& stored = *found->second;
    if (!one.grows) stored.map.shape = one.shape;
    stored.map.order = one.order;
    stored.description.order = one.order;
    stored.description.grows = one.grows;
    stored.description.shape = stored.map.shape;
    if (one.order != array::Order::row_major) {
      stored.description.dimension_names = one.dimension_names;
    }
    map_.arrays.push_back(stored);
  }
  const std::size_t open = arrays_.size();
  for (std::size_t i = 0; i < open; ++i) {
    storage::StoredArray& ours = map_.arrays[i];
    const auto found = by_name.find(ours.description.name);
    if (found == by_name.end()) return told.map.get(ours.description.name).error();
    ours.description.attributes = found->second->description.attributes;
    const storage::ArrayChange change =
        change_to(ours, found->second->map, known_steps_.value_or(steps_));
    if (std::holds_alternative<storage::ArrayKept>(change)) continue;
    storage::apply(change, ours.map);
    arrays_[i]->set_map(ours.map);
  }
  note_known_places();
  map_.groups = std::move(told.map.groups);
  map_.left_out = std::move(told.map.left_out);
  map_.refused = std::move(told.map.refused);
  const bool had_steps = has_steps_;
  while (arrays_.size() < map_.arrays.size()) {
    open_array(state, told.targets);
    if (!arrays_.back()->origin().grows) added_.insert(arrays_.back()->number());
  }
  tell_what_is_not_staged(state);
  if (!had_steps && has_steps_) steps_ = map_.steps().value_or(0);
  refuse_writing_between_steps();
  collect_sums(false);
  select_last_step();
  return share_places(state);
}

Status StepFile::extend(CollectiveState& state, const storage::Additions& added) {
  if (Status gone_on = go_on_without_stager(state); !gone_on.ok()) return gone_on;
  auto told = ask_for_layout(
      state, may_be_extended(), [&] { return added_layout(state, added); }, path_);
  if (!told) return told.error();
  return take_added(state, added, std::move(told).value());
}

}  // namespace weir::aggregation
