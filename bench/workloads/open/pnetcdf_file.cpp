// PnetCDF: one variable of unsigned bytes in a CDF-5 file.
#include <pnetcdf.h>

#include "interfaces/library.hpp"
#include "measurement/mpi_hints.hpp"
#include "workloads/open/shared_file.hpp"

namespace weir::bench::opening {
namespace {

constexpr const char* variable_name = "pieces";

class PnetcdfFile final : public SharedFile {
 public:
  explicit PnetcdfFile(const FileRequest& request) : request_(request) {}

  Status create(const std::string& path) override {
    path_ = path;
    const auto hints = MpiHints::read("", request_.striping);
    if (!hints) return hints.error();
    int code = ncmpi_create(request_.who.file, path.c_str(), NC_CLOBBER | NC_64BIT_DATA,
                            hints.value().info(), &file_);
    if (code != NC_NOERR) return pnetcdf_outcome("ncmpi_create", path_, code);
    int dimension = 0;
    code = ncmpi_def_dim(file_, "byte", request_.who.places * request_.options.bytes, &dimension);
    if (code == NC_NOERR) {
      code = ncmpi_def_var(file_, variable_name, NC_UBYTE, 1, &dimension, &variable_);
    }
    if (code == NC_NOERR) code = ncmpi_enddef(file_);
    return pnetcdf_outcome("ncmpi_enddef", path_, code);
  }

  Status open(const std::string& path) override {
    path_ = path;
    int code = ncmpi_open(request_.who.file, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file_);
    if (code != NC_NOERR) return pnetcdf_outcome("ncmpi_open", path_, code);
    code = ncmpi_inq_varid(file_, variable_name, &variable_);
    return pnetcdf_outcome("ncmpi_inq_varid", path_, code);
  }

  Status write(const std::byte* piece) override {
    const auto* bytes = reinterpret_cast<const unsigned char*>(piece);
    return pnetcdf_outcome("ncmpi_put_vara_uchar_all", path_,
                           ncmpi_put_vara_uchar_all(file_, variable_, &at(), &count(), bytes));
  }
  Status read(std::byte* piece) override {
    auto* bytes = reinterpret_cast<unsigned char*>(piece);
    return pnetcdf_outcome("ncmpi_get_vara_uchar_all", path_,
                           ncmpi_get_vara_uchar_all(file_, variable_, &at(), &count(), bytes));
  }
  Status close() override { return pnetcdf_outcome("ncmpi_close", path_, ncmpi_close(file_)); }

  [[nodiscard]] std::vector<OwnName> own_names(const std::string& path) const override {
    return one_name(request_, path);
  }

 private:
  [[nodiscard]] const MPI_Offset& at() {
    at_ = request_.who.place * request_.options.bytes;
    return at_;
  }
  [[nodiscard]] const MPI_Offset& count() {
    count_ = request_.options.bytes;
    return count_;
  }

  FileRequest request_;
  std::string path_;
  int file_ = -1;
  int variable_ = -1;
  MPI_Offset at_ = 0;
  MPI_Offset count_ = 0;
};

}  // namespace

std::unique_ptr<SharedFile> make_pnetcdf_file(const FileRequest& request) {
  return std::make_unique<PnetcdfFile>(request);
}

}  // namespace weir::bench::opening
