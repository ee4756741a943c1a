// The interfaces with which programs move data, one set for all workloads. interface.cpp has the
// registry: one line per interface, which names it, says what it can do, and opens it.
// clang-format off
//   Interface  an entry of the registry
//   Session    what outlives files: the settings of the files, and what an interface keeps
//   File       one rank's access to one open file
// clang-format on
// A workload takes every interface that can do what it needs, and asks Capabilities, never names.
// After a failure no further call on a session or its files is allowed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/direction.hpp"
#include "common/setting_fields.hpp"
#include "common/status.hpp"
#include "engines/engine.hpp"
#include "interfaces/array_part.hpp"
#include "interfaces/file_blocks.hpp"
#include "interfaces/name_calls.hpp"
#include "measurement/opened_hints.hpp"
#include "measurement/transfer_request.hpp"
#include "system/durability.hpp"
#include "system/striping.hpp"

namespace weir::bench {

struct Capabilities {
  bool ranges = false;  // File::move()
  // Keeps several moves in flight: Session::engine() and File::submit(), and NameCalls::begin()
  // instead of make().
  bool queue = false;
  bool submits = false;       // SessionSettings::submission
  bool parts = false;         // File::move_part()
  bool part_by_runs = false;  // a part is moved with one call for each run
  bool names = false;         // Session::names() and remove() know all names of a file
  bool collective = false;    // transfers can be collective calls
  bool mpi_io = false;        // moves data by MPI-IO: takes its hints, and counts elements in ints
  bool datatypes = false;     // describes parts by MPI datatypes: of extents below 2^31, and of a
                              // section only if the part is one box
  bool one_box = false;       // a part must be one box
  bool direct = false;        // O_DIRECT
  bool durable_writes = false;  // can make each single write durable
  bool preallocates = false;
  bool views = false;    // FileRequest::view
  bool objects = false;  // fill values, an alignment of objects and collective metadata
  bool chunks = false;   // stores arrays in chunks
  bool codecs = false;   // encodes chunks
  bool plans = false;    // plans with nodes and aggregators: strategy, engine, buffers, explain
  bool layouts = false;  // the array's files: several, their directories, and the elements' order
  bool many_arrays = false;     // File::move_boxes()
  bool netcdf = false;          // the files are of NetCDF
  bool bare = false;            // the files have elements only: neither names nor shapes
  bool stages = false;          // SessionSettings::staging
  NameCallSet name_calls = {};  // what Session::name_calls() can
  bool relative = false;        // name_calls take places relative to an open directory
};

// Says how an array is divided among files.
enum class FileLayout { shared, per_aggregator, per_rank };

// Says whether the moves of a session's files are submitted, so that the time of each is known, and
// whether they go on while the program computes.
enum class Submission { none, foreground, background };

// The settings of all files of a session. Interfaces ignore those for which they have no
// capability, because workloads refuse these before.
struct SessionSettings {
  MPI_Comm communicator = MPI_COMM_WORLD;  // of all ranks that use the session
  double deadline_seconds = 600;
  storage::Striping striping = {};  // of newly created files
  // File::sync() makes this durable.
  storage::Durability durability = storage::Durability::none;
  bool collective = true;  // transfers are collective calls, where the interface has them
  bool direct = false;
  bool preallocate = false;  // the content of a file that is opened for writing
  std::int64_t queue_depth = 1;
  // MPI-IO opens all files whose moves are submitted over `communicator`.
  Submission submission = Submission::none;
  std::string hints_file = {};  // of MPI-IO's hints; "": none
  // Takes the hints with which MPI-IO opens files; null: nobody asks. It must outlive the session.
  OpenedHints* opened_hints = nullptr;
  std::int64_t aggregators = 0;   // 0: the interface decides, as for the next two
  std::int64_t buffer_bytes = 0;  // of one buffer
  std::int64_t buffers = 0;       // per aggregator
  bool fill = false;              // new datasets of HDF5 are filled first
  bool collective_metadata = false;
  std::int64_t alignment = 1;                // of objects, in bytes
  std::optional<array::Indices> chunk = {};  // extents; nothing: not chunked
  std::string codec = {};                    // of the chunks; "": none
  std::string strategy = {};                 // "": as the library's settings say
  std::string engine = {};
  std::int64_t ranks_per_node = 0;  // as planned with; 0: the ranks that share memory
  std::string io_groups = {};       // as the library's option; "": as its settings say
  std::string placement = {};       // of aggregators, likewise
  FileLayout layout = FileLayout::shared;
  bool column_major = false;
  std::vector<std::string> directories = {};  // of the files, round-robin; below two: as the path
  std::string staging = {};  // who stores what is written, by Weir's name; "": the ranks
  bool in_journal = false;   // with `staging`: a step has ended when it is in the stagers' journals
};

// A view of equal pieces of a file: `piece_bytes` from `start` on, and again after each `period`.
// Transfers then move only bytes that lie in it.
struct FileView {
  std::int64_t start = 0;
  std::int64_t piece_bytes = 0;  // below 2 GiB
  std::int64_t period_bytes = 0;
};

// One file, as it is opened.
struct FileRequest {
  MPI_Comm communicator = MPI_COMM_SELF;  // of the ranks that share the file
  std::string path;
  bool write = false;
  bool create = false;        // a missing file is created; needs `write`
  bool keep = false;          // with `create`: a dataset or variable that exists is kept
  const char* name = "data";  // of the dataset or variable
  std::int64_t bytes = 0;     // the file's content, which File::move() moves
  // File::move_part() takes these instead of `bytes`: this rank's part of the array, and its
  // runs(). Both must outlive the file.
  const Part* part = nullptr;
  const std::vector<array::StridedCopy>* runs = nullptr;
  // File::move_boxes() takes these instead of `bytes`: the file's arrays. They must outlive the
  // file.
  const std::vector<ArrayBox>* arrays = nullptr;
  bool explain = false;  // prints, once per direction, how the part will be moved; on one rank
  std::optional<FileView> view = {};
};

// The time that the stages of a transfer took on this rank, for interfaces that report it.
struct StageTimes {
  std::int64_t planning_ns = 0;
  std::int64_t gathering_ns = 0;
  std::int64_t storage_ns = 0;
  std::int64_t waiting_ns = 0;
  std::int64_t aggregators = 0;   // ranks of the whole job that were to read and write files
  std::int64_t bytes_stored = 0;  // that this rank wrote to files, or dropped by the engine null
};

class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  // The destructor does nothing collective: after a failure the other ranks may be anywhere in the
  // code. A file that is still open then stays open until the process ends.
  virtual ~File() = default;

  // Moves one range of bytes and returns when the buffer may be reused. Offsets are those of the
  // content, which follows a header if the format has one. Collective if the session's transfers
  // are.
  virtual Status move(const TransferRequest& request);
  // Moves several blocks. By one call if the interface describes them by datatypes, and then
  // collective if the session's transfers are; else by a call of move() for each.
  virtual Status move_blocks(const BlocksRequest& request);
  // Begins a move by the session's engine, which returns `piece` when the move has ended.
  virtual Status submit(storage::PieceRequest& piece, const TransferRequest& request);
  // Moves the selected elements of the rank's part between the file and `memory`, which holds the
  // part in row-major order. Writing does not change the memory. Collective if the session's
  // transfers are.
  virtual Status move_part(Direction direction, std::byte* memory);
  // Moves this rank's boxes of all arrays of the file. `memory` has an address for each array.
  // Collective.
  virtual Status move_boxes(Direction direction, std::span<std::byte* const> memory);
  // Makes durable what was written. Collective over the file's ranks if opening is. With staging it
  // hands over what was written, and stored() tells when that is durable.
  virtual Status sync() = 0;
  // Waits for up to `seconds` until what was handed over is durable, and returns whether it is. All
  // ranks give the same number and get the same answer. Collective.
  virtual Result<bool> stored(double /*seconds*/) { return true; }
  virtual Status close() = 0;
  // Returns the times of the last transfer's stages.
  [[nodiscard]] virtual std::optional<StageTimes> stages() const { return std::nullopt; }
};

// A name on the file system that a rank must remove.
struct FileName {
  std::string path;
  bool must_be = true;     // it is an error if it is missing
  std::int64_t bytes = 0;  // minimum size of its content
};

class Session {
 public:
  explicit Session(SessionSettings settings) : settings_(std::move(settings)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // The destructor does nothing collective.
  virtual ~Session() = default;

  // Returns the engine of File::submit(). It is null if the interface does not keep several moves
  // in flight and SessionSettings::submission is none.
  virtual storage::Engine* engine() { return nullptr; }
  // Does what all files with such a part share, so that opening them does not. Collective over the
  // session's ranks.
  virtual Status prepare(const Part& part);
  // Creates or opens a file. Collective over the file's ranks, except by POSIX calls.
  virtual Result<std::unique_ptr<File>> open(const FileRequest& request) = 0;
  // Returns the calls on names, of which `needed` will be made. The memory, which several of them
  // may share, and the session must outlive them. Local.
  virtual Result<std::unique_ptr<NameCalls>> name_calls(const NameMemory& memory,
                                                        NameCallSet needed);
  // Returns the names of a closed file that exist and that this rank must remove.
  [[nodiscard]] virtual std::vector<FileName> names(const FileRequest& request) const;
  // Removes these names.
  [[nodiscard]] Status remove(const FileRequest& request) const;
  // Returns how long this rank has waited for its stagers so far, apart from copying to them.
  [[nodiscard]] virtual std::int64_t blocked_ns() const { return 0; }
  // Ends what is kept between files, after the last one was closed. Collective over the session's
  // ranks.
  virtual Status close();

 protected:
  [[nodiscard]] const SessionSettings& settings() const { return settings_; }

 private:
  SessionSettings settings_;
};

struct Interface;
using OpenSession = Result<std::unique_ptr<Session>>(const Interface& interface,
                                                     const SessionSettings& settings);

struct Interface {
  std::string_view name;
  std::string_view title;  // the name in IOR's spelling
  Capabilities can;
  OpenSession* open = nullptr;    // null if this build lacks the library
  std::string_view library = {};  // that this build may lack
  std::string_view remedy = {};   // what to do before building again
  std::string_view format = {};   // of the files, if the interface writes several formats
};

// Returns the interface of this name or title, which must exist.
[[nodiscard]] const Interface* interface_named(std::string_view name);
// Returns the interfaces, in the registry's order, that can do what `usable` asks for, by their
// words for a setting; `spelling` is &Interface::name or &Interface::title.
[[nodiscard]] std::vector<Word<const Interface*>> interface_words(
    bool (*usable)(const Capabilities&), std::string_view Interface::*spelling);

// Fails if this build lacks the interface's library, with a line that says how to proceed. The line
// begins with `option`, the option that requested the interface.
[[nodiscard]] Status check_available(const Interface& interface, const std::string& option);

// Opens a session. Collective over its ranks. Fails with ErrorCode::unsupported if this build lacks
// the library.
[[nodiscard]] Result<std::unique_ptr<Session>> open_session(const Interface& interface,
                                                            const SessionSettings& settings);

}  // namespace weir::bench
