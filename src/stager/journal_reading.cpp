#include "stager/journal_reading.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "stager/disk_record.hpp"
#include "stager/journal.hpp"
#include "system/frame_socket.hpp"
#include "system/slices.hpp"
#include "transport/filled_block.hpp"

namespace weir::stager {
namespace {

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

}  // namespace

Result<std::int64_t> length_of(const storage::File& journal) {
  struct stat about {};
  if (::fstat(journal.descriptor(), &about) != 0) {
    return system_failure("fstat", journal.path(), -1, errno);
  }
  return static_cast<std::int64_t>(about.st_size);
}

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
      continue;
    }
    auto* const share = std::get_if<transport::RecordShare>(&message.value());
    auto* const commit =
        share != nullptr ? &share->step : std::get_if<transport::CommitStep>(&message.value());
    const bool is_possible =
        commit != nullptr && !step.files.empty() &&
        (share == nullptr || (has_before && share->share.number < share->share.hosts.size()));
    if (!is_possible) return damaged(file, offset);
    if (!std::exchange(has_before, true)) {
      step.before = std::move(*commit);
      continue;
    }
    if (!records.is_at_end() || commit->path != step.before.path) return damaged(file, offset);
    step.step = std::move(*commit);
    if (share != nullptr) step.share = std::move(share->share);
    return std::optional(std::move(step));
  }
  return std::optional<JournaledStep>();
}

}  // namespace weir::stager
