// One rank's place on one target: a folder with the test file that the trials write and read.
//
// The file holds payload (measurement/payload.hpp) from its start. Every generation of the payload
// is made once, in the image of the file that is written from; a write trial writes the image from
// the file's start to where it ends, so what a later read must find is known (WrittenContent).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/failure.hpp"
#include "measurement/meeting.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/transfer.hpp"
#include "workloads/probe/written_content.hpp"

namespace weir::bench::probe {

// Operations of one kind on consecutive pieces of the file.
struct Pattern {
  Direction direction = Direction::read;
  storage::Durability durability = storage::Durability::none;  // of each operation
  bool direct = false;                                         // by O_DIRECT
};
struct Pieces {
  std::int64_t begin = 0;  // in the file and in the image
  std::int64_t bytes = 0;  // of one
  std::int64_t count = 0;
};

class TargetFile {
 public:
  // `folder`: this rank's, not there yet. `number`: of the file in the run's payload.
  TargetFile(FailureGuard& guard, std::string folder, std::uint32_t number)
      : guard_(guard), folder_(std::move(folder)), path_(folder_ + "/data"), number_(number) {}

  // Makes the folder and the file.
  Status make();
  // Opens the file for O_DIRECT and tries it; false where the file system refuses. The file must
  // hold a page.
  Result<bool> open_direct(std::byte* page);

  // Moves the pieces between the file and `image`, and says when.
  // `ends`, when given, gets the time at which each was done.
  Status move(const Pattern& pattern, const Pieces& pieces, std::byte* image, Times* times,
              std::vector<std::int64_t>* ends = nullptr);
  // After writing from the image: [0, end) holds `generation`.
  void wrote(std::int64_t end, std::uint32_t generation) { content_.wrote(end, generation); }

  // Reads the first 8 bytes `count` times, each by a call of its own.
  Status read_words(std::int64_t count, std::byte* memory, Times* times);
  // Writes `count` times 4 KiB more to the file's end, with an fsync after each, and removes them
  // again. `sync_seconds`: what the fsyncs alone took.
  Status append_and_sync(std::int64_t count, std::byte* memory, double* sync_seconds);
  Status sync();
  Status drop_pages(std::int64_t end);
  // The share of the pages of [0, end) that are in memory; nothing where it cannot be told.
  [[nodiscard]] std::optional<double> resident(std::int64_t end) const;
  // Compares [begin, end) of `image`, which was read from the file, with what it must hold.
  [[nodiscard]] Status check(const std::byte* image, std::int64_t begin, std::int64_t end) const;

  // Fills [0, bytes) of `image` with a generation of this file's payload.
  void fill(std::byte* image, std::int64_t bytes, std::uint32_t generation) const;

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  FailureGuard& guard_;
  std::string folder_;
  std::string path_;
  std::uint32_t number_;
  std::optional<storage::File> file_;
  std::optional<storage::File> direct_;
  WrittenContent content_;
};

}  // namespace weir::bench::probe
