// An array on disk that a Collective has open, accessed through its extent map in any format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/byte_account.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/engines/engine_set.hpp"
#include "aggregation/node_descriptors.hpp"
#include "aggregation/step_image.hpp"
#include "array/section.hpp"
#include "checksums/array_sums.hpp"
#include "engines/data_file_cache.hpp"
#include "engines/open_files.hpp"
#include "formats/file_map_message.hpp"
#include "formats/format.hpp"
#include "plan/parameters.hpp"
#include "sections/decoded_engine.hpp"
#include "sections/stored_files.hpp"
#include "stored/extent_map.hpp"
#include "stored/file_map.hpp"
#include "system/incomplete.hpp"
#include "topology/topology.hpp"
#include "transport/stager_client.hpp"

namespace weir::aggregation {

// Identifies the array behind an OpenArray. It is equal on all ranks.
// NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
struct ArrayOrigin {
  std::uint64_t number = 0;  // unique among the arrays of the Collective
  bool grows = false;        // along dimension 0; a request moves one step
  bool writable = false;
  bool sync_each = false;  // a write is durable when it returns
  // Others may write between what the ranks write, so that no write changes the bytes there.
  bool has_other_writers = false;
  std::shared_ptr<storage::OpenFiles> staged = {};  // files behind a stager; null: no stager
  // The names by which stagers open the files; nothing: those of the map.
  std::optional<storage::DataFiles> staged_as = {};
  // The reason why the session's stagers do not take the array; "": they take it, or there are
  // none.
  std::string not_staged = {};
  bool at_once = false;  // with `staged`: the array has no steps, whose ends it would wait for
  // Returns a file of decoded chunks that a stager encodes; null: the ranks encode.
  std::function<std::shared_ptr<storage::OpenFiles>(transport::StagedHandling)> to_encode = {};
  topology::FileTargets targets = {};      // as reported to rank 0 by the file system
  std::string path;                        // of the file
  std::string name = {};                   // within the file
  std::vector<std::byte> fill = {};        // one element; empty: zeros
  std::uint64_t file_number = 0;           // unique number of the open file that contains the array
  NodeDescriptors* descriptors = nullptr;  // of the node; null: files are opened directly
  // Treatment of files of chunks that are closed early, in a file whose steps are durable or
  // not.
  storage::DataFileCache::Closing closing = storage::DataFileCache::Closing::makes_durable;
  // Bytes that this rank wrote into the file in a step; null: the file is written in place.
  std::shared_ptr<StepAccount> account = {};
};
// NOLINTEND(readability-redundant-member-init)

// An array on disk, opened by a Collective. It opens no file before this rank has to move bytes, so
// that only aggregators ever open files. It must not outlive its Collective.
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

  // Returns the shape that requests move: the whole array, or one step if the array grows.
  [[nodiscard]] const array::Shape& shape() const { return shape_; }
  [[nodiscard]] const array::ElementType& type() const { return map_.type; }
  [[nodiscard]] const std::string& path() const { return origin_.path; }
  [[nodiscard]] const std::string& name() const { return origin_.name; }
  [[nodiscard]] bool writable() const { return origin_.writable; }

  // Returns whether the array may be written, so that the reason for a refusal need not be looked
  // up.
  [[nodiscard]] bool may_be_written() const { return origin_.writable && refusal_.empty(); }
  // Returns the offset, in the array's only file, of the first byte that requests move. Returns
  // nothing if the array is not dense there, or the selected step does not exist.
  [[nodiscard]] std::optional<std::int64_t> dense_place() const {
    return place_ < 0 ? std::nullopt : std::optional(place_);
  }
  // Arrays of the same kind, other than 0, differ only in their places: they have equal shape,
  // type, order, step and files. A kind is assigned to an array that has none; a change of the
  // array resets it.
  [[nodiscard]] std::uint64_t kind() const { return kind_; }
  void set_kind(std::uint64_t kind) { kind_ = kind; }
  // Returns whether both arrays are dense in the same file and may be of one kind.
  [[nodiscard]] bool is_alike(const OpenArray& other) const {
    return place_ >= 0 && other.place_ >= 0 && shape_ == other.shape_ &&
           map_.type == other.map_.type && map_.order == other.map_.order &&
           map_.byte_order == other.map_.byte_order && step_ == other.step_ &&
           origin_.grows == other.origin_.grows && origin_.targets == other.origin_.targets &&
           map_.files == other.map_.files;
  }
  // Says whether writes through a stager may come into the file in another order than that of the
  // calls, in which case no rank waits until the stager has them.
  [[nodiscard]] bool is_unordered() const { return is_unordered_; }
  void set_unordered(bool is_unordered) { is_unordered_ = is_unordered; }
  [[nodiscard]] const ArrayOrigin& origin() const { return origin_; }
  [[nodiscard]] std::uint64_t number() const { return origin_.number; }
  [[nodiscard]] const storage::ExtentMap& map() const { return map_; }
  // Moves bytes with the engine chosen last; encoded chunks have an engine of their own.
  void use_engine(plan::Engine engine, Direction direction) {
    engine_ = engine;
    turn(direction);
  }
  // Moves bytes in this direction, with the engine chosen last.
  void turn(Direction direction) { direction_ = direction; }
  [[nodiscard]] storage::StoredFiles& files() {
    if (decoded(direction_)) {
      if (is_staged(direction_) && !staged_files_) {
        staged_files_.emplace(decoded(direction_)->map.files, origin_.writable,
                              origin_.to_encode(*encoding_));
      }
      return is_staged(direction_) ? *staged_files_ : *decoded(direction_)->files;
    }
    if (is_staged(direction_)) {
      if (!staged_files_) {
        staged_files_.emplace(origin_.staged_as.value_or(map_.files), origin_.writable,
                              origin_.staged);
        staged_files_->set_sums(&sums_);
      }
      return *staged_files_;
    }
    auto& files = engine_files_.at(static_cast<std::size_t>(engine_));
    if (!files) {
      files.emplace(map_.files, origin_.writable, engines_->open_files(engine_));
      files->set_sums(&sums_);
      files->set_closing(origin_.closing);
      if (origin_.descriptors != nullptr) {
        files->set_opener([descriptors = origin_.descriptors, file = origin_.file_number,
                           user = static_cast<std::int32_t>(engine_)](
                              const std::string& path, const storage::OpenOptions& options) {
          return descriptors->open(path, options, file, user);
        });
      }
    }
    return *files;
  }
  // Returns whether requests write the array through a stager. How a stager encodes chunks whose
  // places are in a table is described within a step.
  [[nodiscard]] bool is_staged(Direction direction = Direction::write) const {
    return origin_.staged != nullptr && direction == Direction::write &&
           (!stored_ || encoding_.has_value() || (has_chunk_table() && origin_.to_encode));
  }
  // Returns why the ranks write the array although the session has stagers; "": they do not, or it
  // has none.
  [[nodiscard]] std::string why_not_staged() const {
    if (origin_.staged == nullptr || !stored_ || is_staged()) return origin_.not_staged;
    return has_long_shards()
               ? "a row of chunks in its shards has more than 64 MiB; with shorter rows the array "
                 "would be staged"
               : "its description is too long for a stager that would encode its chunks";
  }
  // Makes durable what this rank wrote, with any engine. Once bytes of the array are lost, each
  // later call fails, until begin_writing().
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
      // The system drops data that it could not store, and reports this only once.
      named.error().message += "; close the array and create it again";
      sync_names_ = [named] { return named; };
    }
    return named;
  }
  // Sets what the first successful sync() on rank 0 has to make durable in addition to the bytes:
  // the names by which the array is found.
  void set_names(std::function<Status()> sync_names) { sync_names_ = std::move(sync_names); }
  // Begins a write of the array, by all ranks or by this one alone. Data that were lost before are
  // now written again.
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
  // Returns the files as this rank opens them to move bytes without the others (own_region.hpp).
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
  // Returns the array as it is stored, including all steps and encoded chunks, for a rank that
  // moves it alone.
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
  // Lets the ranks write the array from now on.
  void leave_stager() {
    if (staged_files_) (void)staged_files_->close();
    staged_files_.reset();
    encoding_.reset();
    origin_.staged = nullptr;
    origin_.to_encode = nullptr;
    origin_.not_staged.clear();
  }
  // Returns the number of bytes that a byte swap reverses together; 1: nothing is swapped.
  [[nodiscard]] std::int64_t swapped_together() const { return swapped_; }

  // Remember what was handed to stagers of several nodes, and return whether some of it may not be
  // in the files yet: then it may be neither overwritten nor read. Null: the whole array, or the
  // whole of the selected step. `settlements` is the present number of SessionStaging.
  void note_handed_over(const array::Section* section, std::int64_t settlements) {
    forget_handed_over(settlements);
    const bool is_full = handed_over_.size() >= most_handed_over;
    if (is_full) handed_over_.clear();
    handed_over_.push_back(
        {step_,
         section == nullptr || is_full ? std::nullopt : std::optional(section->bounding_box()),
         is_full});
  }
  [[nodiscard]] bool is_handed_over(const array::Section* section, std::int64_t settlements) {
    forget_handed_over(settlements);
    return std::any_of(handed_over_.begin(), handed_over_.end(), [&](const HandedOver& one) {
      if (one.is_any_step) return true;
      if (one.step != step_) return false;
      return section == nullptr || !one.box || array::meet(*one.box, section->bounding_box());
    });
  }

  // Where several stagers encode chunks, each chunk has one stager throughout a step: remember the
  // aggregators of the step's first request, and return whether those of a later one differ.
  void note_chunk_writers(const plan::Parameters& chosen) { chunk_writers_ = chosen; }
  [[nodiscard]] bool has_other_chunk_writers(const plan::Parameters& chosen) const {
    return chunk_writers_ && *chunk_writers_ != chosen;
  }

  // Sets a map in which the array has other extents, or its files other names. OpenFiles still
  // remembers what was written, and what closing reports. Files that only the old map names are
  // closed now, since nothing would close them later: after their steps are dropped, other files
  // get their names.
  void set_map(storage::ExtentMap map) {
    if (!(map.files == map_.files)) {
      for (auto& files : engine_files_) {
        if (files) (void)files->close();
        files.reset();
      }
      if (staged_files_) (void)staged_files_->close();
      staged_files_.reset();
      read_alone_.reset();  // these caches identify files by name
      written_alone_.reset();
    }
    map_ = std::move(map);
    image_.reset();
    decode();
    find_place();
  }
  // Returns the checksums of the array's bytes; encoded chunks have none, since codecs serve for
  // that.
  [[nodiscard]] storage::ArraySums& sums() { return sums_; }
  // Called on every rank after the last piece of a read. `whole`: all elements were requested.
  [[nodiscard]] Status end_reading(bool whole) {
    using Completing = storage::ArraySums::Completing;
    return sums_.end_reading(whole ? Completing::of_whole : Completing::nearly_whole,
                             [this](const storage::StoredRange& range) {
                               storage::FileTraffic traffic;
                               return files().read({&range, 1}, traffic);
                             });
  }
  // Returns the encoded chunks, which only a request that supports them may write; null if there
  // are none. map() is then that of a virtual file (sections/decoded_engine.hpp).
  [[nodiscard]] const storage::EncodedChunks* encoded() const {
    return stored_ ? stored_->encoded() : nullptr;
  }
  // Returns whether encoded chunks are found through a table, which a commit changes.
  [[nodiscard]] bool has_chunk_table() const {
    return stored_ && std::holds_alternative<storage::EncodedTable>(stored_->encoded()->places);
  }
  // Sets where the chunks of such an array are written; without it they are only read. A stager
  // that encodes them writes them to places of its own, from `staged` on.
  void give_places(storage::EncodedWriter::PlaceSource source,
                   const transport::ChunkPlaces& staged = {}) {
    source_ = std::move(source);
    staged_places_ = staged;
    if (stored_) {
      map_ = *std::exchange(stored_, std::nullopt);
      decode();
    }
  }
  [[nodiscard]] bool has_places() const { return static_cast<bool>(source_); }
  // Learns the places of chunks of the last step that a stager has encoded, when they are needed
  // and by all ranks together. Null: the places are known.
  void set_late_places(std::function<Status()> learn) { learn_places_ = std::move(learn); }
  [[nodiscard]] bool has_late_places() const { return static_cast<bool>(learn_places_); }
  // Collective if the places are late.
  [[nodiscard]] Status learn_places() const {
    const std::function<Status()> learn = learn_places_;  // which sets it to null
    return learn ? learn() : Status();
  }
  // Returns whether the rows of chunks in its shards are so long that writing requests do not treat
  // shards as chunks, of which each belongs to one aggregator: one writes all of them.
  [[nodiscard]] bool has_long_shards() const {
    return stored_ && std::holds_alternative<storage::EncodedShards>(stored_->encoded()->places) &&
           !by_shards_;
  }
  [[nodiscard]] std::int64_t most_encoded_bytes() const {
    return by_chunks_ ? by_chunks_->engine->most_encoded_bytes() : 0;
  }
  // Returns the chunks that this rank wrote since the last call.
  [[nodiscard]] Result<std::vector<storage::EncodedTable::Entry>> take_written_chunks() {
    if (!by_chunks_) return std::vector<storage::EncodedTable::Entry>();
    return by_chunks_->engine->take_written();
  }
  // Called on every rank after the last piece of a write.
  [[nodiscard]] Status end_writing() {
    Status shards = by_shards_ ? by_shards_->engine->end() : Status();
    Status chunks = by_chunks_ ? by_chunks_->engine->end() : Status();
    return shards.ok() ? chunks : shards;
  }
  // Selects the step that requests move, for an array that grows. Nothing: requests are refused.
  void select_step(std::optional<std::int64_t> step) {
    step_ = step;
    image_.reset();
    find_place();
  }
  [[nodiscard]] std::optional<std::int64_t> step() const { return step_; }
  // Returns why requests are refused at the moment; "" if they are not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  void refuse_writing(std::string why) { refusal_ = std::move(why); }

  // Returns the image of what requests move at the moment, for file domains of this alignment.
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

  // Returns whether a write has failed since forget_failure(); the array's content is then
  // undefined.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  void set_failed() { has_failed_ = true; }
  void forget_failure() { has_failed_ = false; }

  // Returns true after the end of a step failed in which the array was written: its data may be
  // missing or incomplete on storage, while their places in the file belong to the step that is
  // begun instead.
  [[nodiscard]] bool is_to_be_written_again() const { return is_to_be_written_again_; }
  void leave_step(bool is_committed) {
    chunk_writers_.reset();
    const bool is_written = is_written_by_all_ || is_written_alone_;
    is_to_be_written_again_ = !is_committed && (is_to_be_written_again_ || is_written);
    is_written_by_all_ = false;
    is_written_alone_ = false;
    if (!is_committed && origin_.grows) abandon_files();
  }
  // Return whether all ranks wrote the array in the step, and whether this rank wrote it alone.
  [[nodiscard]] bool is_written_by_all() const { return is_written_by_all_; }
  [[nodiscard]] bool is_written_alone() const { return is_written_alone_; }
  // Called when a step is given up: the next step contains nothing of it, so nothing has to be
  // written again.
  void forget_step() {
    has_failed_ = false;
    is_to_be_written_again_ = false;
  }

  [[nodiscard]] bool closed() const { return closed_; }
  void set_closed() { closed_ = true; }

 private:
  // Abandons the files of a failed step: the next attempt may create other files, and a rank that
  // kept the old ones open would write to files without a name. Only files in a grid are created
  // anew. A file that could not be closed is recorded as lost, and the step has to be written
  // again.
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
    if (staged_files_) act(*staged_files_);
  }
  // Acts on all files even after an error, and returns the first error.
  template <typename Do>
  Status for_each_files(const Do& act) {
    Status first;
    for_each_engine_files([&](storage::StoredFiles& files) {
      Status done = act(files);
      if (first.ok()) first = std::move(done);
    });
    return first;
  }
  // Called after the map or the step has changed.
  void find_place() {
    kind_ = 0;
    const auto place = stored_ ? std::nullopt : place_of_step(map_, origin_.grows, step_);
    place_ = place.value_or(-1);
    swapped_ = map_.swapped_together();
    sums_.set_place(map_, origin_.grows ? step_ : std::nullopt);
  }
  // Encoded chunks, presented decoded as a virtual file.
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
  // Replaces the map by one of decoded chunks if the chunks are encoded.
  void decode() {
    stored_alone_.reset();
    stored_.reset();
    by_chunks_.reset();
    by_shards_.reset();
    if (encoding_) {  // the stager encodes by the map that it has
      if (staged_files_) (void)staged_files_->close();
      staged_files_.reset();
      encoding_.reset();
    }
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
    if (origin_.to_encode) describe_encoding();
  }
  // Lets a stager encode chunks that have files of their own, are in shards, or get places in a
  // step.
  void describe_encoding() {
    const bool in_table = has_chunk_table();
    if (in_table ? !has_places() : has_long_shards()) return;
    storage::FileMap map;
    map.arrays.push_back(stored());
    storage::ExtentMap& described = map.arrays.front().map;
    auto& places = std::get<storage::EncodedChunks>(described.extents).places;
    if (in_table) places = storage::EncodedTable();  // no chunk of the step has a place
    // The stager reads the index of each shard to which it adds chunks.
    if (auto* const shards = std::get_if<storage::EncodedShards>(&places)) shards->table = {};
    storage::DataFiles& files = described.files;
    auto parts = files.parts();
    parts.prefix = storage::absolute_path(parts.prefix);
    transport::StagedHandling encoding{.places = staged_places_};
    if (files.known() != nullptr) {
      encoding.known = *files.known();
      encoding.known->path = storage::absolute_path(encoding.known->path);
    }
    files = storage::DataFiles::of(std::move(parts));
    encoding.encoded = storage::message_of(map);
    if (in_table || encoding.encoded.size() <= longest_encoding) encoding_ = std::move(encoding);
  }
  // Returns the view that requests in a direction move; nothing if the chunks are not encoded.
  [[nodiscard]] std::optional<Decoded>& decoded(Direction direction) {
    return direction == Direction::write && by_shards_ ? by_shards_ : by_chunks_;
  }

  // Members that every request uses come first, within one or two cache lines.
  bool closed_ = false;
  bool has_failed_ = false;
  bool is_written_by_all_ = false;
  bool is_written_alone_ = false;
  bool is_to_be_written_again_ = false;
  plan::Engine engine_ = plan::Engine::posix;
  Direction direction_ = Direction::read;
  std::uint64_t kind_ = 0;
  bool is_unordered_ = false;
  std::int64_t place_ = -1;
  std::int64_t swapped_ = 1;
  std::optional<std::int64_t> step_;
  std::string refusal_;
  ArrayOrigin origin_;
  storage::ExtentMap map_;
  std::shared_ptr<EngineSet> engines_;
  array::Shape shape_;
  std::vector<std::optional<storage::StoredFiles>> engine_files_;  // of the engines used so far
  struct HandedOver {
    std::optional<std::int64_t> step;
    std::optional<array::Box> box;  // nothing: all
    bool is_any_step = false;
  };
  static constexpr std::size_t most_handed_over = 64;
  void forget_handed_over(std::int64_t settlements) {
    if (settlements != settlements_) handed_over_.clear();
    settlements_ = settlements;
  }

  std::vector<HandedOver> handed_over_;
  std::int64_t settlements_ = 0;
  // Bytes of a map that every rank sends at each step in which it writes the array.
  static constexpr std::size_t longest_encoding = std::size_t{1} << 20;
  std::optional<storage::StoredFiles> staged_files_;
  std::optional<transport::StagedHandling> encoding_;  // nothing: a stager does not encode
  std::optional<storage::ExtentMap> stored_;           // the true map if chunks are encoded
  storage::EncodedWriter::PlaceSource source_;
  transport::ChunkPlaces staged_places_;  // with `source_`
  std::function<Status()> learn_places_;
  std::optional<plan::Parameters> chunk_writers_;
  std::optional<Decoded> by_chunks_;  // for reading, and for writing unless there are shards
  std::optional<Decoded> by_shards_;
  Status decodable_;
  std::unique_ptr<storage::DataFileCache> read_alone_;  // null: no such read so far
  std::unique_ptr<storage::DataFileCache> written_alone_;
  std::function<Status()> sync_names_;                                // null: nothing is left to do
  mutable std::unique_ptr<const storage::StoredArray> stored_alone_;  // null: not used yet
  storage::ArraySums sums_;
  std::optional<StepImage> image_;
  std::int64_t image_alignment_ = 0;
  Direction image_direction_ = Direction::read;
};

// The arrays of a file, in their order.
using OpenArrays = std::span<const std::unique_ptr<OpenArray>>;

// Closes the files of all arrays, and returns the first error.
[[nodiscard]] inline Status close_files(OpenArrays arrays) {
  Status first;
  for (const auto& one : arrays) {
    Status closed = one->close_files();
    if (first.ok()) first = std::move(closed);
  }
  return first;
}

}  // namespace weir::aggregation
