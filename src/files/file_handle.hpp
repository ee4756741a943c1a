// What a handle of include/weir/files.h holds, and what its calls have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "storage/encoded/decoded_chunks.hpp"
#include "storage/formats/format.hpp"
#include "storage/formats/header_update.hpp"
#include "storage/formats/writer_lock.hpp"
#include "storage/known_file.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/serial/section_verifier.hpp"
#include "storage/sums/known_sums.hpp"
#include "storage/sums/verification.hpp"
#include "storage/sums/written_sums.hpp"
#include "weir/files.h"

struct weir_files {
  weir_files(std::string opened_path, std::string_view format_name, weir::storage::FileMap opened,
             weir::storage::DataFileCache::Use use);
  weir_files(const weir_files&) = delete;
  weir_files& operator=(const weir_files&) = delete;
  ~weir_files();

  std::string path;
  std::string format;
  weir::storage::FileMap map;
  std::string description;
  std::vector<std::string> type_names;
  weir::storage::DataFileCache data_files;

  // ---- Of one that is open ----

  std::once_flag looked_for_sums;
  std::shared_ptr<const weir::storage::KnownSums> known_sums;
  std::once_flag cut_for_verification;
  std::optional<weir::storage::Verification> verification;
  // On reading.
  std::atomic<weir::storage::VerifiedBlocks> verified = weir::storage::VerifiedBlocks::none;
  weir::storage::DecodedChunks decoded_chunks;
  std::atomic<std::int64_t> kept_bytes =
      -1;  // of these, as the program set it; negative: it did not

  // ---- Of one that is being made, until it is committed ----

  std::optional<weir::storage::HeaderUpdate> unpublished;
  weir::storage::WriterLock lock;
  std::optional<weir::storage::FileIdentity> made;  // what lies under the temporary name
  // The Zarr folder whose place it takes, when it is one that has another name until then.
  std::optional<std::string> replaced;
  std::mutex mutex;
  // Where encoded chunks go whose places are a table, and those that are there.
  std::int64_t free_from = -1;
  std::vector<weir::storage::WrittenChunk> written;
  std::optional<weir::storage::WrittenSums> sums;  // where they are asked for
  // For each array: how many indices of dimension 0, from 0 on, have all their elements written or
  // filled. Read and changed under the mutex.
  std::vector<std::int64_t> settled;
};

namespace weir::files {

// Keeps the line for weir_files_last_error() and gives the code.
int report(const Error& error);
[[nodiscard]] const std::string& last_error();

// Reports what was thrown; the only thing that can be thrown is that there is no memory.
int report_thrown(const std::exception& thrown);
// Runs a call that gives a Status; no exception reaches a C program.
template <typename Call>
int reported(const Call& call) {
  try {
    const Status status = call();
    return status.ok() ? WEIR_FILES_OK : report(status.error());
  } catch (const std::exception& thrown) {
    return report_thrown(thrown);
  }
}

[[nodiscard]] Error no_handle();
// Null, and reported, when there is no such array. Arrays of texts of any length are numbered
// behind the others.
[[nodiscard]] const storage::StoredArray* about_array(const weir_files* file, std::int64_t array);
// The array of that number: array_of() gives one whose elements have a fixed size, texts_of() one
// of texts of any length. Null, and reported, for the other kind.
[[nodiscard]] const storage::StoredArray* array_of(const weir_files* file, std::int64_t array);
[[nodiscard]] const storage::StoredTexts* texts_of(const weir_files* file, std::int64_t array);
Status check_place(weir_files** file);

[[nodiscard]] Result<array::Section> section_of(const storage::StoredArray& stored,
                                                const std::int64_t* start,
                                                const std::int64_t* count,
                                                const std::int64_t* stride);
struct Request {
  array::Section section;
  array::Layout memory;
};
[[nodiscard]] Result<Request> request_of(const storage::StoredArray& stored,
                                         const std::int64_t* start, const std::int64_t* count,
                                         const std::int64_t* stride, const void* data,
                                         const std::int64_t* strides);

}  // namespace weir::files
