// Weir's library, through its public header: an array file, or a file of a standard format with one
// array or several. One session serves all files, as it would serve the steps of an application, so
// that plans are reused.
#include <fmt/format.h>
#include <weir/weir.h>

#include <array>
#include <utility>
#include <vector>

#include "array/record_members.hpp"
#include "interfaces/interface.hpp"

namespace weir::bench {
namespace {

constexpr const char* no_path = "";

Status outcome(const char* operation, const std::string& path, int code) {
  if (code >= 0) return {};
  Error error(code == WEIR_E_DEADLINE || code == WEIR_E_BROKEN ? ErrorCode::deadline
              : code == WEIR_E_ARGUMENT                        ? ErrorCode::invalid_argument
              : code == WEIR_E_MEMORY                          ? ErrorCode::insufficient
                                                               : ErrorCode::io,
              weir_last_error(), path);
  error.operation = operation;
  return error;
}

const char* durability_of(const SessionSettings& settings) {
  if (settings.in_journal) return "journal";
  return settings.durability == storage::Durability::none ? "none" : "step";
}

class WeirFile final : public File {
 public:
  WeirFile(const FileRequest& request, weir_session* session, weir_distribution* distribution)
      : path_(request.path), part_(*request.part), session_(session), distribution_(distribution) {}
  WeirFile(const WeirFile&) = delete;
  WeirFile& operator=(const WeirFile&) = delete;
  // The session closes array and file if close() was not called.
  ~WeirFile() override = default;

  Status open(const FileRequest& request, const std::string& format,
              const SessionSettings& settings) {
    if (format.empty()) {
      return request.create ? create_array(request, settings) : open_array(request);
    }
    return request.create ? create_file(request, format, settings) : open_file(request);
  }

  // Prints how transfers like this one will be done.
  Status explain(bool writing) {
    const weir_section asked = section();
    const weir_transfer one = transfer_of(asked);
    const char* text = nullptr;
    const int code =
        weir_session_explain(session_, writing ? WEIR_WRITE : WEIR_READ, 1, &one, &text);
    if (code < 0) return outcome("weir_session_explain", path_, code);
    fmt::print(stderr, "{}: {}\n", writing ? "write" : "read", text);
    return {};
  }

  Status move_part(Direction direction, std::byte* memory) override {
    const bool writing = direction == Direction::write;
    const weir_section asked = section();
    weir_transfer one = transfer_of(asked);
    one.data = memory;
    const int code =
        writing ? weir_write_many(session_, 1, &one) : weir_read_many(session_, 1, &one);
    return outcome(writing ? "weir_write_many" : "weir_read_many", path_, code);
  }

  Status sync() override {
    if (std::exchange(in_step_, false)) return end_step();
    return outcome("weir_array_sync", path_, weir_array_sync(array_));
  }

  Status close() override {
    if (file_ == nullptr) return outcome("weir_array_close", path_, weir_array_close(&array_));
    if (std::exchange(in_step_, false)) {
      if (Status ended = end_step(); !ended) return ended;
    }
    return outcome("weir_file_close", path_, weir_file_close(&file_));
  }

  [[nodiscard]] std::optional<StageTimes> stages() const override {
    weir_figures figures = {};
    if (weir_session_figures(session_, &figures) < 0) return std::nullopt;
    return StageTimes{.planning_ns = figures.plan_ns,
                      .gathering_ns = figures.gather_ns,
                      .storage_ns = figures.storage_ns,
                      .waiting_ns = figures.wait_ns,
                      .aggregators = figures.aggregators,
                      .bytes_stored = figures.bytes_stored};
  }

 private:
  Status create_array(const FileRequest& request, const SessionSettings& settings) {
    const array::Indices& shape = part_.shape().extents();
    weir_array_options options = {};
    options.order = settings.column_major ? WEIR_COLUMN_MAJOR : WEIR_ROW_MAJOR;
    options.files = settings.layout == FileLayout::per_aggregator ? WEIR_FILE_PER_AGGREGATOR
                    : settings.layout == FileLayout::per_rank     ? WEIR_FILE_PER_RANK
                                                                  : WEIR_SHARED_FILE;
    if (settings.chunk) options.chunks = settings.chunk->begin();
    std::vector<const char*> directories;
    directories.reserve(settings.directories.size());
    for (const std::string& one : settings.directories) directories.push_back(one.c_str());
    if (directories.size() > 1) {
      options.directories = directories.data();
      options.directory_count = static_cast<std::int64_t>(directories.size());
    }
    const int code = weir_array_create(session_, request.path.c_str(), shape.size(), shape.begin(),
                                       part_.type().name().c_str(), &options, &array_);
    return outcome("weir_array_create", path_, code);
  }

  Status open_array(const FileRequest& request) {
    weir_open_options options = {};
    options.read_only = request.write ? 0 : 1;
    const int code = weir_array_open(session_, path_.c_str(), &options, &array_);
    return outcome("weir_array_open", path_, code);
  }

  // Creates a file with one step. Writing it again changes it in place.
  Status create_file(const FileRequest& request, const std::string& format,
                     const SessionSettings& settings) {
    const array::Indices& shape = part_.shape().extents();
    weir_file_options options = {};
    options.format = format.c_str();
    options.durability = durability_of(settings);
    weir_define_options defined = {};
    if (settings.chunk) defined.chunks = settings.chunk->begin();
    if (!settings.codec.empty()) defined.codec = settings.codec.c_str();
    int code = weir_file_create(session_, path_.c_str(), &options, &file_);
    if (code >= 0) {
      code = weir_file_define(file_, request.name, shape.size(), shape.begin(),
                              part_.type().name().c_str(), &defined, &array_);
    }
    if (code < 0) return outcome("weir_file_define", path_, code);
    code = weir_file_step_begin(file_);
    in_step_ = code >= 0;
    return outcome("weir_file_step_begin", path_, code);
  }

  Status open_file(const FileRequest& request) {
    weir_file_open_options options = {};
    options.read_only = request.write ? 0 : 1;
    options.rewrite = request.write ? 1 : 0;
    options.durability = "none";  // sync() makes the data durable
    int code = weir_file_open(session_, path_.c_str(), &options, &file_);
    if (code >= 0) code = weir_file_array(file_, request.name, &array_);
    return outcome("weir_file_open", path_, code);
  }

  Status end_step() { return outcome("weir_file_step_end", path_, weir_file_step_end(file_)); }

  [[nodiscard]] weir_section section() const {
    const array::Section& asked = part_.section();
    return {
        .start = asked.start.begin(), .count = asked.count.begin(), .stride = asked.stride.begin()};
  }
  [[nodiscard]] weir_transfer transfer_of(const weir_section& section) const {
    weir_transfer one = {};
    one.array = array_;
    one.distribution = distribution_;
    one.section = part_.is_section() ? &section : nullptr;
    return one;
  }

  std::string path_;
  const Part& part_;
  weir_session* session_;
  weir_distribution* distribution_;
  weir_array* array_ = nullptr;
  weir_file* file_ = nullptr;
  bool in_step_ = false;
};

// A file of a standard format with several arrays and one step. A distribution belongs to each.
class WeirArraysFile final : public File {
 public:
  WeirArraysFile(const FileRequest& request, weir_session* session,
                 std::vector<weir_distribution*> distributions)
      : path_(request.path),
        boxes_(*request.arrays),
        session_(session),
        distributions_(std::move(distributions)),
        arrays_(boxes_.size(), nullptr) {}

  Status open(const FileRequest& request, const std::string& format,
              const SessionSettings& settings) {
    return request.create ? create(format, settings) : open_existing();
  }

  Status move_boxes(Direction direction, std::span<std::byte* const> memory) override {
    std::vector<weir_transfer> all(boxes_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].array = arrays_[i];
      all[i].distribution = distributions_[i];
      all[i].data = memory[i];
      all[i].data_bytes = boxes_[i].bytes();
    }
    const auto count = static_cast<std::int32_t>(all.size());
    const bool writing = direction == Direction::write;
    const int code = writing ? weir_write_many(session_, count, all.data())
                             : weir_read_many(session_, count, all.data());
    return outcome(writing ? "weir_write_many" : "weir_read_many", path_, code);
  }

  Status sync() override {
    in_step_ = false;
    return outcome("weir_file_step_end", path_, weir_file_step_end(file_));
  }

  Result<bool> stored(double seconds) override {
    if (seconds > 0) {
      Status waited = outcome("weir_file_step_wait", path_, weir_file_step_wait(file_, seconds));
      if (!waited) return waited.error();
      return true;
    }
    std::int32_t is_stored = 0;
    Status tested = outcome("weir_file_step_test", path_, weir_file_step_test(file_, &is_stored));
    if (!tested) return tested.error();
    return is_stored != 0;
  }

  Status close() override {
    if (in_step_) {
      if (Status ended = sync(); !ended) return ended;
    }
    return outcome("weir_file_close", path_, weir_file_close(&file_));
  }

 private:
  Status create(const std::string& format, const SessionSettings& settings) {
    weir_file_options options = {};
    options.format = format.c_str();
    options.durability = durability_of(settings);
    options.unwritten = "error";
    int code = weir_file_create(session_, path_.c_str(), &options, &file_);
    for (std::size_t i = 0; i < boxes_.size() && code >= 0; ++i) code = define(i);
    if (code < 0) return outcome("weir_file_define", path_, code);
    code = weir_file_step_begin(file_);
    in_step_ = code >= 0;
    return outcome("weir_file_step_begin", path_, code);
  }

  int define(std::size_t number) {
    const ArrayBox& one = boxes_[number];
    std::vector<const char*> names;
    names.reserve(one.dimension_names.size());
    for (const std::string& name : one.dimension_names) names.push_back(name.c_str());
    weir_define_options options = {};
    options.dimension_names = names.data();
    const int code =
        weir_file_define(file_, one.name.c_str(), one.extents.size(), one.extents.begin(),
                         one.type.name().c_str(), &options, &arrays_[number]);
    if (code < 0 || one.members.empty()) return code;
    return weir_file_attribute_text(file_, one.name.c_str(), array::record_members_attribute,
                                    one.members.c_str());
  }

  Status open_existing() {
    weir_file_open_options options = {};
    options.read_only = 1;
    int code = weir_file_open(session_, path_.c_str(), &options, &file_);
    for (std::size_t i = 0; i < boxes_.size() && code >= 0; ++i) {
      code = weir_file_array(file_, boxes_[i].name.c_str(), &arrays_[i]);
    }
    return outcome("weir_file_open", path_, code);
  }

  std::string path_;
  const std::vector<ArrayBox>& boxes_;
  weir_session* session_;
  std::vector<weir_distribution*> distributions_;
  std::vector<weir_array*> arrays_;
  weir_file* file_ = nullptr;
  bool in_step_ = false;
};

class WeirSession final : public Session {
 public:
  WeirSession(std::string_view format, const SessionSettings& settings)
      : Session(settings), format_(format) {}
  WeirSession(const WeirSession&) = delete;
  WeirSession& operator=(const WeirSession&) = delete;
  // The session is abandoned because the other ranks may be anywhere in the code.
  ~WeirSession() override {
    free_distributions();
    if (session_ != nullptr) weir_session_abandon(&session_);
  }

  Status open_session() {
    weir_session_options options = {};
    options.deadline_seconds = settings().deadline_seconds;
    if (!settings().strategy.empty()) options.strategy = settings().strategy.c_str();
    if (!settings().engine.empty()) options.engine = settings().engine.c_str();
    options.aggregators = settings().aggregators;
    options.buffer_bytes = settings().buffer_bytes;
    options.buffers = settings().buffers;
    options.ranks_per_node = settings().ranks_per_node;
    if (!settings().io_groups.empty()) options.io_groups = settings().io_groups.c_str();
    if (!settings().placement.empty()) options.aggregator_placement = settings().placement.c_str();
    if (!settings().staging.empty()) options.staging = settings().staging.c_str();
    options.durability = settings().in_journal ? "journal" : "step";
    const int code = weir_session_open(settings().communicator, &options, &session_);
    return outcome("weir_session_open", no_path, code);
  }

  Status prepare(const Part& part) override {
    auto distribution = distribution_of(part);
    return distribution ? Status() : Status(distribution.error());
  }

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    if (request.arrays != nullptr) return open_arrays(request);
    auto distribution = distribution_of(*request.part);
    if (!distribution) return distribution.error();
    auto file = std::make_unique<WeirFile>(request, session_, distribution.value());
    Status status = file->open(request, format_, settings());
    if (status.ok() && request.explain && !std::exchange(explained_[request.write], true)) {
      status = file->explain(request.write);
    }
    if (!status) return status.error();
    return std::unique_ptr<File>(std::move(file));
  }

  // There are figures only after the first transfer.
  [[nodiscard]] std::int64_t blocked_ns() const override {
    weir_figures figures = {};
    return weir_session_figures(session_, &figures) < 0 ? 0 : figures.blocked_so_far_ns;
  }

  // An array file has a description beside it.
  [[nodiscard]] std::vector<FileName> names(const FileRequest& request) const override {
    int rank = 0;
    MPI_Comm_rank(request.communicator, &rank);
    const std::string& path = request.path;
    std::vector<FileName> names;
    const bool shared = settings().layout == FileLayout::shared;
    if (rank == 0) names.push_back({.path = path + ".json", .must_be = true, .bytes = 1});
    if (shared && rank == 0) {
      names.push_back({.path = path, .must_be = true, .bytes = request.part->array_bytes()});
    }
    // There are as many files as aggregators, which are ranks.
    if (!shared) {
      names.push_back({.path = fmt::format("{}.{}", path, rank), .must_be = false, .bytes = 0});
    }
    return names;
  }

  Status close() override {
    free_distributions();
    return outcome("weir_session_close", no_path, weir_session_close(&session_));
  }

 private:
  struct Made {
    std::string formats;
    array::Indices shape;
    array::Indices grid;
    weir_distribution* distribution;
  };

  // Makes each distribution once. Collective when it is new.
  Result<weir_distribution*> distribution_of(const Part& part) {
    const array::Indices& shape = part.shape().extents();
    const array::Indices& grid = part.distribution().grid().extents;
    for (const Made& one : distributions_) {
      if (one.formats == part.formats() && one.shape == shape && one.grid == grid) {
        return one.distribution;
      }
    }
    weir_distribution_options options = {};
    options.grid = grid.begin();
    weir_distribution* made = nullptr;
    const int code = weir_distribution_create(session_, shape.size(), shape.begin(),
                                              part.formats().c_str(), &options, &made);
    if (code < 0) return outcome("weir_distribution_create", no_path, code).error();
    distributions_.push_back({part.formats(), shape, grid, made});
    return made;
  }

  struct MadeOfBoxes {
    array::Indices extents;
    int division;
    weir_distribution* distribution;
  };

  Result<std::unique_ptr<File>> open_arrays(const FileRequest& request) {
    std::vector<weir_distribution*> distributions;
    for (const ArrayBox& one : *request.arrays) {
      auto distribution = distribution_of(one);
      if (!distribution) return distribution.error();
      distributions.push_back(distribution.value());
    }
    auto file = std::make_unique<WeirArraysFile>(request, session_, std::move(distributions));
    if (Status status = file->open(request, format_, settings()); !status) return status.error();
    return std::unique_ptr<File>(std::move(file));
  }

  // Makes each distribution once. Collective when it is new: all ranks find the same ones, whatever
  // their boxes are.
  Result<weir_distribution*> distribution_of(const ArrayBox& wanted) {
    for (const MadeOfBoxes& one : box_distributions_) {
      if (one.extents == wanted.extents && one.division == wanted.division) {
        return one.distribution;
      }
    }
    const array::Box& box = wanted.box;
    weir_distribution* made = nullptr;
    const int code = weir_distribution_from_boxes(session_, wanted.extents.size(),
                                                  wanted.extents.begin(), box.empty() ? 0 : 1,
                                                  box.lower.begin(), box.extent.begin(), &made);
    if (code < 0) return outcome("weir_distribution_from_boxes", no_path, code).error();
    box_distributions_.push_back({wanted.extents, wanted.division, made});
    return made;
  }

  void free_distributions() {
    for (Made& one : distributions_) weir_distribution_free(&one.distribution);
    for (MadeOfBoxes& one : box_distributions_) weir_distribution_free(&one.distribution);
    distributions_.clear();
    box_distributions_.clear();
  }

  std::string format_;  // "": an array file
  weir_session* session_ = nullptr;
  std::vector<Made> distributions_;
  std::vector<MadeOfBoxes> box_distributions_;
  std::array<bool, 2> explained_ = {};  // reading, writing
};

}  // namespace

Result<std::unique_ptr<Session>> open_weir(const Interface& interface,
                                           const SessionSettings& settings) {
  auto session = std::make_unique<WeirSession>(interface.format, settings);
  if (Status opened = session->open_session(); !opened) return opened.error();
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace weir::bench
