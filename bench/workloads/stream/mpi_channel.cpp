// MPI-IO, independent or collective, by explicit offsets or through a file view.
#include <fmt/format.h>

#include <utility>

#include "measurement/mpi_hints.hpp"
#include "measurement/mpi_transfer.hpp"
#include "workloads/stream/channel.hpp"

namespace weir::bench::stream {
namespace {

class MpiChannel final : public Channel {
 public:
  MpiChannel(MpiFile file, MpiHints hints, const ChannelRequest& request)
      : file_(std::move(file)),
        hints_(std::move(hints)),
        collective_(request.variant.collective),
        through_view_(request.options.file_view) {}
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;
  ~MpiChannel() override {
    if (file_type_ != MPI_DATATYPE_NULL) MPI_Type_free(&file_type_);
  }

  Status prepare(const ChannelRequest& request) {
    if (request.write && request.options.preallocate) {
      const int code = MPI_File_preallocate(file_.handle(), request.layout.file_bytes());
      if (code != MPI_SUCCESS) return mpi_failure("MPI_File_preallocate", file_.path(), -1, code);
    }
    return through_view_ ? set_view(request) : Status();
  }

  Status move(const storage::TransferRequest& request, std::int64_t index) override {
    const bool reading = request.direction == Direction::read;
    // Through a view the rank's own data is contiguous.
    const MPI_Offset offset = through_view_ ? index * request.bytes : request.offset;
    const int count = static_cast<int>(request.bytes);
    MPI_Status status;
    int code = MPI_SUCCESS;
    if (collective_) {
      code = reading ? MPI_File_read_at_all(file_.handle(), offset, request.buffer, count, MPI_BYTE,
                                            &status)
                     : MPI_File_write_at_all(file_.handle(), offset, request.buffer, count,
                                             MPI_BYTE, &status);
    } else {
      code =
          reading
              ? MPI_File_read_at(file_.handle(), offset, request.buffer, count, MPI_BYTE, &status)
              : MPI_File_write_at(file_.handle(), offset, request.buffer, count, MPI_BYTE, &status);
    }
    if (code != MPI_SUCCESS) {
      return mpi_failure(name_of(reading), file_.path(), request.offset, code);
    }
    int moved = 0;
    MPI_Get_count(&status, MPI_BYTE, &moved);
    if (moved == count) return {};
    Error error;
    error.code = ErrorCode::short_transfer;
    error.operation = name_of(reading);
    error.file = file_.path();
    error.offset = request.offset;
    error.message =
        fmt::format("{} moved {} of {} bytes without an error of its own{}", error.operation, moved,
                    count, reading ? " (end of file)" : " (disk full, quota or size limit)");
    return error;
  }

  Status sync() override { return file_.sync(); }
  Status close() override { return file_.close(); }

 private:
  [[nodiscard]] const char* name_of(bool reading) const {
    if (collective_) return reading ? "MPI_File_read_at_all" : "MPI_File_write_at_all";
    return reading ? "MPI_File_read_at" : "MPI_File_write_at";
  }

  // Sets a view that repeats one piece of the rank and then a hole as wide as the other ranks'
  // pieces.
  Status set_view(const ChannelRequest& request) {
    const Layout& layout = request.layout;
    const std::int64_t piece =
        layout.pattern == Pattern::interleaved ? layout.transfer_bytes : layout.block_bytes;
    const std::int64_t sharers = layout.file_per_rank ? 1 : layout.ranks;
    constexpr std::int64_t most = 2147483647;
    if (piece > most) {
      return invalid_argument(
          fmt::format("stream: -V (--file-view): a block must be below 2 GiB; given: {}", piece));
    }
    MPI_Datatype contiguous = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &contiguous);
    MPI_Type_create_resized(contiguous, 0, piece * sharers, &file_type_);
    MPI_Type_free(&contiguous);
    MPI_Type_commit(&file_type_);
    const MPI_Offset start = layout.file_per_rank ? 0 : request.owner * piece;
    const int code =
        MPI_File_set_view(file_.handle(), start, MPI_BYTE, file_type_, "native", hints_.info());
    if (code != MPI_SUCCESS) return mpi_failure("MPI_File_set_view", file_.path(), -1, code);
    return {};
  }

  MpiFile file_;
  MpiHints hints_;
  MPI_Datatype file_type_ = MPI_DATATYPE_NULL;
  bool collective_;
  bool through_view_;
};

}  // namespace

Result<std::unique_ptr<Channel>> open_mpi_channel(const ChannelRequest& request) {
  auto hints = MpiHints::read(request.options.hints_file, request.striping);
  if (!hints) return hints.error();
  auto file = MpiFile::open(request.communicator(), request.path, request.write, request.write,
                            hints.value().info());
  if (!file) return file.error();
  auto channel =
      std::make_unique<MpiChannel>(std::move(file).value(), std::move(hints).value(), request);
  if (Status prepared = channel->prepare(request); !prepared) return prepared.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace weir::bench::stream
