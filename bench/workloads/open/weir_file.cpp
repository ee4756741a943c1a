// Weir's library, through its public header. One session serves all repetitions, as it would serve
// all files of an application.
#include <fmt/format.h>
#include <weir/weir.h>

#include <array>
#include <utility>

#include "interfaces/library.hpp"
#include "workloads/open/shared_file.hpp"

namespace weir::bench::opening {
namespace {

class WeirFile final : public SharedFile {
 public:
  explicit WeirFile(const FileRequest& request)
      : request_(request), shape_{request.who.ranks, request.options.bytes / 8} {}
  WeirFile(const WeirFile&) = delete;
  WeirFile& operator=(const WeirFile&) = delete;
  ~WeirFile() override {
    weir_distribution_free(&distribution_);
    if (session_ != nullptr) weir_session_abandon(&session_);
  }

  Status begin() {
    weir_session_options options = {};
    options.deadline_seconds = request_.deadline_seconds;
    options.ranks_per_node = request_.ranks_per_node;
    const int code = weir_session_open(request_.who.all, &options, &session_);
    if (code < 0) return weir_outcome("weir_session_open", path_, code);
    return weir_outcome(
        "weir_distribution_create", path_,
        weir_distribution_create(session_, 2, shape_.data(), "BLOCK,*", nullptr, &distribution_));
  }

  Status create(const std::string& path) override {
    path_ = path;
    weir_array_options options = {};
    if (request_.variant.layout != Layout::shared) {
      options.files = request_.variant.layout == Layout::per_rank ? WEIR_FILE_PER_RANK
                                                                  : WEIR_FILE_PER_AGGREGATOR;
      options.natural_chunks = distribution_;
    }
    return weir_outcome(
        "weir_array_create", path_,
        weir_array_create(session_, path.c_str(), 2, shape_.data(), "uint64", &options, &array_));
  }
  Status open(const std::string& path) override {
    path_ = path;
    weir_open_options options = {};
    options.read_only = 1;
    return weir_outcome("weir_array_open", path_,
                        weir_array_open(session_, path.c_str(), &options, &array_));
  }
  Status write(const std::byte* piece) override {
    return weir_outcome("weir_write", path_, weir_write(array_, distribution_, piece));
  }
  Status read(std::byte* piece) override {
    return weir_outcome("weir_read", path_, weir_read(array_, distribution_, piece));
  }
  Status close() override {
    return weir_outcome("weir_array_close", path_, weir_array_close(&array_));
  }

  [[nodiscard]] std::vector<OwnName> own_names(const std::string& path) const override {
    std::vector<OwnName> names;
    const Participants& who = request_.who;
    const bool shared = request_.variant.layout == Layout::shared;
    if (who.rank == 0) names.push_back({.path = path + ".json", .must_be = true, .bytes = 1});
    if (shared && who.rank == 0) {
      names.push_back({.path = path, .must_be = true, .bytes = who.ranks * request_.options.bytes});
    }
    // There are as many files as aggregators, which are ranks.
    if (!shared) {
      names.push_back({.path = fmt::format("{}.{}", path, who.rank), .must_be = false, .bytes = 0});
    }
    return names;
  }

  Status finish() override {
    weir_distribution_free(&distribution_);
    return weir_outcome("weir_session_close", path_, weir_session_close(&session_));
  }

 private:
  FileRequest request_;
  std::array<std::int64_t, 2> shape_;  // one row for each rank
  std::string path_;
  weir_session* session_ = nullptr;
  weir_distribution* distribution_ = nullptr;
  weir_array* array_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<SharedFile>> make_weir_file(const FileRequest& request) {
  auto file = std::make_unique<WeirFile>(request);
  if (Status begun = file->begin(); !begun) return begun.error();
  return std::unique_ptr<SharedFile>(std::move(file));
}

}  // namespace weir::bench::opening
