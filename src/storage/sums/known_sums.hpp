// The checksums of a file as a process learnt them when it opened the file, with a second look at
// PATH.sums before anything is called damaged: the file may have been rewritten or replaced since
// by somebody who keeps its checksums, and then it is judged by those that are there now.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "storage/sums/file_state.hpp"
#include "storage/sums/sum_book.hpp"

namespace weir::storage {

// Safe for threads.
class KnownSums {
 public:
  // The checksums of the file at `path`, already loaded.
  KnownSums(std::string path, SumBook book);
  // As PATH.sums has them for a file of so many steps; none are known where it cannot be read.
  [[nodiscard]] static std::shared_ptr<const KnownSums> read(const std::string& path,
                                                             std::int64_t steps);

  // The file's, without slashes at its end.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const SumBook& book() const { return book_; }
  // What is wrong with PATH.sums itself: a line, "" for nothing.
  [[nodiscard]] const std::string& damage() const { return damage_; }

  // Whether a block of the book's file number `file`, which has the checksum `sum` and not the
  // book's, is damaged by what PATH.sums says now. It is read again where it has changed.
  [[nodiscard]] bool is_damaged(std::int64_t file, const SumBook::Block& block,
                                std::uint32_t sum) const;

 private:
  std::string path_;
  std::string damage_;
  SumBook book_;
  // The state of the file of checksums when this process read the book from it.
  std::optional<FileState> read_as_;

  mutable std::mutex mutex_;
  // What was found there later.
  mutable std::optional<FileState> newer_as_;
  mutable SumBook newer_;
  mutable bool newer_is_whole_ = false;
};

}  // namespace weir::storage
