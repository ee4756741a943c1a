#include "stager/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp is of the system
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <new>
#include <optional>

#include "formats/commit_progress.hpp"
#include "formats/writer_lock.hpp"
#include "stager/disk_record.hpp"
#include "stager/scarce_memory.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/own_folder.hpp"
#include "system/slices.hpp"
#include "system/uninterrupted.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t extent_bytes = 24;  // of a filled block's table
// Each failed attempt means that another stager has looked for journals meanwhile.
constexpr int most_attempts = 100;

// Sessions of which it is remembered, without further memory, that parts of steps are missing.
constexpr std::size_t most_lacking = 64;
constexpr SessionId all_sessions = 0;  // the number of none

// The file of which these bytes are a part; null: unknown.
const storage::KnownFile* owner_of(const transport::NameFile& named) {
  return named.known ? &*named.known : nullptr;
}

// The changes that publish such a step are known when its chunks are stored, and the journal has a
// step as it is when it is accepted.
Error has_chunks_in_table(const std::string& path) {
  return Error(ErrorCode::unsupported,
               "a step is not in the journal: where its chunks with a codec are in the file is "
               "known when they are stored",
               path);
}

// A share of a step is found again by two files beside the step's own.
Status can_have_marks(const std::string& path) {
  const std::string marks = storage::replacement_path(storage::written_shares_path(path));
  const std::string folder = storage::folder_of(marks);
  const auto longest = ::pathconf(folder.c_str(), _PC_NAME_MAX);
  const bool is_possible = marks.size() < PATH_MAX &&
                           (longest < 0 || std::ssize(marks) - std::ssize(folder) - 1 <= longest);
  if (is_possible) return {};
  return Error(ErrorCode::unsupported,
               "a step is not in the journal: its file has so long a name that stagers could not "
               "name those beside it by which they find each other",
               path);
}

}  // namespace

Journal::Journal(std::string folder, std::int64_t quota)
    : folder_(std::move(folder)), quota_(quota) {
  lacking_.reserve(most_lacking);
}

Result<std::unique_ptr<Journal>> Journal::create(const std::string& folder, std::int64_t quota) {
  const std::string place = storage::absolute_path(folder);
  Status own = storage::make_own_folder(place, "the folder for the journal");
  if (!own.ok()) return own.error();
  const auto most = quota_in(place, quota);
  if (!most) return most.error();
  return std::unique_ptr<Journal>(new Journal(place, most.value()));
}

Journal::Key Journal::key_of(SessionId session, const storage::FileIdentity& identity) {
  return {session, identity.inode, identity.birth_seconds, identity.birth_nanoseconds};
}

Result<std::unique_ptr<Journal::Segment>> Journal::begin(const storage::KnownFile& file) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    std::string name = folder_ + "/" + std::string(journal_prefix) + "XXXXXX";
    const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor < 0) return system_failure("open", name, -1, errno);
    auto segment = std::make_unique<Segment>(storage::File::passed(descriptor, name, 0));
    if (storage::uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) != 0) {
      if (errno == EWOULDBLOCK) continue;
      const int reason = errno;
      (void)::unlink(name.c_str());
      return system_failure("flock", name, -1, reason);
    }
    Status begun = append(
        *segment,
        transport::NameFile{.file = 0, .path = file.path, .bytes_when_made = 0, .known = file});
    if (begun.ok()) return segment;
    remove(std::move(segment));
    return begun.error();
  }
  return Error(ErrorCode::io, "other stagers use the folder for the journal: give another one",
               folder_);
}

Result<Journal::Unfinished*> Journal::unfinished(SessionId session,
                                                 const storage::KnownFile& file) {
  const auto [found, is_new] = unfinished_.try_emplace(key_of(session, file.identity));
  if (is_new) {
    auto begun = begin(file);
    if (begun) {
      found->second.segment = std::move(begun).value();
    } else {
      found->second.why = begun.error();
      return begun.error();
    }
  }
  return &found->second;
}

Status Journal::append(Segment& segment, std::span<std::byte> bytes) {
  const auto count = static_cast<std::int64_t>(record_head_bytes + bytes.size());
  if (count > quota_ - used_) {
    return Error(ErrorCode::insufficient,
                 fmt::format("the journal has {} bytes, and its quota is {}: a step is not in it "
                             "(weir stage start --journal-quota)",
                             used_, quota_),
                 folder_);
  }
  RecordHead head = record_head(journal_magic, segment.records, bytes);
  const std::array slices = {storage::Slice{head.data(), std::ssize(head)},
                             storage::Slice{bytes.data(), static_cast<std::int64_t>(bytes.size())}};
  std::int64_t calls = 0;
  Status written = storage::write_slices(segment.file, slices, segment.bytes, calls);
  if (!written.ok()) return written;
  ++segment.records;
  segment.bytes += count;
  used_ += count;
  return {};
}

Status Journal::append(Segment& segment, const transport::Message& message) {
  std::vector<std::byte> bytes = transport::encode(message);
  if (!std::holds_alternative<transport::FilledBlock>(message)) {
    segment.name_bytes += std::ssize(bytes);
    if (segment.name_bytes > most_journaled_names) {
      return Error(ErrorCode::insufficient,
                   fmt::format("a step has more than {} bytes of names: it is not in the journal",
                               most_journaled_names),
                   folder_);
    }
  }
  return append(segment, bytes);
}

Result<std::uint64_t> Journal::number_of(Segment& segment, const NamedFile& file) {
  const auto [found, is_new] = segment.numbers.try_emplace(file.get(), segment.named.size() + 1);
  if (!is_new) return found->second;
  segment.named.push_back(file);
  transport::NameFile named = *file;
  named.file = found->second;
  Status appended = append(segment, named);
  if (!appended.ok()) return appended.error();
  return found->second;
}

Status Journal::put(SessionId session, std::span<const NamedFile> files,
                    std::span<const transport::BlockExtent> extents, std::span<std::byte> block) {
  try {
    return put_parts(session, files, extents, block);
  } catch (const std::bad_alloc&) {
    if (lacking_.size() < lacking_.capacity()) {
      lacking_.push_back(session);
    } else {
      lacking_.front() = all_sessions;
    }
    return no_memory();
  }
}

Status Journal::put_parts(SessionId session, std::span<const NamedFile> files,
                          std::span<const transport::BlockExtent> extents,
                          std::span<std::byte> block) {
  std::map<Key, const storage::KnownFile*> owners;
  for (const NamedFile& file : files) {
    if (file->at_once) continue;
    if (const storage::KnownFile* const owner = owner_of(*file)) {
      owners.emplace(key_of(session, owner->identity), owner);
    } else {
      unknown_.insert(session);
    }
  }
  Status all;
  for (const auto& [key, owner] : owners) {
    auto found = unfinished(session, *owner);
    if (!found) {
      all = found.error();
      continue;
    }
    Unfinished& one = *found.value();
    if (one.segment == nullptr) continue;
    const bool is_in_table =
        std::ranges::any_of(files, [session, &of = key](const NamedFile& file) {
          return file->places.step != 0 && owner_of(*file) != nullptr &&
                 key_of(session, owner_of(*file)->identity) == of;
        });
    if (is_in_table) {
      one.why = has_chunks_in_table(owner->path);
      remove(std::move(one.segment));
      all = one.why;
      continue;
    }
    std::vector<transport::BlockExtent> own;
    std::vector<storage::Slice> slices;
    std::int64_t at = 0;
    for (const transport::BlockExtent& extent : extents) {
      const NamedFile& file = files[extent.file];
      const storage::KnownFile* const of = owner_of(*file);
      if (!file->at_once && of != nullptr && key_of(session, of->identity) == key) {
        own.push_back(extent);
        slices.push_back({block.data() + at, extent.bytes});
      }
      at += extent.bytes;
    }
    Status put = put_filled_block(*one.segment, files, own, slices);
    if (put.ok()) continue;
    one.why = put;
    remove(std::move(one.segment));
    all = put;
  }
  return all;
}

Status Journal::put_filled_block(Segment& segment, std::span<const NamedFile> files,
                                 std::span<const transport::BlockExtent> extents,
                                 std::span<const storage::Slice> slices) {
  const std::int64_t bytes =
      storage::bytes_of(slices) + static_cast<std::int64_t>(extents.size()) * extent_bytes;
  std::vector<std::byte> block(static_cast<std::size_t>(bytes));
  transport::BlockWriter writer(block);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const auto number = number_of(segment, files[extents[i].file]);
    if (!number) return number.error();
    (void)writer.add(number.value(), extents[i].offset, slices.subspan(i, 1), 0);
  }
  Status announced = append(segment, transport::FilledBlock{bytes, writer.extents()});
  return announced.ok() ? append(segment, block) : announced;
}

Status Journal::end_step(const RecordStep& what, bool is_locked) {
  const SessionId session = what.session;
  const transport::CommitStep& step = what.step;
  const std::string place = storage::place_of(step.path, step.update);
  const auto identity = storage::identity_of(place);
  if (!identity) {
    return Error(
        ErrorCode::unsupported,
        "a step is not in the journal: its file system does not tell one file from another",
        step.path);
  }
  const auto found = unfinished(session, {place, *identity});
  const auto entry = unfinished_.extract(key_of(session, *identity));
  if (!found) return found.error();
  std::unique_ptr<Segment> segment = std::move(entry.mapped().segment);
  if (segment == nullptr) return entry.mapped().why;
  Status possible = what.refused;
  const auto lacks = [&](SessionId one) { return one == session || one == all_sessions; };
  if (possible.ok() && std::ranges::any_of(lacking_, lacks)) possible = no_memory();
  if (possible.ok() && !is_locked) {
    possible = Error(ErrorCode::unsupported,
                     "a step is not in the journal: its file system has no locks", step.path);
  }
  if (possible.ok() && unknown_.contains(session)) {
    possible =
        Error(ErrorCode::unsupported,
              "a step is not in the journal: its files cannot be told from others", step.path);
  }
  if (possible.ok() && step.chunks.step != 0) possible = has_chunks_in_table(step.path);
  if (possible.ok() && !what.share.hosts.empty()) possible = can_have_marks(step.path);
  if (!possible.ok()) {
    remove(std::move(segment));
    return possible;
  }
  transport::CommitStep before = step;
  segment->is_share = !what.share.hosts.empty();
  Status done = with_memory([&]() -> Status {
    auto content = storage::content_before(step.path, step.update);
    if (!content) return content.error();
    before.update = std::move(content).value();
    Status recorded = append(*segment, before);
    if (recorded.ok()) {
      recorded = segment->is_share ? append(*segment, transport::RecordShare{what.share, step})
                                   : append(*segment, step);
    }
    if (recorded.ok()) recorded = segment->file.sync_data();
    return recorded.ok() ? storage::sync_folder(folder_) : recorded;
  });
  if (!done.ok()) {
    remove(std::move(segment));
    return done;
  }
  segment->numbers.clear();
  segment->named.clear();
  ended_[{session, step.path}].push_back(std::move(segment));
  return {};
}

void Journal::stored(SessionId session, const std::string& path) {
  const auto found = ended_.find({session, path});
  if (found == ended_.end()) return;
  remove(std::move(found->second.front()));
  found->second.pop_front();
  if (found->second.empty()) ended_.erase(found);
}

std::vector<storage::File> Journal::forget(SessionId session) {
  for (auto one = unfinished_.begin(); one != unfinished_.end();) {
    const bool is_of_session = std::get<0>(one->first) == session;
    if (is_of_session && one->second.segment != nullptr) remove(std::move(one->second.segment));
    one = is_of_session ? unfinished_.erase(one) : std::next(one);
  }
  std::vector<storage::File> shares;
  std::erase_if(ended_, [&](auto& one) {
    if (one.first.first != session) return false;
    for (const std::unique_ptr<Segment>& segment : one.second) {
      if (segment->is_share) shares.push_back(std::move(segment->file));
    }
    return true;
  });
  unknown_.erase(session);
  std::erase(lacking_, session);
  return shares;
}

void Journal::remove(std::unique_ptr<Segment> segment) {
  (void)::unlink(segment->file.path().c_str());
  used_ -= segment->bytes;
}

}  // namespace weir::stager
