// The changes that a commit makes to the header of a file, as a value: small writes and documents
// to be replaced. Their order is such that after any number of them all tools of the format can
// open the file, with all earlier steps in it. A commit may therefore be killed at any point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/status.hpp"
#include "system/step_durability.hpp"

namespace weir::storage {

// One write. Wherever the format allows it, the write is within one page of the file, so that it is
// done completely or not at all if the process is killed.
struct HeaderWrite {
  std::int64_t offset = 0;
  std::vector<std::byte> bytes;
  // Parts of `bytes` for which the bytes in the file at the time of the commit are kept.
  struct Kept {
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const Kept&, const Kept&) = default;
  };
  std::vector<Kept> kept = {};  // NOLINT(readability-redundant-member-init): may be left out

  friend bool operator==(const HeaderWrite&, const HeaderWrite&) = default;
};

// A document in a folder is replaced by renaming; readers see the old or the new one.
struct DocumentReplacement {
  std::string name;  // relative to the file's path
  std::string text;
  // The replacement lies beside the document, complete, while the change is being made, and tells
  // readers and later runs which documents belong to it. The commit renames that file and never
  // writes into it.
  bool announced = false;

  friend bool operator==(const DocumentReplacement&, const DocumentReplacement&) = default;
};

// The document beside the file is replaced in the same way. Its name is the file's committed name
// with this suffix.
struct SidecarReplacement {
  std::string suffix;
  std::string text;

  friend bool operator==(const SidecarReplacement&, const SidecarReplacement&) = default;
};

// The file ends here: it is cut off behind this length.
struct FileEnd {
  std::int64_t bytes = 0;
  bool drops_steps = false;  // bytes of steps that readers saw are behind it

  friend bool operator==(const FileEnd&, const FileEnd&) = default;
};

// If durability was requested: all earlier changes are made durable before later ones begin.
struct DurabilityPoint {
  friend bool operator==(const DurabilityPoint&, const DurabilityPoint&) = default;
};

// The file is renamed from its temporary name to its own.
struct Publication {
  friend bool operator==(const Publication&, const Publication&) = default;
};

using HeaderChange = std::variant<HeaderWrite, DocumentReplacement, SidecarReplacement, FileEnd,
                                  DurabilityPoint, Publication>;

struct HeaderUpdate {
  // Files and folders that were made, without being durable, before the changes; names relative to
  // the file's path, "" for the path itself. Files with the arrays' bytes are not included: their
  // writers make them durable.
  std::vector<std::string> made;
  std::vector<HeaderChange> changes;

  friend bool operator==(const HeaderUpdate&, const HeaderUpdate&) = default;
};

// Returns the update that gives a new file its name.
[[nodiscard]] HeaderUpdate publication_of(std::vector<std::string> made);

// An error of commit() says this if readers may see what was changed.
inline constexpr std::string_view may_be_seen = "readers may see the change";

// Applies the update to the file at `path`. Called by one rank, after the step's bytes have been
// written and, if requested, made durable. From then on readers see the step. If the file replaces
// another, that file's checksums are removed first, and its document, if it is a raw file, after
// the publication. If a change or making it durable fails, the changes are taken back: readers go
// on seeing what they saw before. If that fails too, the error says `may_be_seen`.
Status commit(const std::string& path, const HeaderUpdate& update, StepDurability durability);

}  // namespace weir::storage
