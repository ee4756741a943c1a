// zarr.json of an array or a group (Zarr v3), to and from descriptions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/formats/extent_map.hpp"
#include "storage/formats/file_description.hpp"
#include "storage/formats/zarr/own_attribute.hpp"
#include "storage/json.hpp"

namespace weir::storage {

using ZarrJson = Json;

// What Zarr folders hold whose arrays have some of these codecs.
[[nodiscard]] FormatAbilities zarr_abilities(std::span<const std::string_view> codecs);

// What an array's document says.
struct ZarrArray {
  ArrayDescription description;  // with chunk_extents, and shard_extents where there are shards
  ByteOrder byte_order = ByteOrder::little;
  std::string key_prefix = "c.";  // of the names of its files, before the first coordinate
  char separator = '.';
  bool index_at_end = true;  // of shards
  bool index_summed = true;  // with a checksum
  // The fill value of texts of any length; nothing: the array is not one of texts. The type of the
  // description is then that of the bytes of chunks.
  std::optional<std::string> text_fill = {};    // NOLINT(readability-redundant-member-init)
  std::vector<AttributeLeftOut> left_out = {};  // NOLINT(readability-redundant-member-init)
};

// An array that has chunk_extents. Its files are named c.0.1.2, so that no folder has to be made
// for one of them.
[[nodiscard]] ZarrJson zarr_array_document(const ArrayDescription& array);
[[nodiscard]] ZarrJson zarr_group_document(const std::vector<Attribute>& attributes);

// The reason where it is nothing that Weir can read; whatever the document is. `own`: of the store.
[[nodiscard]] std::variant<ZarrArray, std::string> parse_zarr_array(const ZarrJson& document,
                                                                    const std::string& name,
                                                                    const ZarrOwn& own);
// `owner` is the array or group that the document is of.
[[nodiscard]] AttributesFound zarr_attributes(const ZarrJson& document, const std::string& owner,
                                              const ZarrOwn& own);

// Fails on what JSON does not have, and on names of Weir's own. `array` is the type of the array
// that has the attribute; null for a group.
Status check_zarr_attribute(const Attribute& attribute, const array::ElementType* array);

}  // namespace weir::storage
