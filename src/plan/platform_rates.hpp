// What prices are made of: rates and fixed costs of a platform, as data. A probe of the platform
// gives better ones than these defaults, which are for a small Linux machine whose files stay in
// the page cache. There, writes into one file go one after the other (the kernel holds the file's
// lock for each call), which at 5 us a call is what makes short rows slow; reads do not.
#pragma once

#include <cstdint>

namespace weir::plan {

struct PlatformRates {
  // Memory. Bytes copied once: by one core, and by a node's cores together.
  double core_copy_bytes_per_second = 5e9;
  double node_copy_bytes_per_second = 9e9;
  double copy_run_seconds = 5e-9;   // more for each contiguous run of a copy, on its core
  std::int64_t cores_per_node = 2;  // how many ranks of a node copy or call at the same time

  // The file system as a node sees it.
  double write_call_seconds = 5e-6;  // of one write, with the next one on the node's file waiting
  double read_call_seconds = 1e-6;   // of one read, on its core
  double core_file_bytes_per_second = 4e9;  // between a buffer and the page cache or the client
  double node_file_bytes_per_second = 6e9;
  // All targets of the file together; 0 where memory takes all that is written.
  double storage_bytes_per_second = 0;
  // For a lock block, or the block around an unaligned end, to go from one node to another: taking
  // the lock away, writing out, reading again. Paid where FileTargets::lock_bytes is not 0.
  double shared_block_seconds = 1e-3;

  // The network: a node's link, one direction.
  double link_bytes_per_second = 1.2e9;
  double message_seconds = 3e-6;  // latency and handling of one message

  // Of a piece: agreeing on who may fill and who may write its buffer.
  double piece_seconds = 20e-6;
  // How much of the shorter of gathering and writing the longer one hides: 0 where the processor
  // does both, 1 where storage or network do one of them.
  double overlap = 0.2;
  // The part of data sent unasked that arrives before its buffer is free and is copied once more.
  double early_arrivals = 0.25;

  friend bool operator==(const PlatformRates&, const PlatformRates&) = default;
};

}  // namespace weir::plan
