// The basis of prices: rates and fixed costs of a platform, as data. These defaults are for a small
// Linux machine whose files stay in the page cache; a description of the platform gives better
// values (plan/platform_description.hpp).
#pragma once

#include <cstdint>
#include <string>

namespace weir::plan {

// Calls that leave a node, or an I/O group, one at a time.
struct Turns {
  double call_seconds = 0;      // of each call, in addition to its bytes; 0: calls do not wait
  double bytes_per_second = 0;  // of the bytes in it; 0: they take no time of it
  bool of_io_groups = false;    // calls of all nodes of an I/O group wait for each other
  // Pieces or rows of a node or I/O group that may be under way behind it at a time; 0: any number.
  std::int64_t calls_at_once = 0;

  friend bool operator==(const Turns&, const Turns&) = default;
};

// Rates of files in one direction, as seen by a node.
struct FileRates {
  double call_seconds = 2e-6;            // of one transfer, in addition to its bytes
  double core_bytes_per_second = 3e9;    // between a buffer and the page cache or client
  double node_bytes_per_second = 3.5e9;  // all cores of a node together
  // True if calls on one file wait for each other, since the kernel holds a file's lock during each
  // write. At 5 us per call, this is what makes short rows slow. Reads run in parallel.
  bool one_at_a_time = false;
  // Rate of all targets of a file together, for bytes in excess of PlatformRates::cached_bytes; 0
  // if memory takes all bytes.
  double storage_bytes_per_second = 0;
  double group_bytes_per_second = 0;  // of the way out of an I/O group; 0: no limit is known
  Turns turns = {};

  friend bool operator==(const FileRates&, const FileRates&) = default;
};

struct PlatformRates {
  // Memory: rates for copying bytes once, by one core and by all cores of a node together.
  double core_copy_bytes_per_second = 5e9;
  double node_copy_bytes_per_second = 9e9;
  double copy_run_seconds = 5e-9;  // additional time per contiguous run of a copy, on its core
  // Number of ranks of a node that copy or call at the same time; 0: unknown, in which case it is
  // determined from the nodes, or assumed to be two.
  std::int64_t cores_per_node = 0;

  FileRates write = {5e-6, 3.5e9, 3.5e9, true};
  FileRates read = {};
  // Rates that bypass the page cache. While the storage's rate is 0 they are unknown, and direct
  // I/O is not chosen.
  FileRates direct_write = {0, 0, 0, false, 0};
  FileRates direct_read = {0, 0, 0, false, 0};
  // Time of a transfer in addition to that of pread or pwrite: with io_uring, handing it to a
  // kernel thread, as for writes through the page cache; with MPI-IO, determining how the library
  // handles it.
  double uring_write_seconds = 4e-6;
  double uring_read_seconds = 0.2e-6;
  double mpi_io_seconds = 4e-6;
  double cached_bytes = 0;  // bytes of a request that the nodes' memory absorbs or holds
  // Time for a lock block, or the block around an unaligned end, to move from one node to another:
  // revoking the lock, writing out, reading again. It counts only if FileTargets::lock_bytes is not
  // 0.
  double shared_block_seconds = 1e-3;

  // The network: a node's link in one direction.
  double link_bytes_per_second = 1.2e9;
  double message_seconds = 3e-6;  // latency and handling of one message
  // A link between switches, or between neighbours in a torus, in one direction: each link that a
  // byte passes before the last one takes its time. 0: unknown, and then hops cost nothing.
  double hop_bytes_per_second = 0;

  // Cost of each piece: agreeing on which ranks may fill and which may write its buffer.
  double piece_seconds = 20e-6;
  // Fraction of the shorter of gathering and writing that the longer one hides: 0 if the processor
  // does both, 1 if storage or network does one of them. It is for a node with an aggregator on
  // each core.
  double overlap = 0.2;
  // Fraction of the data sent unasked that arrives before its buffer is free and is copied once
  // more.
  double early_arrivals = 0.25;

  // True for a machine that is simulated by flows. A byte is on all links of its way at a time, so
  // that only the busiest one counts; callers that begin at the same target stay together
  // (plan/targets_at_once.hpp); no processor gathers or writes, so that the longer of both hides
  // the shorter, however few aggregators a node has; and behind the engine that drops bytes is the
  // simulated storage.
  bool by_flows = false;

  // Source of these rates, in one line, for users.
  std::string origin = "estimates for a small Linux machine; nothing was measured here";

  friend bool operator==(const PlatformRates&, const PlatformRates&) = default;
};

}  // namespace weir::plan
