// A file of which calls are taken over.
//
// The MPI library has the file open as well. It gets the program's views only for calls that are
// passed on, where that is possible (kept_view.hpp), and its individual file pointer follows the
// one that is kept here (own_pointer.hpp). A collective call is taken over if all ranks can do
// their part of it: each decodes its view into patterns (array/byte_pattern.hpp), the first ones of
// all ranks become boxes of one array (array/byte_grid.hpp), the second ones of another, and so on,
// and the session moves these arrays as one request (joint_request.hpp); if each rank has one
// block, or no such arrays exist, each rank moves its part by itself. If a rank cannot do its part,
// all ranks pass the call on. All ways go through the page cache of one node, or through caches
// that file systems keep coherent, and no write of Weir changes a byte that the program does not
// write.
//
// An independent call, and a nonblocking one of either kind, moves the rank's own part
// (own_transfer.hpp) while the view of every rank can be decoded and the file is not in atomic
// mode.
//
// Where the session has a stager, collective writes are handed to it (taken_file_staging.cpp).
// Every rank knows where all of them have written so, and waits until that is in the file before it
// makes any other call that meets it.
//
// The ranks move boxes with strides of an array in chunks (stored_chunks.hpp) together, as sections
// of an array of the session; if the elements of one rank are no such box, each rank moves
// its own.
//
// If the program may call MPI from several threads at the same time, all ranks pass a collective
// call on unless each of them makes it by its taking thread (taking_thread.hpp). They tell each
// other so in a group that only this file has: threads may make calls on several files at once.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/mpiio/take_over.hpp"
#include "adapters/takeover/kept_view.hpp"
#include "adapters/takeover/own_pointer.hpp"
#include "adapters/takeover/part_vote.hpp"
#include "adapters/takeover/rank_group.hpp"
#include "adapters/takeover/staged_bytes.hpp"
#include "adapters/takeover/typed_memory.hpp"
#include "aggregation/byte_file.hpp"
#include "array/byte_grid.hpp"
#include "array/byte_pattern.hpp"
#include "array/layout.hpp"
#include "array/region.hpp"
#include "array/section.hpp"
#include "common/direction.hpp"
#include "common/status.hpp"
#include "stored/extent_map.hpp"
#include "system/file.hpp"

namespace weir::mpiio {

[[nodiscard]] inline Direction direction_of(bool writing) {
  return writing ? Direction::write : Direction::read;
}

struct TakenFile {
  // Collective over the communicator of the opening, by the taking thread if there are `threads`.
  static std::unique_ptr<TakenFile> open(const Opening& opening, bool threads, Reason& reason);
  // Called after the constructor, on all ranks alike: writes may go to a stager, which opens the
  // file by these names.
  void set_staged_as(storage::DataFiles names) { staged_as_ = std::move(names); }
  // `voting` is null if no rank calls MPI from several threads at the same time.
  TakenFile(takeover::RankGroup& ranks, std::unique_ptr<takeover::RankGroup> voting,
            storage::File own_file, MPI_File opened, int opened_mode);
  TakenFile(const TakenFile&) = delete;
  TakenFile& operator=(const TakenFile&) = delete;
  ~TakenFile() = default;

  // Collective, and the last call. Returns MPI_SUCCESS or the same error class on all ranks.
  [[nodiscard]] int close();

  // The following three are collective, as take_over.hpp says.
  bool keep_view(const SetView& view, MPI_Info info, int& result);
  void set_view(int result, Offset displacement, MPI_Datatype element, MPI_Datatype shown,
                const char* representation);
  void set_atomicity(int result, bool is_atomic);
  // Collective if the call is, unless that is nonblocking.
  Moved move(const Transfer& transfer);
  // Local, as take_over.hpp says.
  [[nodiscard]] bool seek(Offset offset, int from);
  [[nodiscard]] bool get_position(Offset* offset);
  [[nodiscard]] bool get_position_shared(Offset* offset);
  [[nodiscard]] MPI_File handle();
  // Collective if the call is. Moves what the ranks, or this one, see in views that only this call
  // has, unless a rank has a reason of its `own` to pass it on. A file has calls of this kind
  // alone, from one thread at a time, and no set_view().
  Moved move_in_view(const SetView& view, const Transfer& transfer, Reason own);
  // Collective if the call is. Moves elements of an array in chunks, which a file of this kind
  // alone has, too. `chunks` is null if the rank has a reason of its own.
  Moved move_in_chunks(const StoredChunks* chunks, const ChunkedBlocks& given,
                       const Transfer& transfer, Reason own);
  // Collective, as take_over.hpp says.
  [[nodiscard]] Reason agree(Reason own, std::span<const std::int64_t> arrays);
  // Makes what this rank wrote durable. Returns MPI_SUCCESS or an error class.
  [[nodiscard]] int sync() const;
  // The following two are as take_over.hpp says.
  [[nodiscard]] int settle(Settling call, Offset size);
  [[nodiscard]] Offset size_of(Offset size) const { return std::max(size, staged_end_); }
  [[nodiscard]] bool end_split(MPI_Status* status);
  // Collective.
  void passed_on() const { voters().meet(); }

 private:
  // Returns the group in which ranks vote on calls that any of their threads may make.
  [[nodiscard]] const takeover::RankGroup& voters() const { return votes_ ? *votes_ : group_; }
  // Returns whether all ranks make this call by their taking threads. Collective.
  [[nodiscard]] bool is_of_taking_threads() const;

  // Says what this rank has to move.
  struct Part {
    Reason reason = Reason::taken;
    std::int64_t bytes = 0;
    std::int64_t first = 0;  // number of the first byte in the view
    std::vector<array::BytePattern> patterns = {};
    bool is_irregular = false;           // its patterns are too many to be exchanged, and not here
    std::byte* memory = nullptr;         // of the first byte; the others follow
    std::vector<std::byte> packed = {};  // if the program's memory has holes
    MPI_Offset elements = 0;             // of the view
    // The offset in the file if the bytes are known to follow each other there.
    std::optional<std::int64_t> block = {};
  };

  // Says what independent calls have in common of which all but the place, the memory and the count
  // is known: their datatype is a predefined one, and the bytes of a call before them were one
  // block. A program makes thousands of such calls of a few bytes, whose time is that of the system
  // call and little else.
  struct KnownCalls {
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    std::int64_t bytes = 0;     // of an element of the datatype; 0 if nothing is known
    std::int64_t elements = 0;  // of the view in one of the datatype
    // The offset of the view's first byte if all follow each other.
    std::optional<std::int64_t> begin = {};
    // Calls of at most so many elements of the datatype, and that begin before so many of the view,
    // are made by one system call, and no product of theirs overflows.
    std::int64_t most_count = 0;
    MPI_Offset most_offset = 0;
  };

  // The array in which the patterns of the last such collective call are boxes, and what the ranks
  // told for it: equal on all ranks. Successive calls often tell the same.
  struct KnownGrid {
    std::vector<std::int64_t> told;
    std::vector<array::ByteGrid> grids;
    // The last two collective calls told the same. The ranks then begin the next one with a vote on
    // whether they do so again, and tell each other of their parts only if one does not.
    bool is_expected = false;
  };
  // Remembers what is known of further calls like this one, of which this rank moves its part.
  void know_calls_like(MPI_Datatype datatype);
  // Carries out a call of which all is known by one system call. Returns false if it is none of
  // these, or if the system has not moved all its bytes.
  [[nodiscard]] bool move_known(const Transfer& transfer, Moved& moved);

  // Returns the error of arguments with which no view can be set; MPI_SUCCESS: they are right.
  [[nodiscard]] int refusal_of(const SetView& view) const;
  // Returns why calls in the view of this rank are not carried out, and why those of all are not.
  [[nodiscard]] Reason unserved_here() const;
  [[nodiscard]] Reason unserved_by_any();
  // Called before the MPI library carries out a call of all ranks, or of this one alone. The latter
  // returns false if the MPI library cannot.
  void give_view();
  [[nodiscard]] bool give_alone(bool is_pending);
  // Does so for a transfer that is passed on. Returns what the call returns if it is not after all.
  std::optional<Moved> give(const Transfer& transfer);
  [[nodiscard]] Reason view_of(Offset displacement, MPI_Datatype element, MPI_Datatype shown,
                               const char* representation);
  // Takes a call over, or returns why not.
  Moved try_to_move(const Transfer& transfer);
  // Moves the parts of all ranks together.
  Moved move_together(const Transfer& transfer);
  // Moves the parts of all ranks from the shared file pointer on, in the order of the ranks.
  Moved move_ordered(const Transfer& transfer);
  // Moves the part of this rank from the shared file pointer on.
  Moved move_at_shared(const Transfer& transfer);
  // Says what becomes of a read that finds the end of the file: its status tells it, or the MPI
  // library carries it out.
  enum class Short : std::uint8_t { is_told, is_passed_on };
  // Moves the part of this rank.
  Moved move_alone(const Transfer& transfer, Short read);
  // Reports the error of a call that this rank has carried out by itself.
  Moved failed_alone(int error) const;
  // Sets the status and the file pointer after such a call.
  Moved done_alone(const Transfer& transfer, std::int64_t moved, MPI_Offset next,
                   std::int64_t bytes);
  [[nodiscard]] Reason find_own(const Transfer& transfer, MPI_Datatype datatype, Part& part);
  // Returns how many bytes were moved.
  Result<std::int64_t> move_own(const Transfer& transfer, const Part& part) const;
  Result<std::int64_t> move_packed(const Transfer& transfer, const Part& part) const;
  Result<std::int64_t> move_range(bool writing, std::int64_t first, std::int64_t bytes,
                                  std::byte* memory) const;

  [[nodiscard]] Part part_of(const Transfer& transfer);
  [[nodiscard]] Reason find_range(const Transfer& transfer, MPI_Datatype datatype, Part& part);
  [[nodiscard]] Reason find_bytes(Part& part) const;
  [[nodiscard]] takeover::TypedMemory memory_of(const Transfer& transfer) const;
  [[nodiscard]] Reason find_memory(const Transfer& transfer, Part& part) const;
  [[nodiscard]] bool is_past_end(const Part& part) const;
  // Moves the boxes of all grids as one request; those of a single grid as regions.
  Moved move_grids(bool writing, const std::vector<array::ByteGrid>& grids, std::byte* memory);
  Status move_section(aggregation::OpenArray& array, Direction direction,
                      const array::Section& section, const Result<array::Layout>& layout,
                      std::byte* memory);
  // Moves the parts of all ranks if the call is expected to be like the last one, and is. Returns
  // nothing otherwise, on all ranks alike.
  std::optional<Moved> move_as_before(bool writing, const Part& part,
                                      const takeover::ToldPatterns& own);
  // Called before ranks tell each other of parts of another kind. Tells the ranks that expect a
  // call like the last one that this rank makes another.
  void refuse_as_before();
  // Begins an expected call. Returns nothing, on all ranks alike, if it is not as before on a rank.
  std::optional<Status> ask_for_the_same(Direction direction, bool is_as_before, std::byte* memory);
  // Moves the patterns of all ranks.
  Moved move_part(bool writing, const Part& part);
  // Moves the part of this rank, whatever the others do.
  Moved move_whole(bool writing, const Part& part);
  // Says what this rank has to move of an array in chunks.
  struct PartInChunks {
    array::Region region;
    std::optional<array::Layout> memory;
  };
  [[nodiscard]] Reason find_in_chunks(const StoredChunks& chunks, const ChunkedBlocks& given,
                                      const Transfer& transfer, PartInChunks& found,
                                      Part& part) const;
  // Moves the part of this rank, whatever the others do.
  Moved move_region(const StoredChunks& chunks, const PartInChunks& found, const Transfer& transfer,
                    std::byte* memory) const;
  // Moves the sections of all ranks together.
  Moved move_sections(const StoredChunks& chunks, const PartInChunks& found,
                      const Transfer& transfer, std::byte* memory);
  // Moves the patterns of all ranks, whichever of the two ways there are.
  Moved move_voted(bool writing, const Part& part);
  // Does what is left of a collective call whose bytes were moved, or reports its error.
  void end(const Transfer& transfer, const Part& part, const Moved& moved);
  void finish(const Transfer& transfer, const Part& part);
  [[nodiscard]] aggregation::ByteFile* bytes();

  // The following are in taken_file_without.cpp. Called when there is another view.
  void note_spread();
  // Return what calls would have taken without Weir: one that this rank has carried out by itself,
  // one that all ranks have, and one of these in which each has moved one block, in so many ns.
  [[nodiscard]] Without without_alone(const Transfer& transfer, const Part& part) const;
  [[nodiscard]] Without without_together(bool writing, const Part& part) const;
  [[nodiscard]] Without without_of_blocks(std::int64_t transfer_ns) const;

  // The following are in taken_file_staging.cpp. Returns whether collective writes go to a stager.
  // Collective.
  [[nodiscard]] bool is_staged();
  // Called on all ranks before they hand these grids to a stager. Returns when that may be done in
  // any order with what was handed over before. Fails alike on all ranks.
  [[nodiscard]] Status note_staged(std::span<const array::ByteGrid> grids);
  void add_staged(std::span<const array::ByteGrid> grids);
  // Called on each rank before the vote on a call that is to write a grid once more.
  void reach_stager_before(const array::ByteGrid& grid);
  // Returns what becomes of a call that the session has carried out, and notes it if it was
  // `staged`.
  Moved outcome_of(const Status& moved, bool staged);
  // Called on all ranks with the outcome of a collective write that a stager was to get. Returns
  // what the call returns; nothing if the ranks are to write it by themselves.
  std::optional<Moved> end_staged(const Moved& moved);
  // Hands over the blocks of all ranks, each its own, after a vote that has told where they are. If
  // a rank fails, the others learn it in the next vote.
  Moved hand_over_blocks(std::span<const array::ByteGrid> grids, const Part& part);
  // Called on all ranks after a vote in which one has told of such a failure, or of lost bytes.
  // Returns what the call returns; nothing if the ranks are to make it once more, by themselves.
  std::optional<Moved> end_lost();
  // Local. Returns whether these bytes are in the file, or were never staged; waits until they are.
  [[nodiscard]] bool has_stored(std::int64_t begin, std::int64_t end);
  // Does so for bytes of the view, and for all staged ones.
  [[nodiscard]] bool has_stored_range(std::int64_t first, std::int64_t bytes);
  [[nodiscard]] bool has_stored_all();
  // Collective. Waits until all staged bytes are in the file, or, at its closing, only until the
  // stager has them if that is set. Return MPI_SUCCESS or an error class.
  [[nodiscard]] int store_all(bool is_synced);
  [[nodiscard]] int end_staging();
  [[nodiscard]] Status in_turn(const char* call,
                               const std::function<Status(aggregation::ByteFile&)>& act);
  void note_loss(const Error& error);
  // Rank 0 tells people of the file.
  void tell(const std::string& what) const;

  takeover::RankGroup& group_;
  std::unique_ptr<takeover::RankGroup> votes_;
  storage::File own_;
  MPI_File file_;
  takeover::OwnPointer pointer_;
  int mode_;
  std::string path_;  // of the own descriptor: it leads to the file even after it is renamed
  takeover::KeptView kept_;
  // Why calls with the present views, which are not kept, are passed on by all ranks.
  Reason unserved_ = Reason::taken;
  bool atomic_ = false;
  std::optional<array::ByteView> view_ = array::ByteView();
  array::ByteSpread spread_;  // of the view
  // What reads and writes of one block, in this order, would have taken without Weir.
  std::array<Without, 2> without_of_block_{};
  std::int64_t displacement_ = 0;
  std::int64_t element_bytes_ = 1;
  KnownCalls known_;
  KnownGrid known_grid_;
  std::optional<std::int64_t> split_bytes_;  // of a split call that was taken over, until it ends
  std::unique_ptr<aggregation::ByteFile> bytes_;  // null before the first call
  // The names by which a stager opens the file; nothing if it is not to. Equal on all ranks.
  std::optional<storage::DataFiles> staged_as_;
  // What may not be in the file yet, as far as this rank knows.
  takeover::StagedBytes staged_;
  // What the ranks have handed over without waiting until the stager has it; equal on all ranks.
  takeover::StagedBytes unordered_;
  // The blocks of the last call, which the other ranks may not have handed over yet; nothing: all
  // have met since.
  std::optional<array::ByteGrid> under_way_;
  // These are equal on all ranks: whether bytes may not be in the file yet, now and before the last
  // call; where the last of them ends; the outcome of that call; and MPI_SUCCESS or the error class
  // for bytes that were lost.
  bool is_unsettled_ = false;
  bool was_unsettled_ = false;
  std::int64_t staged_end_ = 0;
  Status handed_over_;
  Status failed_here_;  // of this rank alone: why it could not hand over its block
  int lost_ = MPI_SUCCESS;
};

}  // namespace weir::mpiio
