#include "aggregation/layout_broadcast.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "aggregation/shared_tables.hpp"
#include "formats/file_map_message.hpp"
#include "formats/open_any.hpp"
#include "system/file_targets.hpp"

namespace weir::aggregation {
namespace {

constexpr std::size_t numbers = 12;
using Numbers = std::array<std::int64_t, numbers>;

// Converts to text: numbers, then the texts whose lengths the last of these numbers give, then the
// map. The ranks of a job represent numbers in the same way.
std::string text_of(const LayoutBroadcast& told) {
  // The file's path is empty if there is no identity.
  const storage::KnownFile known = told.known.value_or(storage::KnownFile());
  const Numbers head = {told.targets.count,
                        told.targets.stripe_bytes,
                        told.targets.lock_bytes,
                        std::ssize(told.format),
                        std::ssize(told.path),
                        std::ssize(told.sums),
                        told.targets.coherent_caches ? 1 : 0,
                        std::ssize(known.path),
                        static_cast<std::int64_t>(known.identity.inode),
                        known.identity.birth_seconds,
                        known.identity.birth_nanoseconds,
                        told.has_tables_apart ? 1 : 0};
  std::string text(sizeof head, '\0');
  std::memcpy(text.data(), head.data(), sizeof head);
  const auto tables = told.has_tables_apart ? storage::Tables::apart : storage::Tables::included;
  return text + told.format + told.path + told.sums + known.path +
         storage::message_of(told.map, tables);
}

Result<LayoutBroadcast> layout_of(std::string_view text) {
  Numbers head{};
  std::memcpy(head.data(), text.data(), std::min(text.size(), sizeof head));
  text.remove_prefix(std::min(text.size(), sizeof head));
  const auto take = [&](std::int64_t bytes) {
    std::string part(text.substr(0, static_cast<std::size_t>(bytes)));
    text.remove_prefix(part.size());
    return part;
  };
  LayoutBroadcast told;
  told.targets = {.count = head[0],
                  .stripe_bytes = head[1],
                  .lock_bytes = head[2],
                  .coherent_caches = head[6] != 0};
  told.format = take(head[3]);
  told.path = take(head[4]);
  told.sums = take(head[5]);
  std::string known = take(head[7]);
  if (!known.empty()) {
    told.known = {std::move(known), {static_cast<std::uint64_t>(head[8]), head[9], head[10]}};
  }
  told.has_tables_apart = head[11] != 0;
  auto map = storage::parse_file_map(
      text, told.has_tables_apart ? storage::Tables::apart : storage::Tables::included);
  if (!map) return map.error();
  told.map = std::move(map).value();
  return told;
}

// Converts to text: the index of the alternative as a digit, and the changes if this is the
// alternative.
std::string text_of(const StepPlaces& places) {
  std::string text(1, static_cast<char>('0' + places.index()));
  if (const auto* const changes = std::get_if<ArrayChanges>(&places)) {
    text += storage::message_of(*changes);
  }
  return text;
}

Result<StepPlaces> places_of(std::string_view text) {
  const std::string_view kind = text.substr(0, 1);
  if (text == "0") return StepPlaces(FirstStepPlaces{});
  if (text == "1") return StepPlaces(OneStepLonger{});
  if (kind != "2")
    return invalid_argument("internal error: a message about a step has an unknown kind");
  auto changes = storage::parse_array_changes(text.substr(1));
  if (!changes) return changes.error();
  return StepPlaces(std::move(changes).value());
}

// Returns whether rank 0 can use the layout that it found, as if it had received it. Tables of
// places have to be built from the message by all ranks (shared_tables.hpp).
bool is_as_received(LayoutBroadcast& layout) {
  return layout.has_tables_apart || own_table_words(layout.map) == 0;
}
bool is_as_received(const StepPlaces& /*places*/) { return false; }

// Calls ask_rank_0() for a value that is sent as text.
template <typename Value>
Result<Value> ask_for(CollectiveState& state, const Status& possible,
                      const std::function<Result<Value>()>& find,
                      Result<Value> (*parse)(std::string_view), const std::string& path) {
  std::optional<Value> own;
  const auto find_text = [&]() -> Result<std::string> {
    auto found = find();
    if (!found) return with_file(found.error(), path);
    std::string text = text_of(found.value());
    if (is_as_received(found.value())) own = std::move(found).value();
    return text;
  };
  const auto told = ask_rank_0(state, possible, find_text, "the file's layout");
  if (!told) return told.error();
  if (own) return *std::move(own);
  return parse(told.value());
}

}  // namespace

void look_up_storage(LayoutBroadcast& layout, const storage::FileMap& map,
                     const std::string& path) {
  const std::string data = storage::first_data_file(map, path);
  const auto facts = storage::facts_of(data);
  if (facts) layout.targets = storage::file_targets(data, facts.value());
  layout.known = storage::known_file_of(map, path, facts ? &facts.value() : nullptr);
}

Result<LayoutBroadcast> ask_for_layout(CollectiveState& state, const Status& possible,
                                       const std::function<Result<LayoutBroadcast>()>& find,
                                       const std::string& path) {
  const auto find_all = [&] {
    auto found = find();
    if (found) {
      found.value().has_tables_apart = own_table_words(found.value().map) >= least_shared_words;
    }
    return found;
  };
  auto told = ask_for<LayoutBroadcast>(state, possible, find_all, layout_of, path);
  if (!told) return told;
  if (told.value().has_tables_apart) {
    Status received = receive_tables(state, told.value().map);
    if (!received.ok()) return received.error();
  }
  storage::set_known_file(told.value().map, told.value().known);
  // The ranks of a node share its cache.
  bool& coherent = told.value().targets.coherent_caches;
  coherent =
      state.group->topology().nodes() == 1 || (coherent && state.settings.targets.coherent_caches);
  return told;
}

Result<StepPlaces> ask_for_places(CollectiveState& state, const Status& possible,
                                  const std::function<Result<StepPlaces>()>& find,
                                  const std::string& path) {
  return ask_for<StepPlaces>(state, possible, find, places_of, path);
}

}  // namespace weir::aggregation
