// Weir's own interface, through its public header. One session serves all repetitions, as it would
// serve the steps of an application, so that plans are reused.
#include <fmt/format.h>
#include <weir/weir.h>

#include <utility>
#include <vector>

#include "interfaces/library.hpp"
#include "workloads/array/channel.hpp"

namespace weir::bench::array_io {
namespace {

class Session final : public Kept {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // The session is abandoned because the other ranks may be anywhere in the code.
  ~Session() override {
    if (session_ != nullptr) weir_session_abandon(&session_);
  }

  Status open(const ChannelRequest& request) {
    weir_session_options options = {};
    options.deadline_seconds = request.job.deadline_seconds;
    options.strategy = request.options.strategy.c_str();
    options.engine = request.options.engine.c_str();
    options.aggregators = request.options.aggregators;
    options.buffer_bytes = request.options.buffer_bytes;
    options.buffers = request.options.buffers;
    const int code = weir_session_open(request.job.world, &options, &session_);
    return weir_outcome("weir_session_open", request.path, code);
  }

  Status close() override {
    return weir_outcome("weir_session_close", "", weir_session_close(&session_));
  }

  [[nodiscard]] weir_session* handle() const { return session_; }
  // Prints, once for each direction, how transfers like this one will be done.
  Status explain(const weir_transfer& transfer, bool writing, const std::string& path) {
    bool& explained = writing ? write_explained_ : read_explained_;
    if (std::exchange(explained, true)) return {};
    const char* text = nullptr;
    const int code =
        weir_session_explain(session_, writing ? WEIR_WRITE : WEIR_READ, 1, &transfer, &text);
    if (code < 0) return weir_outcome("weir_session_explain", path, code);
    fmt::print(stderr, "{}: {}\n", writing ? "write" : "read", text);
    return {};
  }

 private:
  weir_session* session_ = nullptr;
  bool write_explained_ = false;
  bool read_explained_ = false;
};

class WeirChannel final : public Channel {
 public:
  WeirChannel(const ChannelRequest& request, weir_session* session)
      : path_(request.path),
        format_(format_of(request.api)),
        session_(session),
        section_(!request.whole && request.geometry.is_section()) {
    const array::Section& asked = request.geometry.asked;
    start_ = asked.start;
    count_ = asked.count;
    stride_ = asked.stride;
  }
  WeirChannel(const WeirChannel&) = delete;
  WeirChannel& operator=(const WeirChannel&) = delete;
  // The session closes array and file if close() was not called.
  ~WeirChannel() override { weir_distribution_free(&distribution_); }

  Status open(const ChannelRequest& request) {
    const Geometry& geometry = request.geometry;
    Status status = make_distribution(request, geometry.formats_of(request.part.distribution()),
                                      request.part.distribution());
    if (status.ok()) status = request.create ? create(request) : open_existing(request);
    return status;
  }

  Status explain(Session& session, bool writing) {
    const weir_section asked = section();
    return session.explain(transfer_of(asked), writing, path_);
  }

  Status write(const std::byte* memory) override {
    // Writing only reads from `memory`.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    return transfer(true, const_cast<std::byte*>(memory));
  }
  Status read(std::byte* memory) override { return transfer(false, memory); }

  Status sync() override {
    if (std::exchange(in_step_, false)) return end_step();
    return weir_outcome("weir_array_sync", path_, weir_array_sync(array_));
  }

  Status close() override {
    if (file_ == nullptr) {
      return weir_outcome("weir_array_close", path_, weir_array_close(&array_));
    }
    if (std::exchange(in_step_, false)) {
      if (Status ended = end_step(); !ended) return ended;
    }
    return weir_outcome("weir_file_close", path_, weir_file_close(&file_));
  }

  [[nodiscard]] std::optional<StageTimes> stages() const override {
    weir_figures figures = {};
    if (weir_session_figures(session_, &figures) < 0) return std::nullopt;
    return StageTimes{.planning_ns = figures.plan_ns,
                      .gathering_ns = figures.gather_ns,
                      .storage_ns = figures.storage_ns,
                      .waiting_ns = figures.wait_ns,
                      .aggregators = figures.aggregators};
  }

 private:
  Status make_distribution(const ChannelRequest& request, const std::string& formats,
                           const array::RegularDistribution& distributed) {
    const array::Indices& shape = request.geometry.shape.extents();
    weir_distribution_options options = {};
    options.grid = distributed.grid().extents.begin();
    const int code = weir_distribution_create(session_, shape.size(), shape.begin(),
                                              formats.c_str(), &options, &distribution_);
    return weir_outcome("weir_distribution_create", path_, code);
  }

  // Creates a file of a standard format, with one step. Writing it again changes it in place.
  Status create_file(const ChannelRequest& request) {
    const array::Indices& shape = request.geometry.shape.extents();
    weir_file_options options = {};
    options.format = format_.c_str();
    options.durability = request.durability == storage::Durability::none ? "none" : "step";
    weir_define_options defined = {};
    if (request.options.chunk) defined.chunks = request.options.chunk->begin();
    if (!request.options.codec.empty()) defined.codec = request.options.codec.c_str();
    int code = weir_file_create(session_, path_.c_str(), &options, &file_);
    if (code >= 0) {
      code = weir_file_define(file_, "array", shape.size(), shape.begin(),
                              request.geometry.type.name().c_str(), &defined, &array_);
    }
    if (code < 0) return weir_outcome("weir_file_define", path_, code);
    code = weir_file_step_begin(file_);
    in_step_ = code >= 0;
    return weir_outcome("weir_file_step_begin", path_, code);
  }

  Status open_file(const ChannelRequest& request) {
    weir_file_open_options options = {};
    options.read_only = request.write ? 0 : 1;
    options.rewrite = request.write ? 1 : 0;
    options.durability = "none";  // sync() makes the data durable
    int code = weir_file_open(session_, path_.c_str(), &options, &file_);
    if (code >= 0) code = weir_file_array(file_, "array", &array_);
    return weir_outcome("weir_file_open", path_, code);
  }

  Status end_step() { return weir_outcome("weir_file_step_end", path_, weir_file_step_end(file_)); }

  Status create(const ChannelRequest& request) {
    if (!format_.empty()) return create_file(request);
    const array::Indices& shape = request.geometry.shape.extents();
    weir_array_options options = {};
    options.order = request.options.column_major ? WEIR_COLUMN_MAJOR : WEIR_ROW_MAJOR;
    options.files = request.options.layout == "per-aggregator" ? WEIR_FILE_PER_AGGREGATOR
                    : request.options.layout == "per-rank"     ? WEIR_FILE_PER_RANK
                                                               : WEIR_SHARED_FILE;
    if (request.options.chunk) options.chunks = request.options.chunk->begin();
    std::vector<const char*> directories;
    directories.reserve(request.directories.size());
    for (const std::string& one : request.directories) directories.push_back(one.c_str());
    if (directories.size() > 1) {
      options.directories = directories.data();
      options.directory_count = static_cast<std::int64_t>(directories.size());
    }
    const int code = weir_array_create(session_, path_.c_str(), shape.size(), shape.begin(),
                                       request.geometry.type.name().c_str(), &options, &array_);
    return weir_outcome("weir_array_create", path_, code);
  }

  Status open_existing(const ChannelRequest& request) {
    if (!format_.empty()) return open_file(request);
    weir_open_options options = {};
    options.read_only = request.write ? 0 : 1;
    const int code = weir_array_open(session_, path_.c_str(), &options, &array_);
    return weir_outcome("weir_array_open", path_, code);
  }

  [[nodiscard]] weir_section section() const {
    return {.start = start_.begin(), .count = count_.begin(), .stride = stride_.begin()};
  }
  weir_transfer transfer_of(const weir_section& section) {
    weir_transfer one = {};
    one.array = array_;
    one.distribution = distribution_;
    one.section = section_ ? &section : nullptr;
    return one;
  }

  Status transfer(bool writing, std::byte* memory) {
    const weir_section asked = section();
    weir_transfer one = transfer_of(asked);
    one.data = memory;
    const int code =
        writing ? weir_write_many(session_, 1, &one) : weir_read_many(session_, 1, &one);
    return weir_outcome(writing ? "weir_write_many" : "weir_read_many", path_, code);
  }

  std::string path_;
  std::string format_;
  weir_session* session_;
  bool section_;
  array::Indices start_;
  array::Indices count_;
  array::Indices stride_;
  weir_distribution* distribution_ = nullptr;
  weir_array* array_ = nullptr;
  weir_file* file_ = nullptr;
  bool in_step_ = false;
};

}  // namespace

Result<std::unique_ptr<Channel>> open_weir_channel(const ChannelRequest& request) {
  if (*request.kept == nullptr) {
    auto session = std::make_unique<Session>();
    if (Status opened = session->open(request); !opened) return opened.error();
    *request.kept = std::move(session);
  }
  auto& session = static_cast<Session&>(**request.kept);
  auto channel = std::make_unique<WeirChannel>(request, session.handle());
  if (Status opened = channel->open(request); !opened) return opened.error();
  // Only one rank explains, because explaining moves nothing. The transfer that writes the whole
  // array before a section is not explained.
  if (request.options.explain && !request.whole && request.job.rank == 0) {
    if (Status told = channel->explain(session, request.write); !told) return told.error();
  }
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace weir::bench::array_io
