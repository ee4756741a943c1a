#include "sections/read_texts.hpp"

#include "sections/chunk_texts.hpp"
#include "sections/heap_texts.hpp"

namespace weir::storage {

Result<Texts> read_texts(const StoredTexts& texts, const array::Section& section,
                         DataFileCache& files) {
  if (section.empty()) return Texts();
  return texts.heap_base ? read_heap_texts(texts, section, files)
                         : read_chunk_texts(texts, section, files);
}

}  // namespace weir::storage
