// Replays what stagers do after their restart with a step of which each has a share: in random
// orders, killed between any two tasks and within them, beside programs that write the same file.
// The step is committed once, only from the bytes of all its shares, and always in the end.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <vector>

#include "stager/share_marks.hpp"

namespace weir::stager {
namespace {

constexpr int stagers_of_step = 3;
constexpr int steps_of_file =
    2;  // of the same file, of two sessions; the second was recorded later
constexpr int of_a_program = 9;

class Restarts {
 public:
  explicit Restarts(unsigned seed) : random_(seed) {
    for (int step = 0; step < steps_of_file; ++step) {
      is_whole_[at(step)] = pick(3) > 0;
      for (int stager = 0; stager < stagers_of_step; ++stager) {
        journals_[at(stager)][at(step)] = is_whole_[at(step)] || pick(2) == 0;
      }
      // The stager that publishes records last: a step that had not ended is not in its journal.
      if (!is_whole_[at(step)]) journals_[0][at(step)] = false;
    }
  }

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  void happen() {
    const int stager = pick(stagers_of_step);
    switch (pick(12)) {
      case 0:
        kill(stager);
        break;
      case 1:
        if (!holder_) write_as_program();
        break;
      default:
        if (holder_) {
          do_task();
        } else {
          begin(stager, pick(steps_of_file));
        }
    }
  }
  // All stagers run, and nobody else writes.
  void settle() {
    for (int round = 0; round < 8; ++round) {
      for (int step = steps_of_file - 1; step >= 0; --step) {
        for (int stager = 0; stager < stagers_of_step; ++stager) {
          while (holder_) do_task();
          begin(stager, step);
        }
      }
    }
    while (holder_) do_task();
  }
  void check() {
    const bool has_whole = is_whole_[0] || is_whole_[1];
    EXPECT_EQ(committed_ != 0, has_whole || changed_by_program_);
    for (int step = 0; step < steps_of_file; ++step) {
      for (int stager = 0; stager < stagers_of_step; ++stager) {
        const bool is_left = journals_[at(stager)][at(step)];
        EXPECT_FALSE(is_left && committed_ != 0) << "a journal waits for nothing";
      }
    }
    if (committed_ != 0) {
      EXPECT_EQ(marks_.shares(), "");
      EXPECT_EQ(marks_.written(), "");
    }
  }
  [[nodiscard]] int committed() const { return committed_; }

 private:
  struct Pass {
    int stager = 0;
    int step = 0;
  };

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  static transport::StepShare share_of(const Pass& pass) {
    return {.session = {static_cast<std::byte>(pass.step + 1)},
            .ticket = 5,
            .number = static_cast<std::uint64_t>(pass.stager),
            .hosts = {"a", "b", "c"}};
  }
  void begin(int stager, int step) {
    if (journals_[at(stager)][at(step)]) holder_ = Pass{stager, step};
  }
  // The memory of a stager is gone; texts are all that stays.
  void kill(int stager) {
    marks_ = ShareMarks(marks_.shares(), marks_.written());
    if (!holder_ || holder_->stager != stager) return;
    const ShareTask next = task();
    if (pick(2) == 0) {
      if (next == ShareTask::write) bytes_[at(stager)] = holder_->step + 1;  // and it is not noted
      if (next == ShareTask::commit) commit();
    }
    holder_.reset();
  }
  void write_as_program() {
    const ShareMarks none;
    marks_ = ShareMarks(marks_.shares(), none.written());
    for (int& one : bytes_) {
      if (pick(2) == 0 && committed_ == 0) one = of_a_program;
    }
    if (pick(40) == 0 && committed_ == 0) {
      committed_ = of_a_program;
      changed_by_program_ = true;
    }
  }
  [[nodiscard]] ShareTask task() const {
    using storage::CommitProgress;
    const CommitProgress progress = committed_ == 0                   ? CommitProgress::can_begin
                                    : committed_ == holder_->step + 1 ? CommitProgress::is_done
                                                                      : CommitProgress::is_foreign;
    return next_task(progress, marks_, share_of(*holder_), holder_->step);
  }
  void commit() {
    EXPECT_EQ(committed_, 0);
    EXPECT_TRUE(is_whole_[at(holder_->step)]) << "a step was committed that had not ended";
    for (const int one : bytes_) {
      EXPECT_EQ(one, holder_->step + 1) << "a step was committed without the bytes of a share";
    }
    committed_ = holder_->step + 1;
  }
  void do_task() {
    const transport::StepShare share = share_of(*holder_);
    switch (task()) {
      case ShareTask::note:
        marks_.note_waiting(share, holder_->step);
        return;
      case ShareTask::write:
        EXPECT_TRUE(is_whole_[at(holder_->step)]) << "bytes of a step that had not ended";
        bytes_[at(holder_->stager)] = holder_->step + 1;
        marks_.note_written(share, holder_->step);
        return;
      case ShareTask::commit:
        commit();
        return;
      case ShareTask::tell_others:
        marks_.note_stored(share);
        return;
      case ShareTask::wait_for_journals:
      case ShareTask::wait_for_bytes:
        break;
      case ShareTask::lay_aside_earlier:
        EXPECT_EQ(holder_->step, 0);
        EXPECT_TRUE(is_whole_[1]) << "an earlier step gave way to one that had not ended";
        [[fallthrough]];
      case ShareTask::lay_aside_foreign:
      case ShareTask::remove:
        EXPECT_TRUE(committed_ != 0 || is_whole_[1]);
        marks_.forget(share);
        journals_[at(holder_->stager)][at(holder_->step)] = false;
    }
    holder_.reset();
  }

  std::mt19937 random_;
  std::array<bool, steps_of_file> is_whole_{};
  std::array<std::array<bool, steps_of_file>, stagers_of_step> journals_{};
  ShareMarks marks_;
  std::array<int, stagers_of_step> bytes_{};  // of the file: whose they are, that of a step + 1
  int committed_ = 0;                         // likewise
  bool changed_by_program_ = false;
  std::optional<Pass> holder_;  // of the lock
};

// Two million events.
TEST(ShareMarks, LetEveryStepBeCommittedOnceFromAllItsShares) {
  std::array<int, of_a_program + 1> ends{};
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    Restarts world(seed);
    for (int i = 0; i < 100; ++i) world.happen();
    world.settle();
    world.check();
    ++ends.at(static_cast<std::size_t>(world.committed()));
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  for (const int end : {0, 1, 2, of_a_program}) {
    EXPECT_GT(ends.at(static_cast<std::size_t>(end)), 200) << end;
  }
}

TEST(ShareMarks, TakeDamagedLinesForNone) {
  const transport::StepShare share{
      .session = {std::byte{1}}, .ticket = 5, .number = 1, .hosts = {"a", "b"}};
  ShareMarks marks;
  marks.note_waiting(share, 7);
  marks.note_written(share, 7);
  const std::string whole = marks.shares();
  const ShareMarks again(whole, marks.written());
  EXPECT_EQ(again.absent(share), std::vector<std::uint64_t>{0});
  EXPECT_EQ(again.unwritten(share), std::vector<std::uint64_t>{0});
  for (std::size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
    EXPECT_EQ(ShareMarks(whole.substr(0, bytes), "").absent(share).size(), 2U) << bytes;
  }
  EXPECT_EQ(ShareMarks("x y\n" + whole + "-1 2\n", "").absent(share).size(), 1U);
}

}  // namespace
}  // namespace weir::stager
