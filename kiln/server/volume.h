/* Volumes: files in a folder of this machine, under names such as
 *
 *     /Volumes/CATALOG/SCHEMA/VOLUME/any/path.csv
 *
 * The statements PUT, GET and REMOVE are answered with a signed link to a path of this server, and
 * the client moves the file over it; LIST with rows. Every engine has them. Refuses paths with dots
 * or empty parts, and follows no symbolic link below the folder. */
#ifndef KILN_SERVER_VOLUME_H
#define KILN_SERVER_VOLUME_H

#include "base/arena.h"
#include "kiln/server/engine.h"

struct kiln_volumes;

/* The folder must exist. */
MORTAR_MUST_USE enum mortar_status kiln_volumes_new(const char *folder, struct kiln_volumes **out,
                                                    struct mortar_error *err);
void kiln_volumes_free(struct kiln_volumes *volumes); /* NULL is fine */

/* Where a link shall point to and how long it is good for. */
struct kiln_volume_origin {
  const char *scheme, *host; /* "http", "127.0.0.1:8080"; host NULL: it is not known */
  int64_t now_ms;            /* of the clock that kiln_volume_check is told */
};

/* False: the statement is none of the four, and nothing was done. Otherwise *ok tells whether
 * *answer or *err is filled. Any thread. */
MORTAR_MUST_USE bool kiln_volume_answer(const struct kiln_volumes *volumes,
                                        const struct kiln_statement *statement,
                                        const struct kiln_volume_origin *origin,
                                        struct kiln_answer *answer, bool *ok,
                                        struct kiln_error *err);

/* ---- volume_link.c: what is signed ---------------------------------------------------------- */

enum { KILN_VOLUME_LINK_MS = 15 * 60 * 1000 };

/* Of the operation on a path, which is one of a file in a volume. Lives in the arena; NULL when
 * memory ran out. */
const char *kiln_volume_link(const struct kiln_volumes *volumes,
                             const struct kiln_volume_origin *origin, const char *operation,
                             const char *path, struct mtr_arena *arena);

enum kiln_volume_verdict { KILN_VOLUME_FINE, KILN_VOLUME_FORGED, KILN_VOLUME_EXPIRED };

/* Of a request: the encoded path as it came, and the values of its query, NULL where it has none.
 */
enum kiln_volume_verdict kiln_volume_check(const struct kiln_volumes *volumes,
                                           const char *operation, const char *encoded_path,
                                           const char *expires, const char *signature,
                                           int64_t now_ms);

/* ---- volume_files.c: the folder -------------------------------------------------------------- */

enum { KILN_VOLUME_PREFIX = sizeof "/Volumes/" - 1, KILN_VOLUME_PATH_MAX = 4096 };

/* Whether it can name a file (or, with folder, a folder or a volume) in a volume. */
bool kiln_volume_path_ok(const char *path, bool folder);

/* Descriptors, or -1 with errno. The path is one that is ok. */
int kiln_volume_open(const struct kiln_volumes *volumes, const char *path);
int kiln_volume_open_folder(const struct kiln_volumes *volumes, const char *path);

/* A file that is being written appears under its name when it is whole. */
struct kiln_volume_upload {
  int folder, fd;
  char part[40];
  const char *name; /* within the path that it was made with, which must live as long */
};
bool kiln_volume_upload_begin(const struct kiln_volumes *volumes, const char *path,
                              struct kiln_volume_upload *out);
/* whole: it takes its place; otherwise nothing is left of it. False: errno says why. */
bool kiln_volume_upload_end(struct kiln_volume_upload *upload, bool whole);

/* True also when there was no such file. */
bool kiln_volume_remove(const struct kiln_volumes *volumes, const char *path);

/* The names of files that are being written begin so; they are not listed. */
#define KILN_VOLUME_PART ".kiln-"

/* For the files of volumes alone. */
struct kiln_volumes {
  int folder;
  uint8_t key[32];
  _Atomic unsigned uploads;
};

#endif
