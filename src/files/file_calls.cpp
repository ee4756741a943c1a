// The calls of include/weir/files.h that open and read.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/file_handle.hpp"
#include "files/version.hpp"
#include "formats/drop_steps.hpp"
#include "formats/format.hpp"
#include "formats/missing_parts.hpp"
#include "formats/open_any.hpp"
#include "formats/unfinished.hpp"
#include "formats/writer_lock.hpp"
#include "sections/read_section.hpp"
#include "sections/read_texts.hpp"

using weir::Status;
using weir::files::about_array;
using weir::files::array_of;
using weir::files::check_place;
using weir::files::no_handle;
using weir::files::report;
using weir::files::reported;
using weir::files::request_of;
using weir::storage::DataFileCache;
using weir::storage::StoredArray;
using weir::storage::VerifiedBlocks;

namespace {

const std::shared_ptr<const weir::storage::KnownSums>& known_sums_of(weir_files& file) {
  std::call_once(file.looked_for_sums, [&] {
    file.known_sums = weir::storage::KnownSums::read(file.path, file.map.steps().value_or(1));
  });
  return file.known_sums;
}

// The texts that weir_files_free_texts() frees.
struct TextsInMemory : weir_files_texts {
  explicit TextsInMemory(weir::storage::Texts read) : weir_files_texts{}, texts(std::move(read)) {
    count = texts.count();
    offsets = texts.offsets.data();
    bytes = texts.bytes.c_str();
  }
  weir::storage::Texts texts;
};

}  // namespace

const char* weir_files_version() { return weir::files::version; }

const char* weir_files_last_error() { return weir::files::last_error().c_str(); }

const char* weir_files_formats() {
  static const std::string names = [] {
    std::string joined;
    for (const auto* const one : weir::storage::all_formats()) {
      if (!joined.empty()) joined += ' ';
      joined += one->name();
    }
    return joined;
  }();
  return names.c_str();
}

const char* weir_files_abilities() {
  static const std::string text = [] {
    const auto list = [](std::span<const std::string_view> names) {
      return nlohmann::ordered_json(std::vector<std::string>(names.begin(), names.end()));
    };
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (const auto* const one : weir::storage::all_formats()) {
      const weir::storage::FormatAbilities able = one->abilities();
      all[std::string(one->name())] = {{"suffixes", list(able.suffixes)},
                                       {"codecs", list(able.codecs)},
                                       {"groups", able.groups},
                                       {"chunks", able.chunks},
                                       {"shards", able.shards},
                                       {"column_major", able.column_major_chunks},
                                       {"growing", able.growing},
                                       {"fill", able.fill},
                                       {"utf32", able.utf32},
                                       {"scalars_in_chunks", able.scalars_in_chunks}};
    }
    return all.dump();
  }();
  return text.c_str();
}

int weir_files_open(const char* path, weir_files** file) {
  return reported([&]() -> Status {
    if (Status place = check_place(file); !place.ok()) return place;
    if (path == nullptr) return weir::invalid_argument("path is null");
    auto opened = weir::storage::open_within_limits(path);
    if (!opened) return opened.error();
    auto made =
        std::make_unique<weir_files>(opened.value().path, opened.value().format,
                                     std::move(opened.value().map), DataFileCache::Use::reading);
    made->verified = VerifiedBlocks::covered;
    *file = made.release();
    return {};
  });
}

int weir_files_reload(weir_files** file) {
  if (file == nullptr || *file == nullptr) return report(no_handle());
  return reported([&]() -> Status {
    weir_files& before = **file;
    if (before.unpublished)
      return weir::invalid_argument("the file is not committed yet: commit it first");
    auto opened = weir::storage::open_within_limits(before.path);
    if (!opened) return opened.error();
    auto now =
        std::make_unique<weir_files>(opened.value().path, opened.value().format,
                                     std::move(opened.value().map), DataFileCache::Use::reading);
    now->verified = before.verified.load();
    now->kept_bytes = before.kept_bytes.load();
    if (now->kept_bytes >= 0) now->decoded_chunks.set_most_bytes(now->kept_bytes);
    const std::unique_ptr<weir_files> ended(std::exchange(*file, now.release()));
    return {};
  });
}

int weir_files_close(weir_files** file) {
  if (file != nullptr) {
    const std::unique_ptr<weir_files> ended(*file);
    *file = nullptr;
  }
  return WEIR_FILES_OK;
}

int weir_files_drop_steps(const char* path, int64_t steps) {
  return reported([&]() -> Status {
    if (path == nullptr) return weir::invalid_argument("path is null");
    const auto opened = weir::storage::open_any(path);
    if (!opened) return opened.error();
    auto lock = weir::storage::WriterLock::take(opened.value().path);
    if (!lock) return lock.error();
    return weir::storage::drop_steps(opened.value().path, steps,
                                     weir::storage::StepDurability::step);
  });
}

const char* weir_files_format(const weir_files* file) {
  if (file != nullptr) return file->format.c_str();
  report(no_handle());
  return nullptr;
}

const char* weir_files_description(const weir_files* file) {
  if (file != nullptr) return file->description.c_str();
  report(no_handle());
  return nullptr;
}

int64_t weir_files_arrays(const weir_files* file) {
  if (file == nullptr) return report(no_handle());
  return static_cast<int64_t>(file->map.arrays.size() + file->map.texts.size());
}

int64_t weir_files_find(const weir_files* file, const char* name) {
  if (file == nullptr) return report(no_handle());
  if (name == nullptr) return report(weir::invalid_argument("name is null"));
  for (std::size_t i = 0; i < file->map.texts.size(); ++i) {
    if (file->map.texts[i].array.description.name == name) {
      return static_cast<int64_t>(file->map.arrays.size() + i);
    }
  }
  const auto found = file->map.get(name);
  if (!found) return report(found.error());
  return found.value() - file->map.arrays.data();
}

const char* weir_files_array_name(const weir_files* file, int64_t array) {
  const StoredArray* const found = about_array(file, array);
  return found != nullptr ? found->description.name.c_str() : nullptr;
}

int32_t weir_files_array_dimensions(const weir_files* file, int64_t array) {
  const StoredArray* const found = about_array(file, array);
  if (found == nullptr) return WEIR_FILES_E_ARGUMENT;
  return found->description.is_scalar ? 0 : found->description.shape.dimensions();
}

int weir_files_array_shape(const weir_files* file, int64_t array, int64_t* shape) {
  const StoredArray* const found = about_array(file, array);
  if (found == nullptr) return WEIR_FILES_E_ARGUMENT;
  if (shape == nullptr) return report(weir::invalid_argument("shape is null"));
  if (found->description.is_scalar) return WEIR_FILES_OK;
  for (const std::int64_t extent : found->description.shape.extents()) *shape++ = extent;
  return WEIR_FILES_OK;
}

const char* weir_files_array_element_type(const weir_files* file, int64_t array) {
  if (about_array(file, array) == nullptr) return nullptr;
  return file->type_names[static_cast<std::size_t>(array)].c_str();
}

int64_t weir_files_array_element_bytes(const weir_files* file, int64_t array) {
  const StoredArray* const found = about_array(file, array);
  if (found == nullptr) return WEIR_FILES_E_ARGUMENT;
  return array < std::ssize(file->map.arrays) ? found->description.type.bytes() : 0;
}

const char* weir_files_unfinished(const char* path) {
  thread_local std::string lines;
  const int code = reported([&]() -> Status {
    if (path == nullptr) return weir::invalid_argument("path is null");
    const auto found = weir::storage::find_unfinished(path);
    if (!found) return found.error();
    lines = fmt::format("{}", fmt::join(found.value(), "\n"));
    return {};
  });
  return code == WEIR_FILES_OK ? lines.c_str() : nullptr;
}

int64_t weir_files_missing(weir_files* file, int64_t array, int64_t* unwritten, int64_t* lost,
                           const char** damage) {
  thread_local weir::storage::MissingParts missing;
  const StoredArray* const found = about_array(file, array);
  if (found == nullptr) return WEIR_FILES_E_ARGUMENT;
  const int code = reported([&]() -> Status {
    using weir::storage::Unwritten;
    auto looked = weir::storage::find_missing_parts(
        *found, unwritten != nullptr ? Unwritten::counted : Unwritten::not_counted);
    if (!looked) return looked.error();
    missing = std::move(looked).value();
    return {};
  });
  if (code != WEIR_FILES_OK) return code;
  if (unwritten != nullptr) *unwritten = missing.unwritten;
  if (lost != nullptr) *lost = missing.lost;
  if (damage != nullptr) *damage = missing.damage.c_str();
  return missing.parts;
}

int64_t weir_files_sums(weir_files* file, int64_t* bytes, const char** damage) {
  if (file == nullptr) return report(no_handle());
  const int code = reported([&]() -> Status {
    if (file->unpublished)
      return weir::invalid_argument("the file is not committed yet: commit it first");
    std::call_once(file->cut_for_verification,
                   [&] { file->verification.emplace(known_sums_of(*file)); });
    return {};
  });
  if (code != WEIR_FILES_OK) return code;
  if (bytes != nullptr) *bytes = file->verification->bytes();
  if (damage != nullptr) *damage = file->known_sums->damage().c_str();
  return file->verification->parts();
}

const char* weir_files_verify(weir_files* file, int64_t part) {
  thread_local std::string lines;
  const std::int64_t parts = weir_files_sums(file, nullptr, nullptr);
  const int code = reported([&]() -> Status {
    if (part < 0 || part >= parts) {
      return weir::invalid_argument(fmt::format(
          "part is {}, but the file has {} parts to verify, numbered from 0", part, parts));
    }
    const auto found = file->verification->verify(part, file->map, file->data_files);
    if (!found) return found.error();
    lines = fmt::format("{}", fmt::join(found.value(), "\n"));
    return {};
  });
  return code == WEIR_FILES_OK ? lines.c_str() : nullptr;
}

int weir_files_verify_reads(weir_files* file, int32_t blocks) {
  if (file == nullptr) return report(no_handle());
  return reported([&]() -> Status {
    if (file->unpublished)
      return weir::invalid_argument("the file is not committed yet: commit it first");
    switch (blocks) {
      case WEIR_FILES_VERIFY_NONE:
        file->verified = VerifiedBlocks::none;
        return {};
      case WEIR_FILES_VERIFY_COVERED:
        file->verified = VerifiedBlocks::covered;
        return {};
      case WEIR_FILES_VERIFY_TOUCHED:
        file->verified = VerifiedBlocks::touched;
        return {};
      default:
        return weir::invalid_argument(fmt::format(
            "{} is not a choice of blocks: give one of the constants WEIR_FILES_VERIFY_…", blocks));
    }
  });
}

int weir_files_cache(weir_files* file, int64_t bytes) {
  if (file == nullptr) return report(no_handle());
  return reported([&]() -> Status {
    if (bytes < 0) {
      return weir::invalid_argument(
          fmt::format("the cache size is {} bytes: give 0 or more", bytes));
    }
    file->kept_bytes = bytes;
    file->decoded_chunks.set_most_bytes(bytes);
    return {};
  });
}

int weir_files_read(weir_files* file, int64_t array, const int64_t* start, const int64_t* count,
                    const int64_t* stride, void* data, const int64_t* strides) {
  const StoredArray* const stored = array_of(file, array);
  if (stored == nullptr) return WEIR_FILES_E_ARGUMENT;
  return reported([&]() -> Status {
    const auto request = request_of(*stored, start, count, stride, data, strides);
    if (!request) return request.error();
    std::optional<weir::storage::SectionVerifier> verifier;
    const VerifiedBlocks verified = file->verified;
    if (verified != VerifiedBlocks::none && !known_sums_of(*file)->book().empty()) {
      verifier.emplace(*stored, known_sums_of(*file), file->map, file->data_files, verified);
    }
    return weir::storage::read_section(*stored, request.value().section,
                                       static_cast<std::byte*>(data), request.value().memory,
                                       file->data_files, weir::storage::serial_buffer_bytes,
                                       verifier ? &*verifier : nullptr, &file->decoded_chunks);
  });
}

int weir_files_read_texts(weir_files* file, int64_t array, const int64_t* start,
                          const int64_t* count, const int64_t* stride, weir_files_texts** texts) {
  if (texts == nullptr) return report(weir::invalid_argument("the pointer to the texts is null"));
  *texts = nullptr;
  const auto* const stored = weir::files::texts_of(file, array);
  if (stored == nullptr) return WEIR_FILES_E_ARGUMENT;
  return reported([&]() -> Status {
    const auto section = weir::files::section_of(stored->array, start, count, stride);
    if (!section) return section.error();
    auto read = weir::storage::read_texts(*stored, section.value(), file->data_files);
    if (!read) return read.error();
    *texts = std::make_unique<TextsInMemory>(std::move(read).value()).release();
    return {};
  });
}

void weir_files_free_texts(weir_files_texts** texts) {
  if (texts == nullptr) return;
  const std::unique_ptr<TextsInMemory> ended(static_cast<TextsInMemory*>(*texts));
  *texts = nullptr;
}
