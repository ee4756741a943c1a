// A file with one array of each kind that a format has, for the tests that ask the same of all.
#pragma once

#include <initializer_list>
#include <utility>

#include "stored/file_description.hpp"

namespace weir::storage {

inline array::Shape shape_of(std::initializer_list<std::int64_t> extents) {
  return array::Shape::create(extents).value();
}

inline FileDescription all_it_can(const FormatAbilities& able) {
  FileDescription file;
  const std::string group = able.groups ? "group/" : "";
  using array::ElementKind;
  const auto add = [&](ArrayDescription one) {
    if (able.attributes) one.attributes = {{"units", "m"}};
    file.arrays.push_back(std::move(one));
  };
  for (const ElementKind kind : {ElementKind::int8, ElementKind::int16, ElementKind::int32,
                                 ElementKind::float32, ElementKind::float64}) {
    const array::ElementType type(kind);
    add({.name = group + type.name(), .shape = shape_of({4, 3, 5}), .type = type});
  }
  // One byte of text each, as all formats have it.
  add({.name = group + "characters",
       .shape = shape_of({4, 19}),
       .type = array::ElementType::text(1).value()});
  if (able.chunks) {
    add({.name = "texts", .shape = shape_of({5, 3}), .type = array::ElementType::text(7).value()});
  }
  if (able.utf32) {
    add({.name = "utf32", .shape = shape_of({5, 3}), .type = array::ElementType::utf32(3).value()});
  }
  add({.name = "column_major",
       .shape = shape_of({4, 7}),
       .order = able.dense || able.column_major_chunks ? array::Order::column_major
                                                       : array::Order::row_major});
  if (able.chunks) {
    add({.name = "chunks", .shape = shape_of({7, 9}), .chunk_extents = array::Indices{3, 4}});
  }
  if (able.shards) {
    add({.name = "shards",
         .shape = shape_of({7, 9}),
         .chunk_extents = array::Indices{3, 4},
         .shard_extents = array::Indices{6, 4}});
  }
  if (able.growing) {
    for (const char* name : {"first", "second"}) {
      add({.name = name, .shape = shape_of({2, 3}), .type = ElementKind::int32, .grows = true});
    }
  }
  return file;
}

}  // namespace weir::storage
