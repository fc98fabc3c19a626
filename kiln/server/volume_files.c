/* Walks from the folder down, one name after the other, so that no symbolic link is followed. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kiln/server/volume.h"

enum { VOLUME_PARTS = 3, FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static bool part_ok(const char *part, size_t size)
{
  size_t i;

  if (size == 0 || size > 255 || (size <= 2 && strspn(part, ".") >= size)) return false;
  if (size >= sizeof KILN_VOLUME_PART - 1 &&
      memcmp(part, KILN_VOLUME_PART, sizeof KILN_VOLUME_PART - 1) == 0)
    return false;
  for (i = 0; i < size; i++)
    if ((unsigned char)part[i] < 0x20) return false;
  return true;
}

bool kiln_volume_path_ok(const char *path, bool folder)
{
  size_t parts = 0;

  if (strncmp(path, "/Volumes/", KILN_VOLUME_PREFIX) != 0) return false;
  if (strlen(path) >= KILN_VOLUME_PATH_MAX) return false;
  for (path += KILN_VOLUME_PREFIX; *path; parts++) {
    const size_t size = strcspn(path, "/");
    if (!part_ok(path, size)) return false;
    path += size;
    if (*path == '/' && !path[1] && !folder) return false;
    path += *path == '/';
  }
  return parts >= VOLUME_PARTS + (folder ? 0 : 1);
}

/* Opens the folder `name` in another, which it closes. */
static int step(int folder, const char *name, bool make)
{
  int next = openat(folder, name, FOLDER_FLAGS), error;

  if (next < 0 && errno == ENOENT && make && (mkdirat(folder, name, 0777) == 0 || errno == EEXIST))
    next = openat(folder, name, FOLDER_FLAGS);
  error = errno;
  (void)close(folder);
  errno = error;
  return next;
}

/* The folder in which the last name of the path lies. */
static int walk(const struct kiln_volumes *volumes, const char *path, bool make, const char **name)
{
  int at = fcntl(volumes->folder, F_DUPFD_CLOEXEC, 0);
  char part[256];

  *name = path + KILN_VOLUME_PREFIX;
  while (at >= 0 && strchr(*name, '/')) {
    const size_t size = strcspn(*name, "/");
    memcpy(part, *name, size);
    part[size] = '\0';
    *name += size + 1;
    at = step(at, part, make);
  }
  return at;
}

int kiln_volume_open(const struct kiln_volumes *volumes, const char *path)
{
  const char *name;
  const int folder = walk(volumes, path, false, &name);
  struct stat st;
  int fd, error;

  if (folder < 0) return -1;
  fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  error = errno;
  (void)close(folder);
  if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
    (void)close(fd);
    fd = -1;
    error = EISDIR;
  }
  errno = error;
  return fd;
}

int kiln_volume_open_folder(const struct kiln_volumes *volumes, const char *path)
{
  const char *name;
  const int folder = walk(volumes, path, false, &name);

  return folder < 0 || !*name ? folder : step(folder, name, false);
}

bool kiln_volume_upload_begin(const struct kiln_volumes *volumes, const char *path,
                              struct kiln_volume_upload *out)
{
  struct kiln_volumes *v = (struct kiln_volumes *)(uintptr_t)volumes; /* for its counter */
  int error;

  out->folder = walk(volumes, path, true, &out->name);
  if (out->folder < 0) return false;
  (void)snprintf(out->part, sizeof out->part, KILN_VOLUME_PART "%ld-%u", (long)getpid(),
                 atomic_fetch_add(&v->uploads, 1));
  out->fd = openat(out->folder, out->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  error = errno;
  if (out->fd >= 0) return true;
  (void)close(out->folder);
  errno = error;
  return false;
}

bool kiln_volume_upload_end(struct kiln_volume_upload *upload, bool whole)
{
  bool ok = close(upload->fd) == 0 && whole;
  int error = errno;

  if (ok) {
    ok = renameat(upload->folder, upload->part, upload->folder, upload->name) == 0;
    error = errno;
  }
  if (!ok) (void)unlinkat(upload->folder, upload->part, 0);
  (void)close(upload->folder);
  errno = error;
  return ok;
}

bool kiln_volume_remove(const struct kiln_volumes *volumes, const char *path)
{
  const char *name;
  const int folder = walk(volumes, path, false, &name);
  bool gone;

  if (folder < 0) return errno == ENOENT;
  gone = unlinkat(folder, name, 0) == 0 || errno == ENOENT;
  (void)close(folder);
  return gone;
}
