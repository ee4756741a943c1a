#include "checksums/sums_file.hpp"

#include <fmt/format.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): ::rename is POSIX
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <concepts>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "common/crc32c.hpp"
#include "system/file.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"
#include "system/unfollowed_file.hpp"

namespace weir::storage {
namespace {

constexpr std::string_view file_mark = "WEIRSUMS";
constexpr std::string_view frame_mark = "FRAM";
constexpr std::uint32_t version = 1;
constexpr std::size_t head_bytes = 32;
constexpr std::size_t summed_head_bytes = 28;
constexpr std::int64_t least_block_bytes = 512;
constexpr std::int64_t most_block_bytes = 1 << 30;

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::uint32_t sum_of_text(std::string_view text) {
  return crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

template <std::integral Number>
void put(std::string& text, Number number) {
  std::array<char, sizeof(Number)> bytes{};
  std::memcpy(bytes.data(), &number, sizeof(Number));
  text.append(bytes.data(), bytes.size());
}

// Takes numbers and texts from the front of a text. After the first take beyond the end, all takes
// fail.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  template <std::integral Number>
  Number take() {
    Number number = 0;
    const std::string_view bytes = take_text(sizeof(Number));
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }
  std::string_view take_text(std::size_t bytes) {
    if (bytes > text_.size()) {
      failed_ = true;
      text_ = {};
      return {};
    }
    const std::string_view taken = text_.substr(0, bytes);
    text_.remove_prefix(bytes);
    return taken;
  }
  [[nodiscard]] std::size_t left() const { return text_.size(); }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::string_view text_;
  bool failed_ = false;
};

bool head_is_whole(std::string_view head, std::string_view mark) {
  if (head.size() != head_bytes || !head.starts_with(mark)) return false;
  return Cursor(head.substr(summed_head_bytes)).take<std::uint32_t>() ==
         sum_of_text(head.substr(0, summed_head_bytes));
}

std::optional<std::int64_t> block_bytes_of(std::string_view text) {
  const std::string_view head = text.substr(0, head_bytes);
  if (!head_is_whole(head, file_mark)) return std::nullopt;
  Cursor cursor(head.substr(file_mark.size()));
  if (cursor.take<std::uint32_t>() != version) return std::nullopt;
  (void)cursor.take<std::uint32_t>();
  const auto bytes = cursor.take<std::int64_t>();
  if (bytes < least_block_bytes || bytes > most_block_bytes) return std::nullopt;
  return bytes;
}

struct Frame {
  std::int64_t steps = 0;
  std::string_view payload;
  std::size_t bytes = 0;  // including the head
};

// Returns the frame at the start of the text, or nothing if there is no complete frame.
std::optional<Frame> frame_at(std::string_view text) {
  const std::string_view head = text.substr(0, head_bytes);
  if (!head_is_whole(head, frame_mark)) return std::nullopt;
  Cursor cursor(head.substr(frame_mark.size()));
  const auto sum = cursor.take<std::uint32_t>();
  Frame frame;
  frame.steps = cursor.take<std::int64_t>();
  const auto bytes = cursor.take<std::uint64_t>();
  if (bytes > text.size() - head_bytes) return std::nullopt;
  frame.payload = text.substr(head_bytes, bytes);
  if (sum_of_text(frame.payload) != sum) return std::nullopt;
  frame.bytes = head_bytes + bytes;
  return frame;
}

// Enters the runs of a payload into the book. Returns false if the payload is invalid.
bool enter_payload(std::string_view payload, SumBook& book) {
  Cursor cursor(payload);
  const auto files = cursor.take<std::uint64_t>();
  if (files > cursor.left() / sizeof(std::uint32_t)) return false;
  std::vector<std::string_view> names;
  names.reserve(files);
  for (std::uint64_t i = 0; i < files && !cursor.failed(); ++i) {
    names.push_back(cursor.take_text(cursor.take<std::uint32_t>()));
  }
  while (!cursor.failed() && cursor.left() > 0) {
    const auto file = cursor.take<std::uint32_t>();
    const auto reserved = cursor.take<std::uint32_t>();
    NamedRun run;
    run.offset = cursor.take<std::int64_t>();
    run.bytes = cursor.take<std::int64_t>();
    if (cursor.failed() || file >= names.size() || reserved != 0 || run.offset < 0 ||
        run.bytes < 1 || run.bytes > INT64_MAX - most_block_bytes - run.offset) {
      return false;
    }
    run.file = names[file];
    const auto sums =
        static_cast<std::uint64_t>(blocks_in(run.offset, run.bytes, book.block_bytes()));
    if (sums > cursor.left() / sizeof(std::uint32_t)) return false;
    run.sums.resize(sums);
    const std::string_view bytes = cursor.take_text(sums * sizeof(std::uint32_t));
    std::memcpy(run.sums.data(), bytes.data(), bytes.size());
    if (!book.enter(std::move(run))) return false;
  }
  return !cursor.failed();
}

Status write_at(const File& file, const std::string& text, std::int64_t offset) {
  std::string copy = text;
  const Slice slice{reinterpret_cast<std::byte*>(copy.data()),
                    static_cast<std::int64_t>(copy.size())};
  std::int64_t calls = 0;
  return write_slices(file, {&slice, 1}, offset, calls);
}

Status make_durable(const File& file, StepDurability durability) {
  return durability == StepDurability::none ? Status() : file.sync_data();
}

}  // namespace

std::string sums_path(const std::string& path) {
  return committed_path(without_slashes(path)) + ".sums";
}

std::string incomplete_sums_path(const std::string& path) {
  return incomplete_path(without_slashes(path)) + ".sums";
}

std::string sums_header(std::int64_t block_bytes) {
  std::string text(file_mark);
  put(text, version);
  put(text, std::uint32_t{0});
  put(text, block_bytes);
  put(text, std::uint32_t{0});
  put(text, sum_of_text(text));
  return text;
}

std::string sums_frame(std::int64_t steps, std::span<const NamedRun> runs) {
  std::vector<std::string_view> names;
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  for (const NamedRun& run : runs) {
    if (numbers.try_emplace(run.file, names.size()).second) names.push_back(run.file);
  }
  std::string payload;
  put(payload, std::uint64_t{names.size()});
  for (const std::string_view name : names) {
    put(payload, static_cast<std::uint32_t>(name.size()));
    payload.append(name);
  }
  for (const NamedRun& run : runs) {
    put(payload, numbers.at(run.file));
    put(payload, std::uint32_t{0});
    put(payload, run.offset);
    put(payload, run.bytes);
    for (const std::uint32_t sum : run.sums) put(payload, sum);
  }
  std::string text(frame_mark);
  put(text, sum_of_text(payload));
  put(text, steps);
  put(text, std::uint64_t{payload.size()});
  put(text, std::uint32_t{0});
  put(text, sum_of_text(text));
  return text + payload;
}

ParsedSums parse_sums(std::string_view text, std::int64_t steps) {
  ParsedSums parsed;
  if (text.empty()) return parsed;
  const auto block_bytes = block_bytes_of(text);
  if (!block_bytes) {
    parsed.damage = "its header cannot be read, so no checksum of the file is known";
    return parsed;
  }
  parsed.book = SumBook(*block_bytes);
  parsed.counted_bytes = head_bytes;
  for (std::size_t at = head_bytes; at < text.size();) {
    const auto frame = frame_at(text.substr(at));
    if (frame && frame->steps > steps) return parsed;  // frame of a step that was not committed
    if (!frame || !enter_payload(frame->payload, parsed.book)) {
      parsed.damage = fmt::format(
          "it is damaged or truncated at byte {}: the checksums of later writes are unknown", at);
      return parsed;
    }
    at += frame->bytes;
    parsed.counted_bytes = static_cast<std::int64_t>(at);
  }
  return parsed;
}

Result<std::string> read_sums(const std::string& sums_file) {
  // Most files have none. Opening what is not there and describing the failure would take longer.
  struct stat there {};
  if (::stat(sums_file.c_str(), &there) != 0 && errno == ENOENT) return std::string();
  const auto file = File::open(sums_file, {});
  if (!file) {
    if (file.error().system_error == ENOENT) return std::string();
    return file.error();
  }
  struct stat information {};
  if (::fstat(file.value().descriptor(), &information) != 0) {
    return system_failure("stat", sums_file, -1, errno);
  }
  if (!S_ISREG(information.st_mode) || information.st_size > longest_sums_file) {
    return invalid_argument("is not a file of checksums, or is too long for one", sums_file);
  }
  std::string text(static_cast<std::size_t>(information.st_size), '\0');
  if (text.empty()) return text;
  const Slice slice{reinterpret_cast<std::byte*>(text.data()), information.st_size};
  std::int64_t bytes = 0;
  std::int64_t calls = 0;
  Status read = read_slices(file.value(), {&slice, 1}, 0, bytes, calls);
  if (!read.ok()) return read.error();
  text.resize(static_cast<std::size_t>(bytes));
  return text;
}

Status replace_sums(const std::string& sums_file, const std::string& frame,
                    StepDurability durability, std::int64_t block_bytes) {
  auto file = begin_replacement(sums_file);
  if (!file) return file.error();
  Status status = write_at(file.value(), sums_header(block_bytes) + frame, 0);
  if (status.ok()) status = make_durable(file.value(), durability);
  Status closed = file.value().close();
  if (status.ok()) status = std::move(closed);
  if (!status.ok()) return status;
  return rename_sums(replacement_path(sums_file), sums_file, durability);
}

Status rename_sums(const std::string& sums_file, const std::string& to, StepDurability durability) {
  if (::rename(sums_file.c_str(), to.c_str()) != 0) {
    return system_failure("rename to " + to, sums_file, -1, errno);
  }
  return durability == StepDurability::none ? Status() : sync_folder(folder_of(to));
}

Result<bool> cut_sums(const std::string& sums_file, std::int64_t steps) {
  const auto text = read_sums(sums_file);
  if (!text) {
    // A later attempt to read the file may succeed, and frames that were not cut off would then be
    // used.
    if (text.error().code != ErrorCode::invalid_argument) return text.error();
    return false;
  }
  const ParsedSums parsed = parse_sums(text.value(), steps);
  if (parsed.counted_bytes == 0) {
    if (Status removed = remove_sums(sums_file, StepDurability::none); !removed.ok()) {
      return removed.error();
    }
    return true;
  }
  if (std::cmp_equal(parsed.counted_bytes, text.value().size())) return true;
  auto file = open_unfollowed(sums_file);
  if (!file) return file.error();
  if (Status cut = file.value().set_length(parsed.counted_bytes); !cut.ok()) return cut.error();
  if (Status closed = file.value().close(); !closed.ok()) return closed.error();
  return true;
}

Status append_sums(const std::string& sums_file, const std::string& frame,
                   StepDurability durability) {
  auto file = open_or_make_unfollowed(sums_file);
  if (!file) return file.error();
  struct stat information {};
  if (::fstat(file.value().descriptor(), &information) != 0) {
    return system_failure("stat", sums_file, -1, errno);
  }
  const bool fresh = information.st_size == 0;
  Status status =
      write_at(file.value(), fresh ? sums_header() + frame : frame, information.st_size);
  if (status.ok()) status = make_durable(file.value(), durability);
  Status closed = file.value().close();
  if (status.ok()) status = std::move(closed);
  if (status.ok() && fresh && durability != StepDurability::none) {
    status = sync_folder(folder_of(sums_file));
  }
  return status;
}

Status remove_sums(const std::string& sums_file, StepDurability durability) {
  if (::unlink(sums_file.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return system_failure("unlink", sums_file, -1, errno);
  }
  return durability == StepDurability::none ? Status() : sync_folder(folder_of(sums_file));
}

}  // namespace weir::storage
