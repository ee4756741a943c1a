// MPI-IO, independent or collective. Ranges are moved by explicit offsets or through a view of
// equal pieces, parts of arrays through a view: a subarray type if the rank holds one box, a darray
// type if it holds several. A file with several arrays has nothing but their elements, one array
// after the other, each of which is moved through a view of its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "aggregation/engines/mpiio_engine.hpp"
#include "interfaces/file_of_engine.hpp"
#include "interfaces/interface.hpp"
#include "interfaces/mpi_io.hpp"
#include "ranks/mpi_error.hpp"

namespace weir::bench {
namespace {

// Closing a file that is still open would be collective, so the destructor leaves it open.
class MpiioFile final : public File {
 public:
  MpiioFile(MPI_File file, bool collective, const FileRequest& request)
      : file_(file), path_(request.path), collective_(collective), view_(request.view) {}
  MpiioFile(const MpiioFile&) = delete;
  MpiioFile& operator=(const MpiioFile&) = delete;
  ~MpiioFile() override {
    if (view_type_ != MPI_DATATYPE_NULL) MPI_Type_free(&view_type_);
  }

  Status prepare(const FileRequest& request, bool preallocate, MPI_Info hints) {
    if (request.write && preallocate) {
      const int code = MPI_File_preallocate(file_, request.bytes);
      if (code != MPI_SUCCESS) return failure("MPI_File_preallocate", -1, code);
    }
    if (request.part != nullptr) {
      auto types = TransferTypes::create(*request.part);
      if (!types) return types.error();
      types_ = std::move(types).value();
      count_ = request.part->empty() ? 0 : 1;
      return set_view(0, types_.element(), types_.file(), hints);
    }
    if (!view_) return {};
    MPI_Datatype piece = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(view_->piece_bytes), MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, view_->period_bytes, &view_type_);
    MPI_Type_free(&piece);
    MPI_Type_commit(&view_type_);
    return set_view(view_->start, MPI_BYTE, view_type_, hints);
  }

  Status move(const TransferRequest& request) override {
    if (shows_blocks_) {
      shows_blocks_ = false;
      if (Status viewed = set_view(0, MPI_BYTE, MPI_BYTE, MPI_INFO_NULL); !viewed) return viewed;
    }
    const bool reading = request.direction == Direction::read;
    const int count = static_cast<int>(request.bytes);
    MPI_Status status;
    const int code =
        call(reading, offset_in_view(request.offset), request.buffer, count, MPI_BYTE, &status);
    if (code != MPI_SUCCESS) return failure(name_of(reading), request.offset, code);
    int moved = 0;
    MPI_Get_count(&status, MPI_BYTE, &moved);
    if (moved == count) return {};
    Error error;
    error.code = ErrorCode::short_transfer;
    error.operation = name_of(reading);
    error.file = path_;
    error.offset = request.offset;
    error.message =
        fmt::format("{} moved only {} of {} bytes but reported no error{}", error.operation, moved,
                    count, reading ? " (end of file)" : " (disk full, quota or size limit)");
    return error;
  }

  Status move_part(Direction direction, std::byte* memory) override {
    const bool reading = direction == Direction::read;
    MPI_Status status;
    const int code = call(reading, 0, memory, count_, types_.memory(), &status);
    // The count in the status is not checked: OMPIO's collective calls count what the rank's
    // aggregation moved. Missing data is found when the data is read and compared.
    return code == MPI_SUCCESS ? Status() : failure(name_of(reading), -1, code);
  }

  // Through a view of these blocks, which is set by all ranks if the call is collective.
  Status move_blocks(const BlocksRequest& request) override {
    MPI_Datatype type = MPI_BYTE;
    if (request.bytes > 0) {
      const int code = blocks_type(request.patterns, &type);
      if (code != MPI_SUCCESS) return failure("MPI_Type_create", request.offset, code);
    }
    shows_blocks_ = true;
    Status viewed = set_view(request.offset, MPI_BYTE, type, MPI_INFO_NULL);
    if (request.bytes > 0) MPI_Type_free(&type);
    if (!viewed) return viewed;
    const bool reading = request.direction == Direction::read;
    MPI_Status status;
    const int code =
        call(reading, 0, request.memory, static_cast<int>(request.bytes), MPI_BYTE, &status);
    // As for parts, the count in the status is not checked.
    return code == MPI_SUCCESS ? Status() : failure(name_of(reading), request.offset, code);
  }

  Status sync() override {
    const int code = MPI_File_sync(file_);
    return code == MPI_SUCCESS ? Status() : failure("MPI_File_sync", -1, code);
  }
  Status close() override {
    const int code = MPI_File_close(&file_);
    return code == MPI_SUCCESS ? Status() : failure("MPI_File_close", -1, code);
  }

 private:
  int call(bool reading, MPI_Offset offset, std::byte* memory, int count, MPI_Datatype type,
           MPI_Status* status) const {
    if (collective_) {
      return reading ? MPI_File_read_at_all(file_, offset, memory, count, type, status)
                     : MPI_File_write_at_all(file_, offset, memory, count, type, status);
    }
    return reading ? MPI_File_read_at(file_, offset, memory, count, type, status)
                   : MPI_File_write_at(file_, offset, memory, count, type, status);
  }
  [[nodiscard]] const char* name_of(bool reading) const {
    if (collective_) return reading ? "MPI_File_read_at_all" : "MPI_File_write_at_all";
    return reading ? "MPI_File_read_at" : "MPI_File_write_at";
  }
  [[nodiscard]] Error failure(const char* operation, std::int64_t offset, int code) const {
    return ranks::mpi_failure(operation, path_, offset, code);
  }

  Status set_view(MPI_Offset start, MPI_Datatype element, MPI_Datatype type, MPI_Info hints) {
    const int code = MPI_File_set_view(file_, start, element, type, "native", hints);
    return code == MPI_SUCCESS ? Status() : failure("MPI_File_set_view", -1, code);
  }

  // Through a view the pieces follow each other.
  [[nodiscard]] MPI_Offset offset_in_view(std::int64_t offset) const {
    if (!view_) return offset;
    const std::int64_t from_start = offset - view_->start;
    return from_start / view_->period_bytes * view_->piece_bytes + from_start % view_->period_bytes;
  }

  MPI_File file_;
  std::string path_;
  bool collective_;
  std::optional<FileView> view_;
  bool shows_blocks_ = false;  // the view is that of the last blocks
  MPI_Datatype view_type_ = MPI_DATATYPE_NULL;
  TransferTypes types_;  // of the part
  int count_ = 0;        // of the part's type in memory
};

// A file with several arrays. Like MpiioFile, it is left open by the destructor.
class MpiioArraysFile final : public File {
 public:
  MpiioArraysFile(MPI_File file, const FileRequest& request)
      : file_(file), path_(request.path), arrays_(*request.arrays) {}

  Status prepare(MPI_Info hints) {
    hints_ = hints;
    types_.reserve(arrays_.size());
    for (const ArrayBox& one : arrays_) {
      auto types = TransferTypes::create(one);
      if (!types) return types.error();
      types_.push_back(std::move(types).value());
    }
    return {};
  }

  Status move_boxes(Direction direction, std::span<std::byte* const> memory) override {
    MPI_Offset start = 0;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (Status status = move_one(direction, i, start, memory[i]); !status) return status;
      start += arrays_[i].array_bytes();
    }
    return {};
  }

  Status sync() override { return outcome("MPI_File_sync", MPI_File_sync(file_)); }
  Status close() override { return outcome("MPI_File_close", MPI_File_close(&file_)); }

 private:
  [[nodiscard]] Status outcome(const char* operation, int code, std::int64_t offset = -1) const {
    if (code == MPI_SUCCESS) return {};
    return ranks::mpi_failure(operation, path_, offset, code);
  }

  Status move_one(Direction direction, std::size_t number, MPI_Offset start, std::byte* memory) {
    const TransferTypes& types = types_[number];
    Status viewed = outcome(
        "MPI_File_set_view",
        MPI_File_set_view(file_, start, types.element(), types.file(), "native", hints_), start);
    if (!viewed) return viewed;
    const int count = arrays_[number].box.empty() ? 0 : 1;
    // As for parts, the count in the status is not checked.
    if (direction == Direction::read) {
      return outcome(
          "MPI_File_read_at_all",
          MPI_File_read_at_all(file_, 0, memory, count, types.memory(), MPI_STATUS_IGNORE), start);
    }
    return outcome(
        "MPI_File_write_at_all",
        MPI_File_write_at_all(file_, 0, memory, count, types.memory(), MPI_STATUS_IGNORE), start);
  }

  MPI_File file_;
  std::string path_;
  const std::vector<ArrayBox>& arrays_;
  MPI_Info hints_ = MPI_INFO_NULL;
  std::vector<TransferTypes> types_;
};

// Returns 0 or the nearest errno value.
int errno_of(int code) {
  if (code == MPI_SUCCESS) return 0;
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  switch (error_class) {
    case MPI_ERR_NO_SUCH_FILE:
      return ENOENT;
    case MPI_ERR_FILE_EXISTS:
      return EEXIST;
    case MPI_ERR_ACCESS:
      return EACCES;
    case MPI_ERR_NO_SPACE:
      return ENOSPC;
    case MPI_ERR_QUOTA:
      return EDQUOT;
    case MPI_ERR_READ_ONLY:
      return EROFS;
    case MPI_ERR_BAD_FILE:
      return EINVAL;
    default:
      return EIO;
  }
}

// Calls on names, each by one rank alone (MPI_COMM_SELF).
class MpiioNames final : public NameCalls {
 public:
  MpiioNames(const NameMemory& memory, bool durable, MPI_Info hints)
      : memory_(memory), durable_(durable), hints_(hints) {}

  int make(const NameRequest& request) override {
    switch (request.call) {
      case NameCall::create:
        return on_file(request,
                       MPI_MODE_WRONLY | MPI_MODE_CREATE | (request.exclusive ? MPI_MODE_EXCL : 0));
      case NameCall::write:
      case NameCall::truncate:
        return on_file(request, MPI_MODE_WRONLY);
      case NameCall::read:
        return on_file(request, MPI_MODE_RDONLY);
      case NameCall::open:
        return open(request, MPI_MODE_RDONLY, &open_[request.handle]);
      case NameCall::close:
        return errno_of(MPI_File_close(&open_[request.handle]));
      case NameCall::unlink:
        return errno_of(MPI_File_delete(request.place.path, hints_));
      default:
        return NameCalls::make(request);
    }
  }

 private:
  int open(const NameRequest& request, int mode, MPI_File* file) const {
    return errno_of(MPI_File_open(MPI_COMM_SELF, request.place.path, mode, hints_, file));
  }

  // Opens the file, moves its content or sets its size, and closes it.
  int on_file(const NameRequest& request, int mode) const {
    MPI_File file = MPI_FILE_NULL;
    if (const int error = open(request, mode, &file); error != 0) return error;
    const int error = request.call == NameCall::truncate
                          ? errno_of(MPI_File_set_size(file, request.bytes))
                          : move(file, request);
    const int closed = errno_of(MPI_File_close(&file));
    return error != 0 ? error : closed;
  }

  int move(MPI_File file, const NameRequest& request) const {
    const bool reads = request.call == NameCall::read;
    const std::span<char> memory = reads ? memory_.buffer : memory_.content;
    const auto most = static_cast<std::int64_t>(memory.size());
    for (std::int64_t done = 0; done < request.bytes;) {
      const auto wanted = static_cast<int>(std::min(request.bytes - done, most));
      MPI_Status status;
      const int code =
          reads ? MPI_File_read_at(file, done, memory.data(), wanted, MPI_BYTE, &status)
                : MPI_File_write_at(file, done, memory.data(), wanted, MPI_BYTE, &status);
      if (code != MPI_SUCCESS) return errno_of(code);
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (count != wanted) return short_transfer;
      done += wanted;
    }
    const bool syncs = !reads && durable_ && request.bytes > 0;
    return syncs ? errno_of(MPI_File_sync(file)) : 0;
  }

  NameMemory memory_;
  bool durable_;
  MPI_Info hints_;
  std::array<MPI_File, most_open> open_{};
};

// Moves that are submitted are made by the library's engine, in the background with nonblocking
// calls.
class MpiioEngineSession final : public Session {
 public:
  explicit MpiioEngineSession(const SessionSettings& settings)
      : Session(settings),
        engine_(aggregation::make_mpiio_engine(settings.communicator,
                                               [settings](MPI_File file, bool writing) {
                                                 note_hints(settings, writing, MPI_INFO_NULL, file);
                                               })) {}

  storage::Engine* engine() override { return engine_.get(); }

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    auto file = engine_->open(request.path, {.write = request.write, .create = request.create});
    if (!file) return file.error();
    return std::unique_ptr<File>(std::make_unique<FileOfEngine>(*engine_, std::move(file).value(),
                                                                settings().durability, request));
  }

 private:
  std::unique_ptr<storage::Engine> engine_;
};

class MpiioSession final : public Session {
 public:
  MpiioSession(bool collective, const SessionSettings& settings, MpiHints hints)
      : Session(settings), collective_(collective), hints_(std::move(hints)) {}

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    MPI_File file = MPI_FILE_NULL;
    const int mode =
        (request.write ? MPI_MODE_RDWR : MPI_MODE_RDONLY) | (request.create ? MPI_MODE_CREATE : 0);
    const int code =
        MPI_File_open(request.communicator, request.path.c_str(), mode, hints_.info(), &file);
    if (code != MPI_SUCCESS) return ranks::mpi_failure("MPI_File_open", request.path, -1, code);
    // Errors come back as codes. This is the default for files, and it is set here because the code
    // depends on it.
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    note_hints(settings(), request.write, hints_.info(), file);
    if (request.arrays != nullptr) {
      auto opened = std::make_unique<MpiioArraysFile>(file, request);
      if (Status prepared = opened->prepare(hints_.info()); !prepared) return prepared.error();
      return std::unique_ptr<File>(std::move(opened));
    }
    auto opened = std::make_unique<MpiioFile>(file, collective_, request);
    Status prepared = opened->prepare(request, settings().preallocate, hints_.info());
    if (!prepared) return prepared.error();
    return std::unique_ptr<File>(std::move(opened));
  }

  Result<std::unique_ptr<NameCalls>> name_calls(const NameMemory& memory,
                                                NameCallSet /*needed*/) override {
    const bool durable = settings().durability != storage::Durability::none;
    return std::unique_ptr<NameCalls>(std::make_unique<MpiioNames>(memory, durable, hints_.info()));
  }

 private:
  bool collective_;
  MpiHints hints_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_mpiio(const Interface& interface,
                                            const SessionSettings& settings) {
  if (settings.submission != Submission::none) {
    return std::unique_ptr<Session>(std::make_unique<MpiioEngineSession>(settings));
  }
  auto hints = hints_of(settings);
  if (!hints) return hints.error();
  return std::unique_ptr<Session>(std::make_unique<MpiioSession>(
      interface.can.collective && settings.collective, settings, std::move(hints).value()));
}

}  // namespace weir::bench
