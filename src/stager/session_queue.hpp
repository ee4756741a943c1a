// The queue has what the ranks of one session have handed over and asked for, in the order in which
// it came. The items at the front may belong to the job under way; they stay until it has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stager/events.hpp"
#include "transport/filled_block.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

using NamedFile = std::shared_ptr<const transport::NameFile>;

struct BlockItem {
  std::int64_t block = 0;
  std::int64_t bytes = 0;
  std::optional<SpilledBlock> spilled = std::nullopt;  // its block is free then
  bool is_moving = false;                              // to the spill file
  JobId recording = 0;                                 // 0: it is not being recorded
  bool at_once = false;                                // waits for no step's end
  bool may_wait = false;                               // with `at_once`: for something else
  bool has_waited = false;                             // with `may_wait`: since the last Tick
  std::vector<NamedFile> files;
  std::shared_ptr<const std::vector<transport::BlockExtent>> extents;  // `file`: index in `files`
};
struct CommitItem {
  std::uint64_t ticket = 0;
  transport::CommitStep step;
  JobId recording = 0;
  bool has_shares = false;     // other stagers were asked to record theirs
  bool awaits_shares = false;  // until they have answered
};
struct UnlockItem {
  std::uint64_t ticket = 0;
  std::string path;
};
struct SealItem {
  std::uint64_t ticket = 0;
  transport::SealStep step;
};
struct DrainItem {
  ClientId client = 0;
};
using Item = std::variant<BlockItem, CommitItem, UnlockItem, SealItem, DrainItem>;

// About how many bytes one Write has; a single filled block may have more.
struct WriteLimits {
  std::int64_t bytes = 0;
  std::int64_t described = 0;  // of all, where their extents are too many to be described together
  std::int64_t read_back = 0;  // of all, from the spill file
};

class SessionQueue {
 public:
  // An item keeps its place in memory until it is removed.
  Item& push(Item item);
  void remove_first();
  void remove_last();
  [[nodiscard]] Item& first() { return items_.front(); }
  [[nodiscard]] const Item& first() const { return items_.front(); }
  [[nodiscard]] Item& last() { return items_.back(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  // Returns whether an item waits for what is before it: filled blocks alone wait in memory, unless
  // they are for no step.
  [[nodiscard]] bool is_urgent() const { return urgent_ > 0; }
  // Filled blocks that may wait do not wait any longer. Called about once a second for those that
  // were there at the call before.
  enum class Waits : std::uint8_t { long_ones, all };
  void end_waits(Waits which);

  // Items at the front that belong to the job under way.
  [[nodiscard]] std::size_t in_job() const { return in_job_; }
  void set_in_job(std::size_t items) { in_job_ = items; }
  // Returns what writes the filled blocks at the front, which then belong to the job.
  [[nodiscard]] WriteBlocks begin_write(JobId job, SessionId session, const WriteLimits& limits);

  // Returns the filled blocks that can move to the spill file, the one first that came last.
  [[nodiscard]] std::vector<BlockItem*> movable_filled_blocks();
  // The filled blocks that were moving are where `moved` says; they have not moved if it has not
  // got them.
  void end_move(const std::map<std::int64_t, SpilledBlock>& moved);

  // Return what people are told: the bytes of filled blocks, and the number of steps that have
  // ended.
  [[nodiscard]] std::int64_t held_bytes() const;
  [[nodiscard]] std::int64_t steps() const;

 private:
  std::deque<Item> items_;
  std::int64_t urgent_ = 0;
  std::size_t in_job_ = 0;
};

}  // namespace weir::stager
