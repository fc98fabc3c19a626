/* POSIX calls with words for their failures. Between the look at a path and its opening somebody
 * who may write to its folders can still exchange one of them: this keeps a server from naming
 * files that the caller did not mean, not a second user of the machine. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "client/local_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

enum {
  NAME_TRIES = 16, /* for a name that is not taken */
  PART_SUFFIX = 32
};

static enum mortar_status fail_file(int error, const char *what, const char *path,
                                    struct mortar_error *err)
{
  (void)mtr_fail(err, MORTAR_FILE, "%s '%.512s': %s", what, path, strerror(error));
  if (err) err->os_error = error;
  return MORTAR_FILE;
}

/* ---- Which file -------------------------------------------------------------------------- */

static bool put_path(char out[PATH_MAX], const char *folder, const char *name)
{
  const char *slash = strcmp(folder, "/") == 0 ? "" : "/";
  const int n = snprintf(out, PATH_MAX, "%s%s%s", folder, slash, name);

  return n > 0 && n < PATH_MAX;
}

/* The folder of path, as it is written. */
static bool put_folder(char out[PATH_MAX], const char *path, const char *name)
{
  const size_t n = (size_t)(name - path);

  if (n >= PATH_MAX) return false;
  memcpy(out, path, n);
  out[n] = '\0';
  return true;
}

/* A path that nothing has: its folder is resolved. A link that leads nowhere is no such path. */
static bool resolve_new(const char *path, char out[PATH_MAX])
{
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  char folder[PATH_MAX], real[PATH_MAX];
  struct stat st;

  if (errno != ENOENT || lstat(path, &st) == 0) return false;
  errno = ENOENT;
  if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
  if (slash && !put_folder(folder, path, name)) return false;
  return realpath(slash ? folder : ".", real) && put_path(out, real, name);
}

/* The real path of a file, also of one that does not exist yet. False: see errno. */
static bool resolve(const char *path, char out[PATH_MAX])
{
  return realpath(path, out) || resolve_new(path, out);
}

static bool is_within(const char *real, const char *folder)
{
  const size_t n = strlen(folder);

  if (strcmp(folder, "/") == 0) return true;
  return strncmp(real, folder, n) == 0 && (real[n] == '\0' || real[n] == '/');
}

static bool is_allowed(const char *real, const struct mtr_local_allowed *allowed)
{
  char folder[PATH_MAX];
  size_t i;

  for (i = 0; i < allowed->count; i++)
    if (*allowed->paths[i] && resolve(allowed->paths[i], folder) && is_within(real, folder))
      return true;
  return false;
}

/* By its letters alone. */
static bool looks_allowed(const char *path, const struct mtr_local_allowed *allowed)
{
  size_t i;

  if (strstr(path, "..")) return false;
  for (i = 0; i < allowed->count; i++)
    if (*allowed->paths[i] && is_within(path, allowed->paths[i])) return true;
  return false;
}

/* A path that can't be resolved is not there as far as an allowed folder goes, and for the rest
 * nothing is told of it. */
static enum mortar_status find(const char *path, const struct mtr_local_allowed *allowed,
                               char out[PATH_MAX], struct mortar_error *err)
{
  const int error = resolve(path, out) ? 0 : errno;

  if (error == 0 && is_allowed(out, allowed)) return MORTAR_OK;
  if (error && looks_allowed(path, allowed)) return fail_file(error, "can't find", path, err);
  return mtr_fail(err, MORTAR_INVALID,
                  "Local file operations are restricted to paths within the configured "
                  "staging_allowed_local_path: '%.512s' is not",
                  path);
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* What is no plain file might never end, or never begin. */
static enum mortar_status check_plain(const struct stat *st, const char *path,
                                      struct mortar_error *err)
{
  if (S_ISREG(st->st_mode)) return MORTAR_OK;
  if (S_ISDIR(st->st_mode)) return fail_file(EISDIR, "can't use", path, err);
  return mtr_fail(err, MORTAR_INVALID, "'%.512s' is no plain file", path);
}

enum mortar_status mtr_local_open(const char *path, const struct mtr_local_allowed *allowed,
                                  int *fd, int64_t *size, struct mortar_error *err)
{
  char real[PATH_MAX];
  struct stat st;
  enum mortar_status result;

  *fd = -1;
  MTR_TRY(find(path, allowed, real, err));
  *fd = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (*fd < 0) return fail_file(errno, "can't open", path, err);
  result = fstat(*fd, &st) == 0 ? check_plain(&st, path, err)
                                : fail_file(errno, "can't look at", path, err);
  if (result != MORTAR_OK) {
    (void)close(*fd);
    *fd = -1;
    return result;
  }
  *size = st.st_size;
  return MORTAR_OK;
}

enum mortar_status mtr_local_read(int fd, const char *what, void *data, size_t size, size_t *n,
                                  struct mortar_error *err)
{
  ssize_t got;

  do {
    got = read(fd, data, size);
  } while (got < 0 && errno == EINTR);
  *n = got > 0 ? (size_t)got : 0;
  return got < 0 ? fail_file(errno, "can't read", what, err) : MORTAR_OK;
}

enum mortar_status mtr_local_rewind(int fd, const char *what, struct mortar_error *err)
{
  return lseek(fd, 0, SEEK_SET) == 0 ? MORTAR_OK : fail_file(errno, "can't rewind", what, err);
}

/* ---- Writing ------------------------------------------------------------------------------- */

struct mtr_local_file {
  struct mortar_alloc alloc;
  int fd;
  bool exists; /* under its own name */
  char path[PATH_MAX], part[PATH_MAX];
};

/* A name beside path. The number only has to differ from that of others at the same time. */
static bool put_part(char out[PATH_MAX], const char *path, int try)
{
  const size_t folder = (size_t)(strrchr(path, '/') - path) + 1;
  const long long number = (long long)(mtr_clock_now() % 1000000007);

  if (folder + PART_SUFFIX >= PATH_MAX) return false;
  memcpy(out, path, folder);
  (void)snprintf(out + folder, PART_SUFFIX, ".mortar-%ld-%llx", (long)getpid(), number + try);
  return true;
}

/* With the permissions that any new file gets. */
static enum mortar_status open_part(struct mtr_local_file *file, struct mortar_error *err)
{
  int try;

  for (try = 0; try < NAME_TRIES; try++) {
    if (!put_part(file->part, file->path, try))
      return fail_file(ENAMETOOLONG, "can't write", file->path, err);
    file->fd = open(file->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    file->exists = file->fd >= 0;
    if (file->exists || errno != EEXIST) break;
  }
  return file->exists ? MORTAR_OK : fail_file(errno, "can't write", file->path, err);
}

/* A file that is replaced leaves its permissions to the new one. */
static enum mortar_status take_place(struct mtr_local_file *file, struct mortar_error *err)
{
  struct stat st;
  const bool had = stat(file->path, &st) == 0;

  if (had) MTR_TRY(check_plain(&st, file->path, err));
  MTR_TRY(open_part(file, err));
  if (had) (void)fchmod(file->fd, st.st_mode & 0777);
  return MORTAR_OK;
}

enum mortar_status mtr_local_create(const char *path, const struct mtr_local_allowed *allowed,
                                    const struct mortar_alloc *alloc, struct mtr_local_file **out,
                                    struct mortar_error *err)
{
  struct mtr_local_file *file = mtr_calloc(alloc, 1, sizeof *file);
  enum mortar_status st;

  *out = NULL;
  if (!file) return mtr_fail_nomem(err, "file");
  file->alloc = *alloc;
  file->fd = -1;
  MTR_GOTO(find(path, allowed, file->path, err));
  MTR_GOTO(take_place(file, err));
  *out = file;
  file = NULL;
done:
  mtr_local_close(file);
  return st;
}

enum mortar_status mtr_local_put(int fd, const char *what, const void *data, size_t size,
                                 struct mortar_error *err)
{
  const char *at = data;

  while (size) {
    const ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_file(errno, "can't write", what, err);
    at += n;
    size -= (size_t)n;
  }
  return MORTAR_OK;
}

enum mortar_status mtr_local_write(struct mtr_local_file *file, const void *data, size_t size,
                                   struct mortar_error *err)
{
  return mtr_local_put(file->fd, file->path, data, size, err);
}

enum mortar_status mtr_local_restart(struct mtr_local_file *file, struct mortar_error *err)
{
  if (ftruncate(file->fd, 0) != 0) return fail_file(errno, "can't empty", file->path, err);
  return mtr_local_rewind(file->fd, file->path, err);
}

enum mortar_status mtr_local_commit(struct mtr_local_file *file, struct mortar_error *err)
{
  const int closed = close(file->fd);

  file->fd = -1;
  if (closed != 0) return fail_file(errno, "can't write", file->path, err);
  if (rename(file->part, file->path) != 0) return fail_file(errno, "can't write", file->path, err);
  file->exists = false;
  return MORTAR_OK;
}

void mtr_local_close(struct mtr_local_file *file)
{
  struct mortar_alloc alloc;

  if (!file) return;
  if (file->fd >= 0) (void)close(file->fd);
  if (file->exists) (void)unlink(file->part);
  alloc = file->alloc;
  mtr_free(&alloc, file, sizeof *file);
}

enum mortar_status mtr_local_spool(int *fd, struct mortar_error *err)
{
  const char *folder = getenv("TMPDIR");
  char path[PATH_MAX];

  *fd = -1;
  if (!folder || !*folder) folder = "/tmp";
  if (!put_path(path, folder, "mortar-XXXXXX"))
    return fail_file(ENAMETOOLONG, "can't write", folder, err);
  *fd = mkstemp(path);
  if (*fd < 0) return fail_file(errno, "can't write to", folder, err);
  (void)unlink(path);
  (void)fcntl(*fd, F_SETFD, FD_CLOEXEC);
  return MORTAR_OK;
}
