// The test file of one rank, which it writes and reads.
//
// The file holds payload (measurement/payload.hpp). Its image in memory begins where the file does,
// or at a later position. A probe computes every generation of the payload once, in the image of
// the whole file, and each of its trials writes the image from the file's start up to some
// position, so the content that a later read must find is known (WrittenContent).
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
  std::int64_t begin = 0;  // offset in the file
  std::int64_t bytes = 0;  // of one piece
  std::int64_t count = 0;
  std::int64_t image_begin = 0;  // offset in the file of what the image begins with
};

class TargetFile {
 public:
  // `number` is that of the file in the run's payload.
  TargetFile(FailureGuard& guard, std::string path, std::uint32_t number)
      : guard_(guard), path_(std::move(path)), number_(number) {}

  // Creates the file, or empties it, and opens it.
  Status make();
  // Closes and removes it. It is no error if there is none: the file system may not be shared by
  // all ranks.
  Status remove();
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
  // Writes 4 KiB `count` times from `begin` on, with an fsync after each. `sync_seconds` becomes
  // the time of the fsyncs alone.
  Status write_and_sync(std::int64_t begin, std::int64_t count, std::byte* memory,
                        double* sync_seconds);
  // Does that at the end of the file, and removes what it has written.
  Status append_and_sync(std::int64_t count, std::byte* memory, double* sync_seconds);
  Status sync();
  Status drop_pages(std::int64_t begin, std::int64_t bytes);
  // Returns the share of the pages of [0, end) that are in memory, or nothing if it is unknown.
  [[nodiscard]] std::optional<double> resident(std::int64_t end) const;
  // Compares [begin, end) of `image`, which was read from the file, with the expected content.
  [[nodiscard]] Status check(const std::byte* image, std::int64_t begin, std::int64_t end) const;

  // Fills `image` with a generation of this file's payload, that of [begin, begin + bytes) of the
  // file.
  void fill(std::byte* image, std::int64_t begin, std::int64_t bytes,
            std::uint32_t generation) const;

  [[nodiscard]] std::string folder() const { return path_.substr(0, path_.rfind('/')); }

 private:
  Status move(storage::PieceRequest& piece);

  FailureGuard& guard_;
  std::string path_;
  std::uint32_t number_;
  std::optional<storage::File> file_;  // for what concerns the page cache and the length
  std::unique_ptr<storage::Engine> engine_ = storage::make_posix_engine();
  std::unique_ptr<storage::EngineFile> moved_;
  std::unique_ptr<storage::EngineFile> direct_;
  WrittenContent content_;
};

}  // namespace weir::bench::probe
