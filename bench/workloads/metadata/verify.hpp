// Whether what should exist does, and nothing else. Not measured.
//
// Every rank looks at each of the items that it handled, and lists its share of the directories.
// Every item being there, every entry found being one that should be, and as many entries as
// there should be: that is all there is.
#pragma once

#include <array>
#include <cstdint>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "workloads/metadata/item_calls.hpp"
#include "workloads/metadata/parameters.hpp"

namespace weir::bench::metadata {

class TreeCheck {
 public:
  // All must outlive the check.
  TreeCheck(const Job& job, const Options& options, const TreeShape& shape, const NameRules& names,
            std::uint64_t seed)
      : job_(job), options_(options), shape_(shape), names_(names), seed_(seed) {}

  // The items of `owner` that `action` was done to: type, size, owner, and what the action set.
  Status items(Action action, const TreeState& state, std::int64_t owner, ItemCalls& calls,
               PathWriter& path);
  // This rank's share of the directories.
  Status listings(Action action, const TreeState& state, PathWriter& path);
  // Collective: how much all ranks found. Every rank gets the same answer.
  Status totals(Action action, const TreeState& state) const;

  [[nodiscard]] std::int64_t verified() const { return verified_; }

 private:
  struct Found;  // one item's status
  enum Count { tree_directories, files, directories, links, symlinks, counts };

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
  std::int64_t owner_id_ = -1;  // who owns what this user makes here
  std::int64_t verified_ = 0;
  std::array<std::int64_t, counts> found_{};
};

}  // namespace weir::bench::metadata
