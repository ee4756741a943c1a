// The handle of include/weir/files.h, and helpers that its calls share.
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
#include "checksums/known_sums.hpp"
#include "checksums/verification.hpp"
#include "checksums/written_sums.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "formats/format.hpp"
#include "formats/header_update.hpp"
#include "formats/writer_lock.hpp"
#include "sections/decoded_chunks.hpp"
#include "sections/section_verifier.hpp"
#include "system/known_file.hpp"
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

  // ---- Members of an open file ----

  std::once_flag looked_for_sums;
  std::shared_ptr<const weir::storage::KnownSums> known_sums;
  std::once_flag cut_for_verification;
  std::optional<weir::storage::Verification> verification;
  // The blocks that reads verify.
  std::atomic<weir::storage::VerifiedBlocks> verified = weir::storage::VerifiedBlocks::none;
  weir::storage::DecodedChunks decoded_chunks;
  // Most bytes of decoded chunks to keep, as the program set it; negative: not set.
  std::atomic<std::int64_t> kept_bytes = -1;

  // ---- Members of a file that is being made, until it is committed ----

  std::optional<weir::storage::HeaderUpdate> unpublished;
  weir::storage::WriterLock lock;
  std::optional<weir::storage::FileIdentity> made;  // the file under the temporary name
  // The Zarr folder that the new one will replace, if the new one has another name until then.
  std::optional<std::string> replaced;
  std::mutex mutex;
  // For encoded chunks whose places are kept in a table: where free space begins, and the chunks
  // that have been written.
  std::int64_t free_from = -1;
  std::vector<weir::storage::WrittenChunk> written;
  std::optional<weir::storage::WrittenSums> sums;  // if checksums were requested
  // For each array: how many indices of dimension 0, counted from 0, have all their elements
  // written or filled. Protected by the mutex.
  std::vector<std::int64_t> settled;
};

namespace weir::files {

// Keeps the error's line for weir_files_last_error() and returns its code.
int report(const Error& error);
[[nodiscard]] const std::string& last_error();

// Reports an exception. The only possible cause is a lack of memory.
int report_thrown(const std::exception& thrown);
// Runs a call that returns a Status and returns its code. No exception reaches a C program.
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
// Returns the array with this number, or reports an error and returns null. Arrays of texts of any
// length are numbered after all other arrays.
[[nodiscard]] const storage::StoredArray* about_array(const weir_files* file, std::int64_t array);
// Return the array with this number: array_of() an array whose elements have a fixed size,
// texts_of() an array of texts of any length. For an array of the other kind they report an error
// and return null.
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
