// The journal of a stager: files on the node's own disk with what ranks handed over, by which steps
// that were accepted survive the stager, and the node.
//
// clang-format off
//     file     one step of one file: NameFile of the file itself │ NameFile, FilledBlock, block, … │
//              what the commit replaces (a CommitStep) │ CommitStep; or RecordShare, if it is a share
//     record   head (disk_record.hpp; the stamp is the record's number), bytes
// clang-format on
//
// All records but blocks are messages (transport/messages.hpp); a FilledBlock tells the length of
// the block that follows it, and how many extents it has (transport/filled_block.hpp). A file
// without the last of them at its end is that of a step that has not ended. Where the ranks have
// several stagers, each has a share of a step in its journal. Who writes one holds its
// lock (flock), so that another stager with the same folder lets it be. A journal's file is removed
// when its step is stored, and one that ended with its stager is read when the next one starts
// (journal_replay.hpp).
//
// Nothing but steps of files is in the journal. A step that cannot be recorded as a whole, because
// the quota is used up or the disk fails, is not in it at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "stager/events.hpp"
#include "system/file.hpp"
#include "system/known_file.hpp"
#include "system/slices.hpp"
#include "transport/filled_block.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

inline constexpr std::string_view journal_magic = "WEIRJRNL";
inline constexpr std::string_view journal_prefix = "weir-journal-";
// Limits of one step. Messages are kept in memory while they are read, and so is a block.
inline constexpr std::int64_t most_journaled_names = std::int64_t{256} << 20;  // bytes of messages
inline constexpr std::int64_t longest_journaled_block = std::int64_t{64} << 20;

// One thread at a time calls the functions.
class Journal {
 public:
  // Writes journals into a folder that belongs to this user alone. `quota` is the most that they
  // take of the disk; 0: half of what is free.
  static Result<std::unique_ptr<Journal>> create(const std::string& folder, std::int64_t quota);

  [[nodiscard]] const std::string& folder() const { return folder_; }

  using NamedFile = std::shared_ptr<const transport::NameFile>;
  // Records extents, whose bytes follow each other in `block`. A failure is told once for a step.
  [[nodiscard]] Status put(SessionId session, std::span<const NamedFile> files,
                           std::span<const transport::BlockExtent> extents,
                           std::span<std::byte> block);
  // Records the end of a step, and makes durable what was recorded of it. Fails if any part of the
  // step is not in the journal. `is_locked`: the stager that publishes the step has the lock of the
  // file, by which others know that they must not write it.
  [[nodiscard]] Status end_step(const RecordStep& what, bool is_locked);
  // Nothing of the step of this file that ended first is needed any more.
  void stored(SessionId session, const std::string& path);
  // Nothing more of the session comes. Steps that have ended and were not stored stay. Returns the
  // files of those of which this is a share.
  [[nodiscard]] std::vector<storage::File> forget(SessionId session);
  // A file that forget() has returned has been removed.
  void note_removed(std::int64_t bytes) { used_ = std::max<std::int64_t>(0, used_ - bytes); }

 private:
  // A file of the journal.
  struct Segment {
    explicit Segment(storage::File opened) : file(std::move(opened)) {}
    storage::File file;
    std::int64_t bytes = 0;
    bool is_share = false;
    std::uint64_t records = 0;
    std::int64_t name_bytes = 0;
    std::map<const transport::NameFile*, std::uint64_t> numbers;  // of files, in this journal
    std::vector<NamedFile> named;
  };
  // The session and the identity of the file: the path of a file changes when it is published.
  using Key = std::tuple<SessionId, std::uint64_t, std::int64_t, std::int64_t>;
  struct Unfinished {
    std::unique_ptr<Segment> segment;  // null: the step is not in the journal
    Status why;
  };

  Journal(std::string folder, std::int64_t quota);

  static Key key_of(SessionId session, const storage::FileIdentity& identity);
  Status put_parts(SessionId session, std::span<const NamedFile> files,
                   std::span<const transport::BlockExtent> extents, std::span<std::byte> block);
  Result<std::unique_ptr<Segment>> begin(const storage::KnownFile& file);
  Result<Unfinished*> unfinished(SessionId session, const storage::KnownFile& file);
  Status put_filled_block(Segment& segment, std::span<const NamedFile> files,
                          std::span<const transport::BlockExtent> extents,
                          std::span<const storage::Slice> slices);
  Status append(Segment& segment, std::span<std::byte> bytes);
  Status append(Segment& segment, const transport::Message& message);
  Result<std::uint64_t> number_of(Segment& segment, const NamedFile& file);
  void remove(std::unique_ptr<Segment> segment);

  std::string folder_;
  std::int64_t quota_;
  std::int64_t used_ = 0;
  std::map<Key, Unfinished> unfinished_;
  // Lists by session and path, in the order in which the steps ended.
  std::map<std::pair<SessionId, std::string>, std::deque<std::unique_ptr<Segment>>> ended_;
  // Sessions with bytes for files of which nothing tells whether they are still the same.
  std::set<SessionId> unknown_;
  // Sessions of which a part of a step is not recorded since there was no memory, and it is not
  // known of which step.
  std::vector<SessionId> lacking_;
};

}  // namespace weir::stager
