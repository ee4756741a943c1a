// The documents of a Zarr folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/zarr/document.hpp"

namespace weir::storage {

// Documents by the name of their array or group; "" is the root.
using ZarrDocuments = std::map<std::string, ZarrJson>;

// Returns the folder of a node, with '/' at the end.
[[nodiscard]] std::string zarr_folder(const std::string& path, const std::string& name);

// Writes a document by replacement, so that readers see either the old or the new one.
Status write_zarr_text(const std::string& folder, const std::string& text);
// Writes a document as write_zarr_text() does, and makes it and its name durable. An announcement
// stays as it is, and none is made: a run that is killed here leaves the store as it was.
Status renew_zarr_text(const std::string& folder, const std::string& text);
// Return the text of a document, and of the root's document, which contains all others.
[[nodiscard]] std::string zarr_text(const ZarrJson& document);
[[nodiscard]] std::string zarr_root_text(const ZarrDocuments& documents);

// Announces a step: while it is being written, the root's next document lies beside the root's
// document. A run that finds it knows that chunks of an unfinished step may exist. The commit
// renames it.
Status announce_zarr_step(const std::string& path, const std::string& root_text);
// Returns the name of that document below PATH.
[[nodiscard]] std::string zarr_announcement();
[[nodiscard]] bool zarr_step_announced(const std::string& path);
// Ends the announcement: no step is being written any more, and nothing is left of one.
Status withdraw_zarr_step(const std::string& path);

// Limits for reading a folder, because a malicious folder may contain anything.
struct ZarrLimits {
  static constexpr std::size_t most_nodes = 65536;  // arrays, and groups except the root
  static constexpr std::size_t most_entries = std::size_t{1} << 20;  // entries of all folders
  static constexpr int most_groups_deep = 32;                        // groups inside each other

  std::size_t nodes = most_nodes;
  std::size_t entries = most_entries;
};

// The content of a folder's documents.
//
// The root's document may contain a copy of all others, "consolidated". Programs that change one
// array need not renew the copy: zarr-python's append() does not. Therefore a node's own document
// is valid, with one exception: a step is committed when the root's document is replaced, and the
// arrays' own documents are replaced before. Own documents that are equal to those of the
// announcement belong to a step that is not committed; for these the copy is valid.
struct ZarrStore {
  // For a node that cannot be read, the document is a text, the reason, instead of an object.
  ZarrDocuments documents;
  // Nodes whose own documents belong to a step that is not committed.
  std::vector<std::string> of_uncommitted_step;
  // The root's copy of some document is older than the document. The root's document is renewed
  // before a step is announced, because the copy is valid while the step is committed.
  bool root_is_older = false;
};

// Reads the consolidated documents and each node's own document. Without consolidated documents,
// finds all by walking through the folders of groups (without following symbolic links). Fails if a
// limit is exceeded.
[[nodiscard]] Result<ZarrStore> read_zarr_store(const std::string& path,
                                                const ZarrLimits& limits = {});

[[nodiscard]] bool is_zarr_array(const ZarrJson& document);

}  // namespace weir::storage
