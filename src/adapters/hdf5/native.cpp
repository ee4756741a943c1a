#include "adapters/hdf5/native.hpp"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>

#include <cstring>

namespace weir::hdf5 {
namespace {

constinit const H5VL_class_t* found = nullptr;

hid_t got(void* dataset, H5VL_dataset_get_t what, hid_t dxpl) {
  H5VL_dataset_get_args_t question{};
  question.op_type = what;
  hid_t* answer = nullptr;
  switch (what) {
    case H5VL_DATASET_GET_TYPE:
      answer = &question.args.get_type.type_id;
      break;
    case H5VL_DATASET_GET_SPACE:
      answer = &question.args.get_space.space_id;
      break;
    default:  // H5VL_DATASET_GET_DCPL
      answer = &question.args.get_dcpl.dcpl_id;
      break;
  }
  *answer = H5I_INVALID_HID;
  return native().dataset_cls.get(dataset, &question, dxpl, nullptr) < 0 ? H5I_INVALID_HID
                                                                         : *answer;
}

}  // namespace

const H5VL_class_t& native() { return *found; }

bool find_native() {
  char unused = 0;  // HDF5 demands an object, at which the native connector does not look
  return found != nullptr ||
         H5VLintrospect_get_conn_cls(&unused, H5VL_NATIVE, H5VL_GET_CONN_LVL_CURR, &found) >= 0;
}

MPI_File* handle_of(void* file, hid_t dxpl) {
  void* handle = nullptr;
  H5VL_native_file_optional_args_t question{};
  question.get_vfd_handle.fapl_id = H5P_DEFAULT;
  question.get_vfd_handle.file_handle = &handle;
  H5VL_optional_args_t wanted{};
  wanted.op_type = H5VL_NATIVE_FILE_GET_VFD_HANDLE;
  wanted.args = &question;
  return native().file_cls.optional(file, &wanted, dxpl, nullptr) < 0
             ? nullptr
             : static_cast<MPI_File*>(handle);
}

std::optional<unsigned long> number_of_file(void* file, hid_t dxpl) {
  unsigned long number = 0;
  H5VL_file_get_args_t question{};
  question.op_type = H5VL_FILE_GET_FILENO;
  question.args.get_fileno.fileno = &number;
  if (native().file_cls.get(file, &question, dxpl, nullptr) < 0) return std::nullopt;
  return number;
}

std::optional<PlaceOfDataset> place_of(void* dataset, hid_t dxpl) {
  H5O_info2_t info{};
  const H5VL_loc_params_t itself{
      .obj_type = H5I_DATASET, .type = H5VL_OBJECT_BY_SELF, .loc_data = {}};
  H5VL_object_get_args_t question{};
  question.op_type = H5VL_OBJECT_GET_INFO;
  question.args.get_info.fields = H5O_INFO_BASIC;
  question.args.get_info.oinfo = &info;
  if (native().object_cls.get(dataset, &itself, &question, dxpl, nullptr) < 0) return std::nullopt;
  PlaceOfDataset place{.file = info.fileno};
  static_assert(sizeof info.token >= sizeof place.in_file);
  std::memcpy(&place.in_file, &info.token, sizeof place.in_file);  // its address
  return place;
}

std::optional<haddr_t> address_of(void* dataset, hid_t dxpl) {
  haddr_t address = HADDR_UNDEF;
  H5VL_native_dataset_optional_args_t question{};
  question.get_offset.offset = &address;
  H5VL_optional_args_t wanted{};
  wanted.op_type = H5VL_NATIVE_DATASET_GET_OFFSET;
  wanted.args = &question;
  const herr_t told = native().dataset_cls.optional(dataset, &wanted, dxpl, nullptr);
  if (told < 0 || address == HADDR_UNDEF) return std::nullopt;
  return address;
}

bool visit_chunks(void* dataset, hid_t dxpl, TakeChunk take, void* context) {
  H5VL_native_dataset_optional_args_t question{};
  question.chunk_iter.op = take;
  question.chunk_iter.op_data = context;
  H5VL_optional_args_t wanted{};
  wanted.op_type = H5VL_NATIVE_DATASET_CHUNK_ITER;
  wanted.args = &question;
  return native().dataset_cls.optional(dataset, &wanted, dxpl, nullptr) >= 0;
}

hid_t type_of(void* dataset, hid_t dxpl) { return got(dataset, H5VL_DATASET_GET_TYPE, dxpl); }
hid_t space_of(void* dataset, hid_t dxpl) { return got(dataset, H5VL_DATASET_GET_SPACE, dxpl); }
hid_t creation_of(void* dataset, hid_t dxpl) { return got(dataset, H5VL_DATASET_GET_DCPL, dxpl); }

}  // namespace weir::hdf5
