#include "workloads/replay/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "common/checked.hpp"
#include "system/text_file.hpp"

namespace weir::bench::replay {
namespace {

using calls::most_levels;
using calls::PatternLine;

constexpr std::int64_t most_lines_of_rank = 1 << 20;
// Bounds the work and the memory of a record whose ranks have, and whose lines reach, many files
// each.
constexpr std::int64_t most_marks = 1 << 26;

// Says what is wrong with a line; empty if nothing is.
using Complaint = std::string;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t tab = line.find('\t');
    words.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return words;
    line.remove_prefix(tab + 1);
  }
}

std::optional<std::int64_t> number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// The least and the most that `start` becomes over all rounds.
struct Reach {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

class Reader {
 public:
  Reader(std::string_view text, const std::function<bool(std::int64_t)>& keeps)
      : left_(text), keeps_(keeps) {}

  Result<Record> read() {
    if (Complaint wrong = read_all(); !wrong.empty()) {
      return invalid_argument(fmt::format("line {}: {}", line_number_, wrong));
    }
    return std::move(record_);
  }

 private:
  // A loop around the line that is read.
  struct Loop {
    std::int64_t lines_left = 0;
    std::size_t level = 0;
    std::int64_t count = 0;
    std::int64_t rounds_in_all = 0;
  };

  // Returns false at the end, or if the line has no end.
  bool next_line() {
    ++line_number_;
    const std::size_t end = left_.find('\n');
    if (end == std::string_view::npos) return false;
    line_ = left_.substr(0, end);
    words_ = words_of(line_);
    left_.remove_prefix(end + 1);
    return true;
  }

  // Fills `numbers` from the words after the first; fails unless there are as many.
  bool read_numbers(std::size_t first, std::size_t count, std::int64_t* numbers) const {
    if (words_.size() < first + count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = number(words_[first + i]);
      if (!value) return false;
      numbers[i] = *value;
    }
    return true;
  }

  Complaint read_all() {
    if (!next_line() || (line_ != "weir-record 1" && line_ != "weir-record 2")) {
      return "is not the beginning of a record: give a file that `weir record` wrote";
    }
    if (!next_line() || words_[0] != "command" || words_.size() != 2) {
      return "must have the command";
    }
    record_.command = words_[1];
    while (next_line()) {
      if (words_[0] == "file" && record_.sums.empty()) {
        if (std::ssize(record_.files) == most_record_files) {
          return fmt::format("is one more than {} files", most_record_files);
        }
        record_.files.emplace_back();
      } else if (words_[0] == "shape" && record_.sums.empty()) {
        if (Complaint wrong = read_shape(); !wrong.empty()) return wrong;
      } else if (words_[0] == "rank") {
        if (Complaint wrong = read_rank(); !wrong.empty()) return wrong;
      } else if (words_[0] == "end") {
        return read_end();
      } else {
        return "is neither of a file nor of a shape nor of a rank nor the end";
      }
    }
    return "is missing: the record was cut off";
  }

  Complaint read_shape() {
    if (std::ssize(*shapes_) == most_record_shapes) {
      return fmt::format("is one more than {} shapes", most_record_shapes);
    }
    array::PatternList list;
    std::size_t at = 1;
    do {
      const auto pattern = read_pattern(&at);
      if (!pattern || (list.empty() && pattern->offset() != 0) || !list.add(*pattern)) {
        return "must have patterns of blocks that ascend, the first one at 0";
      }
      if (++patterns_ > most_record_patterns) {
        return fmt::format("has more patterns than {} of all shapes", most_record_patterns);
      }
    } while (at < words_.size());
    if (list.bytes() > most_call_bytes || list.end() > most_file_bytes) {
      return fmt::format("has {} bytes up to {}: at most {} up to {} are allowed", list.bytes(),
                         list.end(), most_call_bytes, most_file_bytes);
    }
    Shape shape{list.patterns(), list.bytes(), list.end(), 0};
    for (const array::BytePattern& one : shape.patterns) shape.blocks += one.bytes() / one.block();
    shapes_->push_back(std::move(shape));
    return {};
  }

  // Reads a pattern of at least one byte from the word *at on, which becomes the one behind it.
  std::optional<array::BytePattern> read_pattern(std::size_t* at) const {
    std::array<std::int64_t, 3> head{};
    if (!read_numbers(*at, head.size(), head.data())) return std::nullopt;
    const auto [offset, block, levels] = head;
    if (offset < 0 || offset > most_file_bytes || block < 1 || block > most_call_bytes ||
        levels < 0 || levels > array::BytePattern::most_levels) {
      return std::nullopt;
    }
    std::array<std::int64_t, 2 * array::BytePattern::most_levels> numbers{};
    const auto many = 2 * static_cast<std::size_t>(levels);
    if (!read_numbers(*at + head.size(), many, numbers.data())) return std::nullopt;
    *at += head.size() + many;
    std::optional<array::BytePattern> pattern = array::BytePattern(offset, block);
    for (std::size_t level = many; level > 0 && pattern; level -= 2) {
      if (numbers[level - 2] < 2 || numbers[level - 1] < 1) return std::nullopt;
      pattern = pattern->repeated(numbers[level - 2], numbers[level - 1]);
    }
    return pattern;
  }

  Complaint read_end() {
    std::array<std::int64_t, 2> counts{};
    if (words_.size() != 3 || !read_numbers(1, 2, counts.data()) ||
        counts[0] != std::ssize(record_.files) || counts[1] != std::ssize(record_.sums)) {
      return fmt::format("does not say what precedes it: {} files and {} ranks",
                         record_.files.size(), record_.sums.size());
    }
    if (!left_.empty()) return "is not the last";
    return record_.sums.empty() ? "ends a record without ranks" : Complaint();
  }

  Complaint read_rank() {
    std::array<std::int64_t, 3> counts{};
    if (std::ssize(record_.sums) == most_record_ranks) {
      return fmt::format("is one more than {} ranks", most_record_ranks);
    }
    if (words_.size() != 5 || !read_numbers(1, 3, counts.data()) || counts[0] < 0 ||
        counts[1] < 0 || counts[2] < 0) {
      return "must have four words: lines, missed calls and bytes, and files";
    }
    if (counts[0] > most_lines_of_rank) {
      return fmt::format("has {} lines: at most {} are allowed", counts[0], most_lines_of_rank);
    }
    RankRecord rank;
    rank.shapes = shapes_;
    if (Complaint wrong = read_files(words_[4], &rank.files); !wrong.empty()) return wrong;
    files_ = &rank.files;
    last_user_.resize(record_.files.size(), -1);
    sums_ = {.missed_calls = counts[1], .missed_bytes = counts[2]};
    const bool kept = keeps_(std::ssize(record_.sums));
    loops_.clear();
    for (std::int64_t i = 0; i < counts[0]; ++i) {
      if (!next_line()) return "is missing: the record was cut off";
      PatternLine line;
      if (Complaint wrong = read_line(counts[0] - i, &line); !wrong.empty()) return wrong;
      if (kept) rank.lines.push_back(line);
    }
    if (!kept) rank.files = std::vector<std::int64_t>();  // frees its memory
    const auto bytes = checked_add(bytes_, sums_.bytes_read);
    const auto all_bytes = bytes ? checked_add(*bytes, sums_.bytes_written) : bytes;
    if (!all_bytes || *all_bytes > most_file_bytes) {
      return fmt::format("ends ranks that move more than {} bytes", most_file_bytes);
    }
    bytes_ = *all_bytes;
    record_.ranks.push_back(std::move(rank));
    record_.sums.push_back(sums_);
    return {};
  }

  Complaint read_files(std::string_view text, std::vector<std::int64_t>* files) {
    const auto limit = std::ssize(record_.files);
    const std::int64_t rank = std::ssize(record_.sums);
    last_lister_.resize(record_.files.size(), -1);
    while (!text.empty() && text != "-") {
      const std::size_t comma = text.find(',');
      const std::string_view span = text.substr(0, comma);
      const std::size_t dash = span.find('-');
      const auto low = number(span.substr(0, dash));
      const auto high = dash == std::string_view::npos ? low : number(span.substr(dash + 1));
      if (!low || !high || *low < 0 || *high < *low || *high >= limit) {
        return fmt::format("has the files {}: the record has the files 0 to {}", span, limit - 1);
      }
      marks_ += *high - *low + 1;
      if (marks_ > most_marks) return too_many_marks();
      for (std::int64_t file = *low; file <= *high; ++file) {
        std::int64_t& lister = last_lister_[static_cast<std::size_t>(file)];
        if (lister == rank) return fmt::format("has file {} twice", file);
        lister = rank;
        files->push_back(file);
      }
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return {};
  }

  // `lines_left` are those of the rank, with this one.
  Complaint read_line(std::int64_t lines_left, PatternLine* line) {
    while (!loops_.empty() && loops_.back().lines_left == 0) loops_.pop_back();
    const std::int64_t room = loops_.empty() ? lines_left : loops_.back().lines_left;
    for (Loop& loop : loops_) --loop.lines_left;
    const std::string_view name = words_[0];
    const auto* const kind =
        std::find(calls::call_kind_names.begin(), calls::call_kind_names.end(), name);
    if (kind == calls::call_kind_names.end()) return fmt::format("has no known kind: {}", name);
    line->kind = static_cast<CallKind>(kind - calls::call_kind_names.begin());
    return line->kind == CallKind::loop ? read_loop(room, line) : read_call(line);
  }

  Complaint read_loop(std::int64_t room, PatternLine* line) {
    std::array<std::int64_t, 3> words{};
    if (words_.size() != 4 || !read_numbers(1, 3, words.data())) {
      return "must have three numbers after loop";
    }
    const auto [count, length, level] = words;
    const auto below =
        static_cast<std::int64_t>(loops_.empty() ? most_levels : loops_.back().level);
    if (count < 1 || length < 1 || length >= room) {
      return fmt::format("is a loop of {} rounds over {} lines, of which {} are there", count,
                         length, room - 1);
    }
    if (level < 1 || level >= below) {
      return fmt::format("is a loop of level {}: it must be 1 to {}", level, below - 1);
    }
    const std::int64_t around = loops_.empty() ? 1 : loops_.back().rounds_in_all;
    const auto rounds = checked_multiply(around, count);
    if (!rounds || *rounds > most_rank_calls) return too_many_calls();
    line->count = count;
    line->length = static_cast<std::size_t>(length);
    line->level = static_cast<std::size_t>(level);
    loops_.push_back({length, line->level, count, *rounds});
    return {};
  }

  Complaint read_call(PatternLine* line) {
    constexpr std::size_t fixed = 8;
    if (Complaint wrong = read_shape_of(line); !wrong.empty()) return wrong;
    std::array<std::int64_t, 7> words{};
    if (words_.size() < fixed || (words_.size() - fixed) % 2 != 0 ||
        (words_.size() - fixed) / 2 > most_levels || !read_numbers(1, words.size(), words.data())) {
      return "must have seven numbers and up to four pairs of strides";
    }
    line->count = words[0];
    line->file = words[1];
    line->offset = words[2];
    line->bytes = words[3];
    line->first_gap_ns = words[4];
    line->other_gaps_ns = words[5];
    line->call_ns = words[6];
    for (std::size_t i = 0; fixed + 2 * i < words_.size(); ++i) {
      std::array<std::int64_t, 2> pair{};
      if (!read_numbers(fixed + 2 * i, 2, pair.data())) return "has a stride that is no number";
      line->strides[i] = {pair[0], pair[1]};
    }
    if (std::min({line->first_gap_ns, line->other_gaps_ns, line->call_ns}) < 0) {
      return "has a negative time";
    }
    return count_call(*line);
  }

  // Takes the number of a shape off the word that has the bytes.
  Complaint read_shape_of(PatternLine* line) {
    constexpr std::size_t place = 4;
    const std::size_t colon =
        words_.size() > place ? words_[place].find(':') : std::string_view::npos;
    if (colon == std::string_view::npos) return {};
    const auto shape = number(words_[place].substr(colon + 1));
    if (!shape || *shape < 0 || *shape >= std::ssize(*shapes_)) {
      return fmt::format("has a shape outside the {} of the record", shapes_->size());
    }
    words_[place] = words_[place].substr(0, colon);
    line->shape = *shape + 1;
    return {};
  }

  // The shape of a line; null if its bytes are one block.
  [[nodiscard]] const Shape* shape_of(const PatternLine& line) const {
    return line.shape == 0 ? nullptr : &(*shapes_)[static_cast<std::size_t>(line.shape) - 1];
  }

  // The values of a number over all rounds; nothing if one of them exceeds 63 bits.
  [[nodiscard]] std::optional<Reach> reach(const PatternLine& line, std::int64_t start,
                                           std::int64_t calls::Stride::*stride) const {
    Reach found{start, start};
    const auto add = [&](std::int64_t step, std::int64_t count) {
      const auto far = checked_multiply(step, count - 1);
      const auto moved = far ? checked_add(step < 0 ? found.least : found.most, *far) : far;
      if (moved) (step < 0 ? found.least : found.most) = *moved;
      return moved.has_value();
    };
    if (!add(line.strides[0].*stride, line.count)) return std::nullopt;
    for (const Loop& loop : loops_) {
      if (!add(line.strides[loop.level].*stride, loop.count)) return std::nullopt;
    }
    return found;
  }

  Complaint count_call(const PatternLine& line) {
    const bool moves = calls::moves_bytes(line.kind);
    if (line.count < 1) return fmt::format("has {} calls", line.count);
    // A rank without bytes takes part in a collective call.
    const std::int64_t least = calls::is_collective(line.kind) ? 0 : 1;
    if (moves && (line.bytes < least || line.bytes > most_call_bytes)) {
      return fmt::format("moves {} bytes in a call: it must be {} to {}", line.bytes, least,
                         most_call_bytes);
    }
    const Shape* const shape = shape_of(line);
    if (shape != nullptr && (!moves || shape->bytes != line.bytes)) {
      return fmt::format("has {} bytes, but its shape has {}", line.bytes, shape->bytes);
    }
    const std::int64_t span = shape == nullptr ? line.bytes : shape->end;
    const auto offsets = reach(line, line.offset, &calls::Stride::offset);
    if (!offsets || offsets->least < 0 || offsets->most > most_file_bytes) {
      return fmt::format("has an offset outside 0 to {}", most_file_bytes);
    }
    const auto files = reach(line, line.file, &calls::Stride::file);
    if (!files || files->least < 0 || files->most >= std::ssize(*files_)) {
      return fmt::format("has a file outside the {} of its rank", files_->size());
    }
    marks_ += files->most - files->least + 1;
    if (marks_ > most_marks) return too_many_marks();
    for (std::int64_t i = files->least; i <= files->most; ++i) {
      const auto file = static_cast<std::size_t>((*files_)[static_cast<std::size_t>(i)]);
      FileFacts& facts = record_.files[file];
      if (last_user_[file] != std::ssize(record_.sums)) ++facts.users;
      last_user_[file] = std::ssize(record_.sums);
      if (moves) facts.end = std::max(facts.end, offsets->most + span);
    }
    return add_to_sums(line, moves);
  }

  Complaint add_to_sums(const PatternLine& line, bool moves) {
    const std::int64_t rounds = loops_.empty() ? 1 : loops_.back().rounds_in_all;
    const auto calls = checked_multiply(rounds, line.count);
    if (!calls || sums_.calls + *calls > most_rank_calls) return too_many_calls();
    sums_.calls += *calls;
    // Below 2^63, because the calls of a rank and the bytes of a call are.
    if (calls::is_reading(line.kind)) {
      sums_.reads += *calls;
      sums_.bytes_read += *calls * line.bytes;
    } else if (calls::is_writing(line.kind)) {
      sums_.writes += *calls;
      sums_.bytes_written += *calls * line.bytes;
    }
    if (moves) sums_.largest_bytes = std::max(sums_.largest_bytes, line.bytes);
    if (const Shape* const shape = shape_of(line)) {
      sums_.blocks += *calls * shape->blocks;  // below 2^63, as the bytes are
      if (sums_.blocks > most_rank_blocks) {
        return fmt::format("is of more than {} blocks of a rank's calls", most_rank_blocks);
      }
    }
    const auto gaps = checked_add(line.first_gap_ns, line.other_gaps_ns);
    const auto all_gaps = gaps ? checked_add(sums_.gap_ns, *gaps) : gaps;
    const auto in_calls = checked_add(sums_.call_ns, line.call_ns);
    if (!all_gaps || !in_calls) return "has times of more than 292 years";
    sums_.gap_ns = *all_gaps;
    sums_.call_ns = *in_calls;
    return {};
  }

  static Complaint too_many_marks() {
    return fmt::format("is of ranks that use more than {} files together", most_marks);
  }

  static Complaint too_many_calls() {
    return fmt::format("is of more than {} calls of a rank", most_rank_calls);
  }

  std::string_view left_;
  const std::function<bool(std::int64_t)>& keeps_;
  std::int64_t line_number_ = 0;
  std::string_view line_;
  std::vector<std::string_view> words_;
  Record record_;
  std::shared_ptr<Shapes> shapes_ = std::make_shared<Shapes>();
  std::int64_t patterns_ = 0;  // of all shapes
  std::int64_t marks_ = 0;
  std::int64_t bytes_ = 0;  // moved by all ranks
  // The last rank so far that used each file, and the last one that lists it among its files.
  std::vector<std::int64_t> last_user_;
  std::vector<std::int64_t> last_lister_;
  // The members below are those of the rank whose lines are being read.
  const std::vector<std::int64_t>* files_ = nullptr;
  RankSums sums_;
  std::vector<Loop> loops_;
};

}  // namespace

Result<Record> parse_record(std::string_view text,
                            const std::function<bool(std::int64_t rank)>& keeps) {
  return Reader(text, keeps).read();
}

Result<Record> read_record(const std::string& path,
                           const std::function<bool(std::int64_t rank)>& keeps) {
  auto text = storage::read_text_file(path, most_record_bytes);
  if (!text) return text.error();
  auto record = parse_record(text.value(), keeps);
  if (record) return record;
  Error error = record.error();
  error.message = fmt::format("{}: {}", path, error.message);
  return error;
}

CallCursor::CallCursor(const RankRecord& record) : record_(record) {}

bool CallCursor::next(ReplayedCall* call) {
  while (true) {
    if (depth_ > 0 && at_ == loops_[depth_ - 1].end) {
      const Loop& loop = loops_[depth_ - 1];
      if (++round_[loop.level] < loop.count) {
        at_ = loop.begin;
      } else {
        round_[loop.level] = 0;
        --depth_;
      }
      continue;
    }
    if (at_ == record_.lines.size()) return false;
    const PatternLine& line = record_.lines[at_];
    const std::int64_t rounds = depth_ == 0 ? 1 : loops_[depth_ - 1].rounds_in_all;
    if (line.kind == CallKind::loop) {
      ++at_;
      loops_[depth_++] = {at_, at_ + line.length, line.level, line.count, rounds * line.count};
      continue;
    }
    std::int64_t file = line.file;
    call->offset = line.offset;
    for (std::size_t level = 0; level < most_levels; ++level) {
      file += round_[level] * line.strides[level].file;
      call->offset += round_[level] * line.strides[level].offset;
    }
    call->kind = line.kind;
    call->file = record_.files[static_cast<std::size_t>(file)];
    call->bytes = line.bytes;
    call->shape =
        line.shape == 0 ? nullptr : &(*record_.shapes)[static_cast<std::size_t>(line.shape) - 1];
    call->gap_ns = round_[0] == 0 ? line.first_gap_ns / rounds
                                  : line.other_gaps_ns / (rounds * (line.count - 1));
    if (++round_[0] == line.count) {
      round_[0] = 0;
      ++at_;
    }
    return true;
  }
}

}  // namespace weir::bench::replay
