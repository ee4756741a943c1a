// What prices are made of: rates and fixed costs of a platform, as data. A description of the
// platform gives better ones (plan/platform_description.hpp) than these defaults, which are for a
// small Linux machine whose files stay in the page cache.
#pragma once

#include <cstdint>
#include <string>

namespace weir::plan {

// Files in one direction, as a node sees them.
struct FileRates {
  double call_seconds = 2e-6;            // of one transfer, besides its bytes
  double core_bytes_per_second = 3e9;    // between a buffer and the page cache or the client
  double node_bytes_per_second = 3.5e9;  // by all cores of a node together
  // Calls on one file wait for each other: the kernel holds a file's lock for each write. With 5 us
  // a call that is what makes short rows slow; reads go side by side.
  bool one_at_a_time = false;
  // All targets of a file together, for what exceeds PlatformRates::cached_bytes; 0 where memory
  // takes all.
  double storage_bytes_per_second = 0;

  friend bool operator==(const FileRates&, const FileRates&) = default;
};

struct PlatformRates {
  // Memory. Bytes copied once: by one core, and by a node's cores together.
  double core_copy_bytes_per_second = 5e9;
  double node_copy_bytes_per_second = 9e9;
  double copy_run_seconds = 5e-9;  // more for each contiguous run of a copy, on its core
  // How many ranks of a node copy or call at the same time; 0: unknown, and taken for two unless
  // the nodes have been asked.
  std::int64_t cores_per_node = 0;

  FileRates write = {5e-6, 3.5e9, 3.5e9, true};
  FileRates read = {};
  // Past the page cache; unknown while the storage's rate is 0, and then not chosen.
  FileRates direct_write = {0, 0, 0, false, 0};
  FileRates direct_read = {0, 0, 0, false, 0};
  // What a transfer takes beyond pread or pwrite: with io_uring, handing it to a thread of the
  // kernel, as writes through the page cache do; with MPI-IO, finding out what the library does
  // with it.
  double uring_write_seconds = 4e-6;
  double uring_read_seconds = 0.2e-6;
  double mpi_io_seconds = 4e-6;
  double cached_bytes = 0;  // of a request: what the nodes' memory takes or has of its files
  // For a lock block, or the block around an unaligned end, to go from one node to another: taking
  // the lock away, writing out, reading again. Paid where FileTargets::lock_bytes is not 0.
  double shared_block_seconds = 1e-3;

  // The network: a node's link, one direction.
  double link_bytes_per_second = 1.2e9;
  double message_seconds = 3e-6;  // latency and handling of one message

  // What each piece costs: agreeing on who may fill and who may write its buffer.
  double piece_seconds = 20e-6;
  // How much of the shorter of gathering and writing the longer one hides: 0 where the processor
  // does both, 1 where storage or network do one of them. Of a node with an aggregator on each
  // core.
  double overlap = 0.2;
  // The part of data sent unasked that arrives before its buffer is free and is copied once more.
  double early_arrivals = 0.25;

  // Where these are from; one line, for people.
  std::string origin = "estimates for a small Linux machine, none measured here";

  friend bool operator==(const PlatformRates&, const PlatformRates&) = default;
};

}  // namespace weir::plan
