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
 *   same line on every rank: which rank, what, where, what to do. The session stays usable. What a
 *   failed write leaves in the array's elements of the request is not defined; other elements are
 *   as before. What a failed read leaves in memory is not defined, and only elements asked for can
 *   have changed.
 *
 *   A session carries out its calls in the order in which they were made: a call that waits first
 *   completes the requests that were begun before it (their handles still want weir_wait).
 *
 *   No call waits for ever. The session's deadline is for processes that are silent. A rank that
 *   computes, or whose storage is slow, still shows that it is alive: the others wait for it for up
 *   to 24 deadlines. When a rank's process has ended, the waits of the others end soon. They return
 *   WEIR_E_DEADLINE; messages may then still be under way, so the session is broken: its later
 *   calls return WEIR_E_BROKEN at once, and it can only be closed. When MPI fails on a rank, all
 *   ranks that wait return WEIR_E_BROKEN at once, with the reason. Only the rank that passes a null
 *   handle refuses it: a null handle names no communicator through which the others could be told.
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

/* The version of the library, "0.1.0". Local. */
const char* weir_version(void);

/* The line of this thread's latest call that failed: what was wrong, where, what to do. Valid
 * until the next call fails; "" before the first. Local. */
const char* weir_last_error(void);

/* ---- Sessions ---- */

/* All fields alike. They determine how data is read and written, never which data. A field that is
 * left open (0, null) takes the value of the variable of its name in rank 0's environment:
 * WEIR_STRATEGY, WEIR_AGGREGATORS, WEIR_BUFFER_BYTES and so on, and WEIR_DEADLINE in seconds
 * (docs/library.md has the table); otherwise the default. */
typedef struct weir_session_options {
  double deadline_seconds; /* how long a rank may be silent that others wait for; 0: 600 */
  const char* strategy;   /* "automatic" (the cheapest, for each request; weir_session_explain tells
                             why), "direct" (every rank moves its own elements), "node" (ranks that
                             aggregate gather through the memory of their node, each node for
                             itself), "two-phase" (they gather from all nodes, which send by
                             themselves), "server-directed" (the same, but they ask for each piece
                             when they have room for it). Null: automatic. */
  int64_t aggregators;    /* ranks per node that gather, and open files; 0: chosen */
  int64_t buffer_bytes;   /* of one buffer of an aggregator; 0: chosen. Less is taken on all nodes,
                             down to 64 KiB, where a node has too little memory to share */
  int64_t buffers;        /* per aggregator, at least 2; 0: chosen */
  int64_t ranks_per_node; /* treats as many consecutive ranks as a node, to try out on one node what
                             happens between several; 0: the ranks that share memory */
  const char* platform; /* the platform's description, a file that `weir platform probe` writes and
                           rank 0 alone reads: strategies and chunks are priced by its rates. Null:
                           the one that WEIR_PLATFORM names on rank 0. "", or null and nothing
                           named: estimates for a small machine. */
  /* How the session's files lie on their storage. 0: as the platform's description says, or else
   * the file system. */
  int64_t alignment_bytes; /* aggregators' parts of a file end at multiples of it; 0: of stripes and
                              lock blocks, or of pages */
  int64_t stripe_bytes;    /* that lie together on one target (Lustre: lfs getstripe -S) */
  int64_t lock_bytes;      /* of a file that one node at a time may write (GPFS: its block size) */
  int64_t targets;         /* that hold parts of one file (Lustre: lfs getstripe -c) */
  const char* engine; /* what moves bytes between buffers and files: "automatic" (the cheapest, for
                         each request), "posix", "io_uring" (many transfers in flight; fails if any
                         rank's kernel lacks it), "direct-io" (whole pages of long transfers
                         past the page cache), "mpi-io". Null: automatic. */
  uint64_t reserved[4];
} weir_session_options;

/* Opens a session on the ranks of `communicator` (an intracommunicator), which Weir duplicates: its
 * messages never meet the program's. Collective over `communicator`. On failure *session is
 * null. */
int weir_session_open(MPI_Comm communicator, const weir_session_options* options,
                      weir_session** session);

/* Closes the session and the arrays that are open in it, after the requests under way; the handles
 * of all of them, and of distributions, are invalid afterwards. *session becomes null whatever
 * happens. When closing an array fails (data may be lost), so does this call. Call before
 * MPI_Finalize: afterwards this and all calls on the session's handles return WEIR_E_ARGUMENT, and
 * what was still to be written into the headers of files is lost. */
int weir_session_close(weir_session** session);

/* Gives a session up without waiting for any other rank, for a program that leaves after a failure
 * of its own: what the session holds stays as it is until the process ends. *session becomes null.
 * Other ranks that wait for this one learn within seconds that it gave up. Local. */
void weir_session_abandon(weir_session** session);

/* As weir_session_abandon, and tells all other ranks the reason, a line of which they get at most
 * 512 bytes: their calls that are under way end at once, and every later call on the session fails,
 * with WEIR_E_BROKEN and a line that names this rank, the step that it had begun, and the reason.
 * Where several ranks give reasons at a time, each rank is told one of them. Null: no reason.
 * Local. */
void weir_session_abandon_because(weir_session** session, const char* reason);

/* Where the time of the session's latest request that ended went on this rank, and what it moved:
 * nanoseconds and bytes. */
typedef struct weir_figures {
  int32_t strategy;    /* 1 direct, 2 node, 3 two-phase, 4 server-directed */
  int32_t plan_reused; /* 1: planned for an earlier request that asked for the same, not again */
  int64_t aggregators; /* on all nodes; of direct, the ranks */
  int64_t plan_ns;
  int64_t gather_ns;     /* copying between the rank's memory and buffers */
  int64_t storage_ns;    /* in system calls on files */
  int64_t wait_ns;       /* for other ranks */
  int64_t bytes_asked;   /* of this rank's memory */
  int64_t bytes_stored;  /* written to files by this rank */
  int64_t bytes_fetched; /* read from files by this rank */
  int64_t bytes_sent;    /* in messages by this rank */
  int64_t storage_calls;
  int32_t engine; /* 1 posix, 2 io_uring, 3 direct-io, 4 mpi-io */
  int32_t reserved_flags;
  uint64_t reserved[3];
} weir_figures;

/* Local. Refused before the first request has ended. */
int weir_session_figures(const weir_session* session, weir_figures* figures);

/* ---- Distributions ---- */

typedef struct weir_distribution_options {
  const int64_t* grid; /* ranks along each dimension, 1 along `*`. Null: as many ranks as there are,
                          divided over the distributed dimensions as evenly as can be. Ranks beyond
                          the grid hold nothing. Alike. */
  int32_t grid_order;  /* which dimension of the grid rank numbers run fastest along: the last
                          (WEIR_ROW_MAJOR: MPI_Cart, BLACS 'R') or the first (WEIR_COLUMN_MAJOR: HPF,
                          BLACS 'C'). Alike. */
  int32_t reserved_flags;
  uint64_t reserved[6];
} weir_distribution_options;

/* Distributes an array of `dimensions` dimensions and this shape (elements) to the session's ranks.
 * `formats` has one word per dimension, separated by commas, slowest dimension in row-major order
 * first: "*" (not distributed), "BLOCK", "BLOCK(100)", "CYCLIC", "CYCLIC(32)", "CYCLIC(32,from=1)",
 * with HPF's meaning. All arguments alike. */
int weir_distribution_create(weir_session* session, int32_t dimensions, const int64_t* shape,
                             const char* formats, const weir_distribution_options* options,
                             weir_distribution** distribution);

/* A distribution of explicit boxes: this rank holds `boxes` of them (0 or more), box b being the
 * elements lower[b * dimensions + d] and on along dimension d, extent[b * dimensions + d] of them.
 * Boxes may be unequal, empty, and leave holes; when two have elements in common, arrays can be
 * read by them but not written. `dimensions` and `shape` alike; the rest is each rank's own. The
 * boxes of all ranks are kept once on each node, in memory that its ranks share (at most 40 bytes
 * per box in 3-D where extents are below 2^32), until the last rank of the node frees the
 * distribution. */
int weir_distribution_from_boxes(weir_session* session, int32_t dimensions, const int64_t* shape,
                                 int64_t boxes, const int64_t* lower, const int64_t* extent,
                                 weir_distribution** distribution);

/* Frees a distribution; *distribution becomes null. Requests under way keep what they need.
 * Local. */
void weir_distribution_free(weir_distribution** distribution);

/* What this rank holds: elements in all; pieces (1 when distributed by formats, the number of boxes
 * otherwise). Negative when the handle is null. Local. */
int64_t weir_distribution_elements(const weir_distribution* distribution);
int64_t weir_distribution_pieces(const weir_distribution* distribution);
/* The extents of one of this rank's pieces: `shape` gets one number per dimension. Local. */
int weir_distribution_piece_shape(const weir_distribution* distribution, int64_t piece,
                                  int64_t* shape);
/* The index in the array of the element at index `local` of a piece. Local. */
int weir_distribution_global_index(const weir_distribution* distribution, int64_t piece,
                                   const int64_t* local, int64_t* global);

/* ---- Arrays ---- */

enum { WEIR_SHARED_FILE = 0, WEIR_FILE_PER_AGGREGATOR = 1, WEIR_FILE_PER_RANK = 2 };

/* All fields alike. */
typedef struct weir_array_options {
  int32_t order; /* of elements in the file, or in each chunk: WEIR_ROW_MAJOR (0) or
                    WEIR_COLUMN_MAJOR */
  int32_t files; /* WEIR_SHARED_FILE (0); or, when there are chunks, as many files as there
                    are aggregators or ranks. All are read alike, by any number of ranks. */
  /* At most one of the next three says what chunks are; without any, the whole array lies in one
   * order. */
  const int64_t* chunks;                   /* extents of a chunk in elements, one per dimension */
  const weir_distribution* natural_chunks; /* chunks equal to the blocks of this distribution, which
                                              is one by formats */
  const int64_t* typical_request; /* extents of what is commonly read or written at once, one per
                                     dimension: chunks for which that takes the least time */
  int64_t chunk_buffer_bytes;     /* with typical_request: a chunk is not larger; 0: 4 MiB */
  int64_t chunk_block_bytes; /* with typical_request: what the file system writes at once; a chunk
                                is not smaller; 0: 4096 */
  /* With several files: the folders that they lie in, file n in number n modulo directory_count,
   * all of them there already and seen by every rank under these names; without, all beside the
   * description. A relative one begins at the folder of `path`. None leads upwards ("..") or is
   * other than UTF-8. */
  const char* const* directories;
  int64_t directory_count; /* 0: none */
  /* How new files are to lie on their storage, where the file system lets a program choose (Lustre,
   * by the command lfs; CephFS). On others any of these is WEIR_E_UNSUPPORTED. */
  int64_t stripe_count; /* targets that have parts of a file; -1: all (Lustre); 0: as the folder
                           has it */
  int64_t
      stripe_bytes; /* contiguous on one of them, a multiple of 65536; 0: as the folder has it */
  int64_t first_target; /* the index of the first one, plus 1 (Lustre); 0: any */
  const char* pool;     /* the targets' pool; null: as the folder has it */
  uint64_t reserved[3];
} weir_array_options;

/* Creates an array of `dimensions` dimensions (1 to 16) and this shape (elements; an extent may be
 * 0; at most 2^62 elements). `element_type` is "int8" to "int64", "uint8" to "uint64", "float16",
 * "float32", "float64", "complex64", "complex128", "bool", "text[BYTES]" and "utf32[CHARACTERS]"
 * for text of a fixed length, or "record[BYTES]" for structures that Weir does not look into. All
 * arguments alike.
 *
 * The elements go to the file `path` (with several files, to `path`.0, `path`.1 and so on, or to
 * these names in options->directories), the description to `path`.json beside it. The folder
 * exists, and every rank sees it under this path. An array that is there already is replaced, its
 * elements being lost. Elements that were never written read as 0. */
int weir_array_create(weir_session* session, const char* path, int32_t dimensions,
                      const int64_t* shape, const char* element_type,
                      const weir_array_options* options, weir_array** array);

/* All fields alike. */
typedef struct weir_open_options {
  int32_t read_only; /* not 0: writing is refused, and the files need no permission for it. */
  int32_t reserved_flags;
  uint64_t reserved[7];
} weir_open_options;

/* Opens an array that this or any other number of ranks created. All arguments alike. */
int weir_array_open(weir_session* session, const char* path, const weir_open_options* options,
                    weir_array** array);

/* What the array is. `shape` gets weir_array_dimensions() numbers; the name of the element type is
 * valid as long as the array is open. A null handle gives a negative code, or null. Local. */
int32_t weir_array_dimensions(const weir_array* array);
int weir_array_shape(const weir_array* array, int64_t* shape);
const char* weir_array_element_type(const weir_array* array);
int64_t weir_array_element_bytes(const weir_array* array);

/* Makes durable what was written to the array: it is on the storage, not only in memory, when this
 * returns 0. When this fails, bytes written since the last call that returned 0 may be lost, and so
 * may those of other arrays of the file: later calls fail too, until the array is written again,
 * which has to write all that was. */
int weir_array_sync(weir_array* array);

/* Closes the array: other programs can read what was written (durable it is only after
 * weir_array_sync). *array becomes null whatever happens. */
int weir_array_close(weir_array** array);

/* ---- Files of standard formats ----
 *
 * A file holds several arrays with attributes, and steps: HDF5, NetCDF or Zarr as their own tools
 * read them. It is used in this order:
 *
 *   weir_file_create, weir_file_define, weir_file_attribute_…   nothing is on disk yet
 *   weir_file_step_begin     lays the file out; later ones make room for one more step
 *   weir_write, …            on the file's arrays: they move the step that has begun
 *   weir_file_step_end       the step is durable, as asked for, and readers see it, whole
 *   weir_file_define, weir_file_attribute_…   between steps: added to the file as the next begins
 *   weir_file_close
 *
 * One run at a time writes to a file: from the first weir_file_step_begin (with `rewrite`: from
 * weir_file_open) until weir_file_close another one that makes the file or begins a step in it is
 * refused (WEIR_E_ARGUMENT, with the host and process of the first one). A step does not begin or
 * end where another program has replaced or changed the file meanwhile.
 *
 * A run that is killed at any point leaves the steps that had ended, in a file that all tools of
 * its format open (docs/formats.md). A new file has the name PATH.incomplete until its first step
 * ends, and replaces a file that is there only then.
 *
 * Defining calls are local: every rank makes the same ones, and weir_file_step_begin refuses what
 * differs between ranks. */

typedef struct weir_file weir_file;

/* All fields alike. */
typedef struct weir_file_options {
  const char* format;     /* "hdf5", "cdf5", "cdf2", "cdf1" (NetCDF's classic formats), "zarr" (a
                             folder) or "raw" (elements, and the document PATH.json). Null: as the
                             path ends: .h5, .hdf5, .he5; .nc (cdf5); .zarr; .raw */
  const char* durability; /* when what was written outlives a crash of the system: "step" (when
                             weir_file_step_end returns), "operation" (when each write does too),
                             "none" (when the system gets to it; a crash of the program alone loses
                             no step that has ended). Null: "step" */
  const char* step_dimension; /* the name of the dimension along which arrays grow; null: "step" */
  int64_t alignment_bytes;    /* arrays of at least this size begin at a multiple of it, where the
                                 format leaves a choice: stripes, blocks of locks. 1: anywhere; 0:
                                 multiples of up to 2 MiB, for a sixteenth of their size in holes */
  const char* checksum;       /* what is kept of every block in PATH.sums, to be verified when it is
                                 read and by weir check: "crc32c" or "none". Null: "none" */
  /* How new files are to lie on their storage, where the file system lets a program choose (Lustre,
   * by the command lfs; CephFS). On others any of these is WEIR_E_UNSUPPORTED. */
  int64_t stripe_count; /* targets that have parts of a file; -1: all (Lustre); 0: as the folder
                           has it */
  int64_t
      stripe_bytes; /* contiguous on one of them, a multiple of 65536; 0: as the folder has it */
  int64_t first_target; /* the index of the first one, plus 1 (Lustre); 0: any */
  const char* pool;     /* the targets' pool; null: as the folder has it */
  const char*
      unwritten; /* what becomes of a step in which no rank wrote one of its arrays: "fill"
                    (the array has its fill value there; weir_file_unwritten tells) or
                    "error" (weir_file_step_end fails and names such arrays). Null: "fill" */
  uint64_t reserved[1];
} weir_file_options;

/* Begins the definition of a file at `path`, in a folder that exists. Local. */
int weir_file_create(weir_session* session, const char* path, const weir_file_options* options,
                     weir_file** file);

/* All fields alike. */
typedef struct weir_define_options {
  int32_t order; /* WEIR_ROW_MAJOR (0) or WEIR_COLUMN_MAJOR, which the formats hold with reversed
                    extents; not for arrays with steps */
  int32_t steps; /* not 0: the array has other values in each step. In the file it has one more
                    dimension, the first. 0: it is written in the first step, once. */
  /* At most one of the next three. Null: dense where the format can be that; where it or the codec
   * wants chunks, such of at most 16 MiB (64 for a better fit), by the first distribution of the
   * array's shape that the session has when the first step begins. weir_session_explain tells. */
  const int64_t* chunks; /* as in weir_array_options; of one step */
  const weir_distribution* natural_chunks;
  const int64_t* typical_request;
  int64_t chunk_buffer_bytes;
  int64_t chunk_block_bytes;
  const int64_t* shards; /* extents of what shares a file, multiples of the chunks (zarr) */
  const char* const* dimension_names; /* one per dimension; null: "dim_LENGTH" for each, or the
                                         like where that is taken */
  const void* fill; /* one element: what readers see where nothing was written, and take as missing:
                       the array gets the attribute "_FillValue" (not those of truth values, complex
                       numbers and records). Null: the format's, and no attribute */
  const char* codec; /* what is done to the bytes of each chunk before they are stored: "zstd:3",
                        "shuffle,zstd:1,crc32c", "blosc:lz4:5:byte", "zfp:0.001" (hdf5, zarr;
                        docs/formats.md). Null: nothing */
  uint64_t reserved[7];
} weir_define_options;

/* Defines an array in the file: name (with '/' between groups), shape (of one step, where the array
 * has steps) and type as weir_array_create takes them. With steps, `dimensions` 0 is one number for
 * each step, as times are: its dimension is that of the steps, and in memory it has the shape {1}.
 * The array belongs to the file and is closed with it. Before the first step, and between steps of
 * a file that may be written: there the array is in the file from weir_file_extend or the next
 * weir_file_step_begin on. Local. */
int weir_file_define(weir_file* file, const char* name, int32_t dimensions, const int64_t* shape,
                     const char* element_type, const weir_define_options* options,
                     weir_array** array);

/* Gives `owner` (the name of an array or group, "" for the file) an attribute: text in UTF-8, or
 * `count` numbers. A unit is the text "units". Before the first step begins, which refuses an owner
 * that is none of these; and between steps of a file that may be written, where it is in the file
 * from weir_file_extend or the next weir_file_step_begin on. Given again, it has the later value.
 * Local. */
int weir_file_attribute_text(weir_file* file, const char* owner, const char* name,
                             const char* text);
int weir_file_attribute_integers(weir_file* file, const char* owner, const char* name,
                                 int64_t count, const int64_t* values);
int weir_file_attribute_reals(weir_file* file, const char* owner, const char* name, int64_t count,
                              const double* values);
/* Numbers of a type, which they keep in the file: "int8" to "int64", "uint8" to "uint64",
 * "float32", "float64", or "bool" (bytes of 0 and 1). `values`: `count` of them, at least 1, as
 * they are in memory. The array's "_FillValue" gets the array's type where that holds it. CDF-5 has
 * no "bool" (it gets int8), CDF-1 and CDF-2 have int8, int16, int32, float32 and float64 (others
 * get one of these where it holds them); what does not fit is refused when the file is laid out.
 * Local. */
int weir_file_attribute_numbers(weir_file* file, const char* owner, const char* name,
                                const char* element_type, int64_t count, const void* values);
/* A list of `count` texts, 0 or more; not in NetCDF's classic formats. HDF5 has a list of one text
 * as the text alone. Local. */
int weir_file_attribute_texts(weir_file* file, const char* owner, const char* name, int64_t count,
                              const char* const* texts);

/* All fields alike. */
typedef struct weir_file_open_options {
  int32_t read_only; /* not 0: nothing is written */
  int32_t rewrite;   /* not 0: arrays without steps, which are in the file already, can be written
                        again, in place and outside any step; what a run that is killed meanwhile
                        leaves in them is not defined */
  const char* durability; /* as in weir_file_options */
  const char* checksum;   /* of the steps that are added, as in weir_file_options. Null: as the
                             steps have that are there */
  const char* unwritten;  /* of the steps that are added, as in weir_file_options */
  uint64_t reserved[4];
} weir_file_open_options;

/* Opens a file of any of these formats, whoever wrote it; which one it is, its content says. All
 * arguments alike. */
int weir_file_open(weir_session* session, const char* path, const weir_file_open_options* options,
                   weir_file** file);

/* Begins a step. The first of a new file lays it out. Later ones add what was defined since
 * (weir_file_extend), then make room in all arrays that have steps. Where none has, a file has one
 * step. */
int weir_file_step_begin(weir_file* file);
/* Adds the arrays and attributes that were defined since the file was laid out or opened for
 * writing, at once: readers see all of them or, also where the run is killed meanwhile, none
 * (attributes of arrays that an HDF5 file has already are seen array by array).
 * weir_file_step_begin does so by itself; weir_file_close fails where it was left out. Collective,
 * between steps; what is added is alike on all ranks. The steps that the file has hold the fill
 * value in the new arrays. New arrays without steps are written in the next step, in place: what a
 * run that is killed meanwhile, or a step that is given up, leaves in them is not defined.
 * WEIR_E_UNSUPPORTED, with the reason, where the format has no place for it (docs/formats.md), as
 * for new arrays in CDF files with steps. When it fails the file is as before, and what was defined
 * is given up. */
int weir_file_extend(weir_file* file);
/* Ends the step: what all ranks wrote in it is made durable, then readers see it. When this fails,
 * or a write of the step failed, the step is not in the file and may be begun again; it can end
 * only when each array that was written in it has been written again. A file whose first step could
 * not be made durable has to be created again. */
int weir_file_step_end(weir_file* file);
/* The arrays that no rank wrote in the step that ended last, so that they have their fill value in
 * it: how many, and the name of one, from 0 on in the order of weir_file_array_name. A call that
 * writes an array counts, however little it writes; an array without elements is not among them,
 * nor, after the first step, one without steps. 0 before a step has ended and from the beginning
 * of the next one on. The same on every rank; a name is valid until the next step begins or the
 * file is closed. Negative, or null, for what is not there. Local. */
int64_t weir_file_unwritten(const weir_file* file);
const char* weir_file_unwritten_name(const weir_file* file, int64_t number);
/* Gives up the step that has begun, as after an exception: nothing of it is in the file, now or in
 * the next step, which begins in the same place. Requests of the session that are under way end
 * first. A first step that is given up leaves nothing on disk: the file is a definition again, to
 * which arrays may be added. Collective, and may be called by one rank before the others know:
 * until every rank has called it, every other collective call of the session returns
 * WEIR_E_ABORTED, with this rank and its `reason` (per rank; null or "": none) in
 * weir_last_error(). WEIR_E_ARGUMENT when no step has begun. When what was written cannot be taken
 * out of the file, the call fails and the step is given up all the same; the next one removes it.
 */
int weir_file_step_abort(weir_file* file, const char* reason);
/* Whether a step has begun and neither ended nor been given up: 1 or 0; a step whose end failed is
 * over. Negative when the handle is null. Local. */
int32_t weir_file_in_step(const weir_file* file);
/* Keeps the first `steps` steps of an open file, 0 to weir_file_steps(), and takes the others away,
 * as for a run that starts again from an earlier checkpoint; the next step to begin is number
 * `steps`. Collective, between steps; `steps` alike. Readers see the steps of before or of after,
 * also when the run is killed meanwhile: what it left undone is done before the next step. A reader
 * that has the file open may fail in the steps that are gone, or find later ones in their place:
 * let it open the file again. Arrays without steps stay. After a failure open the file again. */
int weir_file_drop_steps(weir_file* file, int64_t steps);
/* Steps that have ended; 1 where no array has steps. Negative when the handle is null. Local. */
int64_t weir_file_steps(const weir_file* file);
/* Selects the step that reads move from now on, counted from 0; at first it is the last one. Not
 * inside a step. Local, but all ranks must have selected the same step when a request begins. */
int weir_file_select_step(weir_file* file, int64_t step);

/* The arrays of a file: how many, their names, and one by its name, which belongs to the file. An
 * array that is there and cannot be read (compressed in a way that this Weir does not know, text)
 * is refused with the reason. Names are valid until the file is closed. Local. */
int64_t weir_file_arrays(const weir_file* file);
const char* weir_file_array_name(const weir_file* file, int64_t number);
int weir_file_array(weir_file* file, const char* name, weir_array** array);
/* Whether the array has steps: 1 or 0. The name of one of its dimensions, "" when it has none,
 * valid until the file is closed; null for what is not there. Local. */
int32_t weir_array_has_steps(const weir_array* array);
const char* weir_array_dimension_name(const weir_array* array, int32_t dimension);

enum { WEIR_TEXT = 1, WEIR_INTEGERS = 2, WEIR_REALS = 3, WEIR_TEXTS = 4 };

/* The attributes of `owner`, as in weir_file_attribute_text: how many; the name, kind and count
 * (bytes of a text, numbers, or texts of a list) of one; its value. WEIR_INTEGERS are whole numbers
 * of every type and truth values, WEIR_REALS float32 and float64. Texts are valid until the file is
 * closed. Numbers and texts are as many as `count` says: less room is refused. Local. */
int64_t weir_file_attributes(const weir_file* file, const char* owner);
int weir_file_attribute(const weir_file* file, const char* owner, int64_t number, const char** name,
                        int32_t* kind, int64_t* count);
int weir_file_get_text(const weir_file* file, const char* owner, const char* name,
                       const char** text);
int weir_file_get_integers(const weir_file* file, const char* owner, const char* name, int64_t room,
                           int64_t* values);
int weir_file_get_reals(const weir_file* file, const char* owner, const char* name, int64_t room,
                        double* values);
/* The type of an attribute: "text", "texts", or that of its numbers as in
 * weir_file_attribute_numbers; null when there is no such attribute. Its numbers in that type, as
 * they are in memory, where `room` is in bytes; the texts of a list. Local. */
const char* weir_file_attribute_type(const weir_file* file, const char* owner, const char* name);
int weir_file_get_numbers(const weir_file* file, const char* owner, const char* name, int64_t room,
                          void* values);
int weir_file_get_texts(const weir_file* file, const char* owner, const char* name, int64_t room,
                        const char** texts);

/* Closes the file and its arrays. A step that has not ended is not in the file, and the call fails
 * to say so. *file becomes null whatever happens. */
int weir_file_close(weir_file** file);

/* ---- Requests ---- */

/* How a rank's part lies in its memory. The part is a dense array: an element's place in it is its
 * number among the rank's indices along each dimension. The buffer begins with the first ghost
 * cell. Pieces of a distribution by boxes follow one another, each with its ghost cells. Each rank
 * may have its own. */
typedef struct weir_memory {
  int32_t order; /* WEIR_ROW_MAJOR, WEIR_COLUMN_MAJOR */
  int32_t reserved_flags;
  const int64_t* ghost_lower; /* elements around the part that are in memory but not part of the */
  const int64_t* ghost_upper; /* transfer: before and after it, per dimension. Null: none. */
  const int64_t* strides;     /* from one element to the next along each dimension, in bytes; may be
                                 negative. Null: packed in `order`. The buffer is then the address of
                                 the part's first element; no ghost cells beside strides, and at most
                                 one piece on the rank. Memory that is read into must not overlap
                                 itself. */
  uint64_t reserved[4];
} weir_memory;

/* The elements start[d] + k * stride[d], 0 <= k < count[d], along each dimension d of the array.
 * Alike. */
typedef struct weir_section {
  const int64_t* start;
  const int64_t* count;
  const int64_t* stride; /* at least 1. Null: 1 along every dimension. */
} weir_section;

/* One array of a request. A rank transfers those elements of its part that are in the section. The
 * fields that describe the memory are checked, if given, on all ranks before anything moves: a
 * binding knows them, and a mistake is then an error instead of overwritten memory. */
typedef struct weir_transfer {
  weir_array* array;                     /* Alike. */
  const weir_distribution* distribution; /* of the array's shape. Alike. */
  const weir_section* section;           /* null: the whole array. Alike. */
  void* data;                /* this rank's part; only read from when writing. May be null where the
                                rank has none. */
  void* const* piece_data;   /* instead of `data`: where each of the rank's pieces begins */
  const weir_memory* memory; /* null: packed, row-major, without ghost cells */
  int64_t data_bytes;        /* of the memory at `data`; 0: unspecified. Not used with strides
                                and piece_data. */
  const int64_t* data_shape; /* extents of the memory, ghost cells included, of a rank with one
                                piece; null: unspecified */
  const char* data_type;     /* element type of the memory; null: unspecified */
  int32_t dimensions;        /* for how many dimensions memory, section and data_shape have numbers;
                                0: unspecified, as many as the array */
  int32_t reserved_flags;
  uint64_t reserved[4];
} weir_transfer;

/* Writes, or reads, one array whole, from or into packed row-major memory. When weir_write returns
 * 0 on a rank, its memory may be changed, and every rank reads what was written. */
int weir_write(weir_array* array, const weir_distribution* distribution, const void* data);
int weir_read(weir_array* array, const weir_distribution* distribution, void* data);

/* Write or read `count` transfers (alike, at least 1) under one plan. An array may occur in a
 * request more than once; written twice, an element gets one of the values. */
int weir_write_many(weir_session* session, int32_t count, const weir_transfer* transfers);
int weir_read_many(weir_session* session, int32_t count, const weir_transfer* transfers);

/* ---- A rank's own region ----
 *
 * What PnetCDF's put_vara_all and HDF5's hyperslabs do: each rank names a region of the array in
 * the call, without a distribution. Every rank's may be another. */

/* The elements lower[d] + k * stride[d], 0 <= k < extent[d], along each dimension d, and this
 * rank's memory, which has the shape `extent`. Nothing in it need be alike on the ranks. The fields
 * on the memory are those of weir_transfer. */
typedef struct weir_region {
  const int64_t* lower;  /* index of the first element, one number per dimension */
  const int64_t* extent; /* how many elements along each dimension; 0 along any: none at all */
  const int64_t* stride; /* from one to the next, at least 1. Null: 1 along every dimension */
  void* data;            /* only read from when writing. May be null where there is no element */
  const weir_memory* memory; /* null: packed, row-major, without ghost cells */
  int64_t data_bytes;        /* of the memory at `data`; 0: unspecified */
  const int64_t* data_shape; /* extents of the memory, ghost cells included; null: unspecified */
  const char* data_type;     /* element type of the memory; null: unspecified */
  int32_t dimensions;        /* for how many dimensions there are numbers; 0: unspecified */
  int32_t reserved_flags;
  uint64_t reserved[4];
} weir_region;

/* Writes, or reads, each rank's region. Collective: `array` alike; a rank that takes no part passes
 * a null region, or an extent of 0. An index outside the array is WEIR_E_ARGUMENT on all ranks, and
 * so are regions of two ranks that have an element in common, in a write: nothing is written.
 * The ranks' regions, with strides or without, are moved as a distribution by boxes is, by any
 * strategy. All ranks' regions are gathered once for regions that come again (the last 16 different
 * ones of a session are known), and each node keeps them once for its ranks. */
int weir_write_region(weir_array* array, const weir_region* region);
int weir_read_region(weir_array* array, const weir_region* region);

/* Begin to write or read a region, as weir_write_begin does; all that `region` points to, except
 * the memory, may be freed at once. */
int weir_write_region_begin(weir_array* array, const weir_region* region, weir_request** request);
int weir_read_region_begin(weir_array* array, const weir_region* region, weir_request** request);

/* Writes, or reads, a region by this rank alone, at once. Local: no other rank takes part, and a
 * failure is this rank's own; a write that fails in a step of a file is told to all by
 * weir_file_step_end, which then commits nothing. The rank opens the files for itself and moves the
 * bytes through the system's page cache, whatever strategy and engine the session has. It is not
 * compared with what other ranks do: where a rank writes an element while others write or read it,
 * either value results. Other ranks read what was written when this has returned and they were told
 * so (by MPI_Barrier, say) where the file system is coherent between nodes; durable it is after
 * weir_array_sync or weir_file_step_end. WEIR_E_UNSUPPORTED: writing encoded chunks, or into a file
 * with checksums, which ranks share. `region` is not null. */
int weir_write_region_independent(weir_array* array, const weir_region* region);
int weir_read_region_independent(weir_array* array, const weir_region* region);

enum { WEIR_WRITE = 0, WEIR_READ = 1 };

/* What weir_write_many or weir_read_many (`direction`) would do with these transfers, whose memory
 * is not looked at: the strategy and why, then the estimated seconds of each strategy.
 * Several lines for people, whose wording may change, without a newline at the end. Moves nothing.
 * *text is the same on every rank, null on failure, and valid until the next call of
 * this function on the session, or until it is closed. Local: one rank may call it alone. */
int weir_session_explain(weir_session* session, int32_t direction, int32_t count,
                         const weir_transfer* transfers, const char** text);

/* Begin a request and return at once; *request identifies it. The buffers belong to Weir until the
 * request is complete; `transfers` and all that it points to, except the buffers, the arrays and
 * the session, may be freed at once. These calls do not wait for other ranks, so weir_wait or
 * weir_test returns what is wrong with the arguments, on all ranks alike; only a null `request` or
 * session is refused here. Requests of a session are carried out in the order in which they began.
 */
int weir_write_begin(weir_session* session, int32_t count, const weir_transfer* transfers,
                     weir_request** request);
int weir_read_begin(weir_session* session, int32_t count, const weir_transfer* transfers,
                    weir_request** request);

/* Waits until the request has ended and frees it; *request becomes null whatever happens. Returns
 * what the blocking call would have. Every rank ends every request, by weir_wait or weir_test, in
 * any order. */
int weir_wait(weir_request** request);

/* Moves on as far as possible without waiting, and says in *complete whether the request has ended
 * (1) or not (0). Once ended, whether well or not, it is freed as by weir_wait, and the return
 * value says how it ended. A request progresses only inside calls of Weir, so it can end only if
 * every rank calls Weir. */
int weir_test(weir_request** request, int32_t* complete);

/* Gives the request's buffers back to the program at once, without waiting for any rank, for a
 * program that has to leave while a request is under way (an exception, an early return): Weir
 * copies what is still to be written, and what the request reads goes nowhere. The request goes on
 * in its place among the session's calls, which wait for it as for any other; this rank is
 * not told how it ends. Other ranks may wait for it or detach it as they like. *request becomes
 * null whatever happens. WEIR_E_MEMORY: there is no room for the copy; the buffers are not used
 * again all the same, but the session is broken. Local. */
int weir_request_detach(weir_request** request);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

#endif
