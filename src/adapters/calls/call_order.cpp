#include "adapters/calls/call_order.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "adapters/preloaded/record_file.hpp"

namespace weir::calls {
namespace {

using preloaded::now_ns;

// The shapes of calls, each once.
struct Shapes {
  std::array<std::int64_t, most_shape_numbers> numbers{};
  std::array<std::size_t, most_order_shapes> ends{};  // of each shape's numbers
  std::array<std::uint64_t, most_order_shapes> hashes{};
  std::size_t used = 0;

  [[nodiscard]] std::span<const std::int64_t> at(std::size_t place) const {
    const std::size_t begin = place == 0 ? 0 : ends[place - 1];
    return std::span(numbers).subspan(begin, ends[place] - begin);
  }
};
constinit Shapes shapes;

// Says what is recorded of this process. All but `busy` and the missed calls belong to the thread
// that has set `busy`.
struct Order {
  std::atomic<bool> busy{false};
  std::atomic<std::uint64_t> missed_calls{0};
  std::atomic<std::uint64_t> missed_bytes{0};
  preloaded::RecordFile file;  // does not exist: nothing is recorded
  int process = 0;
  std::array<OrderedFile*, most_ordered_files> files{};
  std::size_t files_used = 0;
  const char* under = nullptr;  // folders of the files that are wanted, with colons; null: all
  std::size_t lines_written = 0;
  std::int64_t begin_ns = 0;
  std::int64_t last_end_ns = 0;  // of the latest call; 0: there was none
};
constinit Order order;
constinit CallPattern pattern;

// Returns false if another thread has the record for too long.
bool take_order() {
  constexpr int tries = 20'000;
  for (int i = 0; i < tries; ++i) {
    if (!order.busy.exchange(true, std::memory_order_acquire)) return true;
    if (i % 64 == 63) ::sched_yield();
  }
  return false;
}

void give_order() { order.busy.store(false, std::memory_order_release); }

void miss(std::int64_t bytes) {
  order.missed_calls.fetch_add(1, relaxed);
  order.missed_bytes.fetch_add(static_cast<std::uint64_t>(bytes), relaxed);
}

// Writes lines, or counts their calls as missed if the record is full. A loop is written whole or
// not at all, since all its lines are taken at once.
class LineWriter {
 public:
  void add(const PatternLine& line) {
    while (depth_ > 0 && at_ >= ends_[depth_ - 1]) --depth_;
    if (depth_ == 0) is_room_ = order.lines_written + line.length + 1 <= most_order_lines;
    if (line.kind == CallKind::loop) {
      const std::int64_t around = depth_ == 0 ? 1 : rounds_[depth_ - 1];
      rounds_[depth_] = around * line.count;
      ends_[depth_++] = at_ + 1 + line.length;
    }
    ++at_;
    if (is_room_) {
      write(line);
      ++order.lines_written;
    } else if (line.kind != CallKind::loop) {
      const std::int64_t calls = line.count * (depth_ == 0 ? 1 : rounds_[depth_ - 1]);
      const bool moved = moves_bytes(line.kind);
      order.missed_calls.fetch_add(static_cast<std::uint64_t>(calls), relaxed);
      order.missed_bytes.fetch_add(static_cast<std::uint64_t>(moved ? calls * line.bytes : 0),
                                   relaxed);
    }
  }

 private:
  static void write(const PatternLine& line) {
    preloaded::RecordFile& file = order.file;
    file.add_words(call_kind_names.at(static_cast<std::size_t>(line.kind)), line.count);
    if (line.kind == CallKind::loop) {
      file.add('\t');
      file.add_words(line.length, line.level);
    } else {
      file.add('\t');
      file.add_words(line.file, line.offset, line.bytes);
      if (line.shape > 0) {
        file.add(':');
        file.add_number(line.shape - 1);
      }
      file.add('\t');
      file.add_words(line.first_gap_ns, line.other_gaps_ns, line.call_ns);
      std::size_t levels = most_levels;
      while (levels > 0 && line.strides[levels - 1] == Stride{}) --levels;
      for (std::size_t i = 0; i < levels; ++i) {
        file.add('\t');
        file.add_words(line.strides[i].offset, line.strides[i].file);
      }
    }
    file.add('\n');
  }

  std::size_t at_ = 0;  // number of the line among those that are taken
  bool is_room_ = true;
  // The loops around the line have these rounds and ends, the outermost first.
  std::size_t depth_ = 0;
  std::array<std::int64_t, most_levels> rounds_{};
  std::array<std::size_t, most_levels> ends_{};
};

void write_lines(bool all) {
  LineWriter writer;
  pattern.take(all, [&](const PatternLine& line) { writer.add(line); });
}

void add(const MadeCall& call, std::int64_t start_ns, std::int64_t end_ns) {
  if (pattern.is_full() && order.file.open_again()) {
    write_lines(false);
    order.file.close();
  }
  MadeCall timed = call;
  // Calls of several threads may overlap.
  timed.gap_ns =
      order.last_end_ns == 0 ? 0 : std::max<std::int64_t>(0, start_ns - order.last_end_ns);
  timed.call_ns = end_ns - start_ns;
  order.last_end_ns = end_ns;
  pattern.add(timed);
}

bool starts_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_wanted(std::string_view path) {
  if (order.under == nullptr || *order.under == '\0') return !is_system_path(path);
  std::string_view folders(order.under);
  while (!folders.empty()) {
    const std::size_t colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    if (!folder.empty() && starts_in(path, folder)) return true;
    folders = colon == std::string_view::npos ? std::string_view() : folders.substr(colon + 1);
  }
  return false;
}

constexpr std::int32_t unwanted = -1;
constexpr std::int32_t too_many = -2;

// Returns the number of a file in this record, plus 1, or one of these two values.
std::int32_t number_of_file(OrderedFile* file) {
  const std::int32_t known = file->number.load(relaxed);
  if (known != 0) return known;
  const char* const path = file->path.load(std::memory_order_acquire);
  std::int32_t number = too_many;
  if (path != nullptr && !is_wanted(path)) {
    number = unwanted;
  } else if (path != nullptr && order.files_used < most_ordered_files) {
    order.files[order.files_used++] = file;
    number = static_cast<std::int32_t>(order.files_used);
  }
  file->number.store(number, relaxed);
  return number;
}

bool is_own_order() { return order.process == preloaded::own_process(); }

// Returns the number of a shape, plus 1; 0 if there is no room for it.
std::int64_t number_of_shape(std::span<const std::int64_t> shape) {
  std::uint64_t hash = shape.size();
  for (const std::int64_t number : shape) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  }
  for (std::size_t i = 0; i < shapes.used; ++i) {
    if (shapes.hashes[i] == hash && std::ranges::equal(shapes.at(i), shape)) {
      return static_cast<std::int64_t>(i) + 1;
    }
  }
  const std::size_t begin = shapes.used == 0 ? 0 : shapes.ends[shapes.used - 1];
  if (shapes.used == most_order_shapes || shape.size() > most_shape_numbers - begin) return 0;
  std::ranges::copy(shape, shapes.numbers.begin() + static_cast<std::ptrdiff_t>(begin));
  shapes.ends[shapes.used] = begin + shape.size();
  shapes.hashes[shapes.used] = hash;
  return static_cast<std::int64_t>(++shapes.used);
}

void write_shapes() {
  for (std::size_t i = 0; i < shapes.used; ++i) {
    order.file.add("shape");
    for (const std::int64_t number : shapes.at(i)) {
      order.file.add('\t');
      order.file.add_number(number);
    }
    order.file.add('\n');
  }
}

}  // namespace

bool is_system_path(std::string_view absolute) {
  constexpr std::array<std::string_view, 11> folders = {
      "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/run", "/sbin", "/usr", "/var"};
  for (const std::string_view folder : folders) {
    if (starts_in(absolute, folder)) return true;
  }
  return false;
}

void begin_order(const char* folder) {
  ordering.store(false, relaxed);
  order.busy.store(false, relaxed);
  order.missed_calls.store(0, relaxed);
  order.missed_bytes.store(0, relaxed);
  for (std::size_t i = 0; i < order.files_used; ++i) {
    order.files[i]->number.store(0, relaxed);
  }
  order.files_used = 0;
  shapes.used = 0;
  order.process = preloaded::own_process();
  order.under = ::getenv("WEIR_CALLS_UNDER");
  order.lines_written = 0;
  order.last_end_ns = 0;
  pattern.clear();
  if (!order.file.make(folder, "order")) return;
  order.file.add_beginning("weir-order 2");
  order.file.close();
  order.begin_ns = now_ns();
  ordering.store(true, relaxed);
}

void end_order() {
  if (!is_own_order() || !ordering.exchange(false, relaxed) || !take_order()) return;
  if (order.file.open_again()) {
    write_lines(true);
    const std::uint64_t missed = order.missed_calls.load(relaxed);
    if (missed > 0) {
      order.file.add_words("missed", missed, order.missed_bytes.load(relaxed));
      order.file.add('\n');
    }
    write_shapes();
    for (std::size_t i = 0; i < order.files_used; ++i) {
      order.file.add("file\t");
      order.file.add_path(order.files[i]->path.load(std::memory_order_acquire));
      order.file.add('\n');
    }
    order.file.add_words("end", now_ns() - order.begin_ns);
    order.file.add('\n');
    order.file.close();
  }
  give_order();
}

void note_call(CallKind kind, OrderedFile* file, std::int64_t offset, std::int64_t bytes,
               std::int64_t start_ns, std::int64_t end_ns, std::span<const std::int64_t> shape) {
  const std::int32_t before = file->number.load(relaxed);
  if (before == unwanted || (before == 0 && !moves_bytes(kind)) || !is_own_order()) return;
  if (before == too_many || !take_order()) {
    miss(bytes);
    return;
  }
  const std::int32_t number = number_of_file(file);
  const bool is_block = shape.empty();
  const std::int64_t shape_number = number > 0 && !is_block ? number_of_shape(shape) : 0;
  if (number > 0 && (is_block || shape_number > 0)) {
    add({.kind = kind, .file = number - 1, .offset = offset, .bytes = bytes, .shape = shape_number},
        start_ns, end_ns);
  } else if (number != unwanted) {
    miss(bytes);
  }
  give_order();
}

void note_unknown(OrderedFile* file, std::int64_t bytes) {
  if (file->number.load(relaxed) == unwanted || !is_own_order()) return;
  if (!take_order()) {
    miss(bytes);
    return;
  }
  if (number_of_file(file) != unwanted) miss(bytes);
  give_order();
}

void note_opening(OrderedFile* file, std::int64_t flags, std::int64_t start_ns,
                  std::int64_t end_ns) {
  if (file->number.load(relaxed) == unwanted || !is_own_order()) return;
  if (!take_order()) {
    miss(0);
    return;
  }
  const std::int32_t number = number_of_file(file);
  if (number > 0) {
    add({.kind = CallKind::open, .file = number - 1, .bytes = flags}, start_ns, end_ns);
  } else if (number == too_many) {
    miss(0);
  }
  give_order();
}

}  // namespace weir::calls
