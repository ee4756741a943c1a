// PnetCDF: one variable of unsigned bytes (CDF-5) as long as the layout's file. Offsets are
// relative to the variable, which follows the header.
#include <pnetcdf.h>

#include <utility>

#include "interfaces/library.hpp"
#include "measurement/mpi_hints.hpp"
#include "workloads/stream/channel.hpp"

namespace weir::bench::stream {
namespace {

constexpr const char* variable_name = "stream";

class PnetcdfChannel final : public Channel {
 public:
  explicit PnetcdfChannel(const ChannelRequest& request)
      : path_(request.path), collective_(request.variant.collective) {}

  Status open(const ChannelRequest& request, const MpiHints& hints) {
    int code = request.creates()
                   ? ncmpi_create(request.communicator(), path_.c_str(), NC_CLOBBER | NC_64BIT_DATA,
                                  hints.info(), &file_)
                   : ncmpi_open(request.communicator(), path_.c_str(),
                                request.write ? NC_WRITE : NC_NOWRITE, hints.info(), &file_);
    if (code != NC_NOERR) {
      return pnetcdf_outcome(request.creates() ? "ncmpi_create" : "ncmpi_open", path_, code);
    }
    code = request.creates() ? define(request.layout.file_bytes())
                             : ncmpi_inq_varid(file_, variable_name, &variable_);
    if (code != NC_NOERR) return pnetcdf_outcome("ncmpi_def_var", path_, code);
    if (collective_) return {};
    return pnetcdf_outcome("ncmpi_begin_indep_data", path_, ncmpi_begin_indep_data(file_));
  }

  Status move(const storage::TransferRequest& request, std::int64_t /*index*/) override {
    const MPI_Offset start = request.offset;
    const MPI_Offset count = request.bytes;
    auto* bytes = reinterpret_cast<unsigned char*>(request.buffer);
    const bool reading = request.direction == Direction::read;
    int code = NC_NOERR;
    if (collective_) {
      code = reading ? ncmpi_get_vara_uchar_all(file_, variable_, &start, &count, bytes)
                     : ncmpi_put_vara_uchar_all(file_, variable_, &start, &count, bytes);
    } else {
      code = reading ? ncmpi_get_vara_uchar(file_, variable_, &start, &count, bytes)
                     : ncmpi_put_vara_uchar(file_, variable_, &start, &count, bytes);
    }
    return pnetcdf_outcome(reading ? "ncmpi_get_vara" : "ncmpi_put_vara", path_, code,
                           request.offset);
  }

  Status sync() override { return pnetcdf_outcome("ncmpi_sync", path_, ncmpi_sync(file_)); }

  Status close() override {
    if (!collective_) {
      const int code = ncmpi_end_indep_data(file_);
      if (code != NC_NOERR) return pnetcdf_outcome("ncmpi_end_indep_data", path_, code);
    }
    return pnetcdf_outcome("ncmpi_close", path_, ncmpi_close(file_));
  }

 private:
  int define(std::int64_t bytes) {
    int dimension = 0;
    int code = ncmpi_def_dim(file_, "byte", bytes, &dimension);
    if (code == NC_NOERR) {
      code = ncmpi_def_var(file_, variable_name, NC_UBYTE, 1, &dimension, &variable_);
    }
    return code == NC_NOERR ? ncmpi_enddef(file_) : code;
  }

  std::string path_;
  int file_ = -1;
  int variable_ = -1;
  bool collective_;
};

}  // namespace

Result<std::unique_ptr<Channel>> open_pnetcdf_channel(const ChannelRequest& request) {
  const auto hints = MpiHints::read(request.options.hints_file, request.striping);
  if (!hints) return hints.error();
  auto channel = std::make_unique<PnetcdfChannel>(request);
  if (Status opened = channel->open(request, hints.value()); !opened) return opened.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace weir::bench::stream
