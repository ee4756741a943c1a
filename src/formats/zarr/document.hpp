// Converts descriptions to and from zarr.json of an array or a group (Zarr v3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/json.hpp"
#include "formats/zarr/own_attribute.hpp"
#include "stored/extent_map.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

using ZarrJson = Json;

// Returns what Zarr folders can hold if arrays have some of these codecs.
[[nodiscard]] FormatAbilities zarr_abilities(std::span<const std::string_view> codecs);

// The content of an array's document.
struct ZarrArray {
  ArrayDescription description;  // with chunk_extents, and with shard_extents if there are shards
  ByteOrder byte_order = ByteOrder::little;
  std::string key_prefix = "c.";  // beginning of the names of its files, before the first
                                  // coordinate
  char separator = '.';
  bool index_at_end = true;  // index of shards
  bool index_summed = true;  // the index has a checksum
  // The fill value of texts of any length; nothing: the array is not of such texts. If it is, the
  // type of the description is that of the chunks' bytes.
  std::optional<std::string> text_fill = {};    // NOLINT(readability-redundant-member-init)
  std::vector<AttributeLeftOut> left_out = {};  // NOLINT(readability-redundant-member-init)
};

// Returns the document of an array that has chunk_extents. The array's files are named c.0.1.2, so
// that no folder has to be made for them.
[[nodiscard]] ZarrJson zarr_array_document(const ArrayDescription& array);
[[nodiscard]] ZarrJson zarr_group_document(const std::vector<Attribute>& attributes);

// Parses any document. Returns the reason if Weir cannot read the array. `own` comes from the
// store's root.
[[nodiscard]] std::variant<ZarrArray, std::string> parse_zarr_array(const ZarrJson& document,
                                                                    const std::string& name,
                                                                    const ZarrOwn& own);
// Returns the attributes in a document. `owner` is the document's array or group.
[[nodiscard]] AttributesFound zarr_attributes(const ZarrJson& document, const std::string& owner,
                                              const ZarrOwn& own);

// Fails on values that JSON does not have, and on names that Weir uses itself. `array` is the type
// of the array that has the attribute; null for a group.
Status check_zarr_attribute(const Attribute& attribute, const array::ElementType* array);

}  // namespace weir::storage
