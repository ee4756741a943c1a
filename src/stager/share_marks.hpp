// The stagers of a step, of which each has a share in its journal, tell each other by marks how far
// they are after a restart. The marks are values, and so is the decision what one of them does
// next. The marks are in two small files beside the step's file (journal_replay.cpp reads and
// writes them), since nothing else is known to all of these stagers.
//
// clang-format off
//     FILE.weir_shares           a line for each share whose journal has been found: it waits for the others │ the step
//                                is stored, and the journal is not needed any more
//     FILE.weir_shares_written   a line for each share whose bytes are in the file, durable
//     line                       session (32 hexadecimal digits), ticket of the step, number of the stager, number of
//                                stagers, when its journal was written (ns), "waits" or "stored" or "written"
// clang-format on
//
// Both files are changed only by who holds the writer's lock of the step's file. Whoever takes that
// lock in order to write something else removes the second file (formats/writer_lock.hpp): the
// bytes are then no longer known to be there, and are written again. A line that is missing or
// damaged therefore costs time, and no bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/commit_progress.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

class ShareMarks {
 public:
  ShareMarks() = default;
  // A line that cannot be understood is left out.
  ShareMarks(const std::string& shares, const std::string& written);
  // Return the texts of the two files; "": there is no file.
  [[nodiscard]] std::string shares() const { return text_of(shares_); }
  [[nodiscard]] std::string written() const { return text_of(written_); }

  // Returns the numbers of the stagers of which no journal of this step has been found, or whose
  // bytes are not known to be in the file.
  [[nodiscard]] std::vector<std::uint64_t> absent(const transport::StepShare& step) const;
  [[nodiscard]] std::vector<std::uint64_t> unwritten(const transport::StepShare& step) const;
  // Returns whether another stager has told this one that the step is stored.
  [[nodiscard]] bool is_stored(const transport::StepShare& share) const;
  // Returns whether a stager waits that has not been told.
  [[nodiscard]] bool are_others_untold(const transport::StepShare& share) const;
  // Returns whether the journals of another step of the file, which was recorded later, have all
  // been found: that step takes the place of this one.
  [[nodiscard]] bool is_superseded(const transport::StepShare& share, std::int64_t time_ns) const;

  // Notes that this share waits, or that its bytes are in the file.
  void note_waiting(const transport::StepShare& share, std::int64_t time_ns);
  void note_written(const transport::StepShare& share, std::int64_t time_ns);
  // The step is stored: tells all others whose journals have been found.
  void note_stored(const transport::StepShare& share);
  // Removes all that is noted of this share.
  void forget(const transport::StepShare& share);

 private:
  struct Line {
    std::string session;
    std::uint64_t ticket = 0;
    std::uint64_t number = 0;
    std::uint64_t stagers = 0;
    std::int64_t time_ns = 0;
    std::string state;

    [[nodiscard]] bool is_of_step(const transport::StepShare& step) const;
    [[nodiscard]] bool is_of(const transport::StepShare& share) const;
  };
  using Lines = std::vector<Line>;

  static Lines lines_in(const std::string& text);
  static std::string text_of(const Lines& lines);
  static Line line_of(const transport::StepShare& share, std::int64_t time_ns,
                      std::string_view state);
  static std::vector<std::uint64_t> missing_in(const Lines& lines,
                                               const transport::StepShare& step);

  Lines shares_;
  Lines written_;
};

enum class ShareTask : std::uint8_t {
  note,               // that its journal has been found
  wait_for_journals,  // of others; nothing is written before, since the step may not have ended
  write,              // the bytes, durable; then note that
  wait_for_bytes,     // of others
  commit,             // or what is left of it
  tell_others,        // that the step is stored
  remove,             // the journal and what is noted of it
  lay_aside_foreign,  // as the file was replaced or changed
  lay_aside_earlier,  // since a later step takes its place
};
// Returns what a stager does next for its share, if it holds the lock of the file. It may be killed
// before, within and after each task, and does the next one after its restart.
[[nodiscard]] ShareTask next_task(storage::CommitProgress progress, const ShareMarks& marks,
                                  const transport::StepShare& share, std::int64_t time_ns);

}  // namespace weir::stager
