#include "formats/header_update.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <variant>

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
    BytesBefore before{change.offset, std::vector<std::byte>(bytes.size())};
    const auto count = static_cast<std::int64_t>(bytes.size());
    std::int64_t calls = 0;
    if (!replaces_ || !change.kept.empty()) {
      const Slice there{before.bytes.data(), count};
      std::int64_t read = 0;
      Status status = read_slices(*file_, {&there, 1}, change.offset, read, calls);
      if (!status.ok()) return status;
      for (const HeaderWrite::Kept& part : change.kept) {
        std::copy_n(before.bytes.begin() + static_cast<std::ptrdiff_t>(part.first), part.count,
                    bytes.begin() + static_cast<std::ptrdiff_t>(part.first));
      }
      before.bytes.resize(static_cast<std::size_t>(read));
      keep(std::move(before));
    }
    const Slice slice{bytes.data(), count};
    return write_slices(*file_, {&slice, 1}, change.offset, calls);
  }

  Status apply(const DocumentReplacement& change) {
    const std::string name = below(change.name);
    if (!replaces_) {
      if (Status kept = keep_document(name); !kept.ok()) return kept;
      if (change.announced) std::get<DocumentBefore>(before_.back()).announced = change.text;
    }
    return change.announced ? rename(name, change.text) : replace(name, change.text);
  }

  Status apply(const SidecarReplacement& change) {
    const std::string name = committed_path(path_ + change.suffix);
    if (!named_) {
      if (Status kept = keep_document(name); !kept.ok()) return kept;
    }
    return replace(name, change.text);
  }

  Status apply(const FileEnd& change) {
    if (Status opened = open_file(); !opened.ok()) return opened;
    struct stat about {};
    if (::fstat(file_->descriptor(), &about) != 0) {
      return system_failure("fstat", place_, -1, errno);
    }
    keep(LengthBefore{about.st_size});
    Status cut = file_->set_length(change.bytes);
    is_final_ = cut.ok() && change.drops_steps;
    return cut;
  }

  Status apply(const DurabilityPoint& /*change*/) {
    keep(DurabilityPoint{});
    return make_changes_durable();
  }

  Status apply(const Publication& /*change*/) {
    if (Status synced = make_changes_durable(); !synced.ok()) return synced;
    if (has_document_) return give_name();
    const auto replaces_raw = announce_replacement(path_, durability_);
    if (!replaces_raw) return replaces_raw.error();
    if (Status named = give_name(); !named.ok()) return named;
    return replaces_raw.value() ? end_replacement(path_, durability_) : Status();
  }

  Status end() {
    if (Status synced = make_changes_durable(); !synced.ok()) return synced;
    return file_ ? file_->close() : Status();
  }

  // After a failure: restores what readers saw before, so that the commit can be tried again. A
  // file that has its name keeps it, since the file that it replaced is gone. Changes are taken
  // back in reverse order, and are made durable wherever the commit made them durable, so that a
  // power cut leaves one of the states that a commit passes through. Fails if readers may see the
  // changes.
  Status undo() {
    if (named_) return Error(ErrorCode::io, "it has its final name", path_);
    if (is_final_) return Error(ErrorCode::io, "steps were cut off", place_);
    file_.reset();  // an error of closing it would be that of the commit
    std::vector<Before> before = std::move(before_);
    before_ = {};
    if (before.empty()) return {};
    std::reverse(before.begin(), before.end());
    for (const Before& one : before) {
      Status restored = std::visit([&](const auto& kept) { return restore(kept); }, one);
      if (!restored.ok()) return restored;
    }
    return make_changes_durable();
  }

 private:
  struct BytesBefore {
    std::int64_t offset = 0;
    std::vector<std::byte> bytes;  // fewer than were written if the file ended there
  };
  struct LengthBefore {
    std::int64_t bytes = 0;
  };
  struct DocumentBefore {
    std::string name;
    std::optional<std::string> text;  // nothing: there was no document
    // The text of the announcement that the change has taken away.
    std::optional<std::string> announced = std::nullopt;
  };
  using Before = std::variant<BytesBefore, LengthBefore, DocumentBefore, DurabilityPoint>;

  // No reader sees a file before it has its name, so what it had before is not restored.
  void keep(Before before) {
    if (!replaces_) before_.push_back(std::move(before));
  }

  Status keep_document(const std::string& name) {
    DocumentBefore before{name, std::nullopt};
    if (is_on_disk(name)) {
      auto text = read_text_file(name, most_raw_document_bytes);
      if (!text) return text.error();
      before.text = std::move(text).value();
    }
    before_.emplace_back(std::move(before));
    return {};
  }

  Status restore(const BytesBefore& before) {
    if (Status opened = open_file(); !opened.ok()) return opened;
    std::vector<std::byte> bytes = before.bytes;
    const Slice slice{bytes.data(), static_cast<std::int64_t>(bytes.size())};
    std::int64_t calls = 0;
    return write_slices(*file_, {&slice, 1}, before.offset, calls);
  }

  Status restore(const LengthBefore& before) {
    if (Status opened = open_file(); !opened.ok()) return opened;
    return file_->set_length(before.bytes);
  }

  // As long as other documents have their new text, the announcement tells that they belong to a
  // change that is not committed. It is therefore there again before the document has its old text.
  Status restore(const DocumentBefore& before) {
    if (before.announced) {
      const bool durable = durability_ != StepDurability::none;
      Status announced = write_replacement(before.name, *before.announced);
      if (announced.ok() && durable) announced = sync_path(replacement_path(before.name));
      if (!announced.ok()) return announced;
      return before.text ? replace_beside_announcement(before.name, *before.text, durable)
                         : remove_file(before.name);
    }
    return before.text ? replace(before.name, *before.text) : remove_file(before.name);
  }

  Status restore(const DurabilityPoint& /*before*/) { return make_changes_durable(); }

  Status make_changes_durable() {
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

  Status give_name() {
    Status published = publish(path_, durability_);
    named_ = published.ok() || !is_on_disk(incomplete_path(path_));
    return published;
  }

  Status replace(const std::string& name, std::string text) {
    const bool durable = durability_ != StepDurability::none;
    Status replaced = replace_file(name, std::move(text), durable);
    if (replaced.ok() && durable) folders_.insert(folder_of(name));
    return replaced;
  }

  Status rename(const std::string& name, const std::string& text) {
    Status renamed = rename_announced(name, text);
    if (renamed.ok() && durability_ != StepDurability::none) folders_.insert(folder_of(name));
    return renamed;
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
  bool has_document_ = false;   // a document beside the file, as raw files have
  std::vector<Before> before_;  // what the changes replaced, in their order
  bool named_ = false;          // the file was renamed
  bool is_final_ = false;       // bytes were cut off that were there before
  std::string place_;           // where the file is before the changes
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
  Status done;
  try {
    for (const HeaderChange& change : update.changes) {
      done = std::visit([&](const auto& one) { return commit.apply(one); }, change);
      if (!done.ok()) break;
    }
  } catch (const std::bad_alloc&) {
    done = Error(ErrorCode::insufficient, "there is no memory to change its header", path);
  }
  if (done.ok()) done = commit.end();
  if (done.ok()) return done;
  if (const Status undone = commit.undo(); !undone.ok()) {
    Error error = done.error();
    error.message += fmt::format("; {}, because the previous content could not be restored: {}",
                                 may_be_seen, undone.error().message);
    return error;
  }
  return done;
}

}  // namespace weir::storage
