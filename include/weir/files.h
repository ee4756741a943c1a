/* Files of arrays, read and written by one process without MPI: libweir_files.so.
 *
 * The files are those of weir.h and of every other program: HDF5, NetCDF's classic formats, Zarr
 * v3, raw arrays. A program on several ranks uses weir.h, which moves arrays collectively; this is
 * for what looks at a file afterwards: analysis, plots, conversion. Python's weir.open() stands on
 * it.
 *
 *   weir_files* file;
 *   weir_files_open("plot.h5", &file);
 *   int64_t array = weir_files_find(file, "fields/density");
 *   int64_t start[3] = {0, 0, 17}, count[3] = {100, 100, 1};
 *   double slice[100][100];
 *   weir_files_read(file, array, start, count, NULL, slice, NULL);
 *   weir_files_close(&file);
 *
 * RETURN VALUES. 0, or a count where so described, is success; a negative value is one of the codes
 * below, the same numbers as in weir.h. Functions that return a pointer return null instead.
 *
 * THREADS. Handles may be used by several threads at the same time, but for weir_files_commit,
 * weir_files_reload and weir_files_close. The
 * texts that functions return live as long as the handle.
 *
 * MEMORY. Besides its description a call needs a buffer of 4 MiB, or of one element, or of one
 * compressed chunk where that is larger; for texts of any length see weir_files_read_texts().
 *
 * STABILITY. Functions, values and members of the description are added, never changed or taken
 * away.
 */
#ifndef WEIR_FILES_H
#define WEIR_FILES_H

#include <stdint.h>

/* NOLINTBEGIN(modernize-use-using, readability-identifier-naming): this is C. */

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is open, or being made. */
typedef struct weir_files weir_files;

enum {
  WEIR_FILES_OK = 0,
  WEIR_FILES_E_ARGUMENT = -1,   /* invalid argument; nothing was started */
  WEIR_FILES_E_IO = -3,         /* the system refused to open, read or write */
  WEIR_FILES_E_CORRUPT = -4,    /* a file is not what it should be */
  WEIR_FILES_E_MEMORY = -5,     /* not enough memory or disk */
  WEIR_FILES_E_UNSUPPORTED = -6 /* this system, or this build of Weir, cannot do that */
};

/* The version of the library, "0.1.0". */
const char* weir_files_version(void);

/* The line for this thread's latest call that failed: what was wrong, where, what to do. Valid
 * until the next one that fails; "" before the first. */
const char* weir_files_last_error(void);

/* The formats that this build writes, separated by blanks: "hdf5 cdf5 cdf2 cdf1 zarr raw". */
const char* weir_files_formats(void);

/* ---- Opening ---- */

/* Opens a file of any format for reading; its content says which one it is. `path` is that of the
 * file, of a Zarr folder, or of a raw file or array (with or without the .json of its document).
 * Nothing stays open of it but data files, from the first read on. On failure *file is null. */
int weir_files_open(const char* path, weir_files** file);

/* Reads what is in the file at the path now: steps, arrays and attributes that other programs added
 * or dropped since it was opened; also where another file has taken the path. What was set for
 * reads stays, and numbers of arrays, shapes and texts are those of before no longer. On failure
 * *file is as it was. Not while other threads use the handle. */
int weir_files_reload(weir_files** file);

/* The blocks that later reads of a file with checksums beside it (docs/formats.md) verify. A block
 * is 1 MiB, or ends where its array or step does. A read that finds one damaged fails with
 * WEIR_FILES_E_CORRUPT and a line with array, step, file and offset; its memory may hold anything
 * then. Reads of blocks without checksums, and of compressed chunks, are as without this. */
enum {
  WEIR_FILES_VERIFY_NONE = 0,
  WEIR_FILES_VERIFY_COVERED = 1, /* of which one read takes three quarters or more: the default */
  WEIR_FILES_VERIFY_TOUCHED = 2  /* of which a read takes anything: it reads their rest, too */
};
int weir_files_verify_reads(weir_files* file, int32_t blocks);

/* Sets how many bytes of decoded chunks the reads that follow keep for each other, at most; 0:
 * none. Until then it is 64 MiB. Compressed chunks of which a read takes a part are kept, those
 * used last; one whose file was changed meanwhile is decoded again. */
int weir_files_cache(weir_files* file, int64_t bytes);

/* Closes the file; *file becomes null. A null handle is nothing to close. What was being made and
 * not committed is removed. */
int weir_files_close(weir_files** file);

/* "hdf5", "cdf5", "cdf2", "cdf1", "zarr" or "raw". */
const char* weir_files_format(const weir_files* file);

/* What is in the file, as JSON:
 *
 *   {"format": "hdf5",
 *    "arrays": [{"name": "fields/density", "shape": [8, 100], "type": "float64",
 *                "order": "row-major", "grows": true, "chunks": [1, 100], "shards": null,
 *                "dimension_names": ["time", "x"], "fill": null, "codecs": "shuffle,zstd:1",
 *                "byte_order": "little",
 *                "attributes": [{"name": "units", "text": "kg/m^3"},
 *                               {"name": "tags", "texts": ["a", "b"]},
 *                               {"name": "range", "reals": [0.5, "NaN"], "type": "float32"},
 *                               {"name": "level", "integers": [3], "type": "int16"}]}],
 *    "groups": [{"name": "fields", "attributes": []}],
 *    "refused": [{"name": "notes", "reason": "is of text"}],
 *    "left_out": [{"owner": "fields", "name": "grid", "reason": "it has 2 dimensions"}],
 *    "retyped": []}
 *
 * The group "" is the file itself. "fill" is an element's bytes in hexadecimal digits, as they are
 * in memory; "codecs" are what chunks are compressed and summed by, as docs/formats.md has them.
 * The first dimension of an array that grows has the file's steps. Numbers that JSON does not have
 * are "NaN", "Infinity", "-Infinity". Refused arrays cannot be read by Weir. The type "text[]" is
 * texts of any length: see weir_files_read_texts(); "fill" then has the bytes of the text.
 * The type of an attribute's numbers is "int8" to "int64", "uint8" to "uint64", "float32",
 * "float64", or "bool" of integers that are 0 or 1. A file that is being made gets int64 and
 * float64 where none is given. "left_out" names attributes without a form here, by the array or
 * group that has them; the name "" stands for all those of an object beyond the number that is
 * read. */
const char* weir_files_description(const weir_files* file);

/* How many arrays there are (those refused left out), and the number of one by its name. */
int64_t weir_files_arrays(const weir_files* file);
int64_t weir_files_find(const weir_files* file, const char* name);

/* What the array of a number is: name; dimensions (1 to 16; 0: it is one element, and calls take
 * no start, count and strides of it); extents; type as weir.h names it, "float64", and its bytes in
 * memory, 0 where texts have any length (type "text[]"). */
const char* weir_files_array_name(const weir_files* file, int64_t array);
int32_t weir_files_array_dimensions(const weir_files* file, int64_t array);
int weir_files_array_shape(const weir_files* file, int64_t array, int64_t* shape);
const char* weir_files_array_element_type(const weir_files* file, int64_t array);
int64_t weir_files_array_element_bytes(const weir_files* file, int64_t array);

/* What killed runs left of the file at `path` and beside it, a line each: a file whose making did
 * not come to its end, a step that was not committed; "" where there is nothing of the kind. A file
 * that is there only unfinished is no failure. Null on failure. The text is valid until this
 * thread's next call of this function. */
const char* weir_files_unfinished(const char* path);

/* How many parts an array has, its chunks or, without chunks, the indices of its first dimension;
 * and how many of these are in no file. *unwritten: chunks that have the fill value, as nobody
 * wrote them or somebody removed them; null: they are not counted, which may take listing folders.
 * *lost: parts that cannot be read: chunks by a damaged index, or the last indices where a file was
 * cut off. *damage: what took these, a line, "" for nothing, valid until this thread's next call of
 * this function. Chunks that are there and damaged are found by reading them. */
int64_t weir_files_missing(weir_files* file, int64_t array, int64_t* unwritten, int64_t* lost,
                           const char** damage);

/* Keeps the first `steps` steps of the file at `path`, of any format, and takes the others away, as
 * weir_file_drop_steps() of weir.h does. Fails where another program writes to the file. Handles
 * that are open on the file are to be opened again. */
int weir_files_drop_steps(const char* path, int64_t steps);

/* Verifies the file against its checksums in PATH.sums, which weir.h's files have when
 * asked for: weir_files_sums() looks for them and says in how many parts of at most 8 MiB (or a
 * block) that is done, 0 where there are none; weir_files_verify() reads one part, from 0 on, also
 * by several threads, and gives a line for each block that is not what was written, with array,
 * step, file and offset, "" where all are. *bytes: of all parts. *damage: what is wrong with
 * PATH.sums itself, "" for nothing, valid as long as the file. Both may be null. Lines are valid
 * until this thread's next call of weir_files_verify(). Null on failure. */
int64_t weir_files_sums(weir_files* file, int64_t* bytes, const char** damage);
const char* weir_files_verify(weir_files* file, int64_t part);

/* ---- Reading and writing ---- */

/* Reads the elements start[d] + k * stride[d], 0 <= k < count[d], of an array into `data`. `start`
 * and `count` null: all of it; `stride` null: all 1. `strides` are those of the memory in bytes, of
 * any sign, counted from `data`; null: packed in row-major order. Numbers come in the machine's
 * byte order, and elements that are in no file have the array's fill value. */
int weir_files_read(weir_files* file, int64_t array, const int64_t* start, const int64_t* count,
                    const int64_t* stride, void* data, const int64_t* strides);

/* Texts of any length, one behind the other. Text i has offsets[i + 1] - offsets[i] - 1 bytes,
 * UTF-8 as a rule, from bytes + offsets[i] on, and a zero behind these. */
typedef struct weir_files_texts {
  int64_t count;
  const int64_t* offsets; /* count + 1 of them */
  const char* bytes;
} weir_files_texts;

/* Reads elements, described as for weir_files_read(), of an array of the type "text[]": HDF5's and
 * NetCDF-4's strings of variable length, Zarr's "string". They come in row-major order, and
 * weir_files_free_texts() gives their memory back. Elements that are in no file have the array's
 * fill value. A call takes 40 bytes for each element and twice the memory of the texts, which are
 * refused where they take more than an HDF5 file has. On failure *texts is null. Files with such
 * arrays are not made by this library. */
int weir_files_read_texts(weir_files* file, int64_t array, const int64_t* start,
                          const int64_t* count, const int64_t* stride, weir_files_texts** texts);

/* *texts becomes null. Null is nothing to free. */
void weir_files_free_texts(weir_files_texts** texts);

/* Makes a file of one of the formats, from a description as above of which "name", "shape" and
 * "type" of each array are needed; the rest may be left out. "alignment" beside "arrays": those of
 * at least so many bytes begin at a multiple of it; without it large ones begin at multiples of up
 * to 2 MiB. "checksum": "crc32c" puts the checksums of what is written beside the file.
 * "leave_out_attributes": true leaves out attributes that the format cannot hold, which fail
 * otherwise: the new handle's description has them in "left_out", and in "retyped", with owner,
 * name and reason, those whose values are there in another type. Until weir_files_commit() the file
 * is called PATH.incomplete, and a file that is there at `path` stays. A Zarr folder must not be
 * there, unless "replace" is true: then it is replaced when the file is committed. */
int weir_files_create(const char* path, const char* format, const char* description,
                      weir_files** file);

/* Writes elements, described as for weir_files_read(), into a file that is being made. Threads may
 * write disjoint elements at the same time, but not of one compressed chunk or shard. Compressed
 * chunks of HDF5 are written whole. */
int weir_files_write(weir_files* file, int64_t array, const int64_t* start, const int64_t* count,
                     const int64_t* stride, const void* data, const int64_t* strides);

/* Makes durable what was written, and gives the file its name; elements that were never written are
 * zeros or the fill value. A file that is closed without this is removed. */
int weir_files_commit(weir_files* file);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

#endif
