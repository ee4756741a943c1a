#include "formats/zarr/replace_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): ::renameat2 is not of C

#include <cerrno>
#include <filesystem>

#include "formats/zarr/store.hpp"
#include "formats/zarr/v2_store.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {

bool is_zarr_store(const std::string& path) {
  return is_on_disk(zarr_folder(path, "") + "zarr.json") || is_zarr_v2(path);
}

std::string replacing_path(const std::string& path) { return committed_path(path) + ".replacing"; }

Status replace_zarr_store(const std::string& path) {
  const std::string old = committed_path(path);
  const std::string made = replacing_path(path);
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) != 0) {
    Error error = system_failure("renameat2", old, -1, errno);
    error.message +=
        fmt::format("; the new folder is complete: remove this one and rename {}", made);
    return error;
  }
  if (Status durable = sync_folder(folder_of(old)); !durable.ok()) return durable;
  std::error_code failed;
  std::filesystem::remove_all(made, failed);
  return failed ? system_failure("remove", made, -1, failed.value()) : Status();
}

}  // namespace weir::storage
