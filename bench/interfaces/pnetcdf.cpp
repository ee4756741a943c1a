// PnetCDF: one variable in a CDF-5 file. Ranges are of a variable of unsigned bytes. Parts of
// arrays are of a variable with the array's shape, moved by put_vara and get_vara, or by put_vars
// and get_vars if a section has strides. Elements for which NetCDF has no type are bytes along one
// extra dimension. A file with several arrays has a variable for each, whose boxes are moved by one
// put_vara_all or get_vara_all each.
#include <fmt/format.h>
#include <pnetcdf.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "interfaces/interface.hpp"
#include "interfaces/mpi_io.hpp"

namespace weir::bench {
namespace {

Status outcome(const std::string& operation, const std::string& path, int code,
               std::int64_t offset = -1) {
  if (code == NC_NOERR) return {};
  Error error(ErrorCode::io, fmt::format("{} failed: {}", operation, ncmpi_strerror(code)), path,
              offset);
  error.operation = operation;
  error.system_error = code == NC_ENO_SPACE ? ENOSPC : code == NC_EQUOTA ? EDQUOT : 0;
  return error;
}

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

bool is_made(const FileRequest& request) { return request.create && !request.keep; }

// Makes or opens the file. Collective.
Status open_dataset(const FileRequest& request, const std::string& path, MPI_Info hints,
                    int& dataset) {
  if (is_made(request)) {
    return outcome("ncmpi_create", path,
                   ncmpi_create(request.communicator, path.c_str(), NC_CLOBBER | NC_64BIT_DATA,
                                hints, &dataset));
  }
  return outcome("ncmpi_open", path,
                 ncmpi_open(request.communicator, path.c_str(),
                            request.write ? NC_WRITE : NC_NOWRITE, hints, &dataset));
}

class PnetcdfFile final : public File {
 public:
  PnetcdfFile(const FileRequest& request, bool collective)
      : path_(request.path), collective_(collective) {
    if (request.part == nullptr) {
      type_ = {NC_UBYTE, MPI_UNSIGNED_CHAR};
      extents_ = {request.bytes};
    } else {
      describe(*request.part);
    }
  }

  Status open(const FileRequest& request, MPI_Info hints) {
    if (Status opened = open_dataset(request, path_, hints, file_); !opened) return opened;
    const bool creates = is_made(request);
    const int code = creates ? define(request) : ncmpi_inq_varid(file_, request.name, &variable_);
    if (code != NC_NOERR) return outcome("ncmpi_def_var", path_, code);
    if (!packed_) {
      auto types = TransferTypes::create(*request.part);
      if (!types) return types.error();
      types_ = std::move(types).value();
    }
    if (collective_) return {};
    return outcome("ncmpi_begin_indep_data", path_, ncmpi_begin_indep_data(file_));
  }

  Status move(const TransferRequest& request) override {
    start_ = {request.offset};
    count_ = {request.bytes};
    elements_ = request.bytes;
    return transfer(request.direction, request.buffer, request.offset);
  }
  Status move_part(Direction direction, std::byte* memory) override {
    return transfer(direction, memory, -1);
  }

  Status sync() override { return outcome("ncmpi_sync", path_, ncmpi_sync(file_)); }

  Status close() override {
    if (!collective_) {
      const int code = ncmpi_end_indep_data(file_);
      if (code != NC_NOERR) return outcome("ncmpi_end_indep_data", path_, code);
    }
    return outcome("ncmpi_close", path_, ncmpi_close(file_));
  }
  [[nodiscard]] int dataset() const { return file_; }

 private:
  void describe(const Part& part) {
    type_ = netcdf_type(part.type());
    strided_ = part.is_strided();
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

  int define(const FileRequest& request) {
    std::vector<int> dimensions(extents_.size());
    int code = NC_NOERR;
    for (std::size_t d = 0; d < extents_.size() && code == NC_NOERR; ++d) {
      const std::string name = request.part == nullptr ? "byte" : fmt::format("dimension{}", d);
      code = ncmpi_def_dim(file_, name.c_str(), extents_[d], &dimensions[d]);
    }
    if (code == NC_NOERR) {
      code = ncmpi_def_var(file_, request.name, type_.type, static_cast<int>(dimensions.size()),
                           dimensions.data(), &variable_);
    }
    return code == NC_NOERR ? ncmpi_enddef(file_) : code;
  }

  Status transfer(Direction direction, std::byte* memory, std::int64_t offset) {
    const bool reading = direction == Direction::read;
    const int code = reading ? get(memory) : put(memory);
    if (code == NC_NOERR) return {};
    return outcome(fmt::format("ncmpi_{}_var{}{}", reading ? "get" : "put", strided_ ? "s" : "a",
                               collective_ ? "_all" : ""),
                   path_, code, offset);
  }

  int put(const std::byte* memory) {
    const MPI_Offset count = packed_ ? elements_ : 1;
    MPI_Datatype type = packed_ ? type_.memory : types_.memory();
    if (strided_) {
      return ncmpi_put_vars_all(file_, variable_, start_.data(), count_.data(), stride_.data(),
                                memory, count, type);
    }
    return collective_ ? ncmpi_put_vara_all(file_, variable_, start_.data(), count_.data(), memory,
                                            count, type)
                       : ncmpi_put_vara(file_, variable_, start_.data(), count_.data(), memory,
                                        count, type);
  }
  int get(std::byte* memory) {
    const MPI_Offset count = packed_ ? elements_ : 1;
    MPI_Datatype type = packed_ ? type_.memory : types_.memory();
    if (strided_) {
      return ncmpi_get_vars_all(file_, variable_, start_.data(), count_.data(), stride_.data(),
                                memory, count, type);
    }
    return collective_ ? ncmpi_get_vara_all(file_, variable_, start_.data(), count_.data(), memory,
                                            count, type)
                       : ncmpi_get_vara(file_, variable_, start_.data(), count_.data(), memory,
                                        count, type);
  }

  std::string path_;
  bool collective_;
  NetcdfType type_;
  bool strided_ = false;  // of the whole request, even if this rank has no strides
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

// A file with several arrays.
class PnetcdfArraysFile final : public File {
 public:
  explicit PnetcdfArraysFile(const FileRequest& request)
      : path_(request.path), arrays_(*request.arrays), variables_(arrays_.size(), -1) {}

  Status open(const FileRequest& request, MPI_Info hints) {
    if (Status opened = open_dataset(request, path_, hints, file_); !opened) return opened;
    const bool creates = is_made(request);
    int code = NC_NOERR;
    for (std::size_t i = 0; i < arrays_.size() && code == NC_NOERR; ++i) {
      code = creates ? define(i) : ncmpi_inq_varid(file_, arrays_[i].name.c_str(), &variables_[i]);
    }
    if (creates && code == NC_NOERR) code = ncmpi_enddef(file_);
    return outcome(creates ? "ncmpi_def_var" : "ncmpi_inq_varid", path_, code);
  }

  Status move_boxes(Direction direction, std::span<std::byte* const> memory) override {
    const bool reading = direction == Direction::read;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const array::Box& box = arrays_[i].box;
      const std::vector<MPI_Offset> start(box.lower.begin(), box.lower.end());
      const std::vector<MPI_Offset> count(box.extent.begin(), box.extent.end());
      const MPI_Offset elements = box.elements();
      MPI_Datatype type = netcdf_type(arrays_[i].type).memory;
      const int code = reading ? ncmpi_get_vara_all(file_, variables_[i], start.data(),
                                                    count.data(), memory[i], elements, type)
                               : ncmpi_put_vara_all(file_, variables_[i], start.data(),
                                                    count.data(), memory[i], elements, type);
      if (code != NC_NOERR) {
        return outcome(reading ? "ncmpi_get_vara_all" : "ncmpi_put_vara_all", path_, code);
      }
    }
    return {};
  }

  Status sync() override { return outcome("ncmpi_sync", path_, ncmpi_sync(file_)); }
  Status close() override { return outcome("ncmpi_close", path_, ncmpi_close(file_)); }
  [[nodiscard]] int dataset() const { return file_; }

 private:
  // Arrays that name the same dimension share it.
  int dimension(const std::string& name, std::int64_t extent, int* number) const {
    if (ncmpi_inq_dimid(file_, name.c_str(), number) == NC_NOERR) return NC_NOERR;
    return ncmpi_def_dim(file_, name.c_str(), extent, number);
  }

  int define(std::size_t number) {
    const ArrayBox& one = arrays_[number];
    std::vector<int> dimensions(one.dimension_names.size());
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const int code =
          dimension(one.dimension_names[d], one.extents[static_cast<int>(d)], &dimensions[d]);
      if (code != NC_NOERR) return code;
    }
    return ncmpi_def_var(file_, one.name.c_str(), netcdf_type(one.type).type,
                         static_cast<int>(dimensions.size()), dimensions.data(),
                         &variables_[number]);
  }

  std::string path_;
  const std::vector<ArrayBox>& arrays_;
  std::vector<int> variables_;
  int file_ = -1;
};

class PnetcdfSession final : public Session {
 public:
  PnetcdfSession(const SessionSettings& settings, MpiHints hints)
      : Session(settings), hints_(std::move(hints)) {}

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    if (request.arrays != nullptr) {
      return opened(request, std::make_unique<PnetcdfArraysFile>(request));
    }
    return opened(request, std::make_unique<PnetcdfFile>(request, settings().collective));
  }

 private:
  template <typename Made>
  Result<std::unique_ptr<File>> opened(const FileRequest& request, std::unique_ptr<Made> file) {
    if (Status status = file->open(request, hints_.info()); !status) return status.error();
    note(request.write, file->dataset());
    return std::unique_ptr<File>(std::move(file));
  }

  // PnetCDF adds its own hints to those of MPI-IO.
  void note(bool writing, int dataset) const {
    OpenedHints* const hints = settings().opened_hints;
    if (hints == nullptr || !hints->lacks(writing)) return;
    MPI_Info effective = MPI_INFO_NULL;
    if (ncmpi_inq_file_info(dataset, &effective) != NC_NOERR) return;
    hints->note(writing, hints_.info(), effective);
    if (effective != MPI_INFO_NULL) MPI_Info_free(&effective);
  }

  MpiHints hints_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_pnetcdf(const Interface& /*interface*/,
                                              const SessionSettings& settings) {
  auto hints = hints_of(settings);
  if (!hints) return hints.error();
  return std::unique_ptr<Session>(
      std::make_unique<PnetcdfSession>(settings, std::move(hints).value()));
}

}  // namespace weir::bench
