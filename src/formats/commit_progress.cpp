#include "formats/commit_progress.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "formats/raw/raw_document.hpp"
#include "system/file.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"
#include "system/text_file.hpp"

namespace weir::storage {
namespace {

bool publishes(const HeaderUpdate& update) {
  return std::ranges::any_of(update.changes, [](const HeaderChange& one) {
    return std::holds_alternative<Publication>(one);
  });
}

// Returns the bytes from the offset on, fewer where the file ends.
Result<std::vector<std::byte>> bytes_in(const File& file, std::int64_t offset, std::size_t count) {
  std::vector<std::byte> bytes(count);
  if (count == 0) return bytes;
  const Slice slice{bytes.data(), static_cast<std::int64_t>(count)};
  std::int64_t read = 0;
  std::int64_t calls = 0;
  if (Status got = read_slices(file, {&slice, 1}, offset, read, calls); !got.ok()) {
    return got.error();
  }
  bytes.resize(static_cast<std::size_t>(read));
  return bytes;
}

Result<std::string> text_at(const std::string& path) {
  if (!is_on_disk(path)) return std::string();
  return read_text_file(path, most_raw_document_bytes);
}

// The documents of an update that changes a file in its place.
struct Documents {
  explicit Documents(const std::string& at) : path(at) {}

  [[nodiscard]] std::string place(const DocumentReplacement& change) const {
    return committed_path(path) + "/" + change.name;
  }
  [[nodiscard]] std::string place(const SidecarReplacement& change) const {
    return committed_path(path + change.suffix);
  }
  std::string path;
};

struct WriteFound {
  const HeaderWrite* change = nullptr;
  std::vector<std::byte> now;
  std::vector<bool> is_expected;  // what was there, or what a write of the update leaves
  std::vector<bool> is_last;      // what the last write there leaves
};

WriteFound compared(const HeaderWrite& change, const HeaderWrite& before,
                    std::vector<std::byte> now) {
  WriteFound found{&change, std::move(now), {}, {}};
  // What was behind the end of the file belonged to nobody.
  found.is_expected.assign(change.bytes.size(), true);
  found.is_last.assign(change.bytes.size(), false);
  for (std::size_t i = 0; i < found.now.size(); ++i) {
    found.is_last[i] = found.now[i] == change.bytes[i];
    found.is_expected[i] =
        found.is_last[i] || i >= before.bytes.size() || found.now[i] == before.bytes[i];
  }
  for (const HeaderWrite::Kept& part : change.kept) {
    for (std::size_t i = part.first; i < part.first + part.count; ++i) {
      found.is_expected[i] = found.is_last[i] = true;
    }
  }
  return found;
}

// Where two writes of an update overlap, either may have come last.
void compare_overlap(WriteFound& one, WriteFound& other) {
  const bool is_later = one.change > other.change;  // in the list of changes
  WriteFound& first = is_later ? other : one;
  WriteFound& second = is_later ? one : other;
  const std::int64_t begin = std::max(first.change->offset, second.change->offset);
  const std::int64_t end =
      std::min(first.change->offset + static_cast<std::int64_t>(first.now.size()),
               second.change->offset + static_cast<std::int64_t>(second.now.size()));
  for (std::int64_t at = begin; at < end; ++at) {
    const auto in_first = static_cast<std::size_t>(at - first.change->offset);
    const auto in_second = static_cast<std::size_t>(at - second.change->offset);
    const bool is_of_second = second.now[in_second] == second.change->bytes[in_second];
    const bool is_of_first = first.now[in_first] == first.change->bytes[in_first];
    if (is_of_second) first.is_expected[in_first] = true;
    if (is_of_first) second.is_expected[in_second] = true;
    first.is_last[in_first] = second.is_last[in_second];
  }
}

// Looks at a file that has got its name. Its documents have their last text, or a later one, unless
// they have an earlier one of the same commit.
Result<CommitProgress> progress_of_end(const std::string& path, const HeaderUpdate& update) {
  std::map<std::string, std::vector<std::string_view>> texts;  // by path
  const Documents documents(path);
  for (const HeaderChange& change : update.changes) {
    if (const auto* const one = std::get_if<SidecarReplacement>(&change)) {
      texts[documents.place(*one)].emplace_back(one->text);
    }
  }
  for (const auto& [place, all] : texts) {
    const auto now = text_at(place);
    if (!now) return now.error();
    if (now.value() == all.back()) continue;
    if (std::ranges::find(all, now.value()) != all.end()) return CommitProgress::lacks_end;
  }
  return CommitProgress::is_done;
}

Result<CommitProgress> progress_of_writes(const std::string& path, const HeaderUpdate& update,
                                          const HeaderUpdate& before) {
  std::vector<WriteFound> all;
  const auto file = File::open(committed_path(path), {});
  if (!file) return file.error();
  for (std::size_t i = 0; i < update.changes.size(); ++i) {
    const auto* const change = std::get_if<HeaderWrite>(&update.changes[i]);
    const auto* const there = std::get_if<HeaderWrite>(&before.changes[i]);
    if (change == nullptr) continue;
    if (there == nullptr) return CommitProgress::is_foreign;
    auto now = bytes_in(file.value(), change->offset, change->bytes.size());
    if (!now) return now.error();
    all.push_back(compared(*change, *there, std::move(now).value()));
  }
  std::ranges::sort(all, {}, [](const WriteFound& one) { return one.change->offset; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t end =
        all[i].change->offset + static_cast<std::int64_t>(all[i].change->bytes.size());
    for (std::size_t j = i + 1; j < all.size() && all[j].change->offset < end; ++j) {
      compare_overlap(all[i], all[j]);
    }
  }
  const auto holds = [](const std::vector<bool>& flags) {
    return std::ranges::find(flags, false) == flags.end();
  };
  const bool is_expected =
      std::ranges::all_of(all, [&](const auto& one) { return holds(one.is_expected); });
  if (!is_expected) return CommitProgress::is_foreign;
  const bool is_done =
      std::ranges::all_of(all, [&](const auto& one) { return holds(one.is_last); });
  return is_done ? CommitProgress::is_done : CommitProgress::can_begin;
}

Result<CommitProgress> progress_of_documents(const std::string& path, const HeaderUpdate& update,
                                             const HeaderUpdate& before) {
  struct Found {
    std::string now;
    bool is_expected = false;
    bool is_last = false;
  };
  std::map<std::string, Found> all;  // by path
  const Documents documents(path);
  const auto look_at = [&](const auto& change, const HeaderChange& there) -> Status {
    const auto* const earlier = std::get_if<std::remove_cvref_t<decltype(change)>>(&there);
    const auto [found, is_new] = all.try_emplace(documents.place(change));
    if (is_new) {
      auto text = text_at(found->first);
      if (!text) return text.error();
      found->second.now = std::move(text).value();
    }
    found->second.is_last = found->second.now == change.text;
    found->second.is_expected = found->second.is_expected || found->second.is_last ||
                                (earlier != nullptr && found->second.now == earlier->text);
    return {};
  };
  for (std::size_t i = 0; i < update.changes.size(); ++i) {
    Status looked;
    if (const auto* const one = std::get_if<DocumentReplacement>(&update.changes[i])) {
      looked = look_at(*one, before.changes[i]);
    } else if (const auto* const other = std::get_if<SidecarReplacement>(&update.changes[i])) {
      looked = look_at(*other, before.changes[i]);
    }
    if (!looked.ok()) return looked.error();
  }
  const auto is_expected = [](const auto& one) { return one.second.is_expected; };
  const auto is_last = [](const auto& one) { return one.second.is_last; };
  if (!std::ranges::all_of(all, is_expected)) return CommitProgress::is_foreign;
  return std::ranges::all_of(all, is_last) ? CommitProgress::is_done : CommitProgress::can_begin;
}

}  // namespace

std::string place_of(const std::string& path, const HeaderUpdate& update) {
  return publishes(update) ? incomplete_path(path) : committed_path(path);
}

Result<HeaderUpdate> content_before(const std::string& path, const HeaderUpdate& update) {
  HeaderUpdate before;
  if (publishes(update)) return before;
  std::optional<File> file;
  const Documents documents(path);
  for (const HeaderChange& change : update.changes) {
    if (const auto* const write = std::get_if<HeaderWrite>(&change)) {
      if (!file) {
        auto opened = File::open(committed_path(path), {});
        if (!opened) return opened.error();
        file = std::move(opened).value();
      }
      auto bytes = bytes_in(*file, write->offset, write->bytes.size());
      if (!bytes) return bytes.error();
      before.changes.emplace_back(
          HeaderWrite{.offset = write->offset, .bytes = std::move(bytes).value()});
    } else if (const auto* const document = std::get_if<DocumentReplacement>(&change)) {
      auto text = text_at(documents.place(*document));
      if (!text) return text.error();
      before.changes.emplace_back(
          DocumentReplacement{.name = document->name, .text = std::move(text).value()});
    } else if (const auto* const sidecar = std::get_if<SidecarReplacement>(&change)) {
      auto text = text_at(documents.place(*sidecar));
      if (!text) return text.error();
      before.changes.emplace_back(
          SidecarReplacement{.suffix = sidecar->suffix, .text = std::move(text).value()});
    } else {
      before.changes.push_back(change);
    }
  }
  return before;
}

Result<CommitProgress> progress_of(const std::string& path, const FileIdentity& identity,
                                   const HeaderUpdate& update, const HeaderUpdate& before) {
  const std::string name = committed_path(path);
  if (publishes(update)) {
    if (identity_of(incomplete_path(path)) == identity) return CommitProgress::can_begin;
    if (identity_of(name) != identity) return CommitProgress::is_foreign;
    return progress_of_end(path, update);
  }
  if (before.changes.size() != update.changes.size() || identity_of(name) != identity) {
    return CommitProgress::is_foreign;
  }
  const bool has_writes = std::ranges::any_of(update.changes, [](const HeaderChange& one) {
    return std::holds_alternative<HeaderWrite>(one);
  });
  Result<CommitProgress> writes = CommitProgress::is_done;
  if (has_writes) writes = progress_of_writes(path, update, before);
  if (!writes || writes.value() == CommitProgress::is_foreign) return writes;
  const auto documents = progress_of_documents(path, update, before);
  if (!documents) return documents.error();
  if (documents.value() != CommitProgress::is_done) return documents.value();
  return writes;
}

Result<HeaderUpdate> rest_of(const std::string& path, const HeaderUpdate& update) {
  HeaderUpdate rest = update;
  const auto publication = std::ranges::find_if(rest.changes, [](const HeaderChange& one) {
    return std::holds_alternative<Publication>(one);
  });
  if (publication != rest.changes.end()) {
    if (is_on_disk(incomplete_path(path))) return rest;
    rest.changes.erase(rest.changes.begin(), publication + 1);
    return rest;
  }
  const Documents documents(path);
  rest.changes.clear();
  for (const HeaderChange& change : update.changes) {
    const auto* const document = std::get_if<DocumentReplacement>(&change);
    if (document != nullptr && document->announced) {
      const auto now = text_at(documents.place(*document));
      if (!now) return now.error();
      if (now.value() == document->text) continue;
    }
    rest.changes.push_back(change);
  }
  return rest;
}

}  // namespace weir::storage
