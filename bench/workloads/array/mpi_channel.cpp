// MPI-IO through a file view: a subarray type if the rank holds one box, a darray type if it holds
// several. The calls are collective, or independent over the same view.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "measurement/mpi_hints.hpp"
#include "measurement/mpi_transfer.hpp"
#include "workloads/array/channel.hpp"
#include "workloads/array/mpi_types.hpp"

namespace weir::bench::array_io {
namespace {

class MpiChannel final : public Channel {
 public:
  MpiChannel(MpiFile file, MpiHints hints, const ChannelRequest& request)
      : file_(std::move(file)),
        hints_(std::move(hints)),
        collective_(request.api == Api::mpiio),
        empty_(request.part.empty()) {}

  Status prepare(const ChannelRequest& request) {
    auto types = TransferTypes::create(request.part);
    if (!types) return types.error();
    types_ = std::move(types).value();
    const int code = MPI_File_set_view(file_.handle(), 0, types_.element(), types_.file(), "native",
                                       hints_.info());
    if (code != MPI_SUCCESS) return mpi_failure("MPI_File_set_view", file_.path(), -1, code);
    return {};
  }

  Status write(const std::byte* memory) override {
    const int count = empty_ ? 0 : 1;
    MPI_Status status;
    const int code =
        collective_
            ? MPI_File_write_at_all(file_.handle(), 0, memory, count, types_.memory(), &status)
            : MPI_File_write_at(file_.handle(), 0, memory, count, types_.memory(), &status);
    return check(collective_ ? "MPI_File_write_at_all" : "MPI_File_write_at", code, status);
  }

  Status read(std::byte* memory) override {
    const int count = empty_ ? 0 : 1;
    MPI_Status status;
    const int code =
        collective_
            ? MPI_File_read_at_all(file_.handle(), 0, memory, count, types_.memory(), &status)
            : MPI_File_read_at(file_.handle(), 0, memory, count, types_.memory(), &status);
    return check(collective_ ? "MPI_File_read_at_all" : "MPI_File_read_at", code, status);
  }

  Status sync() override { return file_.sync(); }
  Status close() override { return file_.close(); }

 private:
  Status check(const char* operation, int code, const MPI_Status& status) {
    if (code != MPI_SUCCESS) return mpi_failure(operation, file_.path(), -1, code);
    // The count in the status is not checked: OMPIO's collective calls count what the rank's
    // aggregation moved. Missing data is found when the data is read and compared.
    static_cast<void>(status);
    return {};
  }

  MpiFile file_;
  MpiHints hints_;
  TransferTypes types_;
  bool collective_;
  bool empty_;
};

}  // namespace

Result<std::unique_ptr<Channel>> open_mpi_channel(const ChannelRequest& request) {
  auto hints = MpiHints::read(request.options.hints_file, request.striping);
  if (!hints) return hints.error();
  hints.value().set("cb_nodes", request.options.aggregators);
  hints.value().set("cb_buffer_size", request.options.buffer_bytes);
  auto file = MpiFile::open(request.job.world, request.path, request.write, request.create,
                            hints.value().info());
  if (!file) return file.error();
  auto channel =
      std::make_unique<MpiChannel>(std::move(file).value(), std::move(hints).value(), request);
  if (Status prepared = channel->prepare(request); !prepared) return prepared.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace weir::bench::array_io
