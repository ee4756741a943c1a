#include "workloads/metadata/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>
#include <vector>

namespace weir::bench::metadata {
namespace {

constexpr std::int64_t most_directories = 100'000'000;
constexpr std::int64_t most_items = 1'000'000'000'000;
constexpr std::int64_t longest_allowed = 255;  // NAME_MAX of every common file system
constexpr std::string_view shared_file = "shared";

struct KindWord {
  Kind kind;
  bool renamed;
  std::string_view word;
};
constexpr KindWord words[] = {
    {Kind::file, false, "file"},     {Kind::file, true, "renamed"},
    {Kind::directory, false, "dir"}, {Kind::directory, true, "dir-renamed"},
    {Kind::link, false, "link"},     {Kind::symlink, false, "symlink"},
};

std::string_view word_of(Kind kind, bool renamed) {
  for (const KindWord& entry : words) {
    if (entry.kind == kind &&
        (entry.renamed == renamed || kind == Kind::link || kind == Kind::symlink)) {
      return entry.word;
    }
  }
  return {};
}

std::int64_t digits(std::int64_t number) {
  return static_cast<std::int64_t>(fmt::formatted_size("{}", number));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::int64_t TreeShape::directories() const {
  if (branching == 1) return depth + 1;
  std::int64_t all = 1;
  std::int64_t level = 1;
  for (std::int64_t i = 0; i < depth; ++i) {
    level *= branching;
    all += level;
  }
  return all;
}

std::int64_t TreeShape::first_holder() const {
  if (!leaf_only || depth == 0) return 0;
  return directories() - holders();
}

std::int64_t TreeShape::holders() const {
  if (!leaf_only) return directories();
  std::int64_t leaves = 1;
  for (std::int64_t i = 0; i < depth; ++i) leaves *= branching;
  return leaves;
}

std::int64_t TreeShape::trees() const { return sharing == Sharing::per_rank ? ranks : 1; }

std::int64_t TreeShape::items(std::int64_t rank) const {
  if (total == 0) return items_per_rank;
  return total / ranks + (rank < total % ranks ? 1 : 0);
}

std::int64_t TreeShape::all_items() const { return total == 0 ? items_per_rank * ranks : total; }

std::int64_t TreeShape::directory_of(std::int64_t item, bool across) const {
  const std::int64_t place = item / items_per_directory + (across ? 1 : 0);
  return first_holder() + place % holders();
}

Result<TreeShape> checked_shape(TreeShape shape) {
  std::int64_t all = 1;
  std::int64_t level = 1;
  for (std::int64_t i = 0; i < shape.depth; ++i) {
    if (level <= most_directories) level *= shape.branching;
    all += level;
    if (all > most_directories) {
      return invalid_argument(
          fmt::format("metadata: a tree of depth {} and branching {} has more than {} directories: "
                      "give a smaller tree",
                      shape.depth, shape.branching, most_directories));
    }
  }
  const std::int64_t holders = shape.holders();
  if (shape.items_per_rank == 0 && shape.total == 0) {
    if (shape.items_per_directory > most_items / holders / shape.ranks) {
      return invalid_argument(
          "metadata: --items-per-directory: the number of items in all is too large");
    }
    shape.items_per_rank = shape.items_per_directory * holders;
  }
  if (shape.items_per_rank > most_items / shape.ranks || shape.total > most_items) {
    return invalid_argument(fmt::format("metadata: more than {} items in all", most_items));
  }
  const std::int64_t largest = shape.items(0);
  if (shape.items_per_directory == 0) {
    shape.items_per_directory = std::max<std::int64_t>(1, (largest + holders - 1) / holders);
  }
  if ((largest + holders - 1) / holders > shape.items_per_directory) {
    return invalid_argument(
        fmt::format("metadata: {} items of a rank do not fit into {} directories of {} "
                    "(--items-per-directory): give fewer items or a larger tree",
                    largest, holders, shape.items_per_directory));
  }
  return shape;
}

std::int64_t longest_name(const NameRules& rules, const TreeShape& shape) {
  std::size_t longest = 0;
  for (const KindWord& entry : words) longest = std::max(longest, entry.word.size());
  return static_cast<std::int64_t>(rules.prefix.size() + longest) + 2 + digits(shape.ranks - 1) +
         digits(std::max<std::int64_t>(0, shape.items(0) - 1));
}

PathWriter::PathWriter(const NameRules& rules, const TreeShape& shape)
    : rules_(rules), shape_(shape) {
  text_.reserve(rules.root.size() + longest_allowed + 64 +
                static_cast<std::size_t>(shape.depth) * 16);
}

void PathWriter::append_number(std::int64_t number) {
  char digits_of_it[24];
  const auto end = std::to_chars(digits_of_it, digits_of_it + sizeof digits_of_it, number).ptr;
  text_.append(digits_of_it, static_cast<std::size_t>(end - digits_of_it));
}

void PathWriter::go_to(std::int64_t rank, std::int64_t directory) {
  const std::int64_t tree = shape_.sharing == Sharing::per_rank ? rank : 0;
  if (tree == tree_ && directory == directory_) {
    text_.resize(directory_end_);
    return;
  }
  text_ = rules_.root;
  text_ += "/weir-tree";
  if (shape_.sharing == Sharing::per_rank) {
    text_ += '.';
    append_number(rank);
  }
  tree_end_ = text_.size();
  std::vector<std::int64_t> way;
  for (std::int64_t d = directory; d > 0; d = shape_.parent(d)) way.push_back(d);
  for (const std::int64_t d : std::ranges::reverse_view(way)) {
    text_ += "/d.";
    append_number(d);
  }
  directory_end_ = text_.size();
  tree_ = tree;
  directory_ = directory;
}

const std::string& PathWriter::item(Kind kind, std::int64_t rank, std::int64_t item, bool renamed,
                                    bool across) {
  if (shape_.sharing == Sharing::one_file) {
    go_to(0, 0);
    text_ += '/';
    text_ += rules_.prefix;
    text_ += shared_file;
    return text_;
  }
  go_to(rank, shape_.directory_of(item, across));
  text_ += '/';
  const std::size_t start = text_.size();
  text_ += rules_.prefix;
  text_ += word_of(kind, renamed);
  text_ += '.';
  append_number(rank);
  text_ += '.';
  append_number(item);
  const auto wanted = static_cast<std::size_t>(rules_.length);
  const std::size_t is = text_.size() - start;
  if (is < wanted) text_.append(wanted - is, '_');
  return text_;
}

const std::string& PathWriter::directory(std::int64_t rank, std::int64_t directory) {
  go_to(rank, directory);
  return text_;
}

std::optional<NamedItem> item_named(const NameRules& rules, const TreeShape& shape,
                                    std::string_view name) {
  if (!name.starts_with(rules.prefix)) return std::nullopt;
  if (shape.sharing == Sharing::one_file) {
    if (name.substr(rules.prefix.size()) != shared_file) return std::nullopt;
    return NamedItem{};
  }
  if (rules.length > 0 && name.size() != static_cast<std::size_t>(rules.length)) {
    return std::nullopt;
  }
  name.remove_prefix(rules.prefix.size());
  while (rules.length > 0 && name.ends_with('_')) name.remove_suffix(1);
  const std::size_t first = name.find('.');
  const std::size_t second = first == std::string_view::npos ? first : name.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto rank = whole_number(name.substr(first + 1, second - first - 1));
  const auto item = whole_number(name.substr(second + 1));
  if (!rank || !item || *rank >= shape.ranks || *item >= shape.items(*rank)) return std::nullopt;
  for (const KindWord& entry : words) {
    if (entry.word == name.substr(0, first)) {
      return NamedItem{entry.kind, entry.renamed, *rank, *item};
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> directory_named(std::string_view name) {
  if (!name.starts_with("d.")) return std::nullopt;
  return whole_number(name.substr(2));
}

}  // namespace weir::bench::metadata
