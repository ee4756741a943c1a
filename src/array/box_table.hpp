// A table of the boxes that the ranks hold of an array, in the order of ranks, with a tree that
// finds the boxes that meet a given box. The table is one image: a block of bytes without pointers,
// which processes may map at any address. Each number of a box or a bound takes 4 bytes if every
// extent of the array is below 2^32, otherwise 8. A table of regions also has strides: only every
// stride-th index of a box along each dimension belongs to the rank.
//
// One process, or several processes that share the memory, make an image from zeros in the steps
// below. Each step ends before the next one begins. In a step marked "all", the processes divide
// the work among themselves; a step marked "one" is done by one process. A finished image never
// changes.
// clang-format off
//   all    set_count() of every rank
//   one    add_up_counts()
//   all    set_boxes() of every rank, or set_region() in a table of regions
//   one    list_boxes()
//   all    split() the nodes of level 0, then those of level 1, and so on
//   all    build_below() for the nodes of the level after the last one that was split
//   one    bound_above() that level
// clang-format on
//
// The tree is a bounding volume hierarchy: it halves the boxes at the median of their middles,
// along the dimension in which the middles spread most, until a leaf has few boxes. Building it
// takes O(n log n) time. A query opens the nodes whose bounding box meets the given box. This takes
// O(log n + answers) for disjoint boxes like those of refined meshes, and more for long thin boxes
// that cross each other's bounding boxes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/box.hpp"
#include "array/section.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::array {

class BoxTable {
 public:
  // A table holds either boxes or regions; regions may have strides.
  enum class Content : std::uint8_t { boxes, regions };

  // Returns the number of bytes of an image. Fails if it does not fit into 63 bits.
  static Result<std::int64_t> image_bytes(const Shape& shape, std::int64_t ranks,
                                          std::int64_t boxes, Content content = Content::boxes);
  // `image` has image_bytes() bytes at an address that is a multiple of 8. It contains zeros or an
  // image that was made with the same arguments. An image of regions may begin with any bytes,
  // because each step of making it sets all bytes that the next step reads.
  BoxTable(const Shape& shape, std::int64_t ranks, std::int64_t boxes,
           std::shared_ptr<std::byte> image, Content content = Content::boxes);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  [[nodiscard]] std::int64_t boxes() const { return boxes_; }

  // The following functions make the image.
  void set_count(std::int64_t rank, std::int64_t boxes) const;
  // Fails if a count is negative or the counts do not add up to the number of boxes.
  [[nodiscard]] Status add_up_counts() const;
  // `numbers` has 2 × dimensions numbers per box: its lower corner, then its extents. Fails if a
  // box is not inside the array or the number of boxes differs from the rank's count.
  [[nodiscard]] Status set_boxes(std::int64_t rank, std::span<const std::int64_t> numbers) const;
  // Sets box number `box`, which is below the number of boxes, to a region inside the array. The
  // counts may be set later.
  void set_region(std::int64_t box, const Section& region) const;
  // Clears every box for which is_set(box) is false. One process calls this function for an image
  // when all regions that the image's processes provide are set.
  template <typename IsSet>
  void clear_regions_but(const IsSet& is_set) const;
  // Fails if the boxes have more than 2^63 elements in total.
  [[nodiscard]] Status list_boxes() const;
  // The nodes of level l are numbered from 0 to 2^l − 1; numbers of nodes that do not exist are
  // ignored.
  void split(int level, std::int64_t node) const;
  void build_below(int level, std::int64_t node) const;
  void bound_above(int level) const;
  // Processes that share no memory exchange these words. The words that a process has not set are 0
  // in its image, so a bitwise OR of all images gives the complete words. Processes combine the
  // count words before add_up_counts() and the box words before list_boxes().
  [[nodiscard]] std::span<std::uint64_t> count_words() const;
  [[nodiscard]] std::span<std::uint64_t> box_words() const;

  // The following functions read the image.
  // `rank` has the boxes numbered first_box(rank) to first_box(rank + 1) − 1.
  [[nodiscard]] std::int64_t first_box(std::int64_t rank) const {
    return first_box_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::int64_t rank_of_box(std::int64_t number) const;
  [[nodiscard]] std::int64_t lower(std::int64_t box, int dimension) const {
    return corners_.get(2 * box * dimensions() + dimension);
  }
  [[nodiscard]] std::int64_t extent(std::int64_t box, int dimension) const {
    return corners_.get((2 * box + 1) * dimensions() + dimension);
  }
  [[nodiscard]] std::int64_t upper(std::int64_t box, int dimension) const {
    return lower(box, dimension) + extent(box, dimension);
  }
  [[nodiscard]] Box operator[](std::int64_t number) const;
  // Returns the elements of a box that belong to its rank: all of them if the table has no strides.
  [[nodiscard]] Section section(std::int64_t number) const;
  // Returns whether any region has a stride other than 1.
  [[nodiscard]] bool is_strided() const { return header_->strided != 0; }
  // Returns the sum of the elements of all boxes.
  [[nodiscard]] std::int64_t elements() const { return header_->elements; }
  // Returns a hash of the ranks and their boxes.
  [[nodiscard]] std::uint64_t digest() const { return header_->digest; }

  // Calls visit(number) for each box that meets `box`, in no particular order, until visit returns
  // false. An empty box meets no box. Returns how many nodes of the tree were opened.
  template <typename Visit>
  std::int64_t visit_meeting(const Box& box, Visit visit) const;
  // Returns the numbers of the boxes that meet `box`, in ascending order.
  [[nodiscard]] std::vector<std::int64_t> meeting(const Box& box) const;
  // Returns the lowest number of another box or region that has an element in common with box or
  // region `number`.
  [[nodiscard]] std::optional<std::int64_t> overlapping(std::int64_t number) const;

  // Returns whether each rank has the same boxes in the same order.
  friend bool operator==(const BoxTable& a, const BoxTable& b);

 private:
  static constexpr std::int64_t leaf_boxes = 8;
  static constexpr std::size_t max_waiting = 64;  // the tree is less deep than this

  // Numbers of 4 or 8 bytes each.
  class Numbers {
   public:
    Numbers() = default;
    Numbers(std::byte* first, bool narrow) : first_(first), narrow_(narrow) {}
    [[nodiscard]] std::int64_t get(std::int64_t at) const {
      return narrow_ ? std::int64_t{reinterpret_cast<const std::uint32_t*>(first_)[at]}
                     : reinterpret_cast<const std::int64_t*>(first_)[at];
    }
    void set(std::int64_t at, std::int64_t number) const {
      if (narrow_) {
        reinterpret_cast<std::uint32_t*>(first_)[at] = static_cast<std::uint32_t>(number);
      } else {
        reinterpret_cast<std::int64_t*>(first_)[at] = number;
      }
    }
    [[nodiscard]] bool narrow() const { return narrow_; }
    [[nodiscard]] std::byte* first() const { return first_; }

   private:
    std::byte* first_ = nullptr;
    bool narrow_ = false;
  };

  struct Header {
    std::int64_t elements = 0;
    std::int64_t listed = 0;  // number of boxes that are not empty: the tree contains only these
    std::uint64_t digest = 0;
    std::int64_t strided = 0;
  };

  // The byte offsets at which the parts of the image begin and at which the image ends.
  struct Parts {
    bool narrow_indices = false;
    bool narrow_order = false;
    std::int64_t first_box = 0;
    std::int64_t corners = 0;
    std::int64_t strides = 0;
    std::int64_t order = 0;
    std::int64_t bounds = 0;
    std::int64_t end = 0;
  };
  static std::optional<Parts> parts(const Shape& shape, std::int64_t ranks, std::int64_t boxes,
                                    Content content);

  // A node of the tree contains the boxes order_[begin, end). Its bounds are at index `number`.
  struct Node {
    std::int64_t number = 0;  // children: 2 × number + 1, 2 × number + 2
    std::int64_t begin = 0;
    std::int64_t end = 0;

    [[nodiscard]] bool is_leaf() const { return end - begin <= leaf_boxes; }
  };

  [[nodiscard]] int dimensions() const { return shape_.dimensions(); }
  [[nodiscard]] Node root() const { return {0, 0, header_->listed}; }
  [[nodiscard]] static Node child(const Node& node, int which);
  [[nodiscard]] std::optional<Node> node_at(int level, std::int64_t number) const;
  [[nodiscard]] std::int64_t middle(std::int64_t box, int dimension) const {
    return lower(box, dimension) + extent(box, dimension) / 2;
  }
  [[nodiscard]] int widest_dimension(const Node& node) const;
  void halve(const Node& node) const;
  template <typename Number>
  void halve(const Node& node, int along) const;
  void build(const Node& node) const;
  void bound(const Node& node, int levels) const;
  void bound_leaf(const Node& node) const;
  void bound_by_children(const Node& node) const;
  [[nodiscard]] bool may_meet(const Node& node, const Box& box) const;
  [[nodiscard]] std::int64_t least(const Node& node, int dimension) const {
    return bounds_.get(2 * (node.number * dimensions() + dimension));
  }
  [[nodiscard]] std::int64_t end(const Node& node, int dimension) const {
    return bounds_.get(2 * (node.number * dimensions() + dimension) + 1);
  }
  void set_bounds(const Node& node, int dimension, std::int64_t least, std::int64_t end) const;

  Shape shape_;
  std::int64_t ranks_;
  std::int64_t boxes_;
  std::shared_ptr<std::byte> image_;
  Header* header_ = nullptr;
  std::int64_t* first_box_ = nullptr;  // one number per rank, then the number of boxes
  bool has_strides_ = false;
  Numbers corners_;  // 2 × dimensions per box
  Numbers strides_;  // one per dimension and region; none in a table of boxes
  Numbers order_;    // the numbers of the boxes that are not empty
  Numbers bounds_;   // per node and dimension: the least index, and the greatest plus 1
};

template <typename IsSet>
void BoxTable::clear_regions_but(const IsSet& is_set) const {
  const std::int64_t n = dimensions();
  for (std::int64_t box = 0; box < boxes_; ++box) {
    if (is_set(box)) continue;
    for (std::int64_t i = 0; i < 2 * n; ++i) corners_.set(2 * box * n + i, 0);
    for (std::int64_t d = 0; d < n; ++d) strides_.set(box * n + d, 0);
  }
  // The padding after the last stride, up to a multiple of 8 bytes, becomes 0 too.
  if (strides_.narrow() && boxes_ * n % 2 != 0) strides_.set(boxes_ * n, 0);
}

template <typename Visit>
std::int64_t BoxTable::visit_meeting(const Box& box, Visit visit) const {
  std::int64_t opened = 0;
  if (header_->listed == 0 || box.empty()) return opened;
  std::array<Node, max_waiting> waiting;
  std::size_t count = 0;
  waiting.at(count++) = root();
  while (count > 0) {
    const Node node = waiting.at(--count);
    if (!may_meet(node, box)) continue;
    ++opened;
    if (!node.is_leaf()) {
      waiting.at(count++) = child(node, 1);
      waiting.at(count++) = child(node, 0);
      continue;
    }
    for (std::int64_t at = node.begin; at < node.end; ++at) {
      const std::int64_t number = order_.get(at);
      bool meets = true;
      for (int d = 0; d < dimensions() && meets; ++d) {
        meets = lower(number, d) < box.upper(d) && box.lower[d] < upper(number, d);
      }
      if (meets && !visit(number)) return opened;
    }
  }
  return opened;
}

}  // namespace weir::array
