// Collective writing and reading of arrays: what the C API is built on.
//
// Every function that says "collective" is called by all ranks of the communicator, in the same
// order, with the same arguments but for those marked "per rank". All ranks get the same answer: at
// the end of each call one round of votes (channel.hpp) finds the lowest rank that failed, and that
// rank's error (with its rank, file and offset) is what every rank returns. A rank that fails goes
// on taking part, without I/O, so that no other waits for it. Arguments that differ between ranks,
// or that one rank finds wrong, are refused on every rank before anything is written.
//
// Every wait ends at the deadline of the settings. After a missed deadline the ranks no longer
// agree on where they are: the Collective is then broken, and all its functions fail at once.
//
// MPI is called from the calling thread only: MPI_THREAD_FUNNELED is enough.
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
#include "common/status.hpp"
#include "plan/engine.hpp"
#include "plan/parameters.hpp"
#include "plan/platform_rates.hpp"
#include "plan/request.hpp"
#include "ranks/channel.hpp"
#include "storage/engines/engine.hpp"
#include "storage/formats/additions.hpp"
#include "storage/formats/format.hpp"
#include "storage/formats/raw_array.hpp"
#include "storage/formats/writer_lock.hpp"
#include "storage/step_durability.hpp"
#include "storage/sums/checksum.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

class OpenArray;         // array_file.hpp
class StepFile;          // step_file.hpp
struct CollectiveState;  // collective_state.hpp

// As settings spell them: "automatic" for nothing, else as plan::name_of() does.
[[nodiscard]] std::string_view name_of(const std::optional<plan::Strategy>& strategy);
[[nodiscard]] std::string_view name_of(const std::optional<plan::Engine>& engine);

// Zero and default values stand for "choose". The same on every rank.
struct CollectiveSettings {
  std::optional<plan::Strategy> strategy;  // nothing: by price, for each request
  std::optional<plan::Engine> engine;      // the same; fails where a rank has not got it
  // Filled in: those that every rank has, and prices are asked for.
  plan::Engines engines = plan::Engines::only(plan::Engine::posix);
  std::int64_t aggregators = 0;   // per node; 0: by price, for each request
  std::int64_t buffer_bytes = 0;  // of one buffer; at least one element
  // Filled in: pieces may be shorter than buffers, as buffer_bytes was not given.
  bool shorter_pieces = false;
  std::int64_t buffers = 0;     // per aggregator, at least 2: one fills while another is written
  double deadline_seconds = 0;  // of any one wait; 0 stands for 600
  // Treats this many consecutive ranks as a node, 0 the ranks that share memory: so that what
  // happens between nodes can be tried on one. Ranks that do not share memory are never joined.
  std::int64_t ranks_per_node = 0;
  // Where aggregators' parts of a file end, in bytes; 0: at stripes, lock blocks and pages.
  std::int64_t alignment_bytes = 0;
  // What prices are made of, and how files lie on their storage: stripes and lock blocks of 0 are
  // those that the file system tells of.
  plan::PlatformRates rates;
  topology::FileTargets targets;
  // For tests: what is put before each engine that moves bytes, as one that loses some. Null:
  // nothing.
  std::function<std::unique_ptr<storage::Engine>(std::unique_ptr<storage::Engine>)> before_engine;
  // For tests, likewise: what moves encoded chunks, and what a rank moves without the others. Null:
  // the system.
  std::shared_ptr<const storage::SliceMover> slice_mover;
};

// Where a call's time went on this rank, and what it moved.
struct CollectiveFigures {
  plan::Strategy strategy = plan::Strategy::direct;  // the one that was taken
  plan::Engine engine = plan::Engine::posix;         // the same
  std::int64_t aggregators = 0;                      // over all nodes; for direct, the ranks
  bool plan_reused = false;  // planned for an earlier request, so not planned again
  std::int64_t plan_ns = 0;
  std::int64_t gather_ns = 0;      // copying between the rank's memory and buffers
  std::int64_t storage_ns = 0;     // in system calls on files
  std::int64_t wait_ns = 0;        // for other ranks
  std::int64_t bytes_asked = 0;    // of this rank's memory
  std::int64_t bytes_stored = 0;   // written to files by this rank
  std::int64_t bytes_fetched = 0;  // read from files by this rank
  std::int64_t bytes_sent = 0;     // in messages by this rank
  std::int64_t storage_calls = 0;
  ByteAccount account;
};

// What becomes of an array that no rank wrote in a step: it has the fill value there, or the step
// does not end.
enum class Unwritten { is_filled, is_error };

struct FileSettings {
  std::string format;  // as storage::find_format() knows it
  storage::StepDurability durability = storage::StepDurability::step;
  bool rewrite = false;  // arrays that do not grow are written in place, at any time
  // Nothing: of a new file none, of one that is there as it has them.
  std::optional<storage::Checksum> checksum = std::nullopt;
  Unwritten unwritten = Unwritten::is_filled;
};

// One piece of a rank's part in its memory: piece k of Distribution::piece(rank, k). An element
// lies at data + layout->offset_of(its index in the dense array of the piece): ghost cells, strides
// and any order are the layout's. Writing does not change the memory.
struct MemoryPiece {
  const array::Layout* layout = nullptr;  // pieces that lie alike may have the same
  std::byte* data = nullptr;              // may be null when the piece is empty
};

// One array of a request. Pointers and spans are kept until the request has ended. There may be
// thousands of them, mostly alike: what several have alike is best given by the same pointer, as it
// is then looked at once.
struct ArrayPart {
  OpenArray* file = nullptr;
  // How memory holds the array: of the same shape, over at most as many ranks as the communicator
  // has; rank r of the communicator holds part r.
  const plan::SharedDistribution* memory = nullptr;
  // Per rank: memory->pieces(rank) of them, each of the extents of its piece and the array's
  // element size. Ranks beyond the distribution give none.
  std::span<const MemoryPiece> pieces;
  // What is written or read, of the array's index space; null: everything.
  const array::Section* section = nullptr;
};

// What one rank moves of an array, of its own choice. `pieces`: one, of the extents region.count;
// kept until the request has ended, as is what it refers to.
struct OwnRegion {
  array::Section region;  // inside the array's shape
  std::span<const MemoryPiece> pieces;
};
// A function that is given every rank's region of an array: one piece for each rank.
using LearnRegions = std::function<void(const plan::SharedDistribution& regions)>;

// A write or read under way. It moves on only inside test() and wait().
class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request() = default;  // waits, if that was not done; the status is lost

  // Moves on as far as possible without waiting. True when it has ended: wait() then returns at
  // once. Local, but all ranks have to call test() or wait() for any of them to end.
  [[nodiscard]] virtual bool test() = 0;
  // Collective. Returns what became of the request, the same on every rank, however often called.
  virtual Status wait() = 0;
  // Valid when ended.
  [[nodiscard]] virtual const CollectiveFigures& figures() const = 0;
};

// What all ranks have agreed to make the call by, in place of agreeing in it: a round that asks
// rank 0 and has ended so (channel.hpp), and has compared every argument and what the call depends
// on. The call answers it, whatever comes.
struct Asked {
  ranks::Channel& channel;
  const ranks::Channel::Round& round;
};

class Collective {
 public:
  // Collective over `communicator`, which is duplicated. Fails on settings out of range and where
  // the ranks' settings differ.
  static Result<std::unique_ptr<Collective>> create(MPI_Comm communicator,
                                                    const CollectiveSettings& settings);
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  ~Collective();  // collective; before MPI_Finalize

  // Ends this rank's keeping others from writing to its files, in a session that is over and stays
  // open because MPI may still use it. Not collective.
  void release_locks();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] std::int64_t nodes() const;
  // With every 0 replaced by what was chosen, but `aggregators`, which requests choose.
  [[nodiscard]] const CollectiveSettings& settings() const;

  // In the calls below, a null `asked` is for callers that have not agreed.

  // Collective. Makes the files of `array` and its document anew, in an existing folder; files of
  // this name are replaced. array.files 0 stands for as many as there are aggregators (or ranks).
  Result<std::unique_ptr<OpenArray>> create_array(const std::string& path,
                                                  const storage::RawArray& array,
                                                  const Asked* asked = nullptr);
  // Collective. Rank 0 reads the document and looks at the files' sizes.
  Result<std::unique_ptr<OpenArray>> open_array(const std::string& path, bool writable,
                                                const Asked* asked = nullptr);

  // Collective. Lays a file out (see storage/formats/format.hpp) and begins its first step; arrays
  // that grow are described with one step. Until that step has ended, a file that is there stays.
  Result<std::unique_ptr<StepFile>> create_file(const std::string& path,
                                                const storage::FileDescription& description,
                                                const FileSettings& settings,
                                                const Asked* asked = nullptr);
  // Collective. Rank 0 reads the header.
  Result<std::unique_ptr<StepFile>> open_file(const std::string& path, const FileSettings& settings,
                                              bool writable, const Asked* asked = nullptr);
  // Collective. Room for one more step of all arrays that grow; writes go there.
  Status begin_step(StepFile& file, const Asked* asked = nullptr);
  // Collective. Makes the step durable as the settings say, then lets readers see it. When this
  // fails, or a write in the step has failed, the step is not committed and may be begun again.
  Status end_step(StepFile& file);
  // Collective. Gives up the step that has begun: nothing of it is in the file, and the next one
  // begins in its place. After a first step the object is of no more use, as there is no file.
  Status abort_step(StepFile& file);
  // Collective. Keeps the first `steps` steps of a file and takes the others away, between steps.
  Status drop_steps(StepFile& file, std::int64_t steps);
  // Collective. Adds arrays, which are the last ones of the file from then on, and attributes,
  // between steps (storage/formats/additions.hpp); arrays without steps are written in the next
  // step. The file is as before on failure.
  Status extend_file(StepFile& file, const storage::Additions& added, const Asked* asked = nullptr);
  // Collective. An error when a step is not ended: it is not committed. The object remains.
  Status close_file(StepFile& file);

  // Collective. A distribution by boxes, whose table is kept once on each node (shared_boxes.hpp);
  // `mine`: this rank's boxes of an array of `shape`, which is alike on all ranks.
  Result<plan::SharedDistribution> distribute(const array::Shape& shape,
                                              const array::BoxList& mine);

  // Collective. Writes or reads all parts as one request. When one rank fails, every rank returns
  // its error; what was written until then stays, in no particular order. Writing refuses explicit
  // boxes that overlap, and one request should not write an element twice: which of the values
  // stays is not defined.
  Status write(std::span<const ArrayPart> parts);
  Status read(std::span<const ArrayPart> parts);
  // Begin a write or read without waiting for its end; a request that is still under way is waited
  // for first. An error in the arguments comes from the request's wait().
  [[nodiscard]] std::unique_ptr<Request> begin_write(std::span<const ArrayPart> parts);
  [[nodiscard]] std::unique_ptr<Request> begin_read(std::span<const ArrayPart> parts);
  // Collective: each rank's own region of one array, without waiting. `known`: all ranks' regions
  // as `learn` was given them before, the same on all ranks; nothing: they are gathered, once on
  // each node, and `learn` is called. Writing refuses regions that overlap.
  [[nodiscard]] std::unique_ptr<Request> begin_regions(
      OpenArray& file, Direction direction, const OwnRegion& own,
      std::optional<plan::SharedDistribution> known, LearnRegions learn);
  // Local: these regions come no more, so plans for them need not be kept.
  void forget_regions(const plan::SharedDistribution& regions);
  // Local: one region, without the other ranks (own_region.hpp).
  Status move_alone(OpenArray& file, Direction direction, const OwnRegion& own);
  // Local: what a write or read of these would do, and why, for people; `pieces` are not looked at.
  // Fails on parts that could not be moved.
  Result<std::string> explain(std::span<const ArrayPart> parts, Direction direction);
  // The figures of the last write or read that ended.
  [[nodiscard]] const CollectiveFigures& figures() const;

  // For who calls this to compare calls by, before they come here: not used otherwise.
  [[nodiscard]] ranks::Channel& comparisons();

  // Collective. What was written is durable (fdatasync by every rank that has the files open).
  Status sync(OpenArray& file);
  // Collective. Closes the files; the object remains, for its destructor. Not an error twice.
  Status close(OpenArray& file);

 private:
  explicit Collective(CollectiveState state);
  [[nodiscard]] std::unique_ptr<Request> begin(std::span<const ArrayPart> parts,
                                               Direction direction);
  std::unique_ptr<OpenArray> made(storage::ExtentMap map, const std::string& path, bool writable,
                                  const topology::FileTargets& targets,
                                  std::function<Status()> sync_names, storage::WriterLock lock);

  std::unique_ptr<CollectiveState> state_;
};

}  // namespace weir::aggregation
