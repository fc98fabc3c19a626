/* Which paths are let through, against everything that only looks like one, and that a file is
 * replaced whole or not at all. */
#define _XOPEN_SOURCE 700 /* mkdtemp, realpath */

#include "client/local_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/support/test.h"

/* A tree: base/in/file, base/in/sub, base/inside (a folder whose name begins like in),
 * base/out/file; in/link -> ../out/file, in/folder -> ../out, in/back -> file, in/gone -> nowhere.
 */
struct tree {
  char base[PATH_MAX - 200], in[PATH_MAX];
};

static const char *at(const struct tree *t, const char *path)
{
  static char text[4][PATH_MAX + 200];
  static int next;
  char *out = text[next++ % 4];

  (void)snprintf(out, sizeof text[0], "%s/%s", t->base, path);
  return out;
}

static void write_file(const char *path, const char *text)
{
  FILE *file = fopen(path, "w");

  assert_non_null(file);
  assert_int_equal(fputs(text, file) < 0, 0);
  assert_int_equal(fclose(file), 0);
}

static void check_file(const char *path, const char *text)
{
  char got[100] = "";
  FILE *file = fopen(path, "r");

  assert_non_null(file);
  (void)!fgets(got, sizeof got, file);
  assert_int_equal(fclose(file), 0);
  assert_string_equal(got, text);
}

static int set_up(void **state)
{
  static struct tree t;
  char name[] = "/tmp/mortar-local-XXXXXX";

  if (!mkdtemp(name)) return -1;
  (void)snprintf(t.base, sizeof t.base, "%s", name);
  (void)snprintf(t.in, sizeof t.in, "%s/in", name);
  if (mkdir(t.in, 0700) || mkdir(at(&t, "in/sub"), 0700) || mkdir(at(&t, "inside"), 0700) ||
      mkdir(at(&t, "out"), 0700))
    return -1;
  write_file(at(&t, "in/file"), "inner");
  write_file(at(&t, "inside/file"), "near");
  write_file(at(&t, "out/file"), "outer");
  if (symlink("../out/file", at(&t, "in/link")) || symlink("../out", at(&t, "in/folder")) ||
      symlink("file", at(&t, "in/back")) || symlink("nowhere", at(&t, "in/gone")) ||
      symlink("in", at(&t, "alias")) || mkfifo(at(&t, "in/pipe"), 0600))
    return -1;
  *state = &t;
  return 0;
}

static int tear_down(void **state)
{
  static const char *const names[] = {"in/file",  "in/link", "in/folder", "in/back",     "in/gone",
                                      "in/pipe",  "in/new",  "in/sub",    "inside/file", "inside",
                                      "out/file", "out/new", "out",       "alias",       "in"};
  struct tree *t = *state;
  size_t i;

  for (i = 0; i < sizeof names / sizeof *names; i++)
    (void)remove(at(t, names[i]));
  return rmdir(t->base); /* also fails when a temporary file was left */
}

static enum mortar_status open_in(const struct tree *t, const char *path, const char *folder,
                                  struct mortar_error *err)
{
  const char *folders[] = {"", folder};
  const struct mtr_local_allowed allowed = {folders, 2};
  int64_t size = -1;
  int fd = -1;
  const enum mortar_status st = mtr_local_open(at(t, path), &allowed, &fd, &size, err);

  if (st == MORTAR_OK) assert_int_equal(close(fd), 0);
  assert_int_equal(st == MORTAR_OK, fd >= 0);
  return st;
}

static void files_in_the_folder_can_be_read(void **state)
{
  static const char *const paths[] = {"in/file",        "in/../in/file", "in/./file", "in//file",
                                      "in/sub/../file", "alias/file",    "in/back"};
  struct tree *t = *state;
  struct mortar_error err;
  size_t i;

  for (i = 0; i < sizeof paths / sizeof *paths; i++) {
    assert_int_equal(open_in(t, paths[i], t->in, &err), MORTAR_OK);
    assert_int_equal(open_in(t, paths[i], at(t, "alias"), &err), MORTAR_OK);
    assert_int_equal(open_in(t, paths[i], at(t, "in/"), &err), MORTAR_OK);
    assert_int_equal(open_in(t, paths[i], "/", &err), MORTAR_OK);
    assert_int_equal(open_in(t, paths[i], at(t, "in/file"), &err), MORTAR_OK);
  }
}

static void files_elsewhere_can_not(void **state)
{
  static const char *const paths[] = {"out/file",
                                      "inside/file",
                                      "in/../out/file",
                                      "in/link",
                                      "in/folder/file",
                                      "in/folder/new",
                                      "in/sub/../../out/file",
                                      "out/not-there",
                                      "in/../../../../etc/passwd",
                                      "in/gone"};
  struct tree *t = *state;
  struct mortar_error err;
  size_t i;

  for (i = 0; i < sizeof paths / sizeof *paths; i++) {
    const enum mortar_status st = open_in(t, paths[i], t->in, &err);
    if (i < 9) assert_int_equal(st, MORTAR_INVALID);
    if (i == 9) assert_int_equal(st, MORTAR_FILE); /* it is where it is, and leads nowhere */
    if (i < 9) assert_non_null(strstr(err.message, "staging_allowed_local_path"));
  }
  assert_int_equal(open_in(t, "in/file", at(t, "in/sub"), &err), MORTAR_INVALID);
  assert_int_equal(open_in(t, "in/file", at(t, "i"), &err), MORTAR_INVALID);
  assert_int_equal(open_in(t, "in/file", at(t, "in/file/x"), &err), MORTAR_INVALID);
  assert_int_equal(open_in(t, "in/file", "", &err), MORTAR_INVALID);
}

static void the_system_says_why_a_file_can_not_be_read(void **state)
{
  struct tree *t = *state;
  struct mortar_error err;

  assert_int_equal(open_in(t, "in/none", t->in, &err), MORTAR_FILE);
  assert_int_equal(err.os_error, ENOENT);
  assert_int_equal(open_in(t, "in/none/none", t->in, &err), MORTAR_FILE);
  assert_int_equal(err.os_error, ENOENT);
  assert_int_equal(open_in(t, "in/sub", t->in, &err), MORTAR_FILE);
  assert_int_equal(err.os_error, EISDIR);
  assert_int_equal(open_in(t, "in/pipe", t->in, &err), MORTAR_INVALID); /* and does not wait */
}

static struct mtr_local_file *create(const struct tree *t, const char *path,
                                     enum mortar_status want)
{
  const char *folders[] = {t->in};
  const struct mtr_local_allowed allowed = {folders, 1};
  struct mtr_local_file *file = NULL;
  struct mortar_error err;

  assert_int_equal(mtr_local_create(at(t, path), &allowed, mtr_alloc_default(), &file, &err), want);
  assert_int_equal(want == MORTAR_OK, file != NULL);
  return file;
}

static void a_file_appears_whole(void **state)
{
  struct tree *t = *state;
  struct mtr_local_file *file = create(t, "in/new", MORTAR_OK);

  assert_int_equal(access(at(t, "in/new"), F_OK), -1);
  assert_int_equal(mtr_local_write(file, "half", 4, NULL), MORTAR_OK);
  assert_int_equal(mtr_local_restart(file, NULL), MORTAR_OK);
  assert_int_equal(mtr_local_write(file, "whole", 5, NULL), MORTAR_OK);
  assert_int_equal(access(at(t, "in/new"), F_OK), -1);
  assert_int_equal(mtr_local_commit(file, NULL), MORTAR_OK);
  mtr_local_close(file);
  check_file(at(t, "in/new"), "whole");
}

static void what_was_there_survives_what_fails(void **state)
{
  struct tree *t = *state;
  struct mtr_local_file *file = create(t, "in/file", MORTAR_OK);
  struct stat st;

  assert_int_equal(mtr_local_write(file, "half", 4, NULL), MORTAR_OK);
  mtr_local_close(file);
  check_file(at(t, "in/file"), "inner");
  assert_int_equal(chmod(at(t, "in/file"), 0640), 0);
  file = create(t, "in/back", MORTAR_OK); /* a link inside: its file is replaced */
  assert_int_equal(mtr_local_write(file, "new", 3, NULL), MORTAR_OK);
  assert_int_equal(mtr_local_commit(file, NULL), MORTAR_OK);
  mtr_local_close(file);
  check_file(at(t, "in/file"), "new");
  assert_int_equal(lstat(at(t, "in/back"), &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(stat(at(t, "in/file"), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
}

static void nothing_is_written_elsewhere(void **state)
{
  static const char *const paths[] = {"out/new", "in/folder/new", "in/../out/new", "in/link",
                                      "inside/new"};
  struct tree *t = *state;
  size_t i;

  for (i = 0; i < sizeof paths / sizeof *paths; i++)
    assert_null(create(t, paths[i], MORTAR_INVALID));
  assert_null(create(t, "in/gone", MORTAR_FILE));
  assert_null(create(t, "in/sub", MORTAR_FILE));
  assert_null(create(t, "in/sub/", MORTAR_FILE));
  assert_null(create(t, "in/pipe", MORTAR_INVALID));
  assert_null(create(t, "in/none/new", MORTAR_FILE));
  check_file(at(t, "out/file"), "outer");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(files_in_the_folder_can_be_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(files_elsewhere_can_not, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_system_says_why_a_file_can_not_be_read, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(a_file_appears_whole, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_was_there_survives_what_fails, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nothing_is_written_elsewhere, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
