#include "formats/header_update.hpp"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include "checksums/sums_file.hpp"
#include "formats/raw/raw_document.hpp"
#include "formats/raw/raw_leftovers.hpp"
#include "system/file.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"
#include "system/text_file.hpp"

namespace weir::storage {
namespace {

class Commit {
 public:
  Commit(const std::string& path, const HeaderUpdate& update, StepDurability durability)
      : path_(path), durability_(durability) {
    for (const HeaderChange& one : update.changes) {
      replaces_ = replaces_ || std::holds_alternative<Publication>(one);
      has_document_ = has_document_ || std::holds_alternative<SidecarReplacement>(one);
    }
    place_ = replaces_ ? incomplete_path(path) : committed_path(path);
  }

  Status remove_old_sums() const {
    return replaces_ ? remove_sums(sums_path(path_), durability_) : Status();
  }

  Status make_durable(const std::vector<std::string>& made) const {
    if (durability_ == StepDurability::none) return {};
    for (const std::string& name : made) {
      if (Status synced = sync_path(below(name)); !synced.ok()) return synced;
    }
    // A document refers to the data under their temporary name, which has to be durable before it.
    return replaces_ && has_document_ ? sync_folder(folder_of(place_)) : Status();
  }

  Status apply(const HeaderWrite& change) {
    if (Status opened = open_file(); !opened.ok()) return opened;
    std::vector<std::byte> bytes = change.bytes;
    const Slice slice{bytes.data(), static_cast<std::int64_t>(bytes.size())};
    std::int64_t calls = 0;
    for (const HeaderWrite::Kept& part : change.kept) {
      const Slice kept{bytes.data() + part.first, static_cast<std::int64_t>(part.count)};
      const std::int64_t from = change.offset + static_cast<std::int64_t>(part.first);
      std::int64_t read = 0;
      Status status = read_slices(*file_, {&kept, 1}, from, read, calls);
      if (!status.ok()) return status;
    }
    return write_slices(*file_, {&slice, 1}, change.offset, calls);
  }

  Status apply(const DocumentReplacement& change) {
    return replace(below(change.name), change.text);
  }

  Status apply(const SidecarReplacement& change) {
    const std::string name = committed_path(path_ + change.suffix);
    if (replaces_ && !named_) {
      if (Status kept = keep(name); !kept.ok()) return kept;
    }
    return replace(name, change.text);
  }

  Status apply(const FileEnd& change) {
    if (Status opened = open_file(); !opened.ok()) return opened;
    return file_->set_length(change.bytes);
  }

  Status apply(const DurabilityPoint& /*change*/) {
    if (durability_ == StepDurability::none) return {};
    if (file_) {
      if (Status synced = file_->sync(); !synced.ok()) return synced;
    }
    for (const std::string& folder : folders_) {
      if (Status synced = sync_folder(folder); !synced.ok()) return synced;
    }
    folders_.clear();
    return {};
  }

  Status apply(const Publication& /*change*/) {
    if (Status synced = apply(DurabilityPoint{}); !synced.ok()) return synced;
    if (has_document_) return give_name();
    const auto replaces_raw = announce_replacement(path_, durability_);
    if (!replaces_raw) return replaces_raw.error();
    if (Status named = give_name(); !named.ok()) return named;
    return replaces_raw.value() ? end_replacement(path_, durability_) : Status();
  }

  Status end() {
    if (Status synced = apply(DurabilityPoint{}); !synced.ok()) return synced;
    return file_ ? file_->close() : Status();
  }

  // Restores, after a failure, what readers saw before, so that the commit can be tried again. If
  // this fails too, readers see the file under its temporary name.
  void undo() {
    if (!document_before_ || named_) return;
    if (document_before_->text) {
      (void)replace(document_before_->name, *document_before_->text);
    } else {
      ::unlink(document_before_->name.c_str());
    }
  }

 private:
  struct DocumentBefore {
    std::string name;
    std::optional<std::string> text;  // nothing: there was no document
  };

  Status keep(const std::string& name) {
    DocumentBefore before{name, std::nullopt};
    if (is_on_disk(name)) {
      auto text = read_text_file(name, most_raw_file_document_bytes);
      if (!text) return text.error();
      before.text = std::move(text).value();
    }
    document_before_ = std::move(before);
    return {};
  }

  Status give_name() {
    Status published = publish(path_, durability_);
    named_ = published.ok() || !is_on_disk(incomplete_path(path_));
    return published;
  }

  Status replace(const std::string& name, std::string text) {
    auto file = begin_replacement(name);
    if (!file) return file.error();
    const Slice slice{reinterpret_cast<std::byte*>(text.data()),
                      static_cast<std::int64_t>(text.size())};
    std::int64_t calls = 0;
    if (!text.empty()) {
      Status written = write_slices(file.value(), {&slice, 1}, 0, calls);
      if (!written.ok()) return written;
    }
    Status replaced = finish_replacement(file.value(), name, durability_ != StepDurability::none);
    if (replaced.ok()) folders_.insert(folder_of(name));
    return replaced;
  }

  Status open_file() {
    if (file_) return {};
    auto file = File::open(place_, {.read = true, .write = true});
    if (!file) return file.error();
    file_ = std::move(file).value();
    return {};
  }

  [[nodiscard]] std::string below(const std::string& name) const {
    return name.empty() ? place_ : place_ + "/" + name;
  }

  std::string path_;
  StepDurability durability_;
  bool replaces_ = false;
  bool has_document_ = false;  // a document beside the file, as raw files have
  std::optional<DocumentBefore> document_before_;
  bool named_ = false;  // the file was renamed
  std::string place_;   // where the file is before the changes
  std::optional<File> file_;
  std::set<std::string> folders_;  // folders with new entries that are not yet durable
};

}  // namespace

HeaderUpdate publication_of(std::vector<std::string> made) {
  HeaderUpdate update;
  update.made = std::move(made);
  update.changes.emplace_back(Publication{});
  return update;
}

Status commit(const std::string& path, const HeaderUpdate& update, StepDurability durability) {
  Commit commit(path, update, durability);
  if (Status durable = commit.make_durable(update.made); !durable.ok()) return durable;
  if (Status removed = commit.remove_old_sums(); !removed.ok()) return removed;
  for (const HeaderChange& change : update.changes) {
    Status applied = std::visit([&](const auto& one) { return commit.apply(one); }, change);
    if (applied.ok()) continue;
    commit.undo();
    return applied;
  }
  return commit.end();
}

}  // namespace weir::storage
