#include "adapters/takeover/taken_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

#include "adapters/takeover/completed_request.hpp"
#include "adapters/takeover/datatype_pattern.hpp"
#include "adapters/takeover/handles.hpp"
#include "adapters/takeover/opened_again.hpp"
#include "adapters/takeover/own_transfer.hpp"
#include "adapters/takeover/part_vote.hpp"
#include "adapters/takeover/program_nodes.hpp"
#include "adapters/takeover/refused.hpp"
#include "adapters/takeover/stored_chunks.hpp"
#include "adapters/takeover/taking_thread.hpp"
#include "array/fingerprint.hpp"
#include "common/checked.hpp"
#include "system/file_facts.hpp"
#include "system/file_targets.hpp"
#include "system/slices.hpp"

namespace weir::mpiio {
namespace {

using array::BytePattern;
using takeover::from_handle;
using takeover::RankGroup;
using takeover::TypedMemory;

// More patterns than these are exchanged only if they have so many bytes on average: a rank writes
// and reads that many in short rows by itself in about the time of an exchange.
constexpr std::int64_t few_patterns = 8;
constexpr std::int64_t worth_an_exchange = 32 << 10;
// Limits of calls of which all is known.
constexpr std::int64_t known_bytes_at_once = std::int64_t{1} << 30;
constexpr std::int64_t farthest_known = std::int64_t{1} << 60;
// Memory with holes is packed so many bytes at a time, and at least one element.
constexpr std::int64_t packed_at_once = std::int64_t{4} << 20;

// MPI has refused to copy bytes between the program's memory and a buffer.
Error packing_failed() { return Error(ErrorCode::io, "MPI_Pack or MPI_Unpack failed"); }

// Returns whether each node sees at once what the others write into the file.
bool has_coherent_caches(const storage::File& file) {
  const auto facts = storage::facts_of(file.path());
  return facts && storage::file_targets(file.path(), facts.value()).coherent_caches;
}

}  // namespace

std::unique_ptr<TakenFile> TakenFile::open(const Opening& opening, bool threads, Reason& reason) {
  reason = Reason::not_opened;
  RankGroup* const group = RankGroup::of(from_handle<MPI_Comm>(opening.communicator));
  if (group == nullptr) return nullptr;
  auto own = takeover::opened_again(opening);
  Reason found = own ? Reason::taken : Reason::not_opened;
  if (own && !opening.has_room) found = Reason::no_room;
  if (own && !takeover::are_all_ranks_on_one_node() && !has_coherent_caches(*own)) {
    found = Reason::late_caches;
  }
  if ((opening.mode & MPI_MODE_SEQUENTIAL) != 0) found = Reason::sequential;
  std::unique_ptr<RankGroup> votes = threads ? group->copy() : nullptr;
  if (threads && votes == nullptr) found = Reason::failed;
  auto staged_as = own && !threads ? takeover::staged_as(opening, *own) : std::nullopt;
  // The ranks tell each other also whether the writes of one of them are not to be staged.
  const int told = 2 * static_cast<int>(found) + (staged_as ? 0 : 1);
  const int all = group->greatest(told, 2 * static_cast<int>(Reason::failed));
  reason = static_cast<Reason>(all / 2);
  if (reason != Reason::taken) {
    if (votes != nullptr) votes->free();
    return nullptr;
  }
  auto opened = std::make_unique<TakenFile>(*group, std::move(votes), std::move(*own),
                                            reinterpret_cast<MPI_File>(opening.file), opening.mode);
  if (all == 0) opened->set_staged_as(std::move(*staged_as));
  return opened;
}

TakenFile::TakenFile(RankGroup& ranks, std::unique_ptr<RankGroup> voting, storage::File own_file,
                     MPI_File opened, int opened_mode)
    : group_(ranks),
      votes_(std::move(voting)),
      own_(std::move(own_file)),
      file_(opened),
      pointer_(opened, votes_ != nullptr),
      mode_(opened_mode),
      path_(fmt::format("/proc/self/fd/{}", own_.descriptor())),
      kept_(ranks, opened, path_, opened_mode) {
  note_spread();
}

int TakenFile::close() {
  Status closed;
  int refused = MPI_SUCCESS;
  kept_.end();
  if (!is_of_taking_threads()) {
    // The file stays open until the session ends, which belongs to another thread.
    static_cast<void>(bytes_.release());  // NOLINT(bugprone-unused-return-value)
  } else if (bytes_ != nullptr) {
    refused = end_staging();
    closed = bytes_->close();
  }
  const Status own = own_.close();
  if (closed.ok()) closed = own;
  const int result = closed.ok() ? refused : takeover::class_of(closed.error());
  const int greatest = voters().greatest(result, MPI_ERR_LASTCODE);
  if (votes_ != nullptr) votes_->free();
  if (greatest != MPI_SUCCESS) PMPI_File_call_errhandler(file_, greatest);
  return greatest;
}

bool TakenFile::is_of_taking_threads() const {
  return votes_ == nullptr || votes_->greatest(takeover::is_taking_thread() ? 0 : 1, 1) == 0;
}

Reason TakenFile::find_range(const Transfer& transfer, MPI_Datatype datatype, Part& part) {
  auto each = takeover::predefined_bytes(datatype);
  if (!each) {
    if (const auto size = takeover::size_of(datatype)) each = size->bytes;
  }
  const auto bytes = each ? checked_multiply(transfer.count, *each) : std::nullopt;
  const int refusing = transfer.writing ? MPI_MODE_RDONLY : MPI_MODE_WRONLY;
  const MPI_Offset at =
      transfer.from == From::offset ? transfer.offset : pointer_.get().value_or(-1);
  const bool fits = transfer.count >= 0 && bytes && *bytes % element_bytes_ == 0 &&
                    (mode_ & refusing) == 0 && at >= 0;
  const auto first = fits ? checked_multiply(at, element_bytes_) : std::nullopt;
  if (!first) return Reason::arguments;
  part.bytes = *bytes;
  part.first = *first;
  part.elements = at + *bytes / element_bytes_;
  return Reason::taken;
}

Reason TakenFile::find_bytes(Part& part) const {
  const auto cut = view_->cut(part.first, part.bytes, takeover::most_rounds, part.patterns);
  if (cut == array::ByteView::Cut::impossible) return Reason::arguments;
  const std::int64_t patterns = std::ssize(part.patterns);
  if (cut == array::ByteView::Cut::done &&
      (patterns <= few_patterns || part.bytes / patterns >= worth_an_exchange)) {
    return Reason::taken;
  }
  part.is_irregular = true;
  part.patterns.clear();
  return takeover::is_shown({&*view_, part.first, part.bytes}) ? Reason::taken : Reason::arguments;
}

TypedMemory TakenFile::memory_of(const Transfer& transfer) const {
  return {.begin = static_cast<std::byte*>(transfer.memory),
          .count = transfer.count,
          .datatype = from_handle<MPI_Datatype>(transfer.datatype),
          .communicator = group_.communicator()};
}

Reason TakenFile::find_memory(const Transfer& transfer, Part& part) const {
  const TypedMemory memory = memory_of(transfer);
  if (!memory.is_committed()) return Reason::arguments;
  if (part.bytes == 0) return Reason::taken;
  part.memory = memory.block();
  if (part.memory != nullptr) return Reason::taken;
  if (part.bytes > INT_MAX || transfer.count > INT_MAX) return Reason::memory;  // as of MPI_Pack
  part.packed.resize(static_cast<std::size_t>(part.bytes));
  part.memory = part.packed.data();
  return !transfer.writing || memory.pack(part.packed) ? Reason::taken : Reason::memory;
}

bool TakenFile::is_past_end(const Part& part) const {
  if (part.is_irregular) {
    const auto facts = storage::facts_of(path_);
    const takeover::ViewRange range{&*view_, part.first, part.bytes};
    return !facts || takeover::bytes_in_file(range, facts.value().bytes) < part.bytes;
  }
  std::int64_t end = 0;
  for (const BytePattern& pattern : part.patterns) end = std::max(end, pattern.end());
  if (end == 0) return false;
  const auto facts = storage::facts_of(path_);
  return !facts || facts.value().bytes < end;
}

TakenFile::Part TakenFile::part_of(const Transfer& transfer) {
  const auto datatype = from_handle<MPI_Datatype>(transfer.datatype);
  Part part;
  part.reason = atomic_ ? Reason::atomic : unserved_here();
  if (group_.is_broken()) part.reason = is_unsettled_ ? Reason::lost : Reason::failed;
  if (!failed_here_.ok()) part.reason = Reason::lost;
  if (part.reason == Reason::taken) part.reason = find_range(transfer, datatype, part);
  if (part.reason == Reason::taken) part.reason = find_bytes(part);
  if (part.reason == Reason::taken && !transfer.writing &&
      !has_stored_range(part.first, part.bytes)) {
    part.reason = Reason::lost;
  }
  if (part.reason == Reason::taken && !transfer.writing && is_past_end(part)) {
    // Bytes that are staged may lie behind those that are read.
    const bool is_longer = !staged_.empty() && has_stored_all() && !is_past_end(part);
    if (!is_longer) part.reason = Reason::past_end;
  }
  if (part.reason == Reason::taken) part.reason = find_memory(transfer, part);
  return part;
}

void TakenFile::know_calls_like(MPI_Datatype datatype) {
  const auto bytes = takeover::predefined_bytes(datatype);
  const auto begin = view_->dense_offset();
  const bool is_known = bytes && *bytes > 0 && *bytes % element_bytes_ == 0;
  // Threads would change at the same time what is known.
  if (!is_known || begin.value_or(0) > farthest_known || !pointer_.is_kept()) return;
  known_ = {.datatype = datatype,
            .bytes = *bytes,
            .elements = *bytes / element_bytes_,
            .begin = begin,
            .most_count = known_bytes_at_once / *bytes,
            .most_offset = farthest_known / element_bytes_};
}

bool TakenFile::move_known(const Transfer& transfer, Moved& moved) {
  if (transfer.way != Way::independent || transfer.from == From::shared_pointer ||
      known_.bytes == 0 || from_handle<MPI_Datatype>(transfer.datatype) != known_.datatype) {
    return false;
  }
  const int refusing = transfer.writing ? MPI_MODE_RDONLY : MPI_MODE_WRONLY;
  const std::int64_t at =
      transfer.from == From::offset ? transfer.offset : pointer_.get().value_or(-1);
  const bool is_small = at >= 0 && at <= known_.most_offset && transfer.count > 0 &&
                        transfer.count <= known_.most_count;
  if (!is_small || (mode_ & refusing) != 0) return false;
  const std::int64_t first = at * element_bytes_;
  const std::int64_t bytes = transfer.count * known_.bytes;
  const auto offset = known_.begin ? *known_.begin + first : view_->block_at(first, bytes);
  if (!offset || staged_.meets(*offset, *offset + bytes)) return false;
  auto* const memory = static_cast<std::byte*>(transfer.memory);
  const std::int64_t done = transfer.writing ? storage::write_once(own_, memory, bytes, *offset)
                                             : storage::read_once(own_, memory, bytes, *offset);
  if (done == bytes) {
    moved = done_alone(transfer, bytes, at + transfer.count * known_.elements, bytes);
    moved.without = without_of_block_[transfer.writing ? 1 : 0];
    return true;
  }
  if (done >= 0 || done == -EINTR) return false;
  moved = failed_alone(takeover::class_of(static_cast<int>(-done)));
  return true;
}

Moved TakenFile::failed_alone(int error) const {
  PMPI_File_call_errhandler(file_, error);
  return {Reason::taken, error};
}

Moved TakenFile::done_alone(const Transfer& transfer, std::int64_t moved, MPI_Offset next,
                            std::int64_t bytes) {
  auto* const status = transfer.way == Way::nonblocking ? MPI_STATUS_IGNORE
                                                        : static_cast<MPI_Status*>(transfer.last);
  if (status != MPI_STATUS_IGNORE) takeover::set_transferred(status, moved);
  if (transfer.from == From::own_pointer) pointer_.set(next);
  return {.bytes = bytes};
}

Moved TakenFile::move(const Transfer& transfer) {
  Moved moved;
  if (move_known(transfer, moved)) return moved;
  try {
    moved = try_to_move(transfer);
    if (moved.reason == Reason::lost) moved = failed_alone(MPI_ERR_IO);
    if (moved.reason == Reason::taken) return moved;
    // The MPI library carries the call out, and may write back what it has read before. What is
    // lost is told when the file is synced or closed: this call cannot return it, since its ranks
    // may not all know.
    if (!has_stored_all() && transfer.way == Way::independent) return failed_alone(MPI_ERR_IO);
    return give(transfer).value_or(moved);
  } catch (const std::exception&) {  // for lack of memory; others may end at Weir's deadline
    return give(transfer).value_or(Moved{Reason::failed});
  }
}

Moved TakenFile::try_to_move(const Transfer& transfer) {
  const bool is_agreed = transfer.way == Way::collective || transfer.way == Way::split;
  if (is_agreed && !is_of_taking_threads()) return {Reason::threads};
  if (transfer.from != From::shared_pointer) {
    return is_agreed ? move_together(transfer) : move_alone(transfer, Short::is_told);
  }
  if (is_agreed) return move_ordered(transfer);
  return kept_.is_kept() ? move_at_shared(transfer) : Moved{Reason::shared_pointer};
}

// The ranks tell each other their reasons as they tell their patterns, if they move together.
Moved TakenFile::move_in_view(const SetView& view, const Transfer& transfer, Reason own) {
  const bool is_agreed = transfer.way == Way::collective;
  if (is_agreed && !is_of_taking_threads()) return {Reason::threads};
  unserved_ = own;
  try {
    if (own == Reason::taken) {
      unserved_ = view_of(view.displacement, from_handle<MPI_Datatype>(view.element),
                          from_handle<MPI_Datatype>(view.view), view.representation);
    }
  } catch (const std::exception&) {  // no memory
    unserved_ = Reason::memory;
  }
  return is_agreed ? move_together(transfer) : move_alone(transfer, Short::is_passed_on);
}

int TakenFile::sync() const {
  const Status synced = own_.sync();
  return synced.ok() ? MPI_SUCCESS : takeover::class_of(synced.error());
}

Moved TakenFile::move_alone(const Transfer& transfer, Short read) {
  const auto datatype = from_handle<MPI_Datatype>(transfer.datatype);
  Part part;
  part.reason = find_own(transfer, datatype, part);
  if (part.reason != Reason::taken) return {part.reason};
  if (!has_stored_range(part.first, part.bytes)) return {Reason::lost};
  auto moved = move_own(transfer, part);
  // Bytes that are staged may lie behind those that were read.
  const bool is_short = !transfer.writing && moved && moved.value() < part.bytes;
  if (is_short && !staged_.empty() && has_stored_all()) moved = move_own(transfer, part);
  if (read == Short::is_passed_on && moved && moved.value() < part.bytes) {
    return {Reason::past_end};
  }
  int result = moved ? MPI_SUCCESS : takeover::class_of(moved.error());
  if (result == MPI_SUCCESS && transfer.way == Way::nonblocking) {
    result =
        takeover::make_completed_request(moved.value(), static_cast<MPI_Request*>(transfer.last));
  }
  if (result != MPI_SUCCESS) return failed_alone(result);
  if (part.block) know_calls_like(datatype);
  Moved done = done_alone(transfer, moved.value(), part.elements, part.bytes);
  done.without = without_alone(transfer, part);
  return done;
}

Reason TakenFile::find_own(const Transfer& transfer, MPI_Datatype datatype, Part& part) {
  if (atomic_) return Reason::atomic;
  if (const Reason reason = unserved_by_any(); reason != Reason::taken) return reason;
  const Reason found = find_range(transfer, datatype, part);
  if (found != Reason::taken) return found;
  part.block = view_->block_at(part.first, part.bytes);
  if (!part.block && !takeover::is_shown({&*view_, part.first, part.bytes})) {
    return Reason::arguments;
  }
  if (takeover::predefined_bytes(datatype)) {
    part.memory = static_cast<std::byte*>(transfer.memory);
    return Reason::taken;
  }
  const TypedMemory memory = memory_of(transfer);
  if (!memory.is_committed()) return Reason::arguments;
  if (part.bytes == 0) return Reason::taken;
  part.memory = memory.block();
  const bool is_packable = part.bytes / transfer.count <= INT_MAX;
  return part.memory != nullptr || is_packable ? Reason::taken : Reason::memory;
}

Result<std::int64_t> TakenFile::move_own(const Transfer& transfer, const Part& part) const {
  if (part.bytes == 0) return std::int64_t{0};
  if (part.memory == nullptr) return move_packed(transfer, part);
  if (!part.block) return move_range(transfer.writing, part.first, part.bytes, part.memory);
  if (!transfer.writing) return takeover::read_block(own_, *part.block, part.bytes, part.memory);
  const Status written = takeover::write_block(own_, *part.block, part.bytes, part.memory);
  return written.ok() ? Result<std::int64_t>(part.bytes) : written.error();
}

Result<std::int64_t> TakenFile::move_range(bool writing, std::int64_t first, std::int64_t bytes,
                                           std::byte* memory) const {
  const takeover::ViewRange range{&*view_, first, bytes};
  if (!writing) return takeover::read_range(own_, range, memory);
  const Status written = takeover::write_range(own_, range, memory);
  return written.ok() ? Result<std::int64_t>(bytes) : written.error();
}

Result<std::int64_t> TakenFile::move_packed(const Transfer& transfer, const Part& part) const {
  const std::int64_t each = part.bytes / transfer.count;
  const std::int64_t together =
      std::min(transfer.count, std::max<std::int64_t>(1, packed_at_once / each));
  const TypedMemory all = memory_of(transfer);
  std::vector<std::byte> buffer(static_cast<std::size_t>(together * each));
  std::int64_t moved = 0;
  for (std::int64_t done = 0; done < transfer.count; done += together) {
    const TypedMemory memory = all.elements(done, std::min(together, transfer.count - done));
    const std::int64_t bytes = memory.count * each;
    const std::span<std::byte> packed(buffer.data(), static_cast<std::size_t>(bytes));
    if (transfer.writing && !memory.pack(packed)) return packing_failed();
    const auto some = move_range(transfer.writing, part.first + moved, bytes, packed.data());
    if (!some) return some.error();
    moved += some.value();
    if (transfer.writing) continue;
    if (some.value() < bytes) {  // memory keeps what is not in the file
      std::vector<std::byte> kept(packed.size());
      if (!memory.pack(kept)) return packing_failed();
      std::copy(kept.begin() + some.value(), kept.end(), packed.begin() + some.value());
    }
    if (!memory.unpack(packed)) return packing_failed();
    if (some.value() < bytes) break;
  }
  return moved;
}

bool TakenFile::end_split(MPI_Status* status) {
  if (!split_bytes_) {
    pointer_.give();  // the call that ends may move it
    return false;
  }
  if (status != MPI_STATUS_IGNORE) takeover::set_transferred(status, *split_bytes_);
  split_bytes_.reset();
  return true;
}

Moved TakenFile::move_together(const Transfer& transfer) {
  Part part;
  const auto try_once = [&] {
    try {
      part = part_of(transfer);
    } catch (const std::exception&) {  // no memory: the others learn it with all else
      part.reason = Reason::memory;
    }
    return move_part(transfer.writing, part);
  };
  Moved moved = try_once();
  if (moved.reason == Reason::lost) moved = try_once();  // the ranks have left a lost stager
  end(transfer, part, moved);
  if (moved.reason == Reason::taken && moved.result == MPI_SUCCESS) {
    moved.bytes = part.bytes;
    if (moved.without.basis == Without::Basis::unknown) {
      moved.without = without_together(transfer.writing, part);
    }
  }
  return moved;
}

Reason TakenFile::agree(Reason own, std::span<const std::int64_t> arrays) {
  if (!is_of_taking_threads()) return Reason::threads;
  refuse_as_before();
  const Reason reason = group_.is_broken() ? Reason::failed : own;
  array::Fingerprint all;
  for (const std::int64_t array : arrays) all.add(array);
  const takeover::ToldArrays told{.fingerprint = all.value(), .are_several = true};
  return takeover::PartVote(group_, reason, told).reason();
}

void TakenFile::end(const Transfer& transfer, const Part& part, const Moved& moved) {
  if (moved.reason != Reason::taken) return;
  if (moved.result == MPI_SUCCESS) {
    finish(transfer, part);
  } else {
    PMPI_File_call_errhandler(file_, moved.result);
  }
}

Moved TakenFile::move_whole(bool writing, const Part& part) {
  if (part.bytes == 0) return {};
  if (!has_stored_range(part.first, part.bytes)) return {Reason::taken, MPI_ERR_IO};
  const auto moved = move_range(writing, part.first, part.bytes, part.memory);
  if (moved && moved.value() == part.bytes) return {};
  return {Reason::taken, moved ? MPI_ERR_IO : takeover::class_of(moved.error())};
}

void TakenFile::finish(const Transfer& transfer, const Part& part) {
  if (!transfer.writing && !part.packed.empty()) (void)memory_of(transfer).unpack(part.packed);
  if (transfer.from == From::own_pointer) pointer_.set(part.elements);
  if (transfer.way == Way::split) {
    split_bytes_ = part.bytes;
    return;
  }
  auto* const status = static_cast<MPI_Status*>(transfer.last);
  if (status != MPI_STATUS_IGNORE) takeover::set_transferred(status, part.bytes);
}

aggregation::ByteFile* TakenFile::bytes() {
  if (bytes_ != nullptr) return bytes_.get();
  aggregation::Collective* const session = group_.session();
  if (session == nullptr) return nullptr;
  topology::FileTargets targets;
  if (const auto facts = storage::facts_of(own_.path())) {
    targets = storage::file_targets(own_.path(), facts.value());
  }
  const std::array<std::int64_t, 4> own{targets.count, targets.stripe_bytes, targets.lock_bytes,
                                        targets.coherent_caches ? 1 : 0};
  // What rank 0 has found comes first.
  const std::vector<std::int64_t> numbers = group_.gathered(own);
  if (numbers.empty()) return nullptr;
  targets.count = numbers[0];
  targets.stripe_bytes = numbers[1];
  targets.lock_bytes = numbers[2];
  targets.coherent_caches = true;  // of other files no calls are taken over, unless on one node
  // A stager of another node has another cache, and writes whole pages where these are not
  // coherent.
  const bool may_stage =
      session->stages_bytes() && (numbers[3] != 0 || !session->stages_elsewhere());
  if (staged_as_ && !may_stage) {
    group_.tell_why_not_staged(
        session->stages_bytes()
            ? "nodes see each other's writes late on its file system"
            : "the session has several stagers, or none any more, or each write is to be durable "
              "when it returns (WEIR_DURABILITY=operation)");
    staged_as_.reset();
  }
  bytes_ = session->open_bytes(path_, (mode_ & MPI_MODE_RDONLY) == 0, targets, staged_as_);
  return bytes_.get();
}

}  // namespace weir::mpiio
