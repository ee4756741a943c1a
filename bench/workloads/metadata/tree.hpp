// The tree and the items in it, in closed form: nothing here grows with the number of items.
//
// Directories of a tree are numbered from the root by levels: the children of d are b·d+1 … b·d+b.
// Each rank has `items(rank)` files, directories or both; its item i lies in the
// (i / items_per_directory)-th of the directories that hold items. All ranks share one tree, or
// each has its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "workloads/metadata/action.hpp"

namespace weir::bench::metadata {

enum class Sharing { shared, per_rank, one_file };

struct TreeShape {
  std::int64_t branching = 1;
  std::int64_t depth = 0;
  bool leaf_only = false;
  Sharing sharing = Sharing::shared;
  std::int64_t ranks = 1;
  // Weak scaling: so many items of every rank. Strong: `total` of all ranks together, distributed
  // evenly, the first ranks having one more.
  std::int64_t items_per_rank = 0;
  std::int64_t total = 0;                // 0: weak
  std::int64_t items_per_directory = 0;  // of a rank; set by checked_shape()

  [[nodiscard]] std::int64_t directories() const;   // of one tree, with its root
  [[nodiscard]] std::int64_t first_holder() const;  // lowest directory that holds items
  [[nodiscard]] std::int64_t holders() const;       // directories that hold items
  [[nodiscard]] std::int64_t trees() const;
  [[nodiscard]] std::int64_t items(std::int64_t rank) const;
  [[nodiscard]] std::int64_t all_items() const;  // of all ranks
  // The directory of a rank's item; `across`: after it was moved to the next one.
  [[nodiscard]] std::int64_t directory_of(std::int64_t item, bool across) const;
  [[nodiscard]] std::int64_t parent(std::int64_t directory) const {
    return (directory - 1) / branching;
  }
};

// Completes `shape`, whose items_per_directory may be 0: as few as hold all items. Refuses what
// overflows or does not fit. With items_per_directory and no items at all, every place is taken.
[[nodiscard]] Result<TreeShape> checked_shape(TreeShape shape);

// How items are called.
struct NameRules {
  std::string root = {};    // absolute; holds the trees
  std::string prefix = {};  // before every item's name
  std::int64_t length = 0;  // of an item's name in bytes, padded; 0: as short as it is
};

enum class Kind { file, directory, link, symlink };

// An item's name as found in a directory.
struct NamedItem {
  Kind kind = Kind::file;
  bool renamed = false;
  std::int64_t rank = 0;
  std::int64_t item = 0;
};

// The longest name that an item can have without padding.
[[nodiscard]] std::int64_t longest_name(const NameRules& rules, const TreeShape& shape);

// Writes paths into one buffer, making anew only what differs from the path before.
class PathWriter {
 public:
  PathWriter(const NameRules& rules, const TreeShape& shape);

  // The path of an item of `rank`. `renamed` and `across`: as TreeState has them.
  const std::string& item(Kind kind, std::int64_t rank, std::int64_t item, bool renamed,
                          bool across);
  // The path of a directory of the tree that `rank`'s items lie in.
  const std::string& directory(std::int64_t rank, std::int64_t directory);
  // What the last path is below the root of its tree; valid until the next call.
  [[nodiscard]] const char* below_tree() const { return text_.c_str() + tree_end_ + 1; }
  // What it is below the folder of all trees.
  [[nodiscard]] const char* below_root() const { return text_.c_str() + rules_.root.size() + 1; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void go_to(std::int64_t rank, std::int64_t directory);
  void append_number(std::int64_t number);

  NameRules rules_;
  TreeShape shape_;
  std::string text_;
  std::size_t tree_end_ = 0;
  std::size_t directory_end_ = 0;
  std::int64_t tree_ = -1;
  std::int64_t directory_ = -1;
};

// What a name says; nothing where no item is called so.
[[nodiscard]] std::optional<NamedItem> item_named(const NameRules& rules, const TreeShape& shape,
                                                  std::string_view name);
// The number of a directory of a tree, "d.12"; nothing where it is no such name.
[[nodiscard]] std::optional<std::int64_t> directory_named(std::string_view name);

}  // namespace weir::bench::metadata
