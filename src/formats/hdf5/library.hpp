// The HDF5 library as this folder uses it: identifiers that close themselves, errors as values, and
// no output of its own on stderr.
//
// The library of most systems is not safe for threads. Hdf5Silence ensures that one thread of a
// process at a time is in this folder; no other thread may use the same library meanwhile.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "common/status.hpp"

namespace weir::storage {

class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(hid_t id) : id_(id) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  ~Hdf5Handle() {
    if (ok()) H5Idec_ref(id_);
  }

  [[nodiscard]] hid_t id() const { return id_; }
  [[nodiscard]] bool ok() const { return id_ >= 0; }
  // Closes the object now. Returns false on failure, which is possible for files.
  [[nodiscard]] bool close() {
    return !ok() || H5Idec_ref(std::exchange(id_, H5I_INVALID_HID)) >= 0;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

// While such an object exists, the library prints nothing when a call fails, and other threads that
// construct one wait. The library loads no filters, which Weir does not need: filters in another
// program's HDF5_PLUGIN_PATH may be linked with another HDF5, and making a dataset would fail in
// them.
class Hdf5Silence {
 public:
  Hdf5Silence() : lock_(one_at_a_time()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &argument_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLget_loading_state(&plugins_);
    H5PLset_loading_state(plugins_ & ~unsigned{H5PL_FILTER_PLUGIN});
  }
  Hdf5Silence(const Hdf5Silence&) = delete;
  Hdf5Silence& operator=(const Hdf5Silence&) = delete;
  ~Hdf5Silence() {
    H5PLset_loading_state(plugins_);
    H5Eset_auto2(H5E_DEFAULT, print_, argument_);
  }

 private:
  // The mutex is recursive because calls of the format use each other.
  static std::recursive_mutex& one_at_a_time() {
    static std::recursive_mutex mutex;
    return mutex;
  }

  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* argument_ = nullptr;
  unsigned plugins_ = 0;
};

// Returns the cause of the last call that failed: "WHAT failed: the cause".
[[nodiscard]] Error hdf5_failure(std::string_view what, const std::string& path, ErrorCode code);

// Returns the properties by which this folder creates and opens files: chunk indices and groups of
// HDF5 1.10, because older chunk indices cannot be computed by a formula; and the file is closed
// with its handle, whatever else is open.
[[nodiscard]] Hdf5Handle hdf5_access();

}  // namespace weir::storage
