#include "interfaces/interface.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "interfaces/available.hpp"

namespace weir::bench {

// Each of these is defined in the file of its name.
OpenSession open_posix;
OpenSession open_mpiio;
OpenSession open_hdf5;
OpenSession open_pnetcdf;
OpenSession open_weir;

namespace {

// Is null if this build lacks the library, and then refers to no function.
consteval OpenSession* opener(bool available, OpenSession* open) {
  return available ? open : nullptr;
}

// clang-format off
constexpr Interface registry[] = {
    {.name = "posix", .title = "POSIX",
     .can = {.ranges = true, .submits = true, .parts = true, .part_by_runs = true, .names = true,
             .direct = true, .durable_writes = true, .preallocates = true,
             .name_calls = NameCallSet::all()},
     .open = open_posix},
    {.name = "at", .title = "AT",
     .can = {.name_calls = NameCallSet::all(), .relative = true},
     .open = open_posix},
    {.name = "io_uring", .title = "IO_URING",
     .can = {.queue = true, .submits = true, .direct = true, .preallocates = true,
             .name_calls = {NameCall::mkdir, NameCall::rmdir, NameCall::create, NameCall::stat,
                            NameCall::lstat, NameCall::write, NameCall::read, NameCall::rename,
                            NameCall::link, NameCall::symlink, NameCall::unlink}},
     .open = opener(has_liburing, open_posix),
     .library = "liburing", .remedy = "install liburing-dev and"},
    {.name = "mpiio", .title = "MPIIO",
     .can = {.ranges = true, .submits = true, .parts = true, .names = true, .collective = true,
             .mpi_io = true, .datatypes = true, .preallocates = true, .views = true,
             .many_arrays = true, .bare = true,
             .name_calls = {NameCall::create, NameCall::open, NameCall::close, NameCall::write,
                            NameCall::read, NameCall::truncate, NameCall::unlink}},
     .open = open_mpiio},
    {.name = "mpiio-independent", .title = "MPIIO-INDEPENDENT",
     .can = {.parts = true, .mpi_io = true, .datatypes = true},
     .open = open_mpiio},
    {.name = "hdf5", .title = "HDF5",
     .can = {.ranges = true, .parts = true, .names = true, .collective = true, .mpi_io = true,
             .objects = true, .chunks = true, .many_arrays = true},
     .open = opener(has_hdf5, open_hdf5),
     .library = "parallel HDF5", .remedy = "install libhdf5-openmpi-dev and"},
    {.name = "pnetcdf", .title = "PNETCDF",
     .can = {.ranges = true, .parts = true, .names = true, .collective = true, .mpi_io = true,
             .one_box = true, .many_arrays = true, .netcdf = true},
     .open = opener(has_pnetcdf, open_pnetcdf),
     .library = "PnetCDF", .remedy = "install libpnetcdf-dev and"},
    {.name = "weir", .title = "WEIR",
     .can = {.parts = true, .names = true, .collective = true, .chunks = true, .plans = true,
             .layouts = true, .stages = true},
     .open = open_weir},
    {.name = "weir-hdf5", .title = "WEIR-HDF5",
     .can = {.parts = true, .collective = true, .chunks = true, .codecs = true, .plans = true,
             .many_arrays = true, .stages = true},
     .open = open_weir, .format = "hdf5"},
    {.name = "weir-cdf5", .title = "WEIR-CDF5",
     .can = {.parts = true, .collective = true, .plans = true, .many_arrays = true,
             .netcdf = true, .stages = true},
     .open = open_weir, .format = "cdf5"},
    {.name = "weir-zarr", .title = "WEIR-ZARR",
     .can = {.parts = true, .collective = true, .chunks = true, .codecs = true, .plans = true},
     .open = open_weir, .format = "zarr"},
};
// clang-format on

Error cannot(const char* operation) {
  Error error;
  error.code = ErrorCode::unsupported;
  error.operation = operation;
  error.message = fmt::format("this interface does not support {}", operation);
  return error;
}

}  // namespace

Status File::move(const TransferRequest& /*request*/) { return cannot("moving a range of bytes"); }

Status File::move_blocks(const BlocksRequest& request) {
  std::byte* memory = request.memory;
  Status moved;
  for (const array::BytePattern& pattern : request.patterns) {
    for_each_block(pattern, [&](std::int64_t offset, std::int64_t bytes) {
      moved = move({.direction = request.direction,
                    .buffer = memory,
                    .bytes = bytes,
                    .offset = request.offset + offset});
      memory += bytes;
      return moved.ok();
    });
    if (!moved) break;
  }
  return moved;
}

Status File::submit(storage::PieceRequest& /*piece*/, const TransferRequest& /*request*/) {
  return cannot("moving several ranges of bytes at once");
}

Status File::move_part(Direction /*direction*/, std::byte* /*memory*/) {
  return cannot("moving a part of an array");
}

Status File::move_boxes(Direction /*direction*/, std::span<std::byte* const> /*memory*/) {
  return cannot("moving boxes of several arrays");
}

int NameCalls::make(const NameRequest& /*request*/) { return ENOTSUP; }

int NameCalls::list(const char* /*path*/, bool /*attributes*/,
                    const std::function<void()>& /*found*/) {
  return ENOTSUP;
}

void NameCalls::begin(int /*slot*/, const NameRequest& /*request*/) {}

int NameCalls::wait(std::span<Answer> /*answers*/) { return -ENOTSUP; }

Status Session::prepare(const Part& /*part*/) { return {}; }

Result<std::unique_ptr<NameCalls>> Session::name_calls(const NameMemory& /*memory*/,
                                                       NameCallSet /*needed*/) {
  return cannot("making calls on names");
}

std::vector<FileName> Session::names(const FileRequest& request) const {
  int rank = 0;
  MPI_Comm_rank(request.communicator, &rank);
  if (rank != 0) return {};
  return {{.path = request.path, .must_be = true, .bytes = request.bytes}};
}

Status Session::remove(const FileRequest& request) const {
  for (const FileName& name : names(request)) {
    if (unlink(name.path.c_str()) == 0 || (errno == ENOENT && !name.must_be)) continue;
    return system_failure("unlink", name.path, -1, errno);
  }
  return {};
}

Status Session::close() { return {}; }

const Interface* interface_named(std::string_view name) {
  return std::find_if(std::begin(registry), std::end(registry),
                      [&](const Interface& one) { return one.name == name || one.title == name; });
}

std::vector<Word<const Interface*>> interface_words(bool (*usable)(const Capabilities&),
                                                    std::string_view Interface::*spelling) {
  std::vector<Word<const Interface*>> words;
  for (const Interface& one : registry) {
    if (usable(one.can)) words.push_back({one.*spelling, &one});
  }
  return words;
}

Status check_available(const Interface& interface, const std::string& option) {
  if (interface.open != nullptr) return {};
  return Error(
      ErrorCode::unsupported,
      fmt::format(
          "{}: this weir-bench was built without {}; {} build again, or choose another interface",
          option, interface.library, interface.remedy));
}

Result<std::unique_ptr<Session>> open_session(const Interface& interface,
                                              const SessionSettings& settings) {
  if (Status there = check_available(interface, std::string(interface.name)); !there) {
    return there.error();
  }
  return interface.open(interface, settings);
}

}  // namespace weir::bench
