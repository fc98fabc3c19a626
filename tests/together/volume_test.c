/* PUT, GET and REMOVE against Kiln's store: files and streams there and back, what a fault leaves
 * behind, what is asked for again, and what ends a transfer. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/failing_alloc.h"
#include "tests/together/rig.h"

#define V "/Volumes/main/default/v/"

struct here {
  struct rig rig;
  char base[40], local[60], store[60];
  const char *folders[1];
  struct mortar_volume volume;
  struct mortar_statement *stmt; /* of the run that is under way */
};

static const struct rig_option options[] = {{"access_token", "token-of-the-session"},
                                            {"retry_delay_min_ms", "1"},
                                            {"retry_delay_max_ms", "2"},
                                            {NULL, NULL}};

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *place)
{
  (void)st;
  (void)kind;
  (void)place;
  return remove(path);
}

static int set_up(void **state)
{
  static struct here h;
  struct kiln_options kiln = {.faults = true};

  memset(&h, 0, sizeof h);
  (void)snprintf(h.base, sizeof h.base, "/tmp/mortar-volume-XXXXXX");
  if (!mkdtemp(h.base)) return -1;
  (void)snprintf(h.local, sizeof h.local, "%s/local", h.base);
  (void)snprintf(h.store, sizeof h.store, "%s/store", h.base);
  if (mkdir(h.local, 0700) || mkdir(h.store, 0700)) return -1;
  kiln.volumes = h.store;
  rig_start_on(&h.rig, options, &kiln);
  if (rig_open(&h.rig, NULL) != MORTAR_OK) return -1;
  h.folders[0] = h.local;
  h.volume.folders = h.folders;
  h.volume.folder_count = 1;
  *state = &h;
  return 0;
}

/* Also finds what was left beside the files. */
static int tear_down(void **state)
{
  struct here *h = *state;

  rig_stop(&h->rig);
  return nftw(h->base, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- Running -------------------------------------------------------------------------------- */

static const char *local_path(const struct here *h, const char *name)
{
  static char text[4][200];
  static int next;
  char *out = text[next++ % 4];

  (void)snprintf(out, sizeof text[0], "%s/%s", h->local, name);
  return out;
}

static enum mortar_status execute(struct here *h, const char *sql,
                                  const struct mortar_volume *volume,
                                  const struct mortar_call *call, struct mortar_result **out)
{
  struct mortar_error *err = &h->rig.err;
  enum mortar_status st = mortar_statement_new(h->rig.session, &h->stmt, err);

  *out = NULL;
  if (st == MORTAR_OK) st = mortar_statement_set_sql(h->stmt, sql, strlen(sql), err);
  if (st != MORTAR_OK) return st;
  assert_true(mortar_statement_is_volume(h->stmt));
  st = mortar_statement_set_volume(h->stmt, volume, err);
  if (st != MORTAR_OK) return st;
  st = mortar_statement_execute(h->stmt, call, out, err);
  assert_int_equal(st == MORTAR_OK, *out != NULL);
  return st;
}

/* The result of a transfer is the columns of the answer without its row. That of a REMOVE names no
 * local file. */
static void check_result(struct mortar_result *result, const char *sql)
{
  struct ArrowArray batch;

  assert_int_equal(mortar_result_column_count(result), strncmp(sql, "REMOVE", 6) == 0 ? 3 : 4);
  assert_int_equal(mortar_result_next(result, NULL, &batch, NULL), MORTAR_OK);
  assert_null(batch.release);
  assert_true(mortar_result_is_local(result));
}

static enum mortar_status run_with(struct here *h, const char *sql,
                                   const struct mortar_volume *volume,
                                   const struct mortar_call *call)
{
  struct mortar_result *result;
  const enum mortar_status st = execute(h, sql, volume, call, &result);

  if (st == MORTAR_OK)
    check_result(result, sql);
  else
    assert_null(strstr(h->rig.err.message, "X-Kiln-Signature"));
  mortar_result_free(result);
  mortar_statement_free(h->stmt);
  h->stmt = NULL;
  return st;
}

/* With the folder of the files here, from a format. */
MORTAR_PRINTF(2, 3)
static enum mortar_status run(struct here *h, const char *format, ...)
{
  char sql[500];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(sql, sizeof sql, format, args);
  va_end(args);
  return run_with(h, sql, &h->volume, NULL);
}

static void write_pattern(const char *path, size_t size)
{
  FILE *file = fopen(path, "wb");
  size_t i;

  assert_non_null(file);
  for (i = 0; i < size; i++)
    assert_int_not_equal(putc((int)(i * 7 + i / 251) & 0xFF, file), EOF);
  assert_int_equal(fclose(file), 0);
}

static void check_pattern(const char *path, size_t size)
{
  FILE *file = fopen(path, "rb");
  size_t i;

  assert_non_null(file);
  for (i = 0; i < size; i++)
    assert_int_equal(getc(file), (int)(i * 7 + i / 251) & 0xFF);
  assert_int_equal(getc(file), EOF);
  assert_int_equal(fclose(file), 0);
}

/* Files in the folder here, temporary ones too. */
static int count_files(const struct here *h)
{
  DIR *dir = opendir(h->local);
  int count = -2; /* . and .. */

  assert_non_null(dir);
  while (readdir(dir))
    count++;
  assert_int_equal(closedir(dir), 0);
  return count;
}

static int64_t requests(struct here *h) { return fault_rule(&h->rig.kiln, 0, "seen"); }

/* ---- There and back -------------------------------------------------------------------------- */

static void files_come_back_as_they_went(void **state)
{
  static const size_t sizes[] = {0, 1, 65536, 3000000};
  struct here *h = *state;
  size_t i;

  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    write_pattern(local_path(h, "up"), sizes[i]);
    assert_int_equal(run(h, "PUT '%s/up' INTO '" V "a b/%%' OVERWRITE", h->local), MORTAR_OK);
    assert_int_equal(run(h, "GET '" V "a b/%%' TO '%s/down'", h->local), MORTAR_OK);
    check_pattern(local_path(h, "down"), sizes[i]);
  }
  assert_int_equal(run(h, "REMOVE '" V "a b/%%'"), MORTAR_OK);
  assert_int_equal(run(h, "GET '" V "a b/%%' TO '%s/down'", h->local), MORTAR_HTTP);
  assert_int_equal(h->rig.err.http_status, 404);
  assert_non_null(strstr(h->rig.err.message, "Staging operation over HTTP was unsuccessful: 404-"));
  check_pattern(local_path(h, "down"), 3000000);
  assert_int_equal(count_files(h), 2);
}

/* A stream of the caller's: bytes of the pattern, in pieces of a few. */
struct stream {
  int64_t at, end, wrong;
  int rewinds, calls, fails_at;
};

static int read_pattern(void *ctx, void *data, size_t size, size_t *n)
{
  struct stream *s = ctx;
  uint8_t *out = data;

  if (++s->calls == s->fails_at) return 1;
  for (*n = 0; *n < size && *n < 10007 && s->at < s->end; (*n)++, s->at++)
    out[*n] = (uint8_t)(s->at * 7 + s->at / 251);
  return 0;
}

static int take_pattern(void *ctx, const void *data, size_t size)
{
  struct stream *s = ctx;
  const uint8_t *in = data;
  size_t i;

  if (++s->calls == s->fails_at) return 1;
  for (i = 0; i < size; i++, s->at++)
    s->wrong += in[i] != (uint8_t)(s->at * 7 + s->at / 251);
  return 0;
}

static int go_back(void *ctx)
{
  struct stream *s = ctx;

  s->at = s->wrong = 0;
  s->rewinds++;
  return 0;
}

#define PUT_STREAM "PUT '__input_stream__' INTO '" V "s' OVERWRITE"
#define GET_STREAM "GET '" V "s' TO '__output_stream__'"

static enum mortar_status put_stream(struct here *h, struct stream *s, int64_t size, bool rewinds)
{
  const struct mortar_volume volume = {
      .read = read_pattern, .read_size = size, .rewind = rewinds ? go_back : NULL, .ctx = s};

  return run_with(h, PUT_STREAM, &volume, NULL);
}

static enum mortar_status get_stream(struct here *h, struct stream *s, bool rewinds)
{
  const struct mortar_volume volume = {
      .write = take_pattern, .rewind = rewinds ? go_back : NULL, .ctx = s};

  return run_with(h, GET_STREAM, &volume, NULL);
}

static void streams_stand_in_for_files(void **state)
{
  static const int64_t sizes[] = {0, 1, 700000};
  struct here *h = *state;
  size_t i;

  for (i = 0; i < 6; i++) {
    const int64_t size = sizes[i % 3];
    struct stream up = {.end = size}, down = {0};
    assert_int_equal(put_stream(h, &up, i < 3 ? size : -1, false), MORTAR_OK);
    assert_int_equal(get_stream(h, &down, false), MORTAR_OK);
    assert_int_equal(down.at, size);
    assert_int_equal(down.wrong, 0);
  }
}

static void a_stream_that_fails_ends_the_transfer(void **state)
{
  struct here *h = *state;
  struct stream whole = {.end = 700000}, up = {.end = 700000, .fails_at = 20};
  struct stream late = {.end = 700000, .fails_at = 20}, down = {.fails_at = 2};
  struct stream shorter = {.end = 100};

  assert_int_equal(put_stream(h, &whole, 700000, true), MORTAR_OK);
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": 1000, \"status\": 500}");
  assert_int_equal(put_stream(h, &up, 700000, true), MORTAR_INTERRUPTED);
  assert_int_equal(put_stream(h, &late, -1, true), MORTAR_INTERRUPTED);
  assert_int_equal(h->rig.err.outcome, MORTAR_OUTCOME_NOT_SENT); /* it was being measured */
  assert_int_equal(get_stream(h, &down, true), MORTAR_INTERRUPTED);
  assert_int_equal(put_stream(h, &shorter, 101, true), MORTAR_INVALID);
  assert_int_equal(up.rewinds + late.rewinds + down.rewinds + shorter.rewinds, 0);
  down = (struct stream){0};
  assert_int_equal(get_stream(h, &down, false), MORTAR_OK);
  assert_int_equal(down.at, 700000); /* the store keeps what was whole */
}

/* ---- What may be touched --------------------------------------------------------------------- */

static void without_a_folder_nothing_is_sent(void **state)
{
  static const char *const sqls[] = {"PUT '/etc/passwd' INTO '" V "p'", "GET '" V "p' TO '/tmp/p'",
                                     PUT_STREAM, GET_STREAM};
  struct here *h = *state;
  const struct mortar_volume reader = {.read = read_pattern}, writer = {.write = take_pattern};
  size_t i;

  for (i = 0; i < 4; i++) {
    assert_int_equal(run_with(h, sqls[i], NULL, NULL), MORTAR_INVALID);
    assert_non_null(strstr(h->rig.err.message, "staging_allowed_local_path"));
    assert_int_equal(h->rig.err.outcome, MORTAR_OUTCOME_NOT_SENT);
    assert_int_equal(run_with(h, sqls[i], i % 2 ? &reader : &writer, NULL), MORTAR_INVALID);
    assert_int_equal(fault_text(&h->rig.kiln, sqls[i], "attempts"), -1);
  }
  assert_int_equal(run_with(h, "REMOVE '" V "p'", NULL, NULL), MORTAR_OK);
}

static void files_elsewhere_are_not_touched(void **state)
{
  struct here *h = *state;

  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": 1000, \"status\": 500}");
  assert_int_equal(symlink("/etc/passwd", local_path(h, "link")), 0);
  assert_int_equal(run(h, "PUT '/etc/passwd' INTO '" V "p'"), MORTAR_INVALID);
  assert_int_equal(run(h, "PUT '%s/../store/x' INTO '" V "p'", h->local), MORTAR_INVALID);
  assert_int_equal(run(h, "PUT '%s/link' INTO '" V "p'", h->local), MORTAR_INVALID);
  assert_int_equal(run(h, "GET '" V "p' TO '%s/../new'", h->local), MORTAR_INVALID);
  assert_int_equal(run(h, "GET '" V "p' TO '%s-new'", h->local), MORTAR_INVALID);
  assert_int_equal(run(h, "PUT '%s/none' INTO '" V "p'", h->local), MORTAR_FILE);
  assert_int_equal(h->rig.err.os_error, ENOENT);
  assert_int_equal(h->rig.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_int_equal(run(h, PUT_STREAM), MORTAR_INVALID);
  assert_non_null(strstr(h->rig.err.message, "No input stream provided"));
  assert_int_equal(requests(h), 0);
}

/* ---- When the store fails -------------------------------------------------------------------- */

static void a_get_that_breaks_leaves_the_old_file(void **state)
{
  struct here *h = *state;

  write_pattern(local_path(h, "up"), 100000);
  write_pattern(local_path(h, "down"), 10);
  assert_int_equal(run(h, "PUT '%s/up' INTO '" V "a'", h->local), MORTAR_OK);
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": \"every\", \"cut\": 50000}");
  assert_int_equal(run(h, "GET '" V "a' TO '%s/down'", h->local), MORTAR_IO);
  assert_int_equal(requests(h), 4);
  assert_non_null(strstr(h->rig.err.message, "after 4 attempts"));
  check_pattern(local_path(h, "down"), 10);
  assert_int_equal(run(h, "GET '" V "a' TO '%s/new'", h->local), MORTAR_IO);
  assert_int_equal(count_files(h), 2);
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": [1, 2], \"cut\": 50000, \"reset\": true}");
  assert_int_equal(run(h, "GET '" V "a' TO '%s/down'", h->local), MORTAR_OK);
  check_pattern(local_path(h, "down"), 100000);
}

static void a_stream_is_read_again_only_from_its_beginning(void **state)
{
  struct here *h = *state;
  struct stream up = {.end = 100000}, down = {0};

  assert_int_equal(put_stream(h, &up, 100000, false), MORTAR_OK);
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": 1, \"cut\": 50000}");
  assert_int_equal(get_stream(h, &down, false), MORTAR_IO); /* it has had a part */
  assert_int_equal(requests(h), 1);
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": 1, \"cut\": 50000}");
  down = (struct stream){0};
  assert_int_equal(get_stream(h, &down, true), MORTAR_OK);
  assert_int_equal(down.rewinds, 1);
  assert_int_equal(down.at, 100000);
  assert_int_equal(down.wrong, 0);
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": 1, \"status\": 503}");
  down = (struct stream){0};
  assert_int_equal(get_stream(h, &down, false), MORTAR_OK); /* it had had nothing */
}

static void a_put_is_sent_again_only_when_the_store_did_not_begin(void **state)
{
  struct here *h = *state;

  write_pattern(local_path(h, "up"), 100000);
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": [1, 2], \"status\": 429}");
  assert_int_equal(run(h, "PUT '%s/up' INTO '" V "a' OVERWRITE", h->local), MORTAR_OK);
  assert_int_equal(requests(h), 3);
  assert_int_equal(run(h, "GET '" V "a' TO '%s/down'", h->local), MORTAR_OK);
  check_pattern(local_path(h, "down"), 100000);
  rig_fault(&h->rig, "{\"path\": \"*\", \"when\": \"after\", \"reset\": true}");
  assert_int_equal(run(h, "PUT '%s/up' INTO '" V "a' OVERWRITE", h->local), MORTAR_IO);
  assert_int_equal(h->rig.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_int_equal(requests(h), 1);
  rig_fault(&h->rig, "{\"path\": \"*\", \"status\": 503}");
  assert_int_equal(run(h, "PUT '%s/up' INTO '" V "a' OVERWRITE", h->local), MORTAR_HTTP);
  assert_int_equal(requests(h), 1);
}

static void what_a_lost_remove_removed_is_gone(void **state)
{
  struct here *h = *state;

  rig_fault(&h->rig, "{\"path\": \"*\", \"status\": 404, \"body\": \"none\"}");
  assert_int_equal(run(h, "REMOVE '" V "a'"), MORTAR_HTTP);
  assert_int_equal(h->rig.err.outcome, MORTAR_OUTCOME_REJECTED);
  rig_fault(&h->rig,
            "{\"path\": \"*\", \"when\": \"after\", \"reset\": true}, "
            "{\"path\": \"*\", \"nth\": 2, \"status\": 404}");
  assert_int_equal(run(h, "REMOVE '" V "a'"), MORTAR_OK);
  assert_int_equal(requests(h), 2);
}

/* ---- Ends from outside ----------------------------------------------------------------------- */

static void await_hit(struct here *h)
{
  const struct timespec pause = {0, 2 * 1000000};
  int i;

  for (i = 0; i < 5000 && fault_rule(&h->rig.kiln, 0, "hits") == 0; i++)
    (void)nanosleep(&pause, NULL);
}

static void *cancel_in_the_middle(void *arg)
{
  struct here *h = arg;

  await_hit(h);
  assert_int_equal(mortar_statement_cancel(h->stmt, NULL), MORTAR_OK);
  return NULL;
}

static void a_transfer_can_be_ended(void **state)
{
  struct here *h = *state;
  struct mortar_call call = {.timeout_ms = 300};
  struct stream up = {.end = 1000};
  pthread_t thread;
  char sql[200];

  assert_int_equal(put_stream(h, &up, 1000, false), MORTAR_OK);
  (void)snprintf(sql, sizeof sql, "GET '" V "s' TO '%s/down'", h->local);
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": \"every\", \"cut\": 500, \"hang\": true}");
  assert_int_equal(pthread_create(&thread, NULL, cancel_in_the_middle, h), 0);
  assert_int_equal(run_with(h, sql, &h->volume, NULL), MORTAR_CANCELED);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(run_with(h, sql, &h->volume, &call), MORTAR_TIMEOUT);
  call.timeout_ms = -1;
  assert_int_equal(mortar_wake_new(&call.wake, NULL), MORTAR_OK);
  mortar_wake_signal(call.wake);
  assert_int_equal(run_with(h, sql, &h->volume, &call), MORTAR_INTERRUPTED);
  mortar_wake_free(call.wake);
  assert_int_equal(count_files(h), 0);
  /* The session is as good as before. */
  rig_fault(&h->rig, "{\"path\": \"*\", \"nth\": 1000, \"status\": 500}");
  assert_int_equal(run_with(h, sql, &h->volume, NULL), MORTAR_OK);
  assert_int_equal(rig_run(&h->rig, "rows 3", NULL), MORTAR_OK);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void memory_that_runs_out_anywhere_is_reported(void **state)
{
  struct here *h = *state;
  struct failing_alloc fa;
  long rounds = 0;

  write_pattern(local_path(h, "up"), 1000);
  rig_close(&h->rig);
  failing_alloc_init(&fa, 0);
  h->rig.alloc = &fa.alloc;
  assert_int_equal(rig_open(&h->rig, NULL), MORTAR_OK);
  do {
    struct stream up = {.end = 1000};
    const struct mortar_volume volume = {.read = read_pattern,
                                         .read_size = -1,
                                         .folders = h->folders,
                                         .folder_count = 1,
                                         .ctx = &up};
    enum mortar_status st;
    fa.failed = false;
    fa.fail_at = fa.calls + ++rounds;
    st = run_with(h, PUT_STREAM, &volume, NULL);
    if (st == MORTAR_OK) st = run(h, "GET '" V "s' TO '%s/down'", h->local);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
  } while (fa.failed);
  fa.fail_at = 0;
  assert_true(rounds > 15);
  check_pattern(local_path(h, "down"), 1000);
  assert_int_equal(count_files(h), 2);
  rig_close(&h->rig);
  assert_true(mortar_background_wait(10000));
  assert_int_equal(fa.live, 0);
  assert_int_equal(fa.size_mismatches, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
      CASE(files_come_back_as_they_went),
      CASE(streams_stand_in_for_files),
      CASE(a_stream_that_fails_ends_the_transfer),
      CASE(without_a_folder_nothing_is_sent),
      CASE(files_elsewhere_are_not_touched),
      CASE(a_get_that_breaks_leaves_the_old_file),
      CASE(a_stream_is_read_again_only_from_its_beginning),
      CASE(a_put_is_sent_again_only_when_the_store_did_not_begin),
      CASE(what_a_lost_remove_removed_is_gone),
      CASE(a_transfer_can_be_ended),
      CASE(memory_that_runs_out_anywhere_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
