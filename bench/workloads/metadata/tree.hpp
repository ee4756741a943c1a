// The tree and its items in closed form: no memory grows with the number of items.
//
// The directories of a tree are numbered from the root by levels: the children of d are b·d+1 …
// b·d+b. Each rank has `items(rank)` files, directories or both. Its item i lies in the (i /
// items_per_directory)-th of the directories that hold items. All ranks share one tree, or each
// rank has its own.
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
  // Weak scaling sets the number of items of every rank. Strong scaling sets `total` for all ranks
  // together, distributed evenly, with one more item on each of the first ranks.
  std::int64_t items_per_rank = 0;
  std::int64_t total = 0;                // 0: weak scaling
  std::int64_t items_per_directory = 0;  // for each rank; set by checked_shape()

  [[nodiscard]] std::int64_t directories() const;   // of one tree, including its root
  [[nodiscard]] std::int64_t first_holder() const;  // lowest directory that holds items
  [[nodiscard]] std::int64_t holders() const;       // directories that hold items
  [[nodiscard]] std::int64_t trees() const;
  [[nodiscard]] std::int64_t items(std::int64_t rank) const;
  [[nodiscard]] std::int64_t all_items() const;  // of all ranks
  // Returns the directory of a rank's item; with `across`, after the item was moved to the next
  // directory.
  [[nodiscard]] std::int64_t directory_of(std::int64_t item, bool across) const;
  [[nodiscard]] std::int64_t parent(std::int64_t directory) const {
    return (directory - 1) / branching;
  }
};

// Completes `shape`. If its items_per_directory is 0, it becomes the smallest number that holds all
// items. If it is set and there are no items at all, every place gets an item. Fails for a shape
// that overflows or does not fit.
[[nodiscard]] Result<TreeShape> checked_shape(TreeShape shape);

// Says how the names of items are formed.
struct NameRules {
  std::string root = {};    // absolute; contains the trees
  std::string prefix = {};  // before every item's name
  std::int64_t length = 0;  // padded length of an item's name in bytes; 0: no padding
};

enum class Kind { file, directory, link, symlink };

// An item as identified by its name in a directory.
struct NamedItem {
  Kind kind = Kind::file;
  bool renamed = false;
  std::int64_t rank = 0;
  std::int64_t item = 0;
};

// Returns the length of the longest name that an item can have without padding.
[[nodiscard]] std::int64_t longest_name(const NameRules& rules, const TreeShape& shape);

// Writes paths into one buffer, and rewrites only what differs from the previous path.
class PathWriter {
 public:
  PathWriter(const NameRules& rules, const TreeShape& shape);

  // Returns the path of an item of `rank`. `renamed` and `across` have the meaning that they have
  // in TreeState.
  const std::string& item(Kind kind, std::int64_t rank, std::int64_t item, bool renamed,
                          bool across);
  // Returns the path of a directory of the tree that contains `rank`'s items.
  const std::string& directory(std::int64_t rank, std::int64_t directory);
  // Returns the last path relative to the root of its tree; valid until the next call.
  [[nodiscard]] const char* below_tree() const { return text_.c_str() + tree_end_ + 1; }
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

// Returns the item with this name, or nothing if no item has it.
[[nodiscard]] std::optional<NamedItem> item_named(const NameRules& rules, const TreeShape& shape,
                                                  std::string_view name);
// Returns the number of a directory of a tree, "d.12", or nothing if the name has another form.
[[nodiscard]] std::optional<std::int64_t> directory_named(std::string_view name);

}  // namespace weir::bench::metadata
