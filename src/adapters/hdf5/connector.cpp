// The VOL connector "weir" of HDF5: the native connector, of which the functions that move the
// bytes of datasets are replaced. A program loads it by HDF5_PLUGIN_PATH and
// HDF5_VOL_CONNECTOR=weir, and is not changed.
//
// Writes and reads of contiguous datasets are moved by Weir, all datasets of one call as one
// request, and so are those of datasets in chunks without filters, one by one (dataset_call.hpp).
// The ranks decide for each collective call together, and for an independent one each by itself.
// What is not taken over goes to the native connector with its own arguments.
//
// Two libraries do not write a file at the same time: the MPI library may write what lies between
// the bytes of a collective call back as it was before, in raw data and, with collective metadata,
// in that, too. No rank leaves a collective write of either kind before all have come. HDF5 writes
// the rows of an independent call one by one, and so nothing between them.
#include <H5PLextern.h>
#include <H5VLconnector.h>
#include <hdf5.h>
#include <mpi.h>

#include "adapters/hdf5/call_counts.hpp"
#include "adapters/hdf5/dataset_call.hpp"
#include "adapters/hdf5/known_datasets.hpp"
#include "adapters/hdf5/native.hpp"
#include "adapters/hdf5/open_files.hpp"
#include "adapters/preloaded/record_file.hpp"

namespace weir::hdf5 {
namespace {

using mpiio::Reason;

// HDF5 reserves 256 to 511 for connectors that are not registered.
constexpr H5VL_class_value_t own_value = 493;

constinit H5VL_class_t own_class{};

// What Weir could not do is `before` and `after` with the name of the file between them.
void push_error(const char* function, hid_t kind, const char* before, const Refused& refused,
                const char* after) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(refused.code, text, &length);
  H5Epush2(H5E_DEFAULT, __FILE__, function, __LINE__, H5E_ERR_CLS, H5E_DATASET, kind,
           "Weir could not %s %s%s: %s", before, refused.file->path.c_str(), after, text);
}

// Moves the bytes, or calls pass_on(). HDF5 is asked nothing after that, since it would forget what
// errors there were.
template <typename PassOn>
herr_t move(const DatasetCall& call, const PassOn& pass_on) {
  const std::int64_t begin_ns = preloaded::now_ns();
  OpenFile* const file = open_file_with(call.datasets[0], call.transfer);
  const auto way = way_of(call.transfer);
  const std::int64_t bytes = is_recording() ? bytes_of(call) : 0;
  mpiio::Moved moved{Reason::not_mpio};
  if (file != nullptr) moved.reason = way ? file->refusal : Reason::not_collective;
  const bool is_open = file != nullptr && way && file->taken != nullptr;
  if (is_open) moved = move_datasets(*file, call, *way);
  const bool is_taken = moved.reason == Reason::taken;
  herr_t result = 0;
  if (!is_taken) {
    result = pass_on();
  } else if (moved.result != MPI_SUCCESS) {
    push_error("move_datasets", call.writing ? H5E_WRITEERROR : H5E_READERROR,
               call.writing ? "write datasets to" : "read datasets of",
               {file->counts, moved.result}, "");
    result = -1;
  }
  if (is_open && call.writing) {
    if (way == mpiio::Way::collective) take_over().passed_on(file->taken);
    file->is_unsynced = file->is_unsynced || is_taken;
  }

  FileCounts& counts = file == nullptr ? counts_of_others() : *file->counts;
  const auto first = static_cast<std::size_t>(call.writing ? Function::write : Function::read);
  CallCounts& counted = counts.of[first + (call.count > 1 ? 1 : 0)];
  ++counted.calls;
  counted.ns += preloaded::now_ns() - begin_ns;
  ++*(is_taken ? &counted.taken : &counts.passed[static_cast<std::size_t>(moved.reason)]);
  if (result < 0) {
    ++counted.failed;
  } else {
    counted.bytes += bytes;
  }
  return result;
}

herr_t write_datasets(std::size_t count, void* datasets[], hid_t memory_types[],
                      hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                      const void* memory[], void** request) {
  // Memory is only read in a write. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  auto* const places = const_cast<void* const*>(reinterpret_cast<const void* const*>(memory));
  return move({true, count, datasets, memory_types, memory_spaces, file_spaces, transfer, places},
              [&] {
                return native().dataset_cls.write(count, datasets, memory_types, memory_spaces,
                                                  file_spaces, transfer, memory, request);
              });
}

herr_t read_datasets(std::size_t count, void* datasets[], hid_t memory_types[],
                     hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer, void* memory[],
                     void** request) {
  return move({false, count, datasets, memory_types, memory_spaces, file_spaces, transfer, memory},
              [&] {
                return native().dataset_cls.read(count, datasets, memory_types, memory_spaces,
                                                 file_spaces, transfer, memory, request);
              });
}

// HDF5 keeps chunks that it cuts in its cache, on each rank. It would write them over what others
// have written to them meanwhile, so that it writes them before any rank goes on.
herr_t set_extent(void* dataset, H5VL_dataset_specific_args_t* what, hid_t transfer,
                  void** request) {
  const OpenFile* const file = open_file_with(dataset, transfer);
  const bool is_cut = file != nullptr && file->taken != nullptr &&
                      is_cut_by(what->args.set_extent.size, dataset, transfer);
  forget_extents();
  herr_t result = native().dataset_cls.specific(dataset, what, transfer, request);
  if (!is_cut) return result;
  const auto pass_over = [](const hsize_t*, unsigned, haddr_t, hsize_t, void*) { return 0; };
  if (result >= 0 && !visit_chunks(dataset, transfer, pass_over, nullptr)) result = -1;
  take_over().passed_on(file->taken);
  return result;
}

// HDF5 refreshes a dataset by opening another object in its place.
herr_t change_dataset(void* dataset, H5VL_dataset_specific_args_t* what, hid_t transfer,
                      void** request) {
  if (what->op_type == H5VL_DATASET_SET_EXTENT) {
    return set_extent(dataset, what, transfer, request);
  }
  if (what->op_type == H5VL_DATASET_REFRESH) forget_dataset(dataset);
  return native().dataset_cls.specific(dataset, what, transfer, request);
}

herr_t close_dataset(void* dataset, hid_t transfer, void** request) {
  forget_dataset(dataset);
  return native().dataset_cls.close(dataset, transfer, request);
}

void* create_file(const char* path, unsigned flags, hid_t creation, hid_t access, hid_t transfer,
                  void** request) {
  Opening opening(access);
  void* const file = native().file_cls.create(path, flags, creation, access, transfer, request);
  opening.note(file, path, transfer);
  return file;
}

void* open_file(const char* path, unsigned flags, hid_t access, hid_t transfer, void** request) {
  Opening opening(access);
  void* const file = native().file_cls.open(path, flags, access, transfer, request);
  opening.note(file, path, transfer);
  return file;
}

// H5Fflush syncs files by the MPI library, which need not know that there is anything to sync. It
// may name any object of a file, and files that are mounted on it are flushed, too.
herr_t change_file(void* file, H5VL_file_specific_args_t* what, hid_t transfer, void** request) {
  const herr_t done = native().file_cls.specific(file, what, transfer, request);
  if (done < 0) return done;
  if (what->op_type == H5VL_FILE_REOPEN) note_reopened(*what->args.reopen.file, transfer);
  if (what->op_type != H5VL_FILE_FLUSH) return done;
  if (const auto refused = make_durable()) {
    push_error("make_durable", H5E_CANTFLUSH, "make datasets of", *refused, " durable");
    return -1;
  }
  return done;
}

// If closing fails, HDF5 keeps the file open: it is closed by the native connector only after
// nothing can fail here, since it could not be closed by that one twice.
herr_t close_file(void* file, hid_t transfer, void** request) {
  if (const auto refused = note_closing(file, transfer)) {
    push_error("note_closing", H5E_CANTCLOSEFILE, "write datasets to", *refused, "");
    return -1;
  }
  return native().file_cls.close(file, transfer, request);
}

herr_t tell_class(void* object, H5VL_get_conn_lvl_t level, const H5VL_class_t** told) {
  if (level != H5VL_GET_CONN_LVL_CURR) {
    return native().introspect_cls.get_conn_cls(object, level, told);
  }
  *told = &own_class;
  return 0;
}

herr_t end_connector() { return 0; }

const H5VL_class_t* class_of_connector() {
  if (!find_native() || weir_mpiio_take_over(mpiio::take_over_version) == nullptr) return nullptr;
  own_class = native();
  own_class.value = own_value;
  own_class.name = "weir";
  own_class.conn_version = 1;
  own_class.terminate = end_connector;
  own_class.dataset_cls.write = write_datasets;
  own_class.dataset_cls.read = read_datasets;
  own_class.dataset_cls.specific = change_dataset;
  own_class.dataset_cls.close = close_dataset;
  own_class.file_cls.create = create_file;
  own_class.file_cls.open = open_file;
  own_class.file_cls.specific = change_file;
  own_class.file_cls.close = close_file;
  own_class.introspect_cls.get_conn_cls = tell_class;
  return &own_class;
}

}  // namespace
}  // namespace weir::hdf5

extern "C" {

H5PL_type_t H5PLget_plugin_type() { return H5PL_TYPE_VOL; }
const void* H5PLget_plugin_info() { return weir::hdf5::class_of_connector(); }

}  // extern "C"
