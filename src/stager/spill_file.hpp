// The file on the node's own disk to which a stager moves what its memory cannot hold.
//
// clang-format off
//     file    slot 0 | slot 1 | …              each as long as a record of a whole block
//     record  head (disk_record.hpp), bytes
// clang-format on
//
// Nothing in the file is needed once the stager has ended, so it has no
// name: its space is free again however the stager ends. What is read back is compared with its
// checksum, and with the stamp under which it was put.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "common/status.hpp"
#include "stager/disk_record.hpp"
#include "system/file.hpp"

namespace weir::stager {

// put() and get() may be called by several threads, for different slots.
class SpillFile {
 public:
  // Makes the file in a folder that belongs to this user alone. `quota` is the most that it takes
  // of the disk; 0: half of what is free.
  static Result<std::unique_ptr<SpillFile>> create(const std::string& folder, std::int64_t quota,
                                                   std::int64_t block_bytes);

  [[nodiscard]] std::int64_t slots() const { return slots_; }
  [[nodiscard]] Status put(std::int64_t slot, std::uint64_t stamp,
                           std::span<std::byte> bytes) const;
  // Fills `bytes` with what was put. Fails with ErrorCode::corrupt if the disk returns other bytes.
  [[nodiscard]] Status get(std::int64_t slot, std::uint64_t stamp,
                           std::span<std::byte> bytes) const;
  // Gives the space of all slots back.
  [[nodiscard]] Status empty() const { return file_.set_length(0); }
  // The open file, for tests that damage it.
  [[nodiscard]] const storage::File& file() const { return file_; }

 private:
  SpillFile(storage::File file, std::int64_t slot_bytes, std::int64_t slots)
      : file_(std::move(file)), slot_bytes_(slot_bytes), slots_(slots) {}

  storage::File file_;
  std::int64_t slot_bytes_;
  std::int64_t slots_;
};

}  // namespace weir::stager
