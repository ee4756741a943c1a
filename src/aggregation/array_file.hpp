// An array on disk as a Collective has it open: by its extent map, whatever the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/byte_account.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/engines/engine_set.hpp"
#include "aggregation/step_image.hpp"
#include "storage/encoded/decoded_engine.hpp"
#include "storage/formats/extent_map.hpp"
#include "storage/formats/format.hpp"
#include "storage/formats/writer_lock.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/stored_files.hpp"
#include "storage/sums/array_sums.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

// What an OpenArray is of. The same on all ranks.
// NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
struct ArrayOrigin {
  std::uint64_t number = 0;  // no other array of the Collective has it
  bool grows = false;        // along dimension 0: requests move one step
  bool writable = false;
  bool sync_each = false;              // what a write has written is durable when it returns
  topology::FileTargets targets = {};  // as the file system told rank 0
  std::string path;                    // of the array or of the file that it is in
  std::string name = {};               // in the file; "" when the file is the array
  std::vector<std::byte> fill = {};    // one element; none: zeros
  std::uint64_t file_number = 0;       // of the open file that it is in, or its own: no other's
  storage::DescriptorSource* descriptors = nullptr;  // of the node; null: the system
  // Files of chunks that are closed along the way, in a file whose steps are made durable or not.
  storage::DataFileCache::Closing closing = storage::DataFileCache::Closing::makes_durable;
  // What this rank wrote into the file in a step; null: the array is in no file with steps.
  std::shared_ptr<StepAccount> account = {};
};
// NOLINTEND(readability-redundant-member-init)

// An array on disk, opened by a Collective. It opens no file before a rank has to move bytes, so
// that only aggregators ever do. Lives no longer than its Collective.
class OpenArray {
 public:
  OpenArray(ArrayOrigin origin, storage::ExtentMap map, std::shared_ptr<EngineSet> engines)
      : origin_(std::move(origin)),
        map_(std::move(map)),
        engines_(std::move(engines)),
        shape_(origin_.grows ? step_shape(map_.shape) : map_.shape),
        engine_files_(plan::engine_count),
        sums_(origin_.path) {
    decode();
    find_place();
  }

  // The shape that requests move: that of the whole array, or of one step where the array grows.
  [[nodiscard]] const array::Shape& shape() const { return shape_; }
  [[nodiscard]] const array::ElementType& type() const { return map_.type; }
  [[nodiscard]] const std::string& path() const { return origin_.path; }
  [[nodiscard]] const std::string& name() const { return origin_.name; }  // "": alone in its files
  [[nodiscard]] bool writable() const { return origin_.writable; }

  // Whether writing needs no look at why it could not be.
  [[nodiscard]] bool may_be_written() const { return origin_.writable && refusal_.empty(); }
  // Where the first byte of what requests move lies in the array's one file; nothing: it is not
  // dense there, or the selected step is not there.
  [[nodiscard]] std::optional<std::int64_t> dense_place() const {
    return place_ < 0 ? std::nullopt : std::optional(place_);
  }
  // Arrays of one kind, but 0, differ by their places alone: shape, type, order, step and files
  // are alike. A kind is given to an array that has none; one that changes has none again.
  [[nodiscard]] std::uint64_t kind() const { return kind_; }
  void set_kind(std::uint64_t kind) { kind_ = kind; }
  // Whether both are dense in the same file and may be of one kind.
  [[nodiscard]] bool is_alike(const OpenArray& other) const {
    return place_ >= 0 && other.place_ >= 0 && shape_ == other.shape_ &&
           map_.type == other.map_.type && map_.order == other.map_.order &&
           map_.byte_order == other.map_.byte_order && step_ == other.step_ &&
           origin_.grows == other.origin_.grows && origin_.targets == other.origin_.targets &&
           map_.files == other.map_.files;
  }
  [[nodiscard]] const ArrayOrigin& origin() const { return origin_; }
  [[nodiscard]] std::uint64_t number() const { return origin_.number; }
  [[nodiscard]] const storage::ExtentMap& map() const { return map_; }
  // By the engine that was taken last; encoded chunks by one of their own.
  void use_engine(plan::Engine engine, Direction direction) {
    engine_ = engine;
    direction_ = direction;
  }
  [[nodiscard]] storage::StoredFiles& files() {
    if (decoded(direction_)) return *decoded(direction_)->files;
    auto& files = engine_files_.at(static_cast<std::size_t>(engine_));
    if (!files) {
      files.emplace(map_.files, origin_.writable, engines_->open_files(engine_));
      files->set_watch(&sums_);
      files->set_closing(origin_.closing);
      files->set_shared({origin_.descriptors, origin_.file_number, static_cast<int>(engine_)});
    }
    return *files;
  }
  // What this rank wrote is durable, by whichever engine. Once bytes of it are lost, each later
  // call fails, until begin_writing().
  Status sync(const storage::SyncedHere& synced_here = nullptr) {
    Status alone = written_alone_ ? written_alone_->sync() : Status();
    Status together =
        for_each_files([&](storage::StoredFiles& files) { return files.sync(synced_here); });
    if (!alone.ok()) return alone;
    if (!together.ok() || !sync_names_) return together;
    Status named = sync_names_();
    if (named.ok()) {
      sync_names_ = nullptr;
    } else {
      // The system drops what it could not store, and would say so only once.
      named.error().message += "; close the array and create it again";
      sync_names_ = [named] { return named; };
    }
    return named;
  }
  // What the first sync that succeeds has to make durable besides the bytes, on rank 0: the names
  // by which the array is found.
  void set_names(std::function<Status()> sync_names) { sync_names_ = std::move(sync_names); }
  // A write of the array begins, on all ranks or on this one alone: what was lost before is now
  // written again.
  enum class Writers { all_ranks, this_rank };
  void begin_writing(Writers writers) {
    (writers == Writers::all_ranks ? is_written_by_all_ : is_written_alone_) = true;
    is_to_be_written_again_ = false;
    if (written_alone_) written_alone_->forget_losses();
    for (auto* const view : {&by_chunks_, &by_shards_}) {
      if (*view) (*view)->engine->forget_losses();
    }
    for_each_engine_files([](storage::StoredFiles& files) { files.forget_losses(); });
  }
  Status close_files() {
    read_alone_.reset();
    written_alone_.reset();
    return for_each_files([](storage::StoredFiles& files) { return files.close(); });
  }
  // The files as this rank opens them to move bytes without the others (own_region.hpp).
  [[nodiscard]] storage::DataFileCache& files_alone(Direction direction) {
    using Use = storage::DataFileCache::Use;
    auto& files = direction == Direction::write ? written_alone_ : read_alone_;
    if (files == nullptr) {
      files = std::make_unique<storage::DataFileCache>(
          direction == Direction::write ? Use::writing : Use::reading, engines_->slice_mover(),
          origin_.closing);
    }
    return *files;
  }
  // The array as it is stored, all steps and encoded chunks included: for who moves it alone.
  [[nodiscard]] const storage::StoredArray& stored() const {
    if (stored_alone_ == nullptr) {
      const storage::ExtentMap& map = stored_ ? *stored_ : map_;
      stored_alone_ =
          std::make_unique<const storage::StoredArray>(storage::StoredArray{{.name = origin_.name,
                                                                             .shape = map.shape,
                                                                             .type = map.type,
                                                                             .order = map.order,
                                                                             .fill = origin_.fill},
                                                                            map});
    }
    return *stored_alone_;
  }
  // What a byte swap reverses together; 1: nothing is swapped.
  [[nodiscard]] std::int64_t swapped_together() const { return swapped_; }

  // The array has other extents, or its files other names. What was written is not forgotten, as
  // OpenFiles knows it, and neither is what closing tells of it. Nobody would close files later of
  // which only the old map knew: once their steps are dropped, other files get their names.
  void set_map(storage::ExtentMap map) {
    if (!(map.files == map_.files)) {
      for (auto& files : engine_files_) {
        if (files) (void)files->close();
        files.reset();
      }
      read_alone_.reset();  // they know files by their names
      written_alone_.reset();
    }
    map_ = std::move(map);
    image_.reset();
    decode();
    find_place();
  }
  // The checksums of its bytes; not of encoded chunks, which have codecs for that.
  [[nodiscard]] storage::ArraySums& sums() { return sums_; }
  // After the last piece of a read, on every rank. `whole`: all elements were asked for.
  [[nodiscard]] Status end_reading(bool whole) {
    using Completing = storage::ArraySums::Completing;
    return sums_.end_reading(whole ? Completing::of_whole : Completing::nearly_whole,
                             [this](const storage::StoredRange& range) {
                               storage::FileTraffic traffic;
                               return files().read({&range, 1}, traffic);
                             });
  }
  // Encoded chunks: those that only a request that knows of them may write. map() is then that of a
  // file that there seems to be (storage/encoded/decoded_engine.hpp).
  [[nodiscard]] const storage::EncodedChunks* encoded() const {
    return stored_ ? stored_->encoded() : nullptr;
  }
  // Whether encoded chunks are found by a table, which a commit changes.
  [[nodiscard]] bool has_chunk_table() const {
    return stored_ && std::holds_alternative<storage::EncodedTable>(stored_->encoded()->places);
  }
  // Where the chunks of such an array go; nothing: they are only read.
  void give_places(storage::EncodedWriter::PlaceSource source) {
    source_ = std::move(source);
    if (stored_) {
      map_ = *std::exchange(stored_, std::nullopt);
      decode();
    }
  }
  [[nodiscard]] bool has_places() const { return static_cast<bool>(source_); }
  // Whether requests that write have shards as chunks, so that each is one aggregator's.
  [[nodiscard]] bool writes_by_shards() const { return by_shards_.has_value(); }
  [[nodiscard]] std::int64_t most_encoded_bytes() const {
    return by_chunks_ ? by_chunks_->engine->most_encoded_bytes() : 0;
  }
  // The chunks that this rank wrote since this was last called.
  [[nodiscard]] Result<std::vector<storage::EncodedTable::Entry>> take_written_chunks() {
    if (!by_chunks_) return std::vector<storage::EncodedTable::Entry>();
    return by_chunks_->engine->take_written();
  }
  // After the last piece of a write, on every rank.
  [[nodiscard]] Status end_writing() {
    Status shards = by_shards_ ? by_shards_->engine->end() : Status();
    Status chunks = by_chunks_ ? by_chunks_->engine->end() : Status();
    return shards.ok() ? chunks : shards;
  }
  // Selects the step that requests move of an array that grows. Nothing: requests are refused.
  void select_step(std::optional<std::int64_t> step) {
    step_ = step;
    image_.reset();
    find_place();
  }
  [[nodiscard]] std::optional<std::int64_t> step() const { return step_; }
  // Why requests are refused at the moment; "": they are not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  void refuse_writing(std::string why) { refusal_ = std::move(why); }

  // What requests move at the moment, for file domains of this alignment.
  [[nodiscard]] Result<StepImage> image(std::int64_t alignment, Direction direction) {
    if (!decodable_.ok()) return decodable_.error();
    if (!image_ || image_alignment_ != alignment || image_direction_ != direction) {
      const auto& view = decoded(direction);
      auto made = image_of(view ? view->map : map_, origin_.grows ? step_ : std::nullopt, alignment,
                           view ? Chunks::are_whole : Chunks::may_be_shared);
      if (!made) return made;
      image_ = std::move(made).value();
      image_alignment_ = alignment;
      image_direction_ = direction;
    }
    return *image_;
  }

  // Whether a write failed since this was forgotten: what the array then holds is not defined.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  void set_failed() { has_failed_ = true; }
  void forget_failure() { has_failed_ = false; }

  // After a step whose end failed, what was written in it may be on no storage or in part, while
  // its places in the file are those of the step that is begun instead.
  [[nodiscard]] bool is_to_be_written_again() const { return is_to_be_written_again_; }
  void leave_step(bool is_committed) {
    const bool is_written = is_written_by_all_ || is_written_alone_;
    is_to_be_written_again_ = !is_committed && (is_to_be_written_again_ || is_written);
    is_written_by_all_ = false;
    is_written_alone_ = false;
    if (!is_committed && origin_.grows) abandon_files();
  }
  // Whether all ranks made a write of it in the step, and whether this one did without the others.
  [[nodiscard]] bool is_written_by_all() const { return is_written_by_all_; }
  [[nodiscard]] bool is_written_alone() const { return is_written_alone_; }
  // A step that was left is given up: the next one has nothing of it, so nothing has to be written
  // again.
  void forget_step() {
    has_failed_ = false;
    is_to_be_written_again_ = false;
  }

  // On rank 0, where this run made the array: no other run makes it anew before it is closed.
  void set_lock(storage::WriterLock lock) { lock_ = std::move(lock); }

  [[nodiscard]] bool closed() const { return closed_; }
  void set_closed() { closed_ = true; }

 private:
  // Room for the next attempt of a step may be made without the files of the one that failed: who
  // kept those open would write to files that have no name. Only files in a grid are made anew.
  // What could not be closed is remembered as lost, and the step has to be written again.
  void abandon_files() {
    read_alone_.reset();
    if (!(stored_ ? *stored_ : map_).files.are_in_grid()) return;
    written_alone_.reset();
    (void)for_each_files([](storage::StoredFiles& files) { return files.abandon(); });
  }
  template <typename Do>
  void for_each_engine_files(const Do& act) {
    for (auto* const view : {&by_chunks_, &by_shards_}) {
      if (*view) act(*(*view)->files);
    }
    for (auto& files : engine_files_) {
      if (files) act(*files);
    }
  }
  // The first error; whatever it is, all are seen to.
  template <typename Do>
  Status for_each_files(const Do& act) {
    Status first;
    for_each_engine_files([&](storage::StoredFiles& files) {
      Status done = act(files);
      if (first.ok()) first = std::move(done);
    });
    return first;
  }
  // After map or step have changed.
  void find_place() {
    kind_ = 0;
    const auto place = stored_ ? std::nullopt : place_of_step(map_, origin_.grows, step_);
    place_ = place.value_or(-1);
    swapped_ = map_.byte_order == storage::ByteOrder::little
                   ? 1
                   : storage::bytes_swapped_together(map_.type);
    sums_.set_place(map_, origin_.grows ? step_ : std::nullopt);
  }
  // Encoded chunks, decoded, as a file that there seems to be.
  struct Decoded {
    storage::ExtentMap map;
    std::shared_ptr<storage::DecodedEngine> engine;
    std::optional<storage::StoredFiles> files;
  };
  Result<Decoded> decoded_by(storage::EncodedBlocks blocks) const {
    auto engine =
        storage::DecodedEngine::create({{.name = origin_.name,
                                         .shape = map_.shape,
                                         .type = map_.type,
                                         .order = map_.order,
                                         .fill = origin_.fill},
                                        map_},
                                       blocks, source_, engines_->slice_mover(), origin_.closing);
    if (!engine) return engine.error();
    Decoded decoded{engine.value()->slabs().view(origin_.path + ":" + origin_.name),
                    std::move(engine).value(), std::nullopt};
    decoded.files.emplace(decoded.map.files, origin_.writable,
                          std::make_shared<storage::OpenFiles>(decoded.engine));
    return decoded;
  }
  // Goes on with decoded chunks where they are encoded.
  void decode() {
    stored_alone_.reset();
    stored_.reset();
    by_chunks_.reset();
    by_shards_.reset();
    decodable_ = {};
    if (map_.encoded() == nullptr) return;
    stored_ = map_;
    auto chunks = decoded_by(storage::EncodedBlocks::chunks);
    if (!chunks) {
      decodable_ = chunks.error();
      return;
    }
    if (std::holds_alternative<storage::EncodedShards>(map_.encoded()->places)) {
      auto shards = decoded_by(storage::EncodedBlocks::shards);
      const bool short_enough = shards && shards.value().engine->slabs().bytes() <=
                                              storage::ChunkSlabs::most_shard_slab_bytes;
      if (short_enough) by_shards_ = std::move(shards).value();
    }
    by_chunks_ = std::move(chunks).value();
    map_ = by_chunks_->map;
  }
  // What requests in a direction move; nothing: the chunks are not encoded.
  [[nodiscard]] std::optional<Decoded>& decoded(Direction direction) {
    return direction == Direction::write && by_shards_ ? by_shards_ : by_chunks_;
  }

  // What every request looks at comes first, in a cache line or two.
  bool closed_ = false;
  bool has_failed_ = false;
  bool is_written_by_all_ = false;
  bool is_written_alone_ = false;
  bool is_to_be_written_again_ = false;
  plan::Engine engine_ = plan::Engine::posix;
  Direction direction_ = Direction::read;
  std::uint64_t kind_ = 0;
  std::int64_t place_ = -1;
  std::int64_t swapped_ = 1;
  std::optional<std::int64_t> step_;
  std::string refusal_;
  ArrayOrigin origin_;
  storage::ExtentMap map_;
  std::shared_ptr<EngineSet> engines_;
  array::Shape shape_;
  std::vector<std::optional<storage::StoredFiles>> engine_files_;  // of those that were used
  std::optional<storage::ExtentMap> stored_;  // of encoded chunks, as they really are
  storage::EncodedWriter::PlaceSource source_;
  std::optional<Decoded> by_chunks_;  // for reading; for writing, too, unless there are shards
  std::optional<Decoded> by_shards_;
  Status decodable_;
  std::unique_ptr<storage::DataFileCache> read_alone_;  // null: nothing was
  std::unique_ptr<storage::DataFileCache> written_alone_;
  std::function<Status()> sync_names_;  // null: nothing is left to do
  storage::WriterLock lock_;
  mutable std::unique_ptr<const storage::StoredArray> stored_alone_;  // null: not asked for yet
  storage::ArraySums sums_;
  std::optional<StepImage> image_;
  std::int64_t image_alignment_ = 0;
  Direction image_direction_ = Direction::read;
};

}  // namespace weir::aggregation
