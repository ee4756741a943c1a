// Telling the system of short ranges before they are moved one by one, where each would wait for a
// journey to storage: it then has the journeys of all of them in flight together. Inside
// src/storage/engines only.
//
// Reading, that is each range of a file whose pages are not in memory. Writing, it is the pages at
// the ranges' ends, of which only a part is written: the system reads them first, when they are in
// the file and not in memory.
//
// Telling costs about as much as moving a page, so it is done only when it was seen to be worth it:
// reading, when the file is cold; writing, when the first such page of a call takes as long as only
// storage does.
#pragma once

#include <span>

#include "storage/engines/engine.hpp"

namespace weir::storage {

// The files of the ranges are SystemFiles. Never fails: what is wrong will be seen when moving.
void announce_reads(std::span<const FileRange> ranges);
void announce_edges(std::span<const FileRange> ranges);

}  // namespace weir::storage
