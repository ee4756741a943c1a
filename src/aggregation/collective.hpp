// Collective writing and reading of arrays, on which the C API is built.
//
// All ranks of the communicator make the same calls in the same order. Each call is a turn in the
// queue of calls (call_queue.hpp): one vote opens it, in which all ranks compare what they call and
// learn of the errors that ranks found in their own arguments, and calls that differ or are refused
// end with it. Functions marked "collective" carry out a part of a call whose turn it is; they are
// called by all ranks with the same arguments, except for those marked "per rank", and do not
// compare anything. Requests take their turn by themselves.
//
// All ranks get the same result: at the end of each function, one round of votes (channel.hpp)
// determines the lowest rank that failed, and every rank returns that rank's error (with its rank,
// file and offset). A rank that fails keeps taking part, without I/O, so that no other rank waits
// for it.
//
// Every wait ends at the deadline in the settings. After a missed deadline the ranks no longer
// agree on their state. The session is then broken, and all calls fail at once.
//
// MPI is called only from the calling thread: MPI_THREAD_FUNNELED is sufficient.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregation/byte_account.hpp"
#include "array/box_list.hpp"
#include "array/layout.hpp"
#include "array/section.hpp"
#include "checksums/checksum.hpp"
#include "common/status.hpp"
#include "engines/engine.hpp"
#include "formats/additions.hpp"
#include "formats/format.hpp"
#include "plan/engine.hpp"
#include "plan/parameters.hpp"
#include "plan/platform_rates.hpp"
#include "plan/request.hpp"
#include "plan/staged_price.hpp"
#include "stored/extent_map.hpp"
#include "system/step_durability.hpp"
#include "topology/aggregator_placement.hpp"
#include "topology/io_groups.hpp"
#include "topology/network.hpp"
#include "topology/node_place.hpp"
#include "topology/stager_placement.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

class ByteFile;          // byte_file.hpp
class CallQueue;         // call_queue.hpp
class NodeBoard;         // node_board.hpp
class OpenArray;         // array_file.hpp
class Request;           // call_queue.hpp
class StepFile;          // step_file.hpp
struct Call;             // agreement.hpp
struct CollectiveState;  // collective_state.hpp

// Return the spelling used in settings: "automatic" for nothing, otherwise that of plan::name_of().
[[nodiscard]] std::string_view name_of(const std::optional<plan::Strategy>& strategy);
[[nodiscard]] std::string_view name_of(const std::optional<plan::Engine>& engine);

// Says what the ranks do after they have lost a stager: their calls fail, or they write the
// following steps themselves (docs/staging.md).
enum class StagingLost : std::uint8_t { fail, direct };
[[nodiscard]] std::vector<std::string_view> staging_lost_names();
[[nodiscard]] std::string_view name_of(StagingLost choice);
[[nodiscard]] std::optional<StagingLost> parse_staging_lost(std::string_view name);

// Says what closing a file of the MPI-IO of an unchanged program waits for (docs/mpi-io.md): until
// the stager has stored all of it, or only until the stager has it.
enum class StagingClose : std::uint8_t { stored, handed_over };
[[nodiscard]] std::vector<std::string_view> staging_close_names();
[[nodiscard]] std::optional<StagingClose> parse_staging_close(std::string_view name);

// Says from when on the steps of a file survive. `in_journal`: a step has ended only when it is in
// the journals of its stagers, or else stored. Where no stager has a part of it, it is stored
// anyway.
struct FileDurability {
  storage::StepDurability storage = storage::StepDurability::step;
  bool in_journal = false;
};
[[nodiscard]] std::vector<std::string_view> durability_names();
[[nodiscard]] std::string_view name_of(const FileDurability& durability);
[[nodiscard]] std::optional<FileDurability> parse_durability(std::string_view name);

// Zero and default values mean that a value is chosen. The settings are equal on all ranks.
struct CollectiveSettings {
  std::optional<plan::Strategy> strategy;  // nothing: chosen by price for each request
  std::optional<plan::Engine> engine;      // likewise; fails if a rank lacks the engine
  // Set by create(): the engines that every rank has, among which requests choose by price.
  plan::Engines engines = plan::Engines::only(plan::Engine::posix);
  std::int64_t aggregators = 0;   // per node; 0: chosen by price for each request
  std::int64_t buffer_bytes = 0;  // of one buffer; at least one element
  // Set by create(): pieces may be shorter than buffers, since buffer_bytes was not given.
  bool shorter_pieces = false;
  std::int64_t buffers = 0;     // per aggregator, at least 2: one fills while another is written
  double deadline_seconds = 0;  // of any one wait; 0 means 600
  // Treats this many consecutive ranks as a node, in order to try communication between nodes on a
  // single node; 0: the ranks that share memory. Ranks that do not share memory are never joined.
  std::int64_t ranks_per_node = 0;
  topology::IoGroups io_groups;  // of the nodes; no data is exchanged between them
  std::string io_groups_origin;  // who says so, for explain(); empty: nobody
  std::string io_groups_asked;  // whom `node_places` are from, for explain() if they make no groups
  // Without a value, `io_groups` counts. Otherwise this is what the system tells the rank of its
  // node, and need not be equal on all ranks: the nodes that share something are a group.
  std::optional<topology::NodePlaces> node_places;
  // Set by create(): the groups are such ones. Requests that they would make impossible are planned
  // in one group.
  bool groups_are_suggested = false;
  std::optional<topology::Network> network;  // between the nodes; nothing: not known
  topology::PlacementRule placement = topology::PlacementRule::spread;  // of aggregators
  // Says where the stagers run through which files with steps are written (session_staging.hpp).
  topology::StagerPlacement staging;
  StagingLost staging_lost = StagingLost::fail;
  StagingClose staging_close = StagingClose::stored;
  plan::Stagers stagers;      // set by create(): these, or those with which writes are compared
  FileDurability durability;  // of files that are not given one
  // Alignment of the boundaries between aggregators' parts of a file, in bytes; 0: at stripes, lock
  // blocks and pages.
  std::int64_t alignment_bytes = 0;
  // The basis of prices, and the layout of files on their storage; stripes and lock blocks of 0 are
  // taken from the file system.
  plan::PlatformRates rates;
  topology::FileTargets targets;
  // Tests set this: it wraps each engine that moves bytes, for example with one that loses some.
  // Null: no wrapper.
  std::function<std::unique_ptr<storage::Engine>(std::unique_ptr<storage::Engine>)> before_engine;
  // Tests set this: it moves encoded chunks, and what a rank moves without the others. Null: the
  // system does.
  std::shared_ptr<const storage::SliceMover> slice_mover;
};

// Says which of the arrays that a request writes go to a stager.
enum class HandedOverArrays : std::uint8_t { nothing, all, some };

// The times that a call spent on this rank, and the amounts that it moved.
struct CollectiveFigures {
  plan::Strategy strategy = plan::Strategy::direct;  // the strategy used
  plan::Engine engine = plan::Engine::posix;         // the engine used
  std::int64_t aggregators = 0;  // over all nodes; with direct, the number of ranks
  bool plan_reused = false;      // the plan was made for an earlier request
  std::int64_t plan_ns = 0;
  std::int64_t gather_ns = 0;   // copying between the rank's memory and buffers
  std::int64_t storage_ns = 0;  // in system calls on files
  std::int64_t wait_ns = 0;     // for other ranks
  std::int64_t blocked_ns = 0;  // waiting for a stager; no part of the times before
  HandedOverArrays handed_over = HandedOverArrays::nothing;
  std::int64_t bytes_asked = 0;    // requested of this rank's memory
  std::int64_t bytes_stored = 0;   // written to files by this rank
  std::int64_t bytes_fetched = 0;  // read from files by this rank
  std::int64_t bytes_sent = 0;     // in messages by this rank
  std::int64_t storage_calls = 0;
  ByteAccount account;
};

// The treatment of an array that no rank wrote in a step: it is filled with the fill value, or
// ending the step fails.
enum class Unwritten { is_filled, is_error };

struct FileSettings {
  std::string format;  // a name known to storage::find_format()
  storage::StepDurability durability = storage::StepDurability::step;
  bool in_journal = false;  // FileDurability
  bool rewrite = false;     // arrays that do not grow may be rewritten in place at any time
  // With `rewrite`: the file is one array, into which several runs may write at the same time.
  // Opening it takes no lock, and the first sync also makes its names durable.
  bool in_place = false;
  // Without a value, a new file has no checksums, and an existing file keeps its kind.
  std::optional<storage::Checksum> checksum = std::nullopt;
  Unwritten unwritten = Unwritten::is_filled;
};

// One piece of a rank's part in its memory: piece k of Distribution::piece(rank, k). An element is
// at data + layout->offset_of(its index in the dense array of the piece); the layout describes
// ghost cells, strides and order. A write does not change the memory.
struct MemoryPiece {
  const array::Layout* layout = nullptr;  // pieces with equal layouts may share one
  std::byte* data = nullptr;              // may be null if the piece is empty
};

// One array of a request, as the caller has checked it. Pointers and spans must stay valid until
// the request has ended. There may be thousands of parts, mostly alike. Parts with equal values
// should use the same pointer for them, since the value is then examined only once.
struct ArrayPart {
  OpenArray* file = nullptr;
  // Distribution of the array over memory. It has the array's shape, and at most as many ranks as
  // the communicator; rank r of the communicator holds part r.
  const plan::SharedDistribution* memory = nullptr;
  // Per rank: memory->pieces(rank) pieces, each with the extents of its piece and the array's
  // element size. Ranks beyond the distribution pass none.
  std::span<const MemoryPiece> pieces;
  // The section of the array's index space that is written or read; null: everything.
  const array::Section* section = nullptr;
};

// A region of an array that one rank moves. `pieces` contains one piece with the extents
// region.count. It must stay valid until the request has ended, like everything that it refers to.
struct OwnRegion {
  array::Section region;  // inside the array's shape
  std::span<const MemoryPiece> pieces;
};

class Collective {
 public:
  // Collective over `communicator`, which must outlive the object, serve nothing else, and return
  // errors. After an error that ends communication, messages on it are still under way, and it is
  // never freed. Fails if settings are out of range or differ between ranks.
  static Result<std::unique_ptr<Collective>> create(MPI_Comm communicator,
                                                    const CollectiveSettings& settings);
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  ~Collective();  // collective; called before MPI_Finalize

  // Releases this rank's locks on its files, in a session that is over but stays open because MPI
  // may still use it. Not collective.
  void release_locks();
  // Does what can_journal() in session_staging.hpp does.
  [[nodiscard]] Status can_journal() const;
  // Collective. Does what leave_lost_stagers() in session_staging.hpp does.
  Status leave_lost_stagers();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] std::int64_t nodes() const;
  // Returns the settings with every 0 replaced by the chosen value, except `aggregators`, which
  // each request chooses.
  [[nodiscard]] const CollectiveSettings& settings() const;

  // The calls of this rank.
  [[nodiscard]] CallQueue& calls();
  // Returns the board of the ranks (node_board.hpp); null, on all ranks alike, if there is none.
  // The first call is collective.
  [[nodiscard]] NodeBoard* board();

  // In the functions below, rank 0 alone finds out what all need. If the call asks (agreement.hpp),
  // the first of them in a call sends its answer with the opening vote.

  // Collective. Lays out a file (see formats/format.hpp) and begins its first step; arrays
  // that grow are described with one step. An existing file stays until that step has ended. A file
  // that is described as in place replaces an existing one at once, and has no steps; its number of
  // data files may be 0, which means as many as there are aggregators (or ranks).
  Result<std::unique_ptr<StepFile>> create_file(const std::string& path,
                                                const storage::FileDescription& description,
                                                const FileSettings& settings);
  // Collective. Rank 0 reads the header.
  Result<std::unique_ptr<StepFile>> open_file(const std::string& path, const FileSettings& settings,
                                              bool writable);
  // Collective. Makes room for one more step of all arrays that grow; writes go to this step.
  Status begin_step(StepFile& file);
  // Does this rank's part of the end of a step, and notes its outcome in the call. The call is
  // local; all ranks make it, and then vote.
  void end_own_step(StepFile& file, Call& call);
  // Collective, after this vote, if all ranks made the call. Makes the step durable as set, then
  // visible to readers. If this fails, or the vote or a write in the step has failed, the step is
  // not committed and may be begun again.
  Status end_step(StepFile& file, const Status& voted);
  // Collective. Wait until the step that ended last is on storage, for at most `seconds`, and
  // return whether it is. They fail if it could not be stored. Without staging it is stored when
  // its end returns.
  Status wait_for_step(StepFile& file, double seconds);
  Result<bool> is_step_stored(StepFile& file);
  // Collective. Gives up the step that has begun: the file contains nothing of it, and the next
  // step takes its place. After a first step, the object is of no more use, as there is no file.
  Status abort_step(StepFile& file);
  // Collective. Keeps the first `steps` steps of a file and removes the others; called between
  // steps.
  Status drop_steps(StepFile& file, std::int64_t steps);
  // Collective. Adds arrays, which become the last ones of the file, and attributes, between steps
  // (formats/additions.hpp). Arrays without steps are written in the next step. The file is
  // unchanged on failure.
  Status extend_file(StepFile& file, const storage::Additions& added);
  // Collective. Fails if a step has not ended; that step is not committed. The object remains.
  Status close_file(StepFile& file);
  // Does this rank's part of close_file(). The call is local; all ranks make it, and then agree on
  // its outcomes, before the object is destroyed.
  Status close_own_part(StepFile& file);

  // Opens a file without a header, which exists. Local, but all ranks call it in the same order;
  // `path` is this rank's, and the other arguments are equal on all ranks.
  [[nodiscard]] std::unique_ptr<ByteFile> open_bytes(const std::string& path, bool writable,
                                                     const topology::FileTargets& targets,
                                                     std::optional<storage::DataFiles> staged_as);
  // Returns whether writes of such a file may go to a stager; equal on all ranks. A single one
  // orders all that the ranks write, also what is written twice.
  [[nodiscard]] bool stages_bytes() const;
  // Returns whether the ranks' stager is on another node.
  [[nodiscard]] bool stages_elsewhere() const;
  // Local. Returns when everything that the ranks have handed over to this rank's stager is in the
  // files.
  Status drain();
  // Local. Returns when this rank's stager has read all that the rank has handed over.
  Status reach_stager();
  // Collective. Returns when a file that was left to the stager is stored: wait_for_array() in
  // session_staging.hpp.
  Status wait_for_bytes(const std::string& path);

  // Collective. Creates a distribution from boxes, whose table is stored once per node
  // (shared_boxes.hpp). `mine`: this rank's boxes of an array of `shape`, which is equal on all
  // ranks.
  Result<plan::SharedDistribution> distribute(const array::Shape& shape,
                                              const array::BoxList& mine);

  // Begins a write or read of all parts as one request, without waiting. If one rank fails, every
  // rank returns its error; data written until then remain, in no particular order. A write fails
  // if explicit boxes overlap. A request should not write an element twice, since it is undefined
  // which value remains. `call` names the call and has this rank's errors; the parts are compared
  // too, and are not looked at if `call` has an error. `memory` is kept until the request has
  // ended.
  [[nodiscard]] std::shared_ptr<Request> begin(const Call& call, Direction direction,
                                               std::span<const ArrayPart> parts,
                                               std::shared_ptr<const void> memory);
  // Like begin(), for each rank's own region of one array. `own` is per rank. Neither it nor `file`
  // is looked at if `call` has an error. The regions of all ranks are gathered, once per node,
  // unless all ranks remember them from an earlier request (known_regions.hpp). A write fails if
  // regions overlap.
  [[nodiscard]] std::shared_ptr<Request> begin_regions(const Call& call, OpenArray* file,
                                                       Direction direction, const OwnRegion& own,
                                                       std::shared_ptr<const void> memory);
  // Collective. Moves every rank's own region like begin_regions(), and waits for the end, if every
  // rank has a region and all remember the regions of all. Otherwise returns nothing, on all ranks
  // alike, and nothing has moved. `own` is null on a rank that has no region, or does not know yet.
  std::optional<Status> move_known_regions(const Call& call, OpenArray& file, Direction direction,
                                           const OwnRegion* own);
  // Local. Moves one region without the other ranks (own_region.hpp).
  Status move_alone(OpenArray& file, Direction direction, const OwnRegion& own);
  // Local. Describes for users what a write or read of these parts would do, and why; `pieces` are
  // not examined. Fails if the parts could not be moved.
  Result<std::string> explain(std::span<const ArrayPart> parts, Direction direction);
  // Returns the figures of the last write or read that ended; null if none has moved anything yet.
  [[nodiscard]] const CollectiveFigures* figures() const;
  // Returns how long this rank has waited for its stager in all calls so far.
  [[nodiscard]] std::int64_t blocked_ns() const;

  // Collective. Makes written data durable (fdatasync by every rank that has the files open).
  Status sync(OpenArray& file);

 private:
  explicit Collective(CollectiveState state);

  std::unique_ptr<CollectiveState> state_;
  std::unique_ptr<CallQueue> calls_;
  std::unique_ptr<NodeBoard> board_;
  bool has_tried_board_ = false;
};

}  // namespace weir::aggregation
