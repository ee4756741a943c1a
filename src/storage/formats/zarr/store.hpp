// The documents of a Zarr folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/formats/zarr/document.hpp"

namespace weir::storage {

// By the name of array or group; "" is the root.
using ZarrDocuments = std::map<std::string, ZarrJson>;

// The folder of a node, with '/' at the end.
[[nodiscard]] std::string zarr_folder(const std::string& path, const std::string& name);

// Writes a document so that readers see the old or the new one.
Status write_zarr_text(const std::string& folder, const std::string& text);
// Writes a document as write_zarr_text() does, durable with its name.
Status renew_zarr_text(const std::string& folder, const std::string& text);
// The text of a document, and of the root's, which holds all others.
[[nodiscard]] std::string zarr_text(const ZarrJson& document);
[[nodiscard]] std::string zarr_root_text(const ZarrDocuments& documents);

// While a step is being written, the root's next document lies beside the root's: a run that finds
// it knows that chunks of an unfinished step may be there. The commit renames it.
Status announce_zarr_step(const std::string& path, const std::string& root_text);
// The name of that document below PATH.
[[nodiscard]] std::string zarr_announcement();
[[nodiscard]] bool zarr_step_announced(const std::string& path);
// No step is being written any more, and nothing of one is there.
Status withdraw_zarr_step(const std::string& path);

// How much of a folder is read: a hostile one may hold anything.
struct ZarrLimits {
  static constexpr std::size_t most_nodes = 65536;  // arrays, and groups but the root
  static constexpr std::size_t most_entries = std::size_t{1} << 20;  // of all folders
  static constexpr int most_groups_deep = 32;                        // in each other

  std::size_t nodes = most_nodes;
  std::size_t entries = most_entries;
};

// What the documents of a folder say.
//
// The root's document may hold a copy of all others, "consolidated". Programs that change one array
// need not renew the copy: zarr-python's append() does not. A node's own document is the truth,
// therefore, with one exception: a step is committed when the root's document is replaced, and the
// arrays' own ones are replaced before. Those that are what the announcement says are of a step
// that is not committed, and the copy holds.
struct ZarrStore {
  // The document of a node that cannot be read is a text, the reason, instead of an object.
  ZarrDocuments documents;
  // Nodes whose own documents are those of a step that is not committed.
  std::vector<std::string> of_uncommitted_step;
  // The root's copy of some document is older than that one. Before a step is announced, the root's
  // document is renewed: while the step is committed, the copy is what counts.
  bool root_is_older = false;
};

// Reads the consolidated documents and each node's own one, or finds all by walking through the
// folders of groups (symbolic links are not followed). Fails on what is beyond the limits.
[[nodiscard]] Result<ZarrStore> read_zarr_store(const std::string& path,
                                                const ZarrLimits& limits = {});

[[nodiscard]] bool is_zarr_array(const ZarrJson& document);

}  // namespace weir::storage
