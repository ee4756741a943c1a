// Parallel HDF5: one dataset, contiguous or chunked. Ranges are hyperslabs of a dataset of 64-bit
// words, parts of arrays hyperslabs of a dataset with the array's shape. A file with several arrays
// has a contiguous dataset for each, and boxes are moved by one call for each.
#include <fmt/format.h>
#include <hdf5.h>

#include <utility>
#include <vector>

#include "array/record_members.hpp"
#include "interfaces/interface.hpp"
#include "interfaces/mpi_io.hpp"

namespace weir::bench {
namespace {

constexpr std::int64_t word_bytes = 8;

// Keeps the innermost reason on HDF5's error stack.
herr_t keep_description(unsigned /*level*/, const H5E_error2_t* entry, void* text) {
  *static_cast<std::string*>(text) =
      fmt::format("{} ({})", entry->desc == nullptr ? "" : entry->desc,
                  entry->func_name == nullptr ? "" : entry->func_name);
  return 0;
}

// Returns the error of a failed call, whose reason is on HDF5's error stack.
Error failure(const char* operation, const std::string& path, std::int64_t offset = -1) {
  std::string reason = "no reason is given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_description, &reason);
  for (char& c : reason) c = c == '\n' ? ' ' : c;
  Error error(ErrorCode::io, fmt::format("{} failed: {}", operation, reason), path, offset);
  error.operation = operation;
  return error;
}

std::vector<hsize_t> as_sizes(const array::Indices& values) {
  std::vector<hsize_t> sizes;
  for (const std::int64_t value : values) sizes.push_back(static_cast<hsize_t>(value));
  return sizes;
}

// Returns HDF5's own type if it has one, otherwise opaque bytes. The caller closes the type.
hid_t element_type(const array::ElementType& type) {
  switch (type.kind()) {
    case array::ElementKind::float64:
      return H5Tcopy(H5T_NATIVE_DOUBLE);
    case array::ElementKind::float32:
      return H5Tcopy(H5T_NATIVE_FLOAT);
    case array::ElementKind::int64:
      return H5Tcopy(H5T_NATIVE_INT64);
    case array::ElementKind::int32:
      return H5Tcopy(H5T_NATIVE_INT32);
    case array::ElementKind::text: {
      const hid_t text = H5Tcopy(H5T_C_S1);
      H5Tset_size(text, static_cast<std::size_t>(type.bytes()));
      H5Tset_strpad(text, H5T_STR_NULLPAD);
      return text;
    }
    default:
      return H5Tcreate(H5T_OPAQUE, static_cast<std::size_t>(type.bytes()));
  }
}

// Returns a compound for records whose members have names. The caller closes the type.
hid_t element_type(const ArrayBox& array) {
  if (array.members.empty()) return element_type(array.type);
  const auto members = array::parse_record_members(array.members, array.type);
  if (!members) return H5I_INVALID_HID;
  const hid_t type = H5Tcreate(H5T_COMPOUND, static_cast<std::size_t>(array.type.bytes()));
  for (const array::RecordMember& one : members.value()) {
    const hid_t member = element_type(one.type);
    H5Tinsert(type, one.name.c_str(), static_cast<std::size_t>(one.offset), member);
    H5Tclose(member);
  }
  return type;
}

herr_t select(hid_t space, H5S_seloper_t how, const array::UniformRegion& region) {
  std::vector<hsize_t> start;
  std::vector<hsize_t> stride;
  std::vector<hsize_t> count;
  std::vector<hsize_t> block;
  for (const array::UniformBlocks& along : region) {
    start.push_back(static_cast<hsize_t>(along.start));
    stride.push_back(static_cast<hsize_t>(along.count > 1 ? along.stride : along.length));
    count.push_back(static_cast<hsize_t>(along.count));
    block.push_back(static_cast<hsize_t>(along.length));
  }
  return H5Sselect_hyperslab(space, how, start.data(), stride.data(), count.data(), block.data());
}

// Selects one hyperslab, or several if blocks are cut.
herr_t select(hid_t space, const std::vector<array::UniformRegion>& regions) {
  if (regions.empty()) return H5Sselect_none(space);
  herr_t result = 0;
  H5S_seloper_t how = H5S_SELECT_SET;
  for (const array::UniformRegion& one : regions) {
    if (result < 0) break;
    result = select(space, how, one);
    how = H5S_SELECT_OR;
  }
  return result;
}

bool creates(const FileRequest& request) { return request.create && !request.keep; }

Result<hid_t> open_or_create(const FileRequest& request, const SessionSettings& settings,
                             MPI_Info hints) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, request.communicator, hints);
  if (settings.alignment > 1) {
    H5Pset_alignment(access, 1, static_cast<hsize_t>(settings.alignment));
  }
  if (settings.collective_metadata) {
    H5Pset_all_coll_metadata_ops(access, true);
    H5Pset_coll_metadata_write(access, true);
  }
  const char* const path = request.path.c_str();
  const hid_t file = creates(request)
                         ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                         : H5Fopen(path, request.write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
  H5Pclose(access);
  if (file < 0) return failure(creates(request) ? "H5Fcreate" : "H5Fopen", request.path);
  void* handle = nullptr;  // a pointer to MPI's, as the driver mpio documents
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle != nullptr) {
    note_hints(settings, request.write, hints, *static_cast<MPI_File*>(handle));
  }
  return file;
}

hid_t transfer_list_of(const SessionSettings& settings) {
  const hid_t list = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(list, settings.collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
  return list;
}

class Hdf5File final : public File {
 public:
  explicit Hdf5File(std::string path) : path_(std::move(path)) {}

  Status open(const FileRequest& request, const SessionSettings& settings, MPI_Info hints) {
    const auto file = open_or_create(request, settings, hints);
    if (!file) return file.error();
    file_ = file.value();
    const Part* const part = request.part;
    type_ = part == nullptr ? H5Tcopy(H5T_NATIVE_UINT64) : element_type(part->type());
    dataset_ = creates(request) ? create_dataset(request, settings)
                                : H5Dopen2(file_, request.name, H5P_DEFAULT);
    if (dataset_ < 0) return failure(creates(request) ? "H5Dcreate" : "H5Dopen", path_);
    file_space_ = H5Dget_space(dataset_);
    transfer_list_ = transfer_list_of(settings);
    return part == nullptr ? Status() : select_part(*part);
  }

  Status move(const TransferRequest& request) override {
    const hsize_t start = words_of(request.offset);
    const hsize_t count = words_of(request.bytes);
    if (words_in_memory_ != count) {
      if (memory_space_ >= 0) H5Sclose(memory_space_);
      memory_space_ = H5Screate_simple(1, &count, nullptr);
      words_in_memory_ = count;
    }
    if (H5Sselect_hyperslab(file_space_, H5S_SELECT_SET, &start, nullptr, &count, nullptr) < 0) {
      return failure("H5Sselect_hyperslab", path_, request.offset);
    }
    return transfer(request.direction, request.buffer, request.offset);
  }

  Status move_part(Direction direction, std::byte* memory) override {
    return transfer(direction, memory, -1);
  }

  Status sync() override {
    return H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0 ? Status(failure("H5Fflush", path_)) : Status();
  }

  Status close() override {
    H5Pclose(transfer_list_);
    if (memory_space_ >= 0) H5Sclose(memory_space_);
    H5Sclose(file_space_);
    H5Tclose(type_);
    if (H5Dclose(dataset_) < 0) return failure("H5Dclose", path_);
    return H5Fclose(file_) < 0 ? Status(failure("H5Fclose", path_)) : Status();
  }

 private:
  static hsize_t words_of(std::int64_t bytes) { return static_cast<hsize_t>(bytes / word_bytes); }

  hid_t create_dataset(const FileRequest& request, const SessionSettings& settings) const {
    const std::vector<hsize_t> extents = request.part == nullptr
                                             ? std::vector<hsize_t>{words_of(request.bytes)}
                                             : as_sizes(request.part->shape().extents());
    const int dimensions = static_cast<int>(extents.size());
    const hid_t space = H5Screate_simple(dimensions, extents.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    // Every element is written, so filling the dataset first writes everything twice.
    if (!settings.fill) H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    if (settings.chunk) {
      const std::vector<hsize_t> chunk = as_sizes(*settings.chunk);
      H5Pset_chunk(creation, dimensions, chunk.data());
    }
    const hid_t dataset =
        H5Dcreate2(file_, request.name, type_, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
  }

  Status select_part(const Part& part) {
    std::vector<hsize_t> extents = as_sizes(part.local_extents());
    if (part.empty()) extents.assign(extents.size(), 1);
    memory_space_ = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    const bool selected = select(file_space_, part.asked()) >= 0 &&
                          select(memory_space_, part.asked_in_memory()) >= 0;
    return selected ? Status() : Status(failure("H5Sselect", path_));
  }

  Status transfer(Direction direction, std::byte* memory, std::int64_t offset) const {
    const bool reading = direction == Direction::read;
    const herr_t result =
        reading ? H5Dread(dataset_, type_, memory_space_, file_space_, transfer_list_, memory)
                : H5Dwrite(dataset_, type_, memory_space_, file_space_, transfer_list_, memory);
    if (result >= 0) return {};
    return failure(reading ? "H5Dread" : "H5Dwrite", path_, offset);
  }

  std::string path_;
  hid_t file_ = -1;
  hid_t type_ = -1;
  hid_t dataset_ = -1;
  hid_t file_space_ = -1;
  hid_t memory_space_ = -1;
  hsize_t words_in_memory_ = 0;  // of memory_space_, for ranges
  hid_t transfer_list_ = -1;
};

// A file with several arrays.
class Hdf5ArraysFile final : public File {
 public:
  explicit Hdf5ArraysFile(const FileRequest& request)
      : path_(request.path), arrays_(*request.arrays) {}

  Status open(const FileRequest& request, const SessionSettings& settings, MPI_Info hints) {
    const auto file = open_or_create(request, settings, hints);
    if (!file) return file.error();
    file_ = file.value();
    transfer_list_ = transfer_list_of(settings);
    for (const ArrayBox& one : arrays_) {
      types_.push_back(element_type(one));
      datasets_.push_back(creates(request) ? create_dataset(one, settings.fill)
                                           : H5Dopen2(file_, one.name.c_str(), H5P_DEFAULT));
      if (datasets_.back() < 0) return failure(creates(request) ? "H5Dcreate" : "H5Dopen", path_);
    }
    return {};
  }

  Status move_boxes(Direction direction, std::span<std::byte* const> memory) override {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (Status status = move_one(direction, i, memory[i]); !status) return status;
    }
    return {};
  }

  Status sync() override {
    return H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0 ? Status(failure("H5Fflush", path_)) : Status();
  }

  Status close() override {
    H5Pclose(transfer_list_);
    for (const hid_t type : types_) H5Tclose(type);
    for (const hid_t dataset : datasets_) {
      if (H5Dclose(dataset) < 0) return failure("H5Dclose", path_);
    }
    return H5Fclose(file_) < 0 ? Status(failure("H5Fclose", path_)) : Status();
  }

 private:
  [[nodiscard]] hid_t create_dataset(const ArrayBox& one, bool fill) const {
    const std::vector<hsize_t> extents = as_sizes(one.extents);
    const hid_t space = H5Screate_simple(one.extents.size(), extents.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (!fill) H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    const hid_t dataset = H5Dcreate2(file_, one.name.c_str(), types_.back(), space, H5P_DEFAULT,
                                     creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
  }

  Status move_one(Direction direction, std::size_t number, std::byte* memory) const {
    const array::Box& box = arrays_[number].box;
    const std::vector<hsize_t> start = as_sizes(box.lower);
    const std::vector<hsize_t> count = as_sizes(box.extent);
    const hid_t file_space = H5Dget_space(datasets_[number]);
    const hid_t memory_space = H5Screate_simple(box.dimensions(), count.data(), nullptr);
    if (box.empty()) {
      H5Sselect_none(file_space);
      H5Sselect_none(memory_space);
    } else {
      H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    }
    const bool reading = direction == Direction::read;
    const herr_t result = reading ? H5Dread(datasets_[number], types_[number], memory_space,
                                            file_space, transfer_list_, memory)
                                  : H5Dwrite(datasets_[number], types_[number], memory_space,
                                             file_space, transfer_list_, memory);
    Status status =
        result < 0 ? Status(failure(reading ? "H5Dread" : "H5Dwrite", path_)) : Status();
    H5Sclose(memory_space);
    H5Sclose(file_space);
    return status;
  }

  std::string path_;
  const std::vector<ArrayBox>& arrays_;
  hid_t file_ = -1;
  hid_t transfer_list_ = -1;
  std::vector<hid_t> types_;
  std::vector<hid_t> datasets_;
};

class Hdf5Session final : public Session {
 public:
  Hdf5Session(const SessionSettings& settings, MpiHints hints)
      : Session(settings), hints_(std::move(hints)) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors come back as values
  }

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    if (request.arrays != nullptr)
      return opened(request, std::make_unique<Hdf5ArraysFile>(request));
    return opened(request, std::make_unique<Hdf5File>(request.path));
  }

 private:
  template <typename Made>
  Result<std::unique_ptr<File>> opened(const FileRequest& request, std::unique_ptr<Made> file) {
    if (Status status = file->open(request, settings(), hints_.info()); !status) {
      return status.error();
    }
    return std::unique_ptr<File>(std::move(file));
  }

  MpiHints hints_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_hdf5(const Interface& /*interface*/,
                                           const SessionSettings& settings) {
  auto hints = hints_of(settings);
  if (!hints) return hints.error();
  return std::unique_ptr<Session>(
      std::make_unique<Hdf5Session>(settings, std::move(hints).value()));
}

}  // namespace weir::bench
