// The settings of `weir-bench stream`: readable names first, with IOR's letter and directive.
#include <algorithm>

#include "workloads/stream/parameters.hpp"

namespace weir::bench::stream {
namespace {

using Kind = SettingKind;

std::vector<Setting> geometry() {
  return {
      {.name = "api",
       .kind = Kind::choices,
       .default_value = "POSIX",
       .metavar = "LIST",
       .help = "interface; each of several is a configuration",
       .choices = interface_names([](const Capabilities& can) { return can.ranges || can.queue; },
                                  &Interface::title),
       .letter = "a",
       .foreign = {"api"}},
      {.name = "block",
       .kind = Kind::sizes,
       .default_value = "1m",
       .metavar = "LIST",
       .help = "contiguous bytes of a rank in each segment",
       .letter = "b",
       .foreign = {"blockSize"}},
      {.name = "transfer",
       .kind = Kind::sizes,
       .default_value = "256k",
       .metavar = "LIST",
       .help = "bytes that one call transfers",
       .letter = "t",
       .foreign = {"transferSize"}},
      {.name = "segments",
       .kind = Kind::sizes,
       .default_value = "1",
       .metavar = "LIST",
       .help = "number of segments, each with one block of every rank",
       .letter = "s",
       .foreign = {"segmentCount"}},
      {.name = "pattern",
       .kind = Kind::choices,
       .default_value = "segmented",
       .metavar = "LIST",
       .help = "order of the transfers: blocks in order, ranks in turn, blocks with strides, or "
               "blocks in random order",
       .choices = {"segmented", "interleaved", "strided", "random"}},
      {.name = "stride",
       .kind = Kind::integer,
       .default_value = "16",
       .metavar = "N",
       .help = "strided: distance between transfers, in transfers"},
      {.name = "file-per-rank",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "use one file per rank instead of one for all",
       .letter = "F",
       .foreign = {"filePerProc"}},
      {.name = "collective",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "use collective calls (MPIIO, HDF5, PNETCDF)",
       .letter = "c",
       .foreign = {"collective"}},
      {.name = "queue-depth",
       .kind = Kind::sizes,
       .default_value = "16",
       .metavar = "LIST",
       .help = "IO_URING: number of transfers in flight"},
  };
}

std::vector<Setting> phases() {
  return {
      {.name = "write",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "write; without any of -w -r -W -R both write and read",
       .letter = "w",
       .foreign = {"writeFile"}},
      {.name = "read",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "read the written data, or with -o the data that an earlier run kept",
       .letter = "r",
       .foreign = {"readFile"}},
      {.name = "check-write",
       .kind = Kind::flag,
       .default_value = "false",
       .help =
           "after writing, read back and check, outside the timed part; also without a read phase",
       .letter = "W",
       .foreign = {"checkWrite"}},
      {.name = "sync-each",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "call fsync after every write (POSIX)",
       .letter = "Y",
       .foreign = {"fsyncPerWrite"}},
      {.name = "stonewall",
       .kind = Kind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help = "begin no transfer of a phase after this time; 0: no limit",
       .letter = "D",
       .foreign = {"deadlineForStonewalling"}},
      {.name = "wear-out",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "after the stonewall, let every rank continue to the transfer count of the furthest "
               "rank",
       .foreign = {"stoneWallingWearOut"}},
      {.name = "stonewall-file",
       .metavar = "FILE",
       .help = "file to which that count is written, and from which a run with only -r reads it",
       .foreign = {"stoneWallingStatusFile"}},
      {.name = "delay",
       .kind = Kind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help = "seconds to wait before every write or read phase",
       .letter = "d",
       .foreign = {"interTestDelay"}},
      {.name = "reorder",
       .kind = Kind::choice,
       .default_value = "none",
       .metavar = "HOW",
       .help = "read the data of another rank: --task-offset further, or a random one",
       .choices = {"none", "constant", "random"}},
      {.name = "task-offset",
       .kind = Kind::integer,
       .default_value = "1",
       .metavar = "N",
       .help = "for --reorder constant: number of nodes (on one node: ranks) further",
       .letter = "Q",
       .foreign = {"taskPerNodeOffset"}},
      {.name = "reorder-seed",
       .kind = Kind::integer,
       .default_value = "0",
       .metavar = "N",
       .help = "seed of --reorder random; 0: another order in every repetition",
       .letter = "X",
       .foreign = {"reorderTasksRandomSeed"}},
      {.name = "outlier",
       .kind = Kind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help = "warn if a rank's I/O time exceeds the mean by this many seconds; 0: never",
       .letter = "j",
       .foreign = {"outlierThreshold"}},
  };
}

std::vector<Setting> files() {
  return {
      {.name = "test-file",
       .metavar = "PATH[@PATH...]",
       .help = "test file, or a directory for it; several are distributed over the ranks "
               "round-robin (with -F)",
       .letter = "o",
       .foreign = {"testFile"}},
      {.name = "existing",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "write into existing files instead of creating new ones",
       .letter = "E",
       .foreign = {"useExistingTestFile"}},
      {.name = "keep",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "keep the files (with -o)",
       .letter = "k",
       .foreign = {"keepFile"}},
      {.name = "keep-with-errors",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "keep the files if the run fails",
       .letter = "K",
       .foreign = {"keepFileWithError"}},
      {.name = "unique-directories",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "with -F: put every file into a separate directory",
       .letter = "u",
       .foreign = {"uniqueDir"}},
      {.name = "multi-file",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "use separate files for every repetition",
       .letter = "m",
       .foreign = {"multiFile"}},
      {.name = "preallocate",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "allocate the whole file when it is opened for writing",
       .letter = "p",
       .foreign = {"preallocate"}},
      {.name = "file-view",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "MPIIO: set the layout as a file view",
       .letter = "V",
       .foreign = {"useFileView"}},
      {.name = "no-fill-values",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "HDF5: never write fill values",
       .letter = "n",
       .foreign = {"noFill"}},
      {.name = "alignment",
       .kind = Kind::bytes,
       .default_value = "1",
       .metavar = "BYTES",
       .help = "HDF5: objects start at multiples of this size",
       .letter = "J",
       .foreign = {"setAlignment"}},
      {.name = "collective-metadata",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "HDF5: use collective metadata operations",
       .foreign = {"collectiveMetadata", "hdf5.collectiveMetadata"}},
      {.name = "hints",
       .metavar = "FILE",
       .help = "file with MPI-IO hints, one NAME = VALUE per line",
       .letter = "U",
       .foreign = {"hintsFileName"}},
  };
}

std::vector<Setting> output() {
  return {
      {.name = "tasks",
       .kind = Kind::integer,
       .default_value = "0",
       .metavar = "N",
       .help = "refuse to run on any other number of ranks; 0: any number",
       .letter = "N",
       .foreign = {"numTasks"}},
      {.name = "reference-number",
       .kind = Kind::integer,
       .default_value = "0",
       .metavar = "N",
       .help = "a number for your own use, which is kept in the results",
       .letter = "A",
       .foreign = {"refNum"}},
      {.name = "verbose",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "print the options before the table",
       .letter = "v",
       .foreign = {"verbose"}},
      {.name = "trace-events",
       .kind = Kind::integer,
       .default_value = "5000",
       .metavar = "N",
       .help =
           "largest number of operations of a rank and phase in the trace; beyond it every k-th"},
      {.name = "summary-format",
       .kind = Kind::choice,
       .default_value = "default",
       .metavar = "FORM",
       .help = "form of the printed results",
       .choices = {"default", "JSON", "CSV"},
       .foreign = {"summaryFormat"}},
      {.name = "summary-file",
       .metavar = "FILE",
       .help = "file for the printed results instead of standard output",
       .foreign = {"summaryFile"}},
  };
}

// Returns the settings of the measurement core, with IOR's names for them.
std::vector<Setting> core() {
  std::vector<Setting> all = core_declarations();
  for (Setting& setting : all) {
    if (setting.name == "direct") {
      setting.letter = "B";
      setting.foreign = {"useO_DIRECT", "posix.odirect"};
    } else if (setting.name == "memory-hog") {
      setting.letter = "M";
      setting.foreign = {"memoryPerNode"};
    } else if (setting.name == "seed") {
      setting.letter = "G";
      setting.foreign = {"setTimeStampSignature"};
    } else if (setting.name == "sync") {
      setting.default_value = "none";
      setting.help = "make all written data durable at the end of the write phase, timed";
    } else if (setting.name == "rank-shift") {
      setting.help = "read the data of the rank that is N ranks further";
    }
  }
  return all;
}

}  // namespace

std::vector<Setting> declarations() {
  std::vector<Setting> all;
  for (auto part : {geometry(), phases(), files(), output(), core()}) {
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace weir::bench::stream
