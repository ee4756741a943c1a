// A file without a header, which others have made and may write at the same time: its ranks move
// boxes of it. Where an array of bytes begins in it, and its shape, may differ from call to call.
//
// Where its writes go to a stager, the stager writes them as soon as it can, or, if closing the
// file does not wait for it, when they have waited for a second: like an array by itself, the file
// has no steps. Successive calls come in any order, until keep_order() is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective_state.hpp"
#include "array/element_type.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "engines/open_files.hpp"
#include "stored/extent_map.hpp"
#include "system/step_durability.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

// Must not outlive its Collective.
class ByteFile {
 public:
  // All ranks create the objects of their session in the same order. `path` is that of this rank,
  // and `targets` is equal on all ranks. `staged_as`: the name by which stagers open the file;
  // nothing, on all ranks alike, if they are not to.
  ByteFile(CollectiveState& state, std::string path, bool writable,
           const topology::FileTargets& targets, std::optional<storage::DataFiles> staged_as);

  // Returns an array of bytes of this shape that begins at `offset`, valid until the next call with
  // the same number. Numbers are below the most arrays that one request has. All ranks call this
  // alike.
  [[nodiscard]] OpenArray& array(std::size_t number, const array::Shape& shape,
                                 std::int64_t offset);
  // Returns an array in chunks, valid until the next call of this function. The arrays of the last
  // calls are remembered, and so are plans for them: `fingerprint` is that of all that the other
  // arguments are. All ranks call this alike.
  [[nodiscard]] OpenArray& chunked(std::uint64_t fingerprint, const array::ElementType& type,
                                   const storage::ChunkExtents& extents);
  // Closes the file on this rank. Every rank does so before the path leads to another file.
  Status close();

  // Returns whether writes go to a stager; equal on all ranks.
  [[nodiscard]] bool is_staged() const { return staged_ != nullptr; }
  // Local. Hands a block of this rank over, in a file whose writes go to a stager. `data` is not
  // changed.
  Status hand_over(std::int64_t offset, std::byte* data, std::int64_t bytes);
  // What ranks hand over in successive calls comes into the file in any order. From the next call
  // on each rank waits until its stager has what it hands over, so that it comes in the order of
  // the calls. All ranks call this alike; the stager must have what they have handed over so far.
  void keep_order() { keeps_order_ = true; }
  [[nodiscard]] bool keeps_order() const { return keeps_order_; }
  // The following two are collective, parts of a call whose turn it is. Returns when everything
  // that was handed over is in the file, as durable as that is said to be. Fails with
  // ErrorCode::deadline if a stager has for the session's deadline told why it cannot store it: it
  // is not lost then.
  Status store(storage::StepDurability durability);
  // Lets the stager close the file when it has stored everything, and does not wait for that:
  // wait_for_array() of SessionStaging does, by the name that stagers use.
  Status leave_to_stager();
  // Lets the ranks write the file from now on. Called on all ranks.
  void leave_stagers();

 private:
  [[nodiscard]] std::unique_ptr<OpenArray> made(storage::ExtentMap map);
  [[nodiscard]] OpenArray& in_order(OpenArray& array) const;

  CollectiveState& state_;
  std::string path_;
  bool writable_;
  topology::FileTargets targets_;
  std::uint64_t number_;
  std::optional<storage::DataFiles> staged_as_;
  std::shared_ptr<storage::OpenFiles> staged_;  // null: the ranks write
  bool keeps_order_ = false;
  std::vector<std::unique_ptr<OpenArray>> arrays_;
  struct Chunked {
    std::uint64_t fingerprint = 0;
    std::unique_ptr<OpenArray> array;
  };
  std::deque<Chunked> chunked_;  // the one that was used last comes first
};

}  // namespace weir::aggregation
