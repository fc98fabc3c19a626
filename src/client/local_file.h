/* Files of this machine, in the folders that the caller allows. A path is judged with all symbolic
 * links and dots resolved, and what is opened is the resolved path. */
#ifndef MTR_CLIENT_LOCAL_FILE_H
#define MTR_CLIENT_LOCAL_FILE_H

#include "mortar/mortar.h"

/* Folders in which files may be touched, or such files themselves. An empty text allows nothing. */
struct mtr_local_allowed {
  const char *const *paths;
  size_t count;
};

/* Opens a plain file for reading. INVALID: it is not in an allowed folder, whether it exists or
 * not. */
MORTAR_MUST_USE enum mortar_status mtr_local_open(const char *path,
                                                  const struct mtr_local_allowed *allowed, int *fd,
                                                  int64_t *size, struct mortar_error *err);

/* A file that is being written: under a name of its own, beside the one that it will have. */
struct mtr_local_file;

MORTAR_MUST_USE enum mortar_status mtr_local_create(const char *path,
                                                    const struct mtr_local_allowed *allowed,
                                                    const struct mortar_alloc *alloc,
                                                    struct mtr_local_file **out,
                                                    struct mortar_error *err);
MORTAR_MUST_USE enum mortar_status mtr_local_write(struct mtr_local_file *file, const void *data,
                                                   size_t size, struct mortar_error *err);
/* Back to an empty file. */
MORTAR_MUST_USE enum mortar_status mtr_local_restart(struct mtr_local_file *file,
                                                     struct mortar_error *err);
/* Gives it its name; what had that name before is gone then. */
MORTAR_MUST_USE enum mortar_status mtr_local_commit(struct mtr_local_file *file,
                                                    struct mortar_error *err);
/* Removes it unless it was committed; and frees. NULL is fine. */
void mtr_local_close(struct mtr_local_file *file);

/* A file without a name, gone when it is closed, in TMPDIR or /tmp. */
MORTAR_MUST_USE enum mortar_status mtr_local_spool(int *fd, struct mortar_error *err);

/* Up to size bytes of fd; *n 0 at the end. What: for errors. */
MORTAR_MUST_USE enum mortar_status mtr_local_read(int fd, const char *what, void *data, size_t size,
                                                  size_t *n, struct mortar_error *err);
/* All of data to fd. */
MORTAR_MUST_USE enum mortar_status mtr_local_put(int fd, const char *what, const void *data,
                                                 size_t size, struct mortar_error *err);
/* Back to the beginning of fd. */
MORTAR_MUST_USE enum mortar_status mtr_local_rewind(int fd, const char *what,
                                                    struct mortar_error *err);

#endif
