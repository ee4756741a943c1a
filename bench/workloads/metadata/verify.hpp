// Checks that everything exists that should exist, and nothing else. Not measured.
//
// Every rank checks each of the items that it handled, and lists its share of the directories. If
// every item exists, every entry found is a valid item, and the number of entries is right, then
// there is nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "common/status.hpp"
#include "interfaces/name_calls.hpp"
#include "measurement/job.hpp"
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

  // Checks the items of `owner` on which `action` was done: type, size, owner, and what the action
  // set.
  Status items(Action action, const TreeState& state, std::int64_t owner, NameCalls& calls,
               PathWriter& path);
  // Checks after a mix whether an item of `owner` exists (`there`) or not.
  Status mixed_item(Kind kind, std::int64_t owner, std::int64_t item, bool there, NameCalls& calls,
                    PathWriter& path);
  // Checks this rank's share of the directories.
  Status listings(Action action, const TreeState& state, PathWriter& path);
  // Checks how much all ranks have found. Collective; all ranks return the same status.
  Status totals(Action action, const TreeState& state) const;
  // Checks the totals after a mix. The arguments count the items that the mix has left of those
  // that this rank handled. Collective.
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
  std::int64_t owner_id_ = -1;  // the owner of what this user creates here
  std::int64_t verified_ = 0;
  Counts found_{};
};

}  // namespace weir::bench::metadata
