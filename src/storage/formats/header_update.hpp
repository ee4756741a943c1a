// What a commit does to the header of a file, as a value: small writes and documents to be
// replaced, in an order of which every beginning leaves a file that all tools of its format open,
// with all earlier steps in it. So a commit may be killed at any point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/status.hpp"
#include "storage/step_durability.hpp"

namespace weir::storage {

// One write, within one page of the file wherever the format allows it: that is whole or not at all
// when the process is killed.
struct HeaderWrite {
  std::int64_t offset = 0;
  std::vector<std::byte> bytes;
  // Parts of these that are written as the file has them when the update is applied.
  struct Kept {
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const Kept&, const Kept&) = default;
  };
  std::vector<Kept> kept = {};  // NOLINT(readability-redundant-member-init): may be left out

  friend bool operator==(const HeaderWrite&, const HeaderWrite&) = default;
};

// A document of a folder is replaced by renaming; readers see the old or the new one.
struct DocumentReplacement {
  std::string name;  // below the file's path
  std::string text;

  friend bool operator==(const DocumentReplacement&, const DocumentReplacement&) = default;
};

// The document that lies beside the file, under its committed name and this suffix, likewise.
struct SidecarReplacement {
  std::string suffix;
  std::string text;

  friend bool operator==(const SidecarReplacement&, const SidecarReplacement&) = default;
};

// The file ends here: what lies behind goes.
struct FileEnd {
  std::int64_t bytes = 0;

  friend bool operator==(const FileEnd&, const FileEnd&) = default;
};

// Where durability is asked for: what precedes is durable before what follows is written.
struct DurabilityPoint {
  friend bool operator==(const DurabilityPoint&, const DurabilityPoint&) = default;
};

// The file gets its name; until then it has the temporary one.
struct Publication {
  friend bool operator==(const Publication&, const Publication&) = default;
};

using HeaderChange = std::variant<HeaderWrite, DocumentReplacement, SidecarReplacement, FileEnd,
                                  DurabilityPoint, Publication>;

struct HeaderUpdate {
  // Files and folders below the file's path, "" for itself, that were made without being durable,
  // before the changes; those of the arrays' bytes are the affair of who wrote these.
  std::vector<std::string> made;
  std::vector<HeaderChange> changes;

  friend bool operator==(const HeaderUpdate&, const HeaderUpdate&) = default;
};

// The update that gives a new file its name.
[[nodiscard]] HeaderUpdate publication_of(std::vector<std::string> made);

// What a document is called while it is written, before it is renamed into place.
inline constexpr const char* new_document_suffix = ".new";

// Applies the update to the file at `path`. By one rank, when the step's bytes are written, and
// durable where that is asked for. Readers see the step from here on. The checksums of a file that
// it replaces are removed before, and the document of a raw file that it replaces behind the
// publication.
Status commit(const std::string& path, const HeaderUpdate& update, StepDurability durability);

}  // namespace weir::storage
