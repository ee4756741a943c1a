// The checksums of a file as they were when a process opened it. Before a block is reported as
// damaged, PATH.sums is checked again: another process that keeps checksums may have rewritten or
// replaced the file since then. In that case, the block is verified against the current checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "checksums/file_state.hpp"
#include "checksums/sum_book.hpp"

namespace weir::storage {

// The class is thread-safe.
class KnownSums {
 public:
  // Takes the checksums of the file at `path`, which are already loaded.
  KnownSums(std::string path, SumBook book);
  // Reads the checksums for a file with `steps` steps from PATH.sums. If PATH.sums cannot be read,
  // no checksums are known.
  [[nodiscard]] static std::shared_ptr<const KnownSums> read(const std::string& path,
                                                             std::int64_t steps);

  // Returns the path of the file without trailing slashes.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const SumBook& book() const { return book_; }
  // Returns a line that describes the damage of PATH.sums itself, or "" if there is none.
  [[nodiscard]] const std::string& damage() const { return damage_; }

  // Returns whether a block of the book's file number `file`, whose checksum `sum` differs from
  // that of the book, is damaged according to the current PATH.sums, which is read again if it has
  // changed.
  [[nodiscard]] bool is_damaged(std::int64_t file, const SumBook::Block& block,
                                std::uint32_t sum) const;

 private:
  std::string path_;
  std::string damage_;
  SumBook book_;
  // The state of PATH.sums when this process read the book from it.
  std::optional<FileState> read_as_;

  mutable std::mutex mutex_;
  // The state and contents of PATH.sums when it was read again.
  mutable std::optional<FileState> newer_as_;
  mutable SumBook newer_;
  mutable bool newer_is_whole_ = false;
};

}  // namespace weir::storage
