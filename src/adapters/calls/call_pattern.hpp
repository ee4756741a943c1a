// Compresses the calls of a process, in their order, into lines that repeat: runs of equal calls at
// equal distances, and loops over lines. All calls, with their files, offsets and sizes, can be
// computed from the lines again; only the times are sums.
//
// The method is that of ScalaTrace's power regular section descriptors (Noeth et al., "ScalaTrace:
// Scalable compression and replay of communication traces for high-performance computing", J.
// Parallel Distrib. Comput. 69, 2009, section 3), in fixed memory: each call is appended as a line,
// and while it is possible
//   1. the last line is added to the run before it,
//   2. the last P lines are added to the loop before them, as another round of it,
//   3. the last P lines and the P lines before them become a loop of two rounds,
// with the shortest possible P first. Lines that are written out are not compared any more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::calls {

// Calls of the kinds that end in _all are collective: ranks make them together.
enum class CallKind : std::uint8_t {
  open,
  close,
  read,
  write,
  sync,
  truncate,
  read_all,
  write_all,
  loop
};

inline constexpr std::array<const char*, 9> call_kind_names = {
    "open", "close", "read", "write", "sync", "truncate", "read_all", "write_all", "loop"};

[[nodiscard]] constexpr bool is_reading(CallKind kind) {
  return kind == CallKind::read || kind == CallKind::read_all;
}
[[nodiscard]] constexpr bool is_writing(CallKind kind) {
  return kind == CallKind::write || kind == CallKind::write_all;
}
[[nodiscard]] constexpr bool is_collective(CallKind kind) {
  return kind == CallKind::read_all || kind == CallKind::write_all;
}
[[nodiscard]] constexpr bool moves_bytes(CallKind kind) {
  return is_reading(kind) || is_writing(kind);
}

// One call as a program made it.
struct MadeCall {
  CallKind kind = CallKind::open;
  std::int64_t file = 0;    // the process's number of the file
  std::int64_t offset = 0;  // truncate: the new length; open: 0
  std::int64_t bytes = 0;   // that were moved; open: its flags
  std::int64_t shape = 0;   // of bytes that are not one block: the process's number of it, from 1
  std::int64_t gap_ns = 0;  // between the end of the call before and the start of this call
  std::int64_t call_ns = 0;
};

// Flags in `bytes` of a call that opens a file.
inline constexpr std::int64_t open_writes = 1;
inline constexpr std::int64_t open_creates = 2;
inline constexpr std::int64_t open_truncates = 4;
inline constexpr std::int64_t open_stdio = 8;      // reads and writes of C's streams are not seen
inline constexpr std::int64_t open_together = 16;  // all ranks of the program open it in this call

// The distance between two rounds.
struct Stride {
  std::int64_t offset = 0;
  std::int64_t file = 0;
  friend bool operator==(const Stride&, const Stride&) = default;
};

// A line is in loops of at most three levels. Level 0 is the run of the line itself.
inline constexpr std::size_t most_levels = 4;

// A run of calls, or the head of a loop, whose body is the `length` lines that follow.
struct PatternLine {
  CallKind kind = CallKind::open;
  std::int64_t count = 0;  // calls of the run, or rounds of the loop
  // These members describe a run. In a loop, `file` and `offset` are those of the first round.
  std::int64_t file = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t shape = 0;
  std::array<Stride, most_levels> strides{};  // [0]: of the run; [n]: of the loop of level n
  // Sums over all rounds.
  std::int64_t first_gap_ns = 0;   // before the first call of the run
  std::int64_t other_gaps_ns = 0;  // before its other calls
  std::int64_t call_ns = 0;
  // The following members describe a loop.
  std::size_t level = 0;   // greater than those of the loops in its body; 0: a run
  std::size_t length = 0;  // lines of its body
};

// Only one thread at a time may use it. A new pattern is of zero bytes: a `constinit` object's
// pages take no memory before they are used.
class CallPattern {
 public:
  // The longest body of a loop that is found, in lines that no inner loop contains.
  static constexpr std::size_t longest_body = 1024;
  static constexpr std::size_t most_held_lines = 4096;

  // Adds a call. Call take() before if is_full().
  void add(const MadeCall& call);
  [[nodiscard]] bool is_full() const { return lines_used_ + 2 > most_held_lines; }
  // Passes the older half of the lines to `visit`, in their order, or all of them.
  template <typename Visit>
  void take(bool all, const Visit& visit) {
    std::size_t parts = 0;
    while (parts < parts_used_ && (all || parts_[parts].begin < lines_used_ / 2)) ++parts;
    const std::size_t lines = parts < parts_used_ ? parts_[parts].begin : lines_used_;
    for (std::size_t i = 0; i < lines; ++i) visit(lines_[i]);
    drop_first(parts, lines);
  }
  void clear() { lines_used_ = parts_used_ = 0; }

 private:
  // A run or a loop that is in no other loop.
  struct Part {
    std::uint64_t shape;  // equal for parts that differ only in files, offsets and times
    std::size_t begin;    // its first line
    std::size_t body;     // parts of a loop's body when it was made; 0: a run
  };

  void drop_first(std::size_t parts, std::size_t lines);
  bool extend_run();
  bool extend_or_make_loop();
  [[nodiscard]] bool continues(std::size_t loop_part) const;
  [[nodiscard]] bool repeats(std::size_t parts) const;
  void add_round(std::size_t loop_part);
  void make_loop(std::size_t parts, std::size_t level);
  void shape(std::size_t part);
  [[nodiscard]] std::size_t end_of(std::size_t part) const {
    return part + 1 < parts_used_ ? parts_[part + 1].begin : lines_used_;
  }

  std::array<PatternLine, most_held_lines> lines_{};
  std::array<Part, most_held_lines> parts_{};
  std::size_t lines_used_ = 0;
  std::size_t parts_used_ = 0;
};

}  // namespace weir::calls
