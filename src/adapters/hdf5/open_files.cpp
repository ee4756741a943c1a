#include "adapters/hdf5/open_files.hpp"

#include <map>
#include <memory>
#include <optional>

#include "adapters/hdf5/known_datasets.hpp"
#include "adapters/hdf5/native.hpp"
#include "adapters/takeover/handles.hpp"

namespace weir::hdf5 {
namespace {

using mpiio::Reason;

// By number; never destroyed, since HDF5 closes files when the process ends.
std::map<unsigned long, OpenFile>& files() {
  static auto* const all = std::make_unique<std::map<unsigned long, OpenFile>>().release();
  return *all;
}

OpenFile* find(void* file, hid_t dxpl) {
  const auto number = number_of_file(file, dxpl);
  const auto found = number ? files().find(*number) : files().end();
  return found == files().end() ? nullptr : &found->second;
}

// Returns MPI_SUCCESS or an error class.
int give_up(OpenFile& file) {
  const int closed = file.taken != nullptr ? take_over().close(file.taken) : MPI_SUCCESS;
  file.taken = nullptr;
  file.refusal = Reason::no_session;
  return closed;
}

// MPI_Finalize calls this first, while ranks can still talk to each other. Numbers ascend in the
// order in which files were opened, which is that of all ranks.
int on_finalize(MPI_Comm /*communicator*/, int /*key*/, void* /*value*/, void* /*state*/) {
  for (auto& [number, file] : files()) static_cast<void>(give_up(file));
  take_over().finalize();
  end_record();
  return MPI_SUCCESS;
}

void await_finalize() {
  static bool is_awaited = false;
  if (is_awaited) return;
  is_awaited = true;
  int key = MPI_KEYVAL_INVALID;
  if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &key, nullptr) == MPI_SUCCESS) {
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    MPI_Comm_free_keyval(&key);
  }
}

}  // namespace

const mpiio::TakeOver& take_over() { return *weir_mpiio_take_over(mpiio::take_over_version); }

Opening::Opening(hid_t access) {
  if (H5Pget_driver(access) != H5FD_MPIO) return;
  hbool_t is_together = false;
  reads_metadata_together_ = H5Pget_all_coll_metadata_ops(access, &is_together) < 0 || is_together;
  MPI_Info info = MPI_INFO_NULL;
  if (H5Pget_fapl_mpio(access, &communicator_, &info) < 0) communicator_ = MPI_COMM_NULL;
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

Opening::~Opening() {
  if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
}

void Opening::note(void* file, const char* path, hid_t dxpl) {
  if (communicator_ == MPI_COMM_NULL) return;
  OpenFile* const before = file == nullptr ? nullptr : find(file, dxpl);
  if (before != nullptr) {
    ++before->uses;
    return;
  }
  MPI_File* const handle = file == nullptr ? nullptr : handle_of(file, dxpl);
  int mode = MPI_MODE_RDWR;
  const bool is_open = handle != nullptr && MPI_File_get_amode(*handle, &mode) == MPI_SUCCESS;
  await_finalize();
  Reason refusal = Reason::taken;
  mpiio::TakenFile* const taken =
      take_over().open({takeover::to_handle(communicator_), path, mode,
                        is_open ? reinterpret_cast<mpiio::File>(*handle) : mpiio::File{0},
                        is_open ? MPI_SUCCESS : MPI_ERR_FILE, true, false},
                       refusal);
  const auto number = is_open ? number_of_file(file, dxpl) : std::nullopt;
  if (number) {
    files()[*number] = {&counts_of(path), handle, taken, refusal, reads_metadata_together_, 1};
  } else if (taken != nullptr) {
    static_cast<void>(take_over().close(taken));  // nothing was written
  }
}

void note_reopened(void* file, hid_t dxpl) {
  if (OpenFile* const found = find(file, dxpl)) ++found->uses;
}

std::optional<Refused> note_closing(void* file, hid_t dxpl) {
  const auto number = number_of_file(file, dxpl);
  const auto found = number ? files().find(*number) : files().end();
  if (found == files().end()) return std::nullopt;
  OpenFile& closed = found->second;
  if (closed.uses > 1) {
    --closed.uses;
    return std::nullopt;
  }
  const int code = give_up(closed);
  if (code != MPI_SUCCESS) return Refused{closed.counts, code};
  files().erase(found);
  return std::nullopt;
}

std::optional<Refused> make_durable() {
  std::optional<Refused> refused;
  for (auto& [number, file] : files()) {
    if (file.taken == nullptr || !file.is_unsynced) continue;
    const int code = take_over().sync(file.taken);
    file.is_unsynced = code != MPI_SUCCESS;
    if (file.is_unsynced && !refused) refused = Refused{file.counts, code};
  }
  return refused;
}

OpenFile* open_file_with(void* dataset, hid_t dxpl) {
  const auto place = known_dataset(dataset, dxpl).place;
  const auto found = place ? files().find(place->file) : files().end();
  return found == files().end() ? nullptr : &found->second;
}

}  // namespace weir::hdf5
