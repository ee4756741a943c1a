// One rank's part of one target: a folder with the test file that the trials write and read.
//
// The file holds payload (measurement/payload.hpp) from its start. Every generation of the payload
// is computed once, in the image of the file from which it is written. A write trial writes the
// image from the file's start up to some position, so the content that a later read must find is
// known (WrittenContent).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "engines/engine.hpp"
#include "measurement/failure.hpp"
#include "measurement/meeting.hpp"
#include "system/file.hpp"
#include "workloads/probe/written_content.hpp"

namespace weir::bench::probe {

// Operations of one kind on consecutive pieces of the file.
struct Pattern {
  Direction direction = Direction::read;
  storage::Durability durability = storage::Durability::none;  // of each operation
  bool direct = false;                                         // with O_DIRECT
};
struct Pieces {
  std::int64_t begin = 0;  // offset in the file and in the image
  std::int64_t bytes = 0;  // of one piece
  std::int64_t count = 0;
};

class TargetFile {
 public:
  // `folder` is this rank's, which does not exist yet. `number` is that of the file in the run's
  // payload.
  TargetFile(FailureGuard& guard, std::string folder, std::uint32_t number)
      : guard_(guard), folder_(std::move(folder)), path_(folder_ + "/data"), number_(number) {}

  // Creates the folder and the file.
  Status make();
  // Opens the file for O_DIRECT and tries a transfer. Returns false if the file system rejects it.
  // The file must hold at least a page.
  Result<bool> open_direct(std::byte* page);

  // Moves the pieces between the file and `image`, and returns the times. `ends`, unless null, gets
  // the time at which each piece was done.
  Status move(const Pattern& pattern, const Pieces& pieces, std::byte* image, Times* times,
              std::vector<std::int64_t>* ends = nullptr);
  // Records that [0, end) was written from the image with `generation`.
  void wrote(std::int64_t end, std::uint32_t generation) { content_.wrote(end, generation); }

  // Reads the first 8 bytes `count` times, with a separate call each.
  Status read_words(std::int64_t count, std::byte* memory, Times* times);
  // Appends 4 KiB to the file `count` times, with an fsync after each, and removes them again.
  // `sync_seconds` becomes the time of the fsyncs alone.
  Status append_and_sync(std::int64_t count, std::byte* memory, double* sync_seconds);
  Status sync();
  Status drop_pages(std::int64_t end);
  // Returns the share of the pages of [0, end) that are in memory, or nothing if it is unknown.
  [[nodiscard]] std::optional<double> resident(std::int64_t end) const;
  // Compares [begin, end) of `image`, which was read from the file, with the expected content.
  [[nodiscard]] Status check(const std::byte* image, std::int64_t begin, std::int64_t end) const;

  // Fills [0, bytes) of `image` with a generation of this file's payload.
  void fill(std::byte* image, std::int64_t bytes, std::uint32_t generation) const;

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  Status move(storage::PieceRequest& piece);

  FailureGuard& guard_;
  std::string folder_;
  std::string path_;
  std::uint32_t number_;
  std::optional<storage::File> file_;  // for what concerns the page cache and the length
  std::unique_ptr<storage::Engine> engine_ = storage::make_posix_engine();
  std::unique_ptr<storage::EngineFile> moved_;
  std::unique_ptr<storage::EngineFile> direct_;
  WrittenContent content_;
};

}  // namespace weir::bench::probe
