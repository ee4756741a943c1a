// Whether what should exist does, and nothing else. Not measured.
//
// Every rank looks at each of the items that it handled, and lists its share of the directories.
// Every item being there, every entry found being one that should be, and as many entries as
// there should be: that is all there is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "workloads/metadata/item_calls.hpp"
#include "workloads/metadata/parameters.hpp"

namespace weir::bench::metadata {

class TreeCheck {
 public:
  // All references must outlive the check. `progress` is called after every item and entry.
  TreeCheck(const Job& job, const Options& options, const TreeShape& shape, const NameRules& names,
            std::uint64_t seed, std::function<void()> progress)
      : job_(job),
        options_(options),
        shape_(shape),
        names_(names),
        seed_(seed),
        progress_(std::move(progress)) {}

  // The items of `owner` that `action` was done to: type, size, owner, and what the action set.
  Status items(Action action, const TreeState& state, std::int64_t owner, ItemCalls& calls,
               PathWriter& path);
  // After a mix: an item of `owner` that should be there, or should not.
  Status mixed_item(Kind kind, std::int64_t owner, std::int64_t item, bool there, ItemCalls& calls,
                    PathWriter& path);
  // This rank's share of the directories.
  Status listings(Action action, const TreeState& state, PathWriter& path);
  // Collective: how much all ranks found. Every rank gets the same answer.
  Status totals(Action action, const TreeState& state) const;
  // Collective: totals after a mix, which has left so many of the items that this rank handled.
  Status mixed_totals(std::int64_t files, std::int64_t directories) const;

  [[nodiscard]] std::int64_t verified() const { return verified_; }

 private:
  enum Count { tree_directories, files, directories, links, symlinks, counts };
  using Counts = std::array<std::int64_t, counts>;

  Status expect_totals(Action action, const Counts& found, const Counts& expected) const;
  Status find_owner();
  Status item(Action action, const TreeState& state, const PathWriter& path, Kind kind,
              std::int64_t bytes) const;
  Status listing(Action action, const TreeState& state, std::int64_t tree, std::int64_t directory,
                 const std::string& path);
  [[nodiscard]] bool should_be(const TreeState& state, const NamedItem& item, std::int64_t tree,
                               std::int64_t directory) const;

  const Job& job_;
  const Options& options_;
  const TreeShape& shape_;
  const NameRules& names_;
  std::uint64_t seed_;
  std::function<void()> progress_;
  std::int64_t owner_id_ = -1;  // who owns what this user makes here
  std::int64_t verified_ = 0;
  Counts found_{};
};

}  // namespace weir::bench::metadata
