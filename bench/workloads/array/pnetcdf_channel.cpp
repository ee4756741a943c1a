// PnetCDF: one variable with the array's shape in CDF-5, transferred collectively by put_vara and
// get_vara, or by put_vars and get_vars if a section has strides. Elements for which NetCDF has no
// type are bytes along one extra dimension.
#include <fmt/format.h>
#include <pnetcdf.h>

#include <utility>
#include <vector>

#include "interfaces/library.hpp"
#include "measurement/mpi_hints.hpp"
#include "workloads/array/channel.hpp"
#include "workloads/array/mpi_types.hpp"

namespace weir::bench::array_io {
namespace {

constexpr const char* variable_name = "array";

struct NetcdfType {
  nc_type type = NC_BYTE;
  MPI_Datatype memory = MPI_BYTE;
};

NetcdfType netcdf_type(const array::ElementType& type) {
  switch (type.kind()) {
    case array::ElementKind::float64:
      return {NC_DOUBLE, MPI_DOUBLE};
    case array::ElementKind::float32:
      return {NC_FLOAT, MPI_FLOAT};
    case array::ElementKind::int64:
      return {NC_INT64, MPI_LONG_LONG};
    case array::ElementKind::int32:
      return {NC_INT, MPI_INT};
    default:
      return {NC_UBYTE, MPI_UNSIGNED_CHAR};
  }
}

class PnetcdfChannel final : public Channel {
 public:
  explicit PnetcdfChannel(const ChannelRequest& request)
      : path_(request.path),
        type_(netcdf_type(request.geometry.type)),
        strided_(!request.whole && request.geometry.is_strided()) {
    const Part& part = request.part;
    const bool as_bytes = type_.type == NC_UBYTE;
    const std::int64_t element_bytes = part.type().bytes();
    for (int d = 0; d < part.shape().dimensions(); ++d) {
      // Along each dimension there is one block, or there are single indices at a stride.
      const auto along = part.empty() ? array::UniformBlocks{} : part.asked().front()[d];
      extents_.push_back(part.shape().extent(d));
      start_.push_back(along.start);
      count_.push_back(along.count * along.length);
      stride_.push_back(along.count > 1 ? along.stride : 1);
    }
    if (as_bytes) {
      extents_.push_back(element_bytes);
      start_.push_back(0);
      count_.push_back(element_bytes);
      stride_.push_back(1);
    }
    packed_ = part.empty() || part.is_all_asked();
    elements_ = part.asked_bytes() / (as_bytes ? 1 : element_bytes);
  }

  Status open(const ChannelRequest& request, const MpiHints& hints) {
    int code = request.create
                   ? ncmpi_create(request.job.world, path_.c_str(), NC_CLOBBER | NC_64BIT_DATA,
                                  hints.info(), &file_)
                   : ncmpi_open(request.job.world, path_.c_str(),
                                request.write ? NC_WRITE : NC_NOWRITE, hints.info(), &file_);
    if (code != NC_NOERR) {
      return pnetcdf_outcome(request.create ? "ncmpi_create" : "ncmpi_open", path_, code);
    }
    code = request.create ? define() : ncmpi_inq_varid(file_, variable_name, &variable_);
    if (code != NC_NOERR) return pnetcdf_outcome("ncmpi_def_var", path_, code);
    if (packed_) return {};
    auto types = TransferTypes::create(request.part);
    if (!types) return types.error();
    types_ = std::move(types).value();
    return {};
  }

  Status write(const std::byte* memory) override {
    if (!strided_) {
      const int code = ncmpi_put_vara_all(file_, variable_, start_.data(), count_.data(), memory,
                                          count_in_memory(), type_in_memory());
      return pnetcdf_outcome("ncmpi_put_vara_all", path_, code);
    }
    const int code =
        ncmpi_put_vars_all(file_, variable_, start_.data(), count_.data(), stride_.data(), memory,
                           count_in_memory(), type_in_memory());
    return pnetcdf_outcome("ncmpi_put_vars_all", path_, code);
  }

  Status read(std::byte* memory) override {
    if (!strided_) {
      const int code = ncmpi_get_vara_all(file_, variable_, start_.data(), count_.data(), memory,
                                          count_in_memory(), type_in_memory());
      return pnetcdf_outcome("ncmpi_get_vara_all", path_, code);
    }
    const int code =
        ncmpi_get_vars_all(file_, variable_, start_.data(), count_.data(), stride_.data(), memory,
                           count_in_memory(), type_in_memory());
    return pnetcdf_outcome("ncmpi_get_vars_all", path_, code);
  }

  Status sync() override { return pnetcdf_outcome("ncmpi_sync", path_, ncmpi_sync(file_)); }

  Status close() override { return pnetcdf_outcome("ncmpi_close", path_, ncmpi_close(file_)); }

 private:
  int define() {
    std::vector<int> dimensions(extents_.size());
    int code = NC_NOERR;
    for (std::size_t d = 0; d < extents_.size() && code == NC_NOERR; ++d) {
      code =
          ncmpi_def_dim(file_, fmt::format("dimension{}", d).c_str(), extents_[d], &dimensions[d]);
    }
    if (code == NC_NOERR) {
      code = ncmpi_def_var(file_, variable_name, type_.type, static_cast<int>(dimensions.size()),
                           dimensions.data(), &variable_);
    }
    return code == NC_NOERR ? ncmpi_enddef(file_) : code;
  }

  [[nodiscard]] MPI_Offset count_in_memory() const { return packed_ ? elements_ : 1; }
  [[nodiscard]] MPI_Datatype type_in_memory() const {
    return packed_ ? type_.memory : types_.memory();
  }

  std::string path_;
  NetcdfType type_;
  bool strided_;  // of the whole request, even if this rank has no strides
  std::vector<MPI_Offset> extents_;
  std::vector<MPI_Offset> start_;
  std::vector<MPI_Offset> count_;
  std::vector<MPI_Offset> stride_;
  MPI_Offset elements_ = 0;
  bool packed_ = true;  // memory holds only the selected elements
  TransferTypes types_;
  int file_ = -1;
  int variable_ = -1;
};

}  // namespace

Result<std::unique_ptr<Channel>> open_pnetcdf_channel(const ChannelRequest& request) {
  auto hints = MpiHints::read(request.options.hints_file, request.striping);
  if (!hints) return hints.error();
  hints.value().set("cb_nodes", request.options.aggregators);
  hints.value().set("cb_buffer_size", request.options.buffer_bytes);
  auto channel = std::make_unique<PnetcdfChannel>(request);
  if (Status opened = channel->open(request, hints.value()); !opened) return opened.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace weir::bench::array_io
