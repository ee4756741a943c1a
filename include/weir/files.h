/* Files of arrays, read and written by one process without MPI: libweir_files.so.
 *
 * The files are the same as those of weir.h and of other programs: HDF5, NetCDF's classic formats,
 * Zarr v3, raw arrays. A program on several ranks uses weir.h, which moves arrays collectively.
 * This library is for programs that use a file afterwards: analysis, plots, conversion. Python's
 * weir.open() uses it.
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
 * THREADS. Several threads may use a handle at the same time, except in weir_files_commit,
 * weir_files_reload and weir_files_close. The texts that functions return live as long as the
 * handle.
 *
 * MEMORY. A call needs memory for the file's description and a buffer of 4 MiB, or of one element
 * or one compressed chunk if that is larger; for texts of any length see weir_files_read_texts().
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

/* Stands for a file that is open, or being made. */
typedef struct weir_files weir_files;

enum {
  WEIR_FILES_OK = 0,
  WEIR_FILES_E_ARGUMENT = -1,   /* invalid argument; nothing was started */
  WEIR_FILES_E_IO = -3,         /* the system refused to open, read or write */
  WEIR_FILES_E_CORRUPT = -4,    /* a file is damaged */
  WEIR_FILES_E_MEMORY = -5,     /* not enough memory or disk */
  WEIR_FILES_E_UNSUPPORTED = -6 /* this system, or this build of Weir, cannot do that */
};

/* Returns the version of the library, such as "0.1.0". */
const char* weir_files_version(void);

/* Returns the line about this thread's latest call that failed: what was wrong, where, what to do.
 * The line is valid until the next call fails; it is "" before the first failure. */
const char* weir_files_last_error(void);

/* Returns the formats that this build writes, separated by blanks: "hdf5 cdf5 cdf2 cdf1 zarr
 * raw". */
const char* weir_files_formats(void);

/* Returns what each of these formats has, as JSON: an object with a member for each format, by its
 * name, which is an object with the lists "suffixes" (of the names of its files, ".h5"; the first
 * is for new files) and "codecs" (names), and with true or false for "groups", "chunks", "shards",
 * "column_major", "growing" arrays, "fill" values, "utf32" elements, and "scalars_in_chunks". */
const char* weir_files_abilities(void);

/* ---- Opening ---- */

/* Opens a file of any format for reading; its content tells the format. `path` is the path of the
 * file, of a Zarr folder, or of a raw file or array (with or without the .json of its document).
 * After the first read its data files stay open; nothing else does. On failure *file is null. */
int weir_files_open(const char* path, weir_files** file);

/* Reads again what the file at the path contains: steps, arrays and attributes that other programs
 * added or dropped since it was opened. Another file may have taken the path meanwhile. Settings
 * for reads stay; numbers of arrays, shapes and texts from before are no longer valid. On failure
 * *file is unchanged. No other thread may use the handle meanwhile. */
int weir_files_reload(weir_files** file);

/* These values select the blocks that later reads verify, in a file with checksums beside it
 * (docs/formats.md). A block has 1 MiB, or ends where its array or step ends. A read that finds a
 * damaged block fails with WEIR_FILES_E_CORRUPT and a line with array, step, file and offset; its
 * memory may then hold anything. Reads of blocks without checksums, and of compressed chunks, are
 * not affected. */
enum {
  WEIR_FILES_VERIFY_NONE = 0,
  WEIR_FILES_VERIFY_COVERED = 1, /* blocks of which one read takes three quarters or more: the
                                    default */
  WEIR_FILES_VERIFY_TOUCHED = 2  /* all blocks of which a read takes anything; reads also the rest
                                    of each block */
};
int weir_files_verify_reads(weir_files* file, int32_t blocks);

/* Sets how many bytes of decoded chunks are kept for later reads, at most; 0: none. The default is
 * 64 MiB. The most recently used of those compressed chunks are kept of which a read takes a part.
 * A chunk whose file has changed meanwhile is decoded again. */
int weir_files_cache(weir_files* file, int64_t bytes);

/* Closes the file; *file becomes null. A null handle is accepted. A file that is being made and has
 * not been committed is removed. */
int weir_files_close(weir_files** file);

/* Returns "hdf5", "cdf5", "cdf2", "cdf1", "zarr" or "raw". */
const char* weir_files_format(const weir_files* file);

/* Returns a description of what is in the file, as JSON:
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
 * The group "" is the file itself. "fill" has an element's bytes, as they are in memory, in
 * hexadecimal digits. "codecs" compress and check the chunks, written as in docs/formats.md. An
 * array that grows has the file's steps as its first dimension. Numbers that JSON does not have
 * are "NaN", "Infinity", "-Infinity". Arrays under "refused" cannot be read by Weir. The type
 * "text[]" means texts of any length: see weir_files_read_texts(); "fill" then has the bytes of the
 * text. The type of an attribute's numbers is "int8" to "int64", "uint8" to "uint64", "float32",
 * "float64", or "bool" for integers that are 0 or 1. In a file that is being made the default is
 * int64 for integers and float64 for reals. "left_out" names attributes that cannot be described
 * here, by the array or group that has them; the name "" stands for all attributes of an object
 * beyond the number that is read. */
const char* weir_files_description(const weir_files* file);

/* Return the number of arrays, without those that are refused, and the number of an array by its
 * name. */
int64_t weir_files_arrays(const weir_files* file);
int64_t weir_files_find(const weir_files* file, const char* name);

/* Return properties of the array with this number: its name; its dimensions (1 to 16; or 0 for a
 * single element, and calls then ignore start, count and strides); its extents; its type as weir.h
 * names it, such as "float64"; the bytes of an element in memory, 0 for texts of any length (type
 * "text[]"). */
const char* weir_files_array_name(const weir_files* file, int64_t array);
int32_t weir_files_array_dimensions(const weir_files* file, int64_t array);
int weir_files_array_shape(const weir_files* file, int64_t array, int64_t* shape);
const char* weir_files_array_element_type(const weir_files* file, int64_t array);
int64_t weir_files_array_element_bytes(const weir_files* file, int64_t array);

/* Returns a line about each thing that killed runs left in the file at `path` and beside it: a file
 * that was not completed, a step that was not committed. The text is "" if there is nothing of the
 * kind. It is not an error if only an unfinished file is there. The result is null on failure. The
 * text is valid until this thread's next call of this function. */
const char* weir_files_unfinished(const char* path);

/* Returns how many parts an array has: its chunks or, without chunks, the indices of its first
 * dimension. Parts may be missing in two ways. *unwritten counts chunks that are in no file and
 * have the fill value, because they were never written or have been removed. If `unwritten` is null
 * they are not counted; counting may have to list folders. *lost counts parts that cannot be read:
 * chunks of a damaged index, or the last indices of a file that was cut off. *damage is a line
 * about the cause, "" if nothing is lost, valid until this thread's next call of this function.
 * Only reading finds chunks that are present and damaged. */
int64_t weir_files_missing(weir_files* file, int64_t array, int64_t* unwritten, int64_t* lost,
                           const char** damage);

/* Keeps the first `steps` steps of the file at `path`, of any format, and removes the others, as
 * weir_file_drop_steps() of weir.h does. Fails if another program writes to the file. Handles that
 * are open on the file have to be opened again. */
int weir_files_drop_steps(const char* path, int64_t steps);

/* Verify the file against its checksums in PATH.sums, which weir.h writes on request.
 * weir_files_sums() looks for the checksums and returns into how many parts, of at most 8 MiB or
 * one block, verification is divided; 0 if there are no checksums. *bytes becomes the size of all
 * parts. *damage is what is wrong with PATH.sums itself, "" for nothing; it is valid as long as the
 * file. Both may be null. weir_files_verify() reads one part, counted from 0, and returns a line
 * for each block that is not as it was written, with array, step, file and offset; "" if all blocks
 * are correct. Several threads may verify different parts. The lines are valid until this thread's
 * next call of weir_files_verify(). The result is null on failure. */
int64_t weir_files_sums(weir_files* file, int64_t* bytes, const char** damage);
const char* weir_files_verify(weir_files* file, int64_t part);

/* ---- Reading and writing ---- */

/* Reads the elements start[d] + k * stride[d], 0 <= k < count[d], of an array into `data`. With
 * `start` and `count` null it reads the whole array; a null `stride` is 1 along every dimension.
 * `strides` are the distances between elements in memory, in bytes, of any sign, beginning at
 * `data`; null: packed in row-major order. Numbers are converted to the machine's byte order.
 * Elements that are in no file get the array's fill value. */
int weir_files_read(weir_files* file, int64_t array, const int64_t* start, const int64_t* count,
                    const int64_t* stride, void* data, const int64_t* strides);

/* Holds texts of any length, one behind the other. Text i begins at bytes + offsets[i]. Its length
 * is offsets[i + 1] - offsets[i] - 1 bytes, usually of UTF-8, and a zero byte follows it. */
typedef struct weir_files_texts {
  int64_t count;
  const int64_t* offsets; /* count + 1 offsets */
  const char* bytes;
} weir_files_texts;

/* Reads elements of an array of type "text[]": HDF5's and NetCDF-4's strings of variable length,
 * and Zarr's "string". The section is described as for weir_files_read(). The texts are in
 * row-major order; weir_files_free_texts() frees them. Elements that are in no file have the
 * array's fill value. A call needs 40 bytes for each element and twice the memory of the texts; it
 * fails if the texts of an HDF5 file are longer than the file. On failure *texts is null. This
 * library does not make files with such arrays. */
int weir_files_read_texts(weir_files* file, int64_t array, const int64_t* start,
                          const int64_t* count, const int64_t* stride, weir_files_texts** texts);

/* Frees the texts; *texts becomes null. A null pointer is accepted. */
void weir_files_free_texts(weir_files_texts** texts);

/* Makes a file of one of the formats from a description in the form above. The "name", "shape" and
 * "type" of each array are required; the rest may be left out. More members of the file's object:
 *
 * - "alignment" (beside "arrays"): arrays of at least this many bytes begin at a multiple of it;
 *   without it large arrays begin at multiples of up to 2 MiB.
 * - "checksum": "crc32c" puts the checksums of what is written beside the file.
 * - "leave_out_attributes": true leaves out attributes that the format cannot hold; without it they
 *   are errors. In the new handle's description "left_out" lists these attributes, and "retyped",
 *   with owner, name and reason, those whose values are stored in another type.
 * - "replace": true replaces an existing Zarr folder when the new one is committed; without it no
 *   Zarr folder may be at `path`.
 *
 * Until weir_files_commit() the file is called PATH.incomplete, and an existing file at `path`
 * stays. */
int weir_files_create(const char* path, const char* format, const char* description,
                      weir_files** file);

/* Writes elements, described as for weir_files_read(), into a file that is being made. Threads may
 * write disjoint elements at the same time, if these are not in the same compressed chunk or shard.
 * Compressed chunks of HDF5 can only be written whole. */
int weir_files_write(weir_files* file, int64_t array, const int64_t* start, const int64_t* count,
                     const int64_t* stride, const void* data, const int64_t* strides);

/* Makes what was written durable, and gives the file its name. Elements that were never written are
 * zero or have the fill value. A file that is closed without being committed is removed. */
int weir_files_commit(weir_files* file);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

#endif
