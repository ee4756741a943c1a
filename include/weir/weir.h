/* Weir's C interface: collective reading and writing of distributed arrays.
 *
 *   session       the ranks of a communicator that do I/O together
 *   array         a global array in files: path, shape, element type, layout on disk
 *   distribution  which elements each rank holds in memory
 *   request       one write or read of one array or several, whole or a section
 *   region        what one rank writes or reads of an array, without a distribution
 *
 * The shortest useful program is examples/01_write_and_read.c.
 *
 * COLLECTIVE CALLS. Every call that takes a session, an array or a request, and is not marked
 * "local", is collective: all ranks of the session's communicator make the same calls in the same
 * order. "Alike" after an argument says that it must be the same on every rank; other arguments
 * matter on the rank that passes them.
 *
 *   Before anything is read or written the ranks compare, in one round of votes, which call each
 *   makes and with which arguments. Invalid arguments are refused with WEIR_E_ARGUMENT; different
 *   calls, or different arguments where they must be alike, with WEIR_E_MISMATCH.
 *
 *   When a collective call fails on one rank, whatever the reason, it fails on all of them. Every
 *   rank returns the same code, that of the lowest rank that failed, and weir_last_error() is the
 *   same line on every rank: which rank, what, where, what to do. The session stays usable. After
 *   a failed write the elements of the request are undefined in the array, and all other elements
 *   are as before. After a failed read the requested elements are undefined in memory, and nothing
 *   else in memory has changed.
 *
 *   A session carries out its calls in the order in which they were made: a call that waits first
 *   completes the requests that were begun before it (their handles still want weir_wait).
 *
 *   No call waits indefinitely. The session's deadline applies to processes that are silent. A rank
 *   that computes, or whose storage is slow, still shows that it is alive: the others wait for it
 *   for up to 24 deadlines. When a rank's process has ended, the waits of the others end soon. They
 *   return WEIR_E_DEADLINE; messages may then still be under way, so the session is broken: its
 *   later calls return WEIR_E_BROKEN at once, and it can only be closed. When MPI fails on a rank,
 *   all ranks that wait return WEIR_E_BROKEN at once, with the reason. A null handle is refused
 *   only by the rank that passes it, because it names no communicator on which the other ranks
 *   could be informed.
 *
 * RETURN VALUES. 0, or a count where so described, is success; a negative value is one of the codes
 * below.
 *
 * OPTIONS. Null stands for all defaults, and so does 0 in each field, unless described otherwise:
 * begin with `weir_array_options options = {0};`. Reserved fields must be 0; later versions give
 * them names, and never change what 0 does.
 *
 * THREADS. A session is used by one thread at a time, and Weir calls MPI from that thread alone:
 * with one thread MPI_THREAD_FUNNELED is enough. Several threads may each use a session of their
 * own at once where MPI has MPI_THREAD_MULTIPLE, on communicators of their own.
 *
 * STABILITY. Functions, fields and values are added, never changed or taken away; each function has
 * a version (WEIR_0.1 and so on) in the library's symbol table.
 */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <mpi.h>
#include <stdint.h>

/* NOLINTBEGIN(modernize-use-using, readability-identifier-naming): this is C. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_session weir_session;
typedef struct weir_array weir_array;
typedef struct weir_distribution weir_distribution;
typedef struct weir_request weir_request;

enum {
  WEIR_OK = 0,
  WEIR_E_ARGUMENT = -1,    /* invalid argument; nothing was started */
  WEIR_E_MISMATCH = -2,    /* ranks made different calls, or passed different arguments */
  WEIR_E_IO = -3,          /* the system refused to open, read or write */
  WEIR_E_CORRUPT = -4,     /* a file is damaged */
  WEIR_E_MEMORY = -5,      /* not enough memory or disk */
  WEIR_E_UNSUPPORTED = -6, /* this system, or this version of Weir, cannot do that */
  WEIR_E_DEADLINE = -7,    /* a rank was silent for too long; the session is broken */
  WEIR_E_BROKEN = -8,      /* MPI failed, a rank gave the session up, or an earlier deadline was
                              missed: close the session */
  WEIR_E_ABORTED = -9 /* a rank has given up the step that the call belongs to, with its reason:
                         call weir_file_step_abort on this rank too */
};

enum { WEIR_ROW_MAJOR = 0, WEIR_COLUMN_MAJOR = 1 };

enum { WEIR_MAX_DIMENSIONS = 16 };

/* Returns the version of the library, such as "0.1.0". Local. */
const char* weir_version(void);

/* Returns the line about this thread's latest call that failed: what was wrong, where, what to do.
 * The line is valid until the next call fails; it is "" before the first failure. Local. */
const char* weir_last_error(void);

/* ---- Sessions ---- */

/* All fields must be alike. They determine how data is read and written, never which data. A field
 * that is 0 or null takes the value of the variable of its name in rank 0's environment
 * (WEIR_STRATEGY, WEIR_AGGREGATORS, WEIR_BUFFER_BYTES and so on, and WEIR_DEADLINE in seconds;
 * docs/library.md has the table), and its default if that variable is not set. */
typedef struct weir_session_options {
  double deadline_seconds; /* longest time for which a rank that others wait for may be silent; 0:
                              600 */
  const char* strategy;   /* "automatic" (the cheapest, for each request; weir_session_explain tells
                             why), "direct" (every rank moves its own elements), "node" (aggregators
                             gather through the memory of their node, each node for itself),
                             "two-phase" (aggregators gather from all nodes; senders send without
                             being asked), "server-directed" (like two-phase, but aggregators ask
                             for each piece when they have a buffer for it). Null: automatic. */
  int64_t aggregators;    /* aggregators per node: the ranks that gather, and open files; 0:
                             chosen */
  int64_t buffer_bytes;   /* size of one buffer of an aggregator; 0: chosen. All nodes use smaller
                             buffers, down to 64 KiB, if one of them has too little memory to
                             share */
  int64_t buffers;        /* buffers per aggregator, at least 2; 0: chosen */
  int64_t ranks_per_node; /* treats this many consecutive ranks as a node, to test on one node what
                             happens between several; 0: a node is the ranks that share memory */
  const char* platform;   /* path of the platform's description, a file that `weir platform probe`
                             writes and only rank 0 reads: its rates decide which strategies and
                             chunks are cheapest. Null: the file that WEIR_PLATFORM names on rank 0.
                             "", or null with WEIR_PLATFORM unset: estimates for a small machine. */
  /* The next four fields describe the storage of the session's files. 0: as in the platform's
   * description, or else as the file system reports. */
  int64_t alignment_bytes; /* file domains of aggregators end at multiples of this; 0: of stripes
                              and lock blocks, or of pages */
  int64_t stripe_bytes;    /* bytes that lie together on one target (Lustre: lfs getstripe -S) */
  int64_t lock_bytes;      /* unit of the file system's locks, which one node at a time may write
                              (GPFS: its block size) */
  int64_t targets;         /* targets that hold parts of one file (Lustre: lfs getstripe -c) */
  const char* engine;  /* how bytes are moved between buffers and files: "automatic" (the cheapest,
                          for each request), "posix", "io_uring" (many transfers in flight; fails if
                          any rank's kernel lacks it), "direct-io" (whole pages of long transfers
                          bypass the page cache), "mpi-io", "null". Null: automatic.
                          The engine "null" measures everything but storage: what collective writes
                          pass is dropped, and collective reads leave memory with undefined content.
                          Chunks with a codec and independent regions are stored nevertheless. It is
                          never chosen automatically, WEIR_ENGINE cannot name it, and stagers refuse
                          it. */
  const char* staging; /* who writes the steps of files: "none" (the ranks), "node" (a process on
                          the node, the stager, which outlives the program: writes return when it
                          has the data, and it stores them while the program goes on;
                          docs/staging.md), "ranks" (stagers in the place of the last rank of each
                          node), "ranks:2" (of its last 2), "ranks:1/8" (of one in 8):
                          weir_init_staging sets these ranks apart, or "service:FILE" (stagers on
                          nodes of their own, whose places this file tells, or the files of this
                          folder; rank 0 reads it). Null: none. */
  const char* io_groups; /* the I/O groups of the nodes, numbered from 0 in the order of their first
                            ranks: "4" (4 consecutive nodes each), or the group of every node,
                            "0,0,1,1" or "0*2,1*2"; "": one group. Aggregators gather no data from
                            other groups. "description:FILE": as a platform's description names
                            hosts. By the system: "slurm" (leaf switches in SLURM_TOPOLOGY_ADDR),
                            "lnet" (routers to Lustre), "infiniband:FILE" (leaf switches in a
                            recorded ibnetdiscover), "cray" (chassis); "discover" or
                            "discover:FILE": the first of lnet, infiniband, slurm and cray that
                            makes groups. Null: as the platform is described, or one group. */
  const char* aggregator_placement; /* the nodes of an I/O group on which its aggregators are:
                            "spread" (evenly over the nodes), "nearest" (each with the fewest hops
                            to the data that it gathers), "first" (on the first nodes, as MPI-IO
                            libraries do), "priced" (where bytes x hops and the shares of the
                            ways out cost least). Hops are those of the network that WEIR_NETWORK or
                            the platform's description names, or else alike. Null: spread. */
  const char* staging_lost; /* what happens after a stager was lost, for example by a signal:
                               "fail" (the session's calls that need it fail), "direct" (the ranks
                               write the next steps themselves; one line on standard error says
                               so, and further ones name the accepted steps that were stored or are
                               lost; docs/staging.md). Null: fail. */
  const char* durability;   /* the durability of files whose own options do not say: as in
                               weir_file_options. With "journal", opening the session fails unless
                               its stagers keep journals. Null: step. */
  uint64_t reserved[3];
} weir_session_options;

/* Opens a session on the ranks of `communicator` (an intracommunicator). Weir duplicates the
 * communicator, so its messages never meet the program's. Collective over `communicator`. On
 * failure *session is null. */
int weir_session_open(MPI_Comm communicator, const weir_session_options* options,
                      weir_session** session);

/* Sets apart the ranks in whose place stagers run, if the option `staging` or WEIR_STAGING is
 * "ranks" or the like (docs/staging.md). *program becomes a communicator of all other ranks, in
 * their order; open sessions on it, with the same `staging`. On a rank that is set apart the call
 * returns when the stager has ended, and *program is MPI_COMM_NULL: the rank goes on to
 * MPI_Finalize. With any other `staging`, *program has all ranks, so that a program is the same for
 * all of them. Of the options, `staging`, `ranks_per_node` and `deadline_seconds` matter here.
 * Refused if a node would have no stager, or fewer other ranks than stagers. A failure on a rank
 * that is set apart, after *program was made, is that rank's alone. Collective over `communicator`
 * (an intracommunicator). On failure *program is MPI_COMM_NULL. */
int weir_init_staging(MPI_Comm communicator, const weir_session_options* options,
                      MPI_Comm* program);

/* Frees *program, which becomes MPI_COMM_NULL, and lets the stagers end as soon as they have stored
 * everything. Call when the sessions are closed; MPI_Finalize does what is left of it. Does nothing
 * if *program is MPI_COMM_NULL. Collective over *program. */
int weir_finalize_staging(MPI_Comm* program);

/* Closes the session and the arrays that are open in it, after the requests under way; the handles
 * of all of them, and of distributions, are invalid afterwards. *session becomes null whatever
 * happens. When closing an array fails (data may be lost), so does this call. Call before
 * MPI_Finalize: afterwards this and all calls on the session's handles return WEIR_E_ARGUMENT, and
 * what was still to be written into the headers of files is lost. */
int weir_session_close(weir_session** session);

/* Gives a session up without waiting for any other rank. This is for a program that leaves after a
 * failure of its own: the session's resources stay as they are until the process ends. *session
 * becomes null. Other ranks that wait for this one learn within seconds that it gave up. Local. */
void weir_session_abandon(weir_session** session);

/* Gives a session up as weir_session_abandon does, and informs all other ranks of the reason, one
 * line of at most 512 bytes. Their calls that are under way end at once, and every later call on
 * the session fails, with WEIR_E_BROKEN and a line that names this rank, the step that it had
 * begun, and the reason. If several ranks give reasons at the same time, each rank gets one of
 * them. A null `reason` means none. Local. */
void weir_session_abandon_because(weir_session** session, const char* reason);

/* The figures of the session's latest request that ended say on what this rank spent the time, in
 * nanoseconds, and how much it moved, in bytes. */
typedef struct weir_figures {
  int32_t strategy;    /* 1 direct, 2 node, 3 two-phase, 4 server-directed */
  int32_t plan_reused; /* 1: the plan of an earlier, equal request was used again */
  int64_t aggregators; /* number on all nodes; with strategy direct, the number of ranks */
  int64_t plan_ns;
  int64_t gather_ns;     /* copying between the rank's memory and buffers */
  int64_t storage_ns;    /* spent in system calls on files, or copying into a stager's memory */
  int64_t wait_ns;       /* spent waiting for other ranks */
  int64_t bytes_asked;   /* size of this rank's part of the request */
  int64_t bytes_stored;  /* written to files by this rank */
  int64_t bytes_fetched; /* read from files by this rank */
  int64_t bytes_sent;    /* in messages by this rank */
  int64_t storage_calls;
  int32_t engine;      /* 1 posix, 2 io_uring, 3 direct-io, 4 mpi-io, 5 null */
  int32_t handed_over; /* what was written went to a stager (docs/staging.md): 0 nothing, 1 all, 2
                          the elements of some arrays; weir_session_explain tells why not */
  int64_t
      blocked_ns; /* spent waiting for the stager: until it had room, until the network had taken
                     the bytes, and until it had confirmed them; no part of the times above */
  int64_t blocked_so_far_ns; /* the same since the session was opened, in all its calls: also in
                                those that begin, end and await steps */
  uint64_t reserved[1];
} weir_figures;

/* Gets the figures of the session's latest request. Fails before a request has ended. Local. */
int weir_session_figures(const weir_session* session, weir_figures* figures);

/* ---- Distributions ---- */

typedef struct weir_distribution_options {
  const int64_t* grid; /* ranks along each dimension, 1 along `*`. Null: all ranks, divided over the
                          distributed dimensions as evenly as possible. Ranks beyond the grid hold
                          nothing. Alike. */
  int32_t grid_order;  /* the dimension of the grid along which rank numbers run fastest: the last
                          (WEIR_ROW_MAJOR: MPI_Cart, BLACS 'R') or the first (WEIR_COLUMN_MAJOR:
                          HPF, BLACS 'C'). Alike. */
  int32_t reserved_flags;
  uint64_t reserved[6];
} weir_distribution_options;

/* Distributes an array of `dimensions` dimensions and this shape (in elements) over the session's
 * ranks. `formats` has one word per dimension, separated by commas, beginning with the slowest
 * dimension in row-major order: "*" (not distributed), "BLOCK", "BLOCK(100)", "CYCLIC",
 * "CYCLIC(32)", "CYCLIC(32,from=1)", with HPF's meaning. All arguments must be alike. */
int weir_distribution_create(weir_session* session, int32_t dimensions, const int64_t* shape,
                             const char* formats, const weir_distribution_options* options,
                             weir_distribution** distribution);

/* Creates a distribution of explicit boxes. This rank holds `boxes` of them (0 or more); along
 * dimension d, box b begins at index lower[b * dimensions + d] and has extent[b * dimensions + d]
 * elements. Boxes may differ in size, be empty, and leave holes. If two boxes have elements in
 * common, arrays can be read with the distribution but not written. `dimensions` and `shape` alike;
 * the other arguments are each rank's own. The boxes of all ranks are kept once on each node, in
 * memory that its ranks share (at most 40 bytes per box in 3-D where extents are below 2^32), until
 * the last rank of the node frees the distribution. */
int weir_distribution_from_boxes(weir_session* session, int32_t dimensions, const int64_t* shape,
                                 int64_t boxes, const int64_t* lower, const int64_t* extent,
                                 weir_distribution** distribution);

/* Frees a distribution; *distribution becomes null. Requests under way keep what they need.
 * Local. */
void weir_distribution_free(weir_distribution** distribution);

/* Return how many elements this rank holds in all, and in how many pieces: 1 if the distribution
 * was made from formats, the number of boxes otherwise. The result is negative if the handle is
 * null. Local. */
int64_t weir_distribution_elements(const weir_distribution* distribution);
int64_t weir_distribution_pieces(const weir_distribution* distribution);
/* Gets the extents of one of this rank's pieces: `shape` receives one number per dimension.
 * Local. */
int weir_distribution_piece_shape(const weir_distribution* distribution, int64_t piece,
                                  int64_t* shape);
/* Gets the index in the whole array of the element at index `local` of a piece. Local. */
int weir_distribution_global_index(const weir_distribution* distribution, int64_t piece,
                                   const int64_t* local, int64_t* global);

/* ---- Arrays ---- */

enum { WEIR_SHARED_FILE = 0, WEIR_FILE_PER_AGGREGATOR = 1, WEIR_FILE_PER_RANK = 2 };

/* All fields must be alike. */
typedef struct weir_array_options {
  int32_t order; /* order of the elements in the file, or in each chunk: WEIR_ROW_MAJOR (0) or
                    WEIR_COLUMN_MAJOR */
  int32_t files; /* WEIR_SHARED_FILE (0); or, only with chunks, as many files as there are
                    aggregators or ranks. Any number of ranks can read an array, in however many
                    files it is. */
  /* At most one of the next three fields may be given, and defines the chunks. If none is given,
   * the whole array lies in one order. */
  const int64_t* chunks;                   /* extents of a chunk in elements, one per dimension */
  const weir_distribution* natural_chunks; /* chunks are equal to the blocks of this distribution,
                                              which was made from formats */
  const int64_t* typical_request; /* extents of a section that is commonly read or written at once,
                                     one per dimension: Weir chooses the chunks for which that takes
                                     the least time */
  int64_t chunk_buffer_bytes;     /* with typical_request: largest size of a chunk; 0: 4 MiB */
  int64_t chunk_block_bytes;      /* with typical_request: unit in which the file system writes, and
                                     smallest size of a chunk; 0: 4096 */
  /* With several files: the folders that hold them. File n lies in folder number n modulo
   * directory_count. All folders exist, and every rank sees them under these names. A relative name
   * begins at the folder of `path`. No name leads upwards ("..") or is other than UTF-8. Null: all
   * files lie beside the description. */
  const char* const* directories;
  int64_t directory_count; /* 0: none */
  /* The next four fields set the striping of new files, where the file system lets a program choose
   * it (Lustre, by the command lfs; CephFS). On other file systems any of them is
   * WEIR_E_UNSUPPORTED. */
  int64_t stripe_count; /* targets that have parts of a file; -1: all (Lustre); 0: as the folder has
                           it */
  int64_t stripe_bytes; /* bytes that lie together on a target, a multiple of 65536; 0: as the
                           folder has it */
  int64_t first_target; /* index of the first target, plus 1 (Lustre); 0: any */
  const char* pool;     /* pool from which the targets are taken; null: as the folder has it */
  uint64_t reserved[3];
} weir_array_options;

/* Creates an array of `dimensions` dimensions (1 to 16) and this shape (in elements; an extent may
 * be 0; at most 2^62 elements). `element_type` is "int8" to "int64", "uint8" to "uint64",
 * "float16", "float32", "float64", "complex64", "complex128", "bool", "text[BYTES]" and
 * "utf32[CHARACTERS]" for text of a fixed length, or "record[BYTES]" for structures that Weir does
 * not look into. All arguments must be alike.
 *
 * This makes a raw file with one array, which every reader sees at once and which is written in
 * place. The elements go to the file `path`, or, with several files, to `path`.0, `path`.1 and so
 * on, or to files of these names in options->directories. The description goes to `path`.json
 * beside it, in which the array is named as the last part of `path`. The folder exists, and every
 * rank sees it under this path. An array that is already there is replaced, and its elements are
 * lost. Elements that were never written read as 0. */
int weir_array_create(weir_session* session, const char* path, int32_t dimensions,
                      const int64_t* shape, const char* element_type,
                      const weir_array_options* options, weir_array** array);

/* All fields must be alike. */
typedef struct weir_open_options {
  int32_t read_only; /* not 0: writing is refused, and the files need no write permission */
  int32_t reserved_flags;
  uint64_t reserved[7];
} weir_open_options;

/* Opens an array that this or any other number of ranks created, or a file of any format that has
 * one array without steps. It is written in place. All arguments must be alike. */
int weir_array_open(weir_session* session, const char* path, const weir_open_options* options,
                    weir_array** array);

/* Return properties of the array. `shape` receives weir_array_dimensions() numbers; the name of the
 * element type is valid as long as the array is open. A null handle gives a negative code, or null.
 * Local. */
int32_t weir_array_dimensions(const weir_array* array);
int weir_array_shape(const weir_array* array, int64_t* shape);
const char* weir_array_element_type(const weir_array* array);
int64_t weir_array_element_bytes(const weir_array* array);

/* Makes durable what was written to the array: when this returns 0, it is on the storage, not only
 * in memory. When this fails, bytes written since the last call that returned 0 may be lost, also
 * those of other arrays in the same file. Later calls fail too, until the array is written again;
 * the program then has to write everything that may be lost. */
int weir_array_sync(weir_array* array);

/* Closes the array. Other programs can read what was written from then on, but it is durable only
 * after weir_array_sync. *array becomes null whatever happens. */
int weir_array_close(weir_array** array);

/* ---- Files of standard formats ----
 *
 * A file holds several arrays with attributes, and steps. Its format is HDF5, NetCDF or Zarr, as
 * their own tools read them. A program calls, in this order:
 *
 *   weir_file_create, weir_file_define, weir_file_attribute_…   nothing is on disk yet
 *   weir_file_step_begin     lays the file out; later calls make room for one more step
 *   weir_write, …            on the file's arrays: transfers go to the step that has begun
 *   weir_file_step_end       makes the step durable, as far as options require, and visible as a
 *                            whole
 *   weir_file_define, weir_file_attribute_…   between steps: added when the next step begins
 *   weir_file_close
 *
 * One run at a time writes to a file. From the first weir_file_step_begin (with `rewrite`: from
 * weir_file_open) until weir_file_close, another run that creates the file or begins a step in it
 * is refused (WEIR_E_ARGUMENT, with the host and process of the first run). A step does not begin
 * or end if another program has replaced or changed the file meanwhile.
 *
 * A run that is killed at any point leaves the steps that had ended, in a file that all tools of
 * its format open (docs/formats.md). A new file has the name PATH.incomplete until its first step
 * ends; only then does it replace a file that is already there.
 *
 * Defining calls are local: every rank makes the same calls, and weir_file_step_begin fails if they
 * differ between ranks. */

typedef struct weir_file weir_file;

/* All fields must be alike. */
typedef struct weir_file_options {
  const char* format;     /* "hdf5", "cdf5", "cdf2", "cdf1" (NetCDF's classic formats), "zarr" (a
                             folder) or "raw" (elements, and the document PATH.json). Null: the
                             path's ending decides: .h5, .hdf5, .he5, .nc4; .nc, .nc5 (cdf5);
                             .zarr; .raw */
  const char* durability; /* from when on written data survives a crash of the system: "step" (when
                             weir_file_step_end returns), "operation" (also when each write
                             returns), "none" (whenever the system writes it; a crash of the program
                             alone loses no step that has ended), "journal" (with staging:
                             weir_file_step_end returns when the step is in the journals of its
                             stagers, so that it survives these, too; one that a journal cannot
                             take is on storage then). Null: as the session's option */
  const char* step_dimension; /* the name of the dimension along which arrays grow; null: "step" */
  int64_t alignment_bytes;    /* arrays of at least this size begin at a multiple of it, such as a
                                 stripe or a lock block, where the format leaves a choice. 1:
                                 anywhere; 0: at multiples of up to 2 MiB, but never of more than a
                                 sixteenth of the array's size */
  const char* checksum;       /* checksum of every block, kept in PATH.sums and verified by reads
                                 and by weir check: "crc32c" or "none". Null: "none" */
  /* The next four fields set the striping of new files, where the file system lets a program choose
   * it (Lustre, by the command lfs; CephFS). On other file systems any of them is
   * WEIR_E_UNSUPPORTED. */
  int64_t stripe_count; /* targets that have parts of a file; -1: all (Lustre); 0: as the folder has
                           it */
  int64_t stripe_bytes; /* bytes that lie together on a target, a multiple of 65536; 0: as the
                           folder has it */
  int64_t first_target; /* index of the first target, plus 1 (Lustre); 0: any */
  const char* pool;     /* pool from which the targets are taken; null: as the folder has it */
  const char* unwritten; /* what happens if no rank writes one of the arrays in a step: "fill" (the
                            array has its fill value in that step; weir_file_unwritten names it) or
                            "error" (weir_file_step_end fails and names it). Null: "fill" */
  uint64_t reserved[1];
} weir_file_options;

/* Begins the definition of a file at `path`, in a folder that exists. Local. */
int weir_file_create(weir_session* session, const char* path, const weir_file_options* options,
                     weir_file** file);

/* All fields must be alike. */
typedef struct weir_define_options {
  int32_t order; /* WEIR_ROW_MAJOR (0) or WEIR_COLUMN_MAJOR, which formats store with reversed
                    extents; not for arrays with steps */
  int32_t steps; /* not 0: the array has its own values in each step, and one more dimension in the
                    file, the first. 0: it is written once, in the first step */
  /* At most one of the next three fields may be given. If none is given, the array is dense where
   * the format allows it. Where the format or the codec needs chunks, Weir chooses chunks of at
   * most 16 MiB (64 MiB if they fit better), from the first distribution of the array's shape that
   * the session has when the first step begins; weir_session_explain names them. */
  const int64_t* chunks; /* as in weir_array_options; extents within one step */
  const weir_distribution* natural_chunks;
  const int64_t* typical_request;
  int64_t chunk_buffer_bytes;
  int64_t chunk_block_bytes;
  const int64_t* shards; /* extents of the part of the array that shares a file, multiples of the
                            chunks (zarr) */
  const char* const* dimension_names; /* one per dimension; null: "dim_LENGTH" for each, or a
                                         similar name if that is taken */
  const void* fill;  /* one element: the value that readers see where nothing was written, and treat
                        as missing. The array gets the attribute "_FillValue" (except for bool,
                        complex numbers and records). Null: the format's own, and no attribute */
  const char* codec; /* codecs that each chunk passes before it is stored: "zstd:3",
                        "shuffle,zstd:1,crc32c", "blosc:lz4:5:byte", "zfp:0.001" (hdf5, zarr;
                        docs/formats.md). Null: none */
  uint64_t reserved[7];
} weir_define_options;

/* Defines an array in the file. The name has '/' between groups; the shape is that of one step, if
 * the array has steps; the type is as for weir_array_create. With steps, `dimensions` may be 0: the
 * array then has one number for each step, such as its time; its only dimension in the file is that
 * of the steps, and in memory it has the shape {1}. The array belongs to the file and is closed
 * with it. An array can be defined before the first step, and between steps of a file that may be
 * written; in the latter case it is in the file after weir_file_extend or the next
 * weir_file_step_begin. Local. */
int weir_file_define(weir_file* file, const char* name, int32_t dimensions, const int64_t* shape,
                     const char* element_type, const weir_define_options* options,
                     weir_array** array);

/* Give `owner` (the name of an array or group, "" for the file) an attribute: a text in UTF-8, or
 * `count` numbers. A unit is the text attribute "units". An attribute can be given before the first
 * step begins, and between steps of a file that may be written; in the latter case it is in the
 * file after weir_file_extend or the next weir_file_step_begin. The first step does not begin if an
 * owner is neither an array nor a group of the file. An attribute that is given again has the later
 * value. Local. */
int weir_file_attribute_text(weir_file* file, const char* owner, const char* name,
                             const char* text);
int weir_file_attribute_integers(weir_file* file, const char* owner, const char* name,
                                 int64_t count, const int64_t* values);
int weir_file_attribute_reals(weir_file* file, const char* owner, const char* name, int64_t count,
                              const double* values);
/* Gives an attribute of numbers that keep their type in the file: "int8" to "int64", "uint8" to
 * "uint64", "float32", "float64", or "bool" (bytes of 0 and 1). `values` are `count` numbers, at
 * least 1, as they are in memory. The attribute "_FillValue" of an array gets the array's type if
 * that type can hold the value. CDF-5 has no "bool" and stores int8. CDF-1 and CDF-2 have only
 * int8, int16, int32, float32 and float64; other types are stored as one of these that can hold the
 * values. Values that do not fit are refused when the file is laid out. Local. */
int weir_file_attribute_numbers(weir_file* file, const char* owner, const char* name,
                                const char* element_type, int64_t count, const void* values);
/* Gives an attribute that is a list of `count` texts, 0 or more. NetCDF's classic formats cannot
 * store it. HDF5 stores a list of one text as a plain text. Local. */
int weir_file_attribute_texts(weir_file* file, const char* owner, const char* name, int64_t count,
                              const char* const* texts);

/* All fields must be alike. */
typedef struct weir_file_open_options {
  int32_t read_only;      /* not 0: nothing is written */
  int32_t rewrite;        /* not 0: arrays without steps that are already in the file can be written
                             again, in place and outside any step; their elements are undefined if
                             a run is killed meanwhile */
  const char* durability; /* as in weir_file_options */
  const char* checksum;   /* for the steps that are added, as in weir_file_options. Null: as in the
                             existing steps */
  const char* unwritten;  /* for the steps that are added, as in weir_file_options */
  uint64_t reserved[4];
} weir_file_open_options;

/* Opens a file of any of these formats, whichever program wrote it; the file's content tells the
 * format. All arguments must be alike. */
int weir_file_open(weir_session* session, const char* path, const weir_file_open_options* options,
                   weir_file** file);

/* Begins a step. The first step of a new file lays the file out. Later steps add the arrays and
 * attributes that were defined since (weir_file_extend), then make room in all arrays that have
 * steps. A file in which no array has steps has exactly one step. */
int weir_file_step_begin(weir_file* file);
/* Adds, at once, the arrays and attributes that were defined since the file was laid out, or was
 * opened for writing. Readers see all of them, or, also if the run is killed meanwhile, none of
 * them (attributes of arrays that an HDF5 file already has become visible array by array).
 * weir_file_step_begin does this by itself; weir_file_close fails if definitions have not been
 * added. Collective, between steps; the definitions are alike on all ranks. In the steps that the
 * file already has, the new arrays hold the fill value. New arrays without steps are written in the
 * next step, in place: if a run is killed meanwhile, or the step is given up, their elements are
 * undefined. Returns WEIR_E_UNSUPPORTED, with the reason, if the format cannot add them
 * (docs/formats.md), such as new arrays in CDF files with steps. On failure the file is as before,
 * and the definitions are given up. */
int weir_file_extend(weir_file* file);
/* Ends the step: makes what all ranks wrote in it durable, then visible to readers. If this fails,
 * or a write of the step failed, the step is not in the file and may be begun again; it can end
 * only when each array that was written in it has been written again. What was changed in the file
 * is taken back; if that fails too, the error says "readers may see the change". A file whose first
 * step could not be made durable has to be created again. */
int weir_file_step_end(weir_file* file);
/* Wait until the step that ended last is on storage, as durable as the file's options require, and
 * visible to readers. weir_file_step_wait waits for at most `seconds` (0 or more; infinity is
 * allowed) and then fails with WEIR_E_DEADLINE; it can be called again. weir_file_step_test does
 * not wait, and sets *stored to 1 or 0. Without staging, and before the first step has ended, there
 * is nothing to wait for. With staging, weir_file_step_end returns 0 when the stager has the step,
 * which then survives the end of this program; whether it could be stored is known only from these
 * calls, from the next weir_file_step_begin, which waits too, and from `weir stage status`. The
 * call returns WEIR_E_IO if the stager could not store the step or has ended: then the file has the
 * steps before it, and with `staging_lost` = "direct" weir_file_steps() no longer counts it.
 * Collective, between steps; `seconds` alike. */
int weir_file_step_wait(weir_file* file, double seconds);
int weir_file_step_test(weir_file* file, int32_t* stored);
/* Return how many arrays no rank wrote in the step that ended last, and the name of one of them, by
 * its number from 0 on in the order of weir_file_array_name. These arrays have their fill value in
 * the step. An array counts as written after any call that writes it, however little. An array
 * without elements is never listed, nor, after the first step, an array without steps. The number
 * is 0 before a step has ended, and again when the next step has begun. Results are the same on
 * every rank; a name is valid until the next step begins or the file is closed. An invalid handle
 * or number gives a negative code, or null. Local. */
int64_t weir_file_unwritten(const weir_file* file);
const char* weir_file_unwritten_name(const weir_file* file, int64_t number);
/* Gives up the step that has begun, for example after an exception: nothing of it is in the file,
 * now or in the next step, which begins in the same place. Requests of the session that are under
 * way end first. If the first step is given up, nothing is left on disk: the file is a definition
 * again, to which arrays may be added. Collective, but one rank may call it before the others know:
 * until every rank has called it, every other collective call of the session returns
 * WEIR_E_ABORTED, with this rank and its `reason` (per rank; null or "": none) in
 * weir_last_error(). The call returns WEIR_E_ARGUMENT if no step has begun. When what was written
 * cannot be taken out of the file, the call fails, but the step is given up all the same; the next
 * step removes it. */
int weir_file_step_abort(weir_file* file, const char* reason);
/* Returns 1 if a step has begun and neither ended nor been given up, otherwise 0; a step whose end
 * failed is over. The result is negative if the handle is null. Local. */
int32_t weir_file_in_step(const weir_file* file);
/* Keeps the first `steps` steps of an open file, 0 to weir_file_steps(), and removes the others,
 * for a run that starts again from an earlier checkpoint. The next step to begin has the number
 * `steps`. Collective, between steps; `steps` alike. Readers see either the old or the new number
 * of steps, also if the run is killed meanwhile: work that it left undone is completed before the
 * next step. A reader that has the file open may fail in the removed steps, or find later steps in
 * their place, and should open the file again. Arrays without steps stay. After a failure open the
 * file again. */
int weir_file_drop_steps(weir_file* file, int64_t steps);
/* Returns how many steps have ended; 1 if no array has steps. The result is negative if the handle
 * is null. Local. */
int64_t weir_file_steps(const weir_file* file);
/* Selects the step, counted from 0, that reads use from now on; after opening it is the last step.
 * The call is not allowed inside a step. It is local, but all ranks must have selected the same
 * step when a request begins. */
int weir_file_select_step(weir_file* file, int64_t step);

/* Return the number of arrays in a file, the name of one by its number, and the array of a name,
 * which belongs to the file. An array that cannot be read (its codec is unknown to this version of
 * Weir, or its elements are text of variable length) is refused with the reason. Names are valid
 * until the file is closed. Local. */
int64_t weir_file_arrays(const weir_file* file);
const char* weir_file_array_name(const weir_file* file, int64_t number);
int weir_file_array(weir_file* file, const char* name, weir_array** array);
/* Return whether the array has steps, 1 or 0, and the name of one of its dimensions: "" if the
 * dimension has none, null if there is no such dimension. A name is valid until the file is closed.
 * Local. */
int32_t weir_array_has_steps(const weir_array* array);
const char* weir_array_dimension_name(const weir_array* array, int32_t dimension);

enum { WEIR_TEXT = 1, WEIR_INTEGERS = 2, WEIR_REALS = 3, WEIR_TEXTS = 4 };

/* Look at the attributes of `owner` (see weir_file_attribute_text): how many there are; the name,
 * kind and count (bytes of a text, numbers, or texts of a list) of one by its number; the value of
 * one by its name. WEIR_INTEGERS are integers of every type and bool, WEIR_REALS are float32 and
 * float64. Texts are valid until the file is closed. `room` is at least the attribute's count; less
 * room is refused. Local. */
int64_t weir_file_attributes(const weir_file* file, const char* owner);
int weir_file_attribute(const weir_file* file, const char* owner, int64_t number, const char** name,
                        int32_t* kind, int64_t* count);
int weir_file_get_text(const weir_file* file, const char* owner, const char* name,
                       const char** text);
int weir_file_get_integers(const weir_file* file, const char* owner, const char* name, int64_t room,
                           int64_t* values);
int weir_file_get_reals(const weir_file* file, const char* owner, const char* name, int64_t room,
                        double* values);
/* Return the type of an attribute ("text", "texts", or that of its numbers as in
 * weir_file_attribute_numbers; null when there is no such attribute), its numbers in that type, as
 * they are in memory (`room` is in bytes), and the texts of a list. Local. */
const char* weir_file_attribute_type(const weir_file* file, const char* owner, const char* name);
int weir_file_get_numbers(const weir_file* file, const char* owner, const char* name, int64_t room,
                          void* values);
int weir_file_get_texts(const weir_file* file, const char* owner, const char* name, int64_t room,
                        const char** texts);

/* Closes the file and its arrays. If a step has begun and not ended, it is not in the file, and the
 * call fails and says so. *file becomes null whatever happens. */
int weir_file_close(weir_file** file);

/* ---- Requests ---- */

/* Describes the layout of a rank's part in its memory. The part is a dense array: an element's
 * place in it is its number among the rank's indices along each dimension. The buffer begins with
 * the first ghost cell. The pieces of a distribution by boxes follow one another, each with its
 * ghost cells. The layout may differ between ranks. */
typedef struct weir_memory {
  int32_t order; /* WEIR_ROW_MAJOR, WEIR_COLUMN_MAJOR */
  int32_t reserved_flags;
  const int64_t* ghost_lower; /* elements around the part that are in memory but not part of the */
  const int64_t* ghost_upper; /* transfer: before and after it, per dimension. Null: none. */
  const int64_t* strides;     /* bytes from one element to the next along each dimension; may be
                                 negative. Null: packed in `order`. With strides, the buffer is the
                                 address of the part's first element, there are no ghost cells, and
                                 the rank has at most one piece. Memory that is read into must not
                                 overlap itself. */
  uint64_t reserved[4];
} weir_memory;

/* A section consists of the elements start[d] + k * stride[d], 0 <= k < count[d], along each
 * dimension d of the array. All fields must be alike. */
typedef struct weir_section {
  const int64_t* start;
  const int64_t* count;
  const int64_t* stride; /* at least 1. Null: 1 along every dimension. */
} weir_section;

/* Describes one array of a request. A rank transfers those elements of its part that are in the
 * section. The fields that describe the memory are optional. Those that are given are checked on
 * all ranks before anything moves. A language binding knows them, so a mistake gives an error
 * instead of overwritten memory. */
typedef struct weir_transfer {
  weir_array* array;                     /* Alike. */
  const weir_distribution* distribution; /* of the array's shape. Alike. */
  const weir_section* section;           /* null: the whole array. Alike. */
  void* data;                /* this rank's part; not changed by writes. May be null if the rank has
                                no elements. */
  void* const* piece_data;   /* replaces `data`: where each of the rank's pieces begins */
  const weir_memory* memory; /* null: packed, row-major, without ghost cells */
  int64_t data_bytes;        /* size of the memory at `data`; 0: unspecified. Not used with strides
                                or piece_data. */
  const int64_t* data_shape; /* extents of the memory, ghost cells included, if the rank has one
                                piece; null: unspecified */
  const char* data_type;     /* element type of the memory; null: unspecified */
  int32_t dimensions;        /* number of dimensions for which memory, section and data_shape have
                                numbers; 0: unspecified, as many as the array */
  int32_t reserved_flags;
  uint64_t reserved[4];
} weir_transfer;

/* Write, or read, one whole array, from or into packed row-major memory. When weir_write returns 0
 * on a rank, the program may change the memory, and every rank reads what was written. */
int weir_write(weir_array* array, const weir_distribution* distribution, const void* data);
int weir_read(weir_array* array, const weir_distribution* distribution, void* data);

/* Write or read `count` transfers (alike, at least 1) under one plan. An array may occur in a
 * request more than once; an element that is written twice gets one of the values. */
int weir_write_many(weir_session* session, int32_t count, const weir_transfer* transfers);
int weir_read_many(weir_session* session, int32_t count, const weir_transfer* transfers);

/* ---- A rank's own region ----
 *
 * These calls are like PnetCDF's put_vara_all and HDF5's hyperslabs: each rank names a region of
 * the array in the call, without a distribution. Regions may differ between ranks. */

/* A region consists of the elements lower[d] + k * stride[d], 0 <= k < extent[d], along each
 * dimension d, and of this rank's memory, which has the shape `extent`. Every field may differ
 * between ranks. The fields that describe the memory are those of weir_transfer. */
typedef struct weir_region {
  const int64_t* lower;  /* index of the first element, one number per dimension */
  const int64_t* extent; /* number of elements along each dimension; if any is 0, the region is
                            empty */
  const int64_t* stride; /* distance between elements, at least 1. Null: 1 along every dimension */
  void* data;            /* not changed by writes. May be null if the region is empty */
  const weir_memory* memory; /* null: packed, row-major, without ghost cells */
  int64_t data_bytes;        /* size of the memory at `data`; 0: unspecified */
  const int64_t* data_shape; /* extents of the memory, ghost cells included; null: unspecified */
  const char* data_type;     /* element type of the memory; null: unspecified */
  int32_t dimensions;        /* number of dimensions for which numbers are given; 0: unspecified */
  int32_t reserved_flags;
  uint64_t reserved[4];
} weir_region;

/* Write, or read, each rank's region. Collective: `array` alike; a rank that takes no part passes a
 * null region, or an extent of 0. An index outside the array is WEIR_E_ARGUMENT on all ranks. In a
 * write, so are regions of two ranks that have an element in common: nothing is written. Any
 * strategy moves the regions, with strides or without, in the same way as a distribution by boxes.
 * Regions that are used again (the last 16 different sets of a session are kept) are gathered from
 * all ranks only once, and each node keeps them once for its ranks. */
int weir_write_region(weir_array* array, const weir_region* region);
int weir_read_region(weir_array* array, const weir_region* region);

/* Begin to write or read a region, as weir_write_begin does. Everything that `region` points to,
 * except the memory, may be freed at once. */
int weir_write_region_begin(weir_array* array, const weir_region* region, weir_request** request);
int weir_read_region_begin(weir_array* array, const weir_region* region, weir_request** request);

/* Write, or read, a region by this rank alone, at once. Local: no other rank takes part, and only
 * this rank fails. If a write fails in a step of a file, weir_file_step_end reports it on all ranks
 * and commits nothing. The rank opens the files by itself and moves the bytes through the system's
 * page cache, whatever strategy and engine the session has. The region is not compared with those
 * of other ranks: if several ranks write an element, or one reads it while another writes it,
 * either value results. Other ranks read what was written once this call has returned and they have
 * been notified (for example by MPI_Barrier), if the file system is coherent between nodes. It is
 * durable after weir_array_sync or weir_file_step_end. Writing to encoded chunks
 * or to a file with checksums, which ranks share, is WEIR_E_UNSUPPORTED. `region` is not null. */
int weir_write_region_independent(weir_array* array, const weir_region* region);
int weir_read_region_independent(weir_array* array, const weir_region* region);

/* ---- Requests that are explained or begun ---- */

enum { WEIR_WRITE = 0, WEIR_READ = 1 };

/* Describes what weir_write_many or weir_read_many (`direction`) would do with these transfers: the
 * strategy and why, then the estimated seconds of each strategy. The text has several lines for
 * people, whose wording may change, without a newline at the end. Moves nothing, and does not look
 * at the memory of the transfers. *text is the same on every rank, null on failure, and valid until
 * the next call of this function on the session, or until the session is closed. Local: one rank
 * may call it alone. */
int weir_session_explain(weir_session* session, int32_t direction, int32_t count,
                         const weir_transfer* transfers, const char** text);

/* Begin a request and return at once; *request identifies it. The buffers belong to Weir until the
 * request is complete; `transfers` and all that it points to, except the buffers, the arrays and
 * the session, may be freed at once. These calls do not wait for other ranks, so weir_wait or
 * weir_test reports invalid arguments, on all ranks alike; only a null `request` or session is
 * refused here. The requests of a session are carried out in the order in which they began. */
int weir_write_begin(weir_session* session, int32_t count, const weir_transfer* transfers,
                     weir_request** request);
int weir_read_begin(weir_session* session, int32_t count, const weir_transfer* transfers,
                    weir_request** request);

/* Waits until the request has ended and frees it; *request becomes null whatever happens. Returns
 * what the blocking call would have. Every rank ends every request, by weir_wait or weir_test, in
 * any order. */
int weir_wait(weir_request** request);

/* Moves on as far as possible without waiting, and sets *complete to 1 if the request has ended,
 * and to 0 if not. When the request has ended, successfully or not, it is freed as by weir_wait,
 * and the return value says how it ended. A request progresses only inside calls of Weir, so it can
 * end only if every rank calls Weir. */
int weir_test(weir_request** request, int32_t* complete);

/* Gives the request's buffers back to the program at once, without waiting for any rank, for a
 * program that has to leave while a request is under way (an exception, an early return). Weir
 * copies what is still to be written, and discards what the request reads. The request keeps its
 * place among the session's calls, which wait for it as for any other; this rank does not learn how
 * it ends. Other ranks may wait for it or detach it as they like. *request becomes null whatever
 * happens. The call returns WEIR_E_MEMORY if there is no room for the copy; the buffers are not
 * used again all the same, but the session is broken. Local. */
int weir_request_detach(weir_request** request);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

#endif
