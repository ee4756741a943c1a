#include "workloads/metadata/mix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

constexpr std::int64_t most_weight = 1'000'000;

// The actions that leave an item unchanged, create it or remove it.
constexpr Action mixable[] = {Action::mkdir,  Action::directory_stat, Action::rmdir,
                              Action::create, Action::stat,           Action::lstat,
                              Action::utime,  Action::chmod,          Action::write,
                              Action::read,   Action::setxattr,       Action::unlink};

bool removes(Action action) { return action == Action::unlink || action == Action::rmdir; }

Error refuse(const std::string& rule) { return invalid_argument("metadata: --mix: " + rule); }

Result<MixPart> part_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto action = action_named(name);
  if (!action || std::count(std::begin(mixable), std::end(mixable), *action) == 0) {
    std::string names;
    for (const Action one : mixable) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", facts_of(one).name);
    }
    return refuse(fmt::format("'{}' is not one of {}", name, names));
  }
  MixPart part{.action = *action, .weight = 0};
  if (equals != std::string_view::npos) {
    const std::string_view number = text.substr(equals + 1);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), part.weight);
    if (read.ec != std::errc{} || read.ptr != number.data() + number.size()) part.weight = 0;
  }
  if (part.weight >= 1 && part.weight <= most_weight) return part;
  return refuse(fmt::format("'{}' needs a weight from 1 to {}, as in create=30,stat=50,unlink=20",
                            text, most_weight));
}

// Returns the items that exist at first.
Window start_of(const std::vector<MixPart>& parts, Subject subject, std::int64_t capacity) {
  bool made = false;
  bool used = false;
  for (const MixPart& part : parts) {
    const ActionFacts& facts = facts_of(part.action);
    if (facts.subject != subject) continue;
    (facts.makes ? made : used) = true;
  }
  return {.capacity = capacity, .first = 0, .count = !used ? 0 : made ? capacity / 2 : capacity};
}

}  // namespace

Result<std::vector<MixPart>> mix_of(std::string_view text) {
  std::vector<MixPart> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto part = part_of(text.substr(0, comma));
    if (!part) return part.error();
    for (const MixPart& other : parts) {
      if (other.action != part.value().action) continue;
      return refuse(fmt::format("{} is given twice", facts_of(other.action).name));
    }
    parts.push_back(part.value());
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

MixSequence::MixSequence(const std::vector<MixPart>& parts, std::int64_t capacity,
                         std::uint64_t key)
    : parts_(parts),
      key_(key),
      files_(start_of(parts, Subject::file, capacity)),
      directories_(start_of(parts, Subject::directory, capacity)) {}

bool MixSequence::possible(const MixPart& part) const {
  const ActionFacts& facts = facts_of(part.action);
  const Window& window = of(facts.subject);
  return facts.makes ? window.count < window.capacity : window.count > 0;
}

std::optional<MixSequence::Operation> MixSequence::next() {
  std::int64_t total = 0;
  for (const MixPart& part : parts_) total += possible(part) ? part.weight : 0;
  if (total == 0) return std::nullopt;
  const std::uint64_t word = mixed(key_, drawn_++);
  auto left = static_cast<std::int64_t>(word % static_cast<std::uint64_t>(total));
  std::size_t chosen = 0;
  for (;; ++chosen) {
    if (!possible(parts_[chosen])) continue;
    if (left < parts_[chosen].weight) break;
    left -= parts_[chosen].weight;
  }
  const ActionFacts& facts = facts_of(parts_[chosen].action);
  Window& window = facts.subject == Subject::directory ? directories_ : files_;
  Operation operation{.part = chosen, .place = window.first};
  if (facts.makes) {
    operation.place = window.place(window.count++);
  } else if (removes(facts.action)) {
    window.first = window.place(1);
    --window.count;
  } else {
    const auto count = static_cast<std::uint64_t>(window.count);
    operation.place = window.place(static_cast<std::int64_t>(mixed(key_ + 1, word) % count));
  }
  return operation;
}

}  // namespace weir::bench::metadata
