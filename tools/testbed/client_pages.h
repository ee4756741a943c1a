/* Pages of files that one client of a shared folder keeps, as NFS's clients keep them:
 *
 *   reading   what is kept is what is read, whatever other clients have written since
 *   writing   goes into the client's pages; a page is fetched first where it is not kept
 *   closing   and fsync: every page that was changed is written back, the whole of it
 *   opening   what was changed is written back, then nothing is kept: what comes is read anew
 *
 * So two clients that change different bytes of one page undo each other's changes.
 */
#ifndef WEIR_TESTBED_CLIENT_PAGES_H
#define WEIR_TESTBED_CLIENT_PAGES_H

#include <sys/types.h>

/* `file` is open for reading and writing where pages_write() is called. Each returns 0 or a count,
 * or a negative error. */
int pages_open(int file);
int pages_close(int file); /* before it is closed, for each pages_open() that went well */
ssize_t pages_read(int file, char* data, size_t bytes, off_t offset);
ssize_t pages_write(int file, const char* data, size_t bytes, off_t offset);
int pages_write_back(int file);
int pages_forget(int file); /* when its length was changed: after writing back before that */
/* The length that the client takes the file to have, where it has it open; else `bytes`. */
off_t pages_length(ino_t number, off_t bytes);

#endif
