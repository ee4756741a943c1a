#include "stager/journal_replay.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "checksums/sums_file.hpp"
#include "formats/commit_progress.hpp"
#include "formats/writer_lock.hpp"
#include "stager/disk_record.hpp"
#include "stager/journal.hpp"
#include "stager/session_files.hpp"
#include "stager/stored_paths.hpp"
#include "stored/file_description.hpp"
#include "system/frame_socket.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"
#include "system/uninterrupted.hpp"
#include "transport/filled_block.hpp"

namespace weir::stager {
namespace {

constexpr std::string_view aside_suffix = ".aside";
// Memory for blocks, which are written together.
constexpr std::int64_t most_replayed_together = longest_journaled_block;

Error damaged(const storage::File& file, std::int64_t offset) {
  return Error(ErrorCode::corrupt, "it is damaged", file.path(), offset);
}

// Reads the records of a journal one after the other.
class Records {
 public:
  Records(const storage::File& file, std::int64_t bytes) : file_(file), bytes_(bytes) {}

  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] bool is_at_end() const { return offset_ == bytes_; }
  // Returns the bytes of the next record; nothing if the journal ends within it.
  Result<std::optional<std::vector<std::byte>>> next(std::int64_t most) {
    const std::int64_t begin = offset_;
    RecordHead head{};
    if (bytes_ - begin < std::ssize(head)) return std::optional<std::vector<std::byte>>();
    if (Status got = read(head, begin); !got.ok()) return got.error();
    const auto count = bytes_behind(head, journal_magic, number_);
    if (!count || *count > static_cast<std::uint64_t>(most)) return damaged(file_, begin);
    const auto count_signed = static_cast<std::int64_t>(*count);
    const std::int64_t left = bytes_ - begin - std::ssize(head);
    if (count_signed > left) return std::optional<std::vector<std::byte>>();
    std::vector<std::byte> bytes(static_cast<std::size_t>(*count));
    if (Status got = read(bytes, begin + std::ssize(head)); !got.ok()) return got.error();
    if (!is_head_of(head, journal_magic, number_, bytes)) return damaged(file_, begin);
    ++number_;
    offset_ = begin + std::ssize(head) + count_signed;
    return std::optional(std::move(bytes));
  }

 private:
  [[nodiscard]] Status read(std::span<std::byte> to, std::int64_t offset) const {
    if (to.empty()) return {};
    const storage::Slice slice{to.data(), static_cast<std::int64_t>(to.size())};
    std::int64_t read = 0;
    std::int64_t calls = 0;
    Status got = storage::read_slices(file_, {&slice, 1}, offset, read, calls);
    if (!got.ok()) return got;
    return read == slice.bytes ? Status() : Status(damaged(file_, offset));
  }

  const storage::File& file_;
  std::int64_t bytes_;
  std::int64_t offset_ = 0;
  std::uint64_t number_ = 0;
};

Result<std::int64_t> length_of(const storage::File& file) {
  struct stat about {};
  if (::fstat(file.descriptor(), &about) != 0) {
    return system_failure("fstat", file.path(), -1, errno);
  }
  return static_cast<std::int64_t>(about.st_size);
}

// Writes the blocks of a journal, many at a time.
class BlockWriter {
 public:
  BlockWriter(const JournaledStep& step, const storage::RootFolder* root)
      : step_(step),
        memory_(static_cast<std::size_t>(most_replayed_together)),
        files_(memory_, 1, nullptr, root) {}

  Status take(std::span<const std::byte> block, std::int64_t extents) {
    const auto all = transport::extents_of(block, extents);
    if (!all) return all.error();
    if (used_ + block.size() > memory_.size()) {
      if (Status written = write(); !written.ok()) return written;
    }
    std::copy(block.begin(), block.end(), memory_.begin() + static_cast<std::ptrdiff_t>(used_));
    auto at = static_cast<std::int64_t>(used_);
    for (const transport::BlockExtent& one : all.value()) {
      extents_.push_back({.block = 0,
                          .at = at,
                          .bytes = one.bytes,
                          .file = static_cast<std::size_t>(one.file),
                          .offset = one.offset});
      at += one.bytes;
    }
    used_ = static_cast<std::size_t>(at);
    return {};
  }
  Status commit(transport::CommitStep step) {
    if (Status written = write(); !written.ok()) return written;
    return files_.execute(Commit{.job = 0, .session = 0, .step = std::move(step)});
  }

 private:
  Status write() {
    if (extents_.empty()) return {};
    Status written = files_.execute(Write{
        .job = 0, .session = 0, .files = step_.files, .extents = std::exchange(extents_, {})});
    used_ = 0;
    return written;
  }

  const JournaledStep& step_;
  std::vector<std::byte> memory_;
  std::size_t used_ = 0;
  SessionFiles files_;
  std::vector<BlockExtent> extents_;
};

// What became of a journal.
enum class Fate : std::uint8_t { removed, left, aside };
struct Replayed {
  Fate fate = Fate::removed;
  std::string line;  // for people; "": nothing unusual
};

// The lock of the step's file is held.
Replayed store(const storage::File& journal, const JournaledStep& told,
               const storage::RootFolder* root) {
  const transport::CommitStep& step = told.step;
  const std::string path = storage::printable(step.path);
  const auto progress = storage::progress_of(step.path, told.files.front().known->identity,
                                             step.update, told.before.update);
  const bool is_foreign =
      progress ? progress.value() == storage::CommitProgress::is_foreign : false;
  if (!progress || is_foreign) {
    return {Fate::aside,
            fmt::format("a step in the journal is not stored: {} was replaced or changed since{}",
                        path, progress ? "" : " (" + progress.error().text() + ")")};
  }
  if (progress.value() == storage::CommitProgress::is_done) {
    if (step.names_sums && storage::is_on_disk(storage::incomplete_sums_path(step.path))) {
      (void)storage::rename_sums(storage::incomplete_sums_path(step.path),
                                 storage::sums_path(step.path), step.durability);
    }
    return {Fate::removed, fmt::format("a step of {} in the journal was stored already", path)};
  }
  BlockWriter writer(told, root);
  Status stored;
  // The bytes of a file are in it before it gets its name.
  if (progress.value() == storage::CommitProgress::can_begin) {
    const auto read =
        read_journal(journal, [&](std::span<const std::byte> block, std::int64_t extents) {
          return writer.take(block, extents);
        });
    if (!read) stored = read.error();
  }
  if (stored.ok()) {
    auto rest = storage::rest_of(step.path, step.update);
    if (rest) {
      transport::CommitStep left = step;
      left.update = std::move(rest).value();
      stored = writer.commit(std::move(left));
    } else {
      stored = rest.error();
    }
  }
  if (!stored.ok()) {
    return {Fate::left, fmt::format("a step of {} stays in the journal, for the next stager: {}",
                                    path, stored.error().text())};
  }
  return {Fate::removed, fmt::format("a step of {} was stored from the journal", path)};
}

Replayed replay(const storage::File& journal, const storage::RootFolder* root) {
  const auto found = read_journal(journal, nullptr);
  if (!found && found.error().code != ErrorCode::corrupt &&
      found.error().code != ErrorCode::unsupported) {
    return {Fate::left, found.error().text()};
  }
  if (!found) {
    return {Fate::aside, fmt::format("a journal is not replayed: {}", found.error().text())};
  }
  if (!found.value()) return {Fate::removed, ""};
  const JournaledStep& told = *found.value();
  if (Status below = check_below(root, told.step); !below.ok()) {
    return {Fate::left, fmt::format("a step of {} stays in the journal: {}",
                                    storage::printable(told.step.path), below.error().message)};
  }
  auto lock = storage::WriterLock::take(told.step.path);
  if (!lock || !lock.value().is_held()) {
    return {Fate::left, fmt::format("a step of {} stays in the journal, for the next stager: {}",
                                    storage::printable(told.step.path),
                                    lock ? "its file system has no locks" : lock.error().message)};
  }
  return store(journal, told, root);
}

// Opens a journal that no stager is writing.
std::optional<storage::File> open_left(const std::string& path) {
  const int descriptor = storage::uninterrupted(
      [&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0) return std::nullopt;
  storage::File file = storage::File::passed(descriptor, path, 0);
  struct stat about {};
  const bool is_own = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
                      about.st_uid == ::geteuid() && about.st_nlink == 1;
  if (!is_own || ::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  // The journal's stager may have removed it between the two calls.
  struct stat now {};
  const bool is_there = ::lstat(path.c_str(), &now) == 0 && now.st_ino == about.st_ino;
  return is_there ? std::optional(std::move(file)) : std::nullopt;
}

}  // namespace

Result<std::optional<JournaledStep>> read_journal(const storage::File& file,
                                                  const TakeBlock& take_block) {
  const auto bytes = length_of(file);
  if (!bytes) return bytes.error();
  Records records(file, bytes.value());
  JournaledStep step;
  std::int64_t name_bytes = 0;
  bool has_before = false;
  while (!records.is_at_end()) {
    const std::int64_t offset = records.offset();
    const auto one = records.next(static_cast<std::int64_t>(storage::FrameSocket::longest_payload));
    if (!one) return one.error();
    if (!one.value()) return std::optional<JournaledStep>();
    auto message = transport::parse(*one.value());
    if (!message) {
      if (message.error().code != ErrorCode::unsupported) return damaged(file, offset);
      return Error(ErrorCode::unsupported, "another version of Weir has written it", file.path());
    }
    if (const auto* const filled = std::get_if<transport::FilledBlock>(&message.value())) {
      if (has_before || filled->block > longest_journaled_block) return damaged(file, offset);
      const auto block = records.next(longest_journaled_block);
      if (!block) return block.error();
      if (!block.value()) return std::optional<JournaledStep>();
      const auto extents = transport::extents_of(*block.value(), filled->extents);
      const bool is_possible =
          extents.ok() && std::ssize(*block.value()) == filled->block &&
          std::ranges::all_of(extents.value(), [&](const transport::BlockExtent& extent) {
            return extent.file > 0 && extent.file < step.files.size();
          });
      if (!is_possible) return damaged(file, offset);
      if (take_block == nullptr) continue;
      if (Status taken = take_block(*block.value(), filled->extents); !taken.ok()) {
        return taken.error();
      }
      continue;
    }
    name_bytes += std::ssize(*one.value());
    if (name_bytes > most_journaled_names) return damaged(file, offset);
    if (auto* const named = std::get_if<transport::NameFile>(&message.value())) {
      const bool is_of_step =
          named->file == step.files.size() && named->known && !has_before &&
          (step.files.empty() || named->known->identity == step.files.front().known->identity);
      if (!is_of_step) return damaged(file, offset);
      step.files.push_back(std::move(*named));
    } else if (auto* const commit = std::get_if<transport::CommitStep>(&message.value())) {
      if (step.files.empty()) return damaged(file, offset);
      if (!std::exchange(has_before, true)) {
        step.before = std::move(*commit);
        continue;
      }
      if (!records.is_at_end() || commit->path != step.before.path) return damaged(file, offset);
      step.step = std::move(*commit);
      return std::optional(std::move(step));
    } else {
      return damaged(file, offset);
    }
  }
  return std::optional<JournaledStep>();
}

void replay_journals(const std::string& folder, const storage::RootFolder* root,
                     const std::function<void(const std::string&)>& say) {
  std::error_code failed;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator one(folder, failed), end; !failed && one != end;
       one.increment(failed)) {
    const std::string name = one->path().filename().string();
    if (name.starts_with(journal_prefix) && !name.ends_with(aside_suffix)) {
      names.push_back(one->path().string());
    }
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const auto file = open_left(name);
    if (!file) continue;
    const Replayed done = replay(*file, root);
    std::string kept;
    if (done.fate == Fate::removed) {
      (void)::unlink(name.c_str());
    } else if (done.fate == Fate::aside) {
      const std::string aside = name + std::string(aside_suffix);
      (void)::rename(name.c_str(), aside.c_str());
      kept = fmt::format("; the journal is kept as {}", aside);
    }
    if (!done.line.empty()) say(done.line + kept);
  }
}

}  // namespace weir::stager
