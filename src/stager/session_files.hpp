// The files of one session on a stager: executes its jobs, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "engines/open_files.hpp"
#include "formats/writer_lock.hpp"
#include "sections/decoded_engine.hpp"
#include "sections/file_space_allocator.hpp"
#include "stager/events.hpp"
#include "stager/spill_file.hpp"
#include "system/known_file.hpp"
#include "system/root_folder.hpp"

namespace weir::stager {

// How SessionFiles writes bytes to files.
enum class WritesBy : std::uint8_t {
  page_cache,
  direct_io,  // long stretches of files bypass the page cache
  dropping,   // nothing is written, for benchmarks
};

class SessionFiles {
 public:
  // `memory`: all blocks of the stager, each of `block_bytes`. `spill` may be null if nothing is
  // spilled. `root`: nothing is stored outside this folder; null: anything may be. A job encodes
  // chunks by at most `encoders` threads.
  SessionFiles(std::span<std::byte> memory, std::int64_t block_bytes, const SpillFile* spill,
               const storage::RootFolder* root, WritesBy by = WritesBy::page_cache,
               int encoders = 1);

  // Write the bytes; end the stager's share of a step: make durable what was written, and return
  // which chunks were encoded; and end a step: the same, and change the header of the file. One
  // thread at a time calls these functions.
  [[nodiscard]] Status execute(const Write& job);
  [[nodiscard]] Result<std::vector<transport::EncodedChunks>> execute(const Seal& job);
  [[nodiscard]] Status execute(const Commit& job);

  // Keeps a lock until it is released. Called by any thread.
  void keep_lock(const std::string& path, storage::WriterLock lock);
  // Takes the lock for a program, whose name it gets.
  [[nodiscard]] Status take_lock(const std::string& path, const std::string& program);
  void release_lock(const std::string& path);
  [[nodiscard]] bool has_lock(const std::string& path);

 private:
  // Reads spilled bytes into read_back_.
  [[nodiscard]] Status read_back(std::span<const SpilledBlock> spilled);
  [[nodiscard]] std::byte* data_of(const BlockExtent& extent);
  [[nodiscard]] Status settle(storage::StepDurability durability, std::uint64_t step = 0);
  [[nodiscard]] Status write(const Write& job);
  Status write_file(const transport::NameFile& named, std::span<const BlockExtent> extents);
  // Opens the file for writes past the page cache, until its step ends.
  Result<storage::EngineFile*> open_direct(const std::string& path,
                                           const storage::KnownFile* is_known);
  // Encodes chunks and writes them. What is left of a chunk after a job is read again by the next.
  Status write_encoded(const transport::NameFile& named, std::span<const BlockExtent> extents);
  Status write_all(storage::Engine& engine, storage::EngineFile& file,
                   std::span<const BlockExtent> extents);
  // Closes the file that was written under this path if it is no longer the one that is there. A
  // step that was given up leaves such a file: ranks have removed it, and make another one.
  void close_removed(const std::string& path);
  Status write_ranges(storage::Engine& engine, storage::EngineFile& file,
                      std::span<const BlockExtent> extents);
  // The chunks of an array that are encoded here. Block b, which is a chunk or a shard, is that of
  // part b modulo their number, which know nothing of each other.
  struct Encoding {
    struct Part {
      std::unique_ptr<storage::DecodedEngine> engine;
      std::unique_ptr<storage::EngineFile> file;
    };
    std::vector<Part> parts;
    // With a table of places, which stays as it is until the step ends:
    storage::StoredArray array;
    std::string path;
    std::vector<storage::EncodedTable::Entry> written = {};
  };
  // By NameFile::encoded and ChunkPlaces::step, which is 0 where there is no table.
  using Encodings = std::map<std::pair<std::string, std::uint64_t>, Encoding>;
  [[nodiscard]] Result<Encoding> encoding_of(const transport::NameFile& named);
  // Returns what gives the chunks of a step their places, to any thread.
  storage::EncodedWriter::PlaceSource places_of(const transport::ChunkPlaces& step);
  // Takes from its engines the chunks that have got places.
  [[nodiscard]] static Status take_written(Encoding& encoding);
  // Ends the encodings without a table, and makes durable, as requested, also those of a step.
  Status settle_encodings(storage::StepDurability durability, std::uint64_t step);
  // Returns the changes that publish a step, with those of its tables.
  [[nodiscard]] Result<storage::HeaderUpdate> update_of(const Commit& job);
  // Forgets the chunks of this step, and of those that were given up in its file.
  void forget_chunks(const transport::CommitStep& step);
  using IsOver = std::function<bool(std::uint64_t step, const std::string& path)>;
  void forget_steps(const IsOver& is_over);

  std::span<std::byte> memory_;
  std::int64_t block_bytes_;
  const SpillFile* spill_;
  const storage::RootFolder* root_;
  WritesBy by_;
  int encoders_;
  std::vector<std::byte> read_back_;  // for the job under way
  std::vector<std::size_t> read_to_;  // where in it each spilled block begins
  storage::OpenFiles files_;
  std::unique_ptr<storage::Engine> direct_engine_;  // null until it is used
  // The files that are open for writes past the page cache, by path. Each is also open in files_,
  // which makes it durable.
  std::map<std::string, std::unique_ptr<storage::EngineFile>> direct_files_;
  Encodings encodings_;  // since the last commit, or, with a table, that of their step
  struct FreeSpace {
    explicit FreeSpace(const storage::FileSpaceAllocator& free) : space(free) {}
    std::mutex mutex;
    storage::FileSpaceAllocator space;
  };
  // By ChunkPlaces::step: where the next chunks go.
  std::map<std::uint64_t, std::shared_ptr<FreeSpace>> free_space_;
  // The number of a step whose chunks are in the table of its update, until it is published.
  std::optional<std::pair<std::uint64_t, storage::HeaderUpdate>> entered_;
  // By path, what was written since the last commit; nothing where the identity is unknown.
  std::map<std::string, std::optional<storage::FileIdentity>> written_;
  std::mutex mutex_;  // for locks_
  std::map<std::string, storage::WriterLock> locks_;
};

}  // namespace weir::stager
