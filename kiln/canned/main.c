/* kiln-canned: the Kiln server with the engine `canned`, as a program of its own. Listens on
 * loopback unless told otherwise, prints one line when it is ready, stops on SIGINT and SIGTERM. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "kiln/canned/options.h"

/* A reply from a file is held in memory for good. */
enum { FILE_LIMIT = 1024 * 1024 * 1024 };

struct bodies {
  struct mtr_buf file[KILN_CANNED_MAX_REPLIES];
};

static enum mortar_status read_file(const char *path, struct mtr_buf *out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  FILE *file = fopen(path, "rb");
  char part[16384];
  size_t n;

  if (!file) return mtr_fail(err, MORTAR_IO, "%s: %s", path, strerror(errno));
  while (st == MORTAR_OK && (n = fread(part, 1, sizeof part, file)) > 0)
    st = mtr_buf_append(out, part, n, err);
  if (st == MORTAR_OK && ferror(file)) st = mtr_fail(err, MORTAR_IO, "%s: reading failed", path);
  (void)fclose(file);
  return st;
}

static enum mortar_status add_routes(struct kiln_server *server,
                                     const struct kiln_canned_command *command,
                                     struct bodies *bodies, struct mortar_error *err)
{
  int i;

  for (i = 0; i < command->reply_count; i++) {
    const struct kiln_canned_reply *reply = &command->replies[i];
    MTR_TRY(read_file(reply->file, &bodies->file[i], err));
    MTR_TRY(kiln_server_route(server, reply->path, reply->status, reply->type, bodies->file[i].data,
                              bodies->file[i].size, reply->delay_us, err));
  }
  return MORTAR_OK;
}

/* Appears under its name only when it is whole, since somebody waits for it to appear. */
static enum mortar_status write_ready_file(const char *path, const char *line,
                                           struct mortar_error *err)
{
  char fresh[4096];
  FILE *file;
  bool ok;
  int n = snprintf(fresh, sizeof fresh, "%s.new", path);

  if (n < 0 || n >= (int)sizeof fresh)
    return mtr_fail(err, MORTAR_INVALID, "the name of the ready file is too long");
  file = fopen(fresh, "w");
  ok = file && fputs(line, file) >= 0;
  if (file && fclose(file) != 0) ok = false;
  if (ok) ok = rename(fresh, path) == 0;
  return ok ? MORTAR_OK : mtr_fail(err, MORTAR_IO, "%s: %s", path, strerror(errno));
}

static enum mortar_status say_ready(const struct kiln_server *server,
                                    const struct kiln_canned_command *command,
                                    struct mortar_error *err)
{
  const char *address = command->server.address ? command->server.address : "127.0.0.1";
  const char *v6 = strchr(address, ':');
  char line[256];

  (void)snprintf(line, sizeof line, "listening on %s://%s%s%s:%d/sql/1.0/warehouses/canned\n",
                 command->server.tls ? "https" : "http", v6 ? "[" : "", address, v6 ? "]" : "",
                 kiln_server_port(server));
  if (command->ready_file) MTR_TRY(write_ready_file(command->ready_file, line, err));
  if (fputs(line, stdout) < 0 || fflush(stdout) != 0)
    return mtr_fail(err, MORTAR_IO, "standard output can't be written");
  return MORTAR_OK;
}

static void stop_signals(sigset_t *out)
{
  (void)sigemptyset(out);
  (void)sigaddset(out, SIGINT);
  (void)sigaddset(out, SIGTERM);
}

/* The signals were blocked before the server's threads began, so they arrive here only. */
static enum mortar_status serve(const struct kiln_canned_command *command, struct bodies *bodies,
                                struct mortar_error *err)
{
  struct kiln_canned *canned = NULL;
  struct kiln_server *server = NULL;
  enum mortar_status st = MORTAR_OK;
  sigset_t signals;
  int got;

  stop_signals(&signals);
  (void)sigprocmask(SIG_BLOCK, &signals, NULL);
  MTR_GOTO(kiln_canned_new(&command->canned, &canned, err));
  MTR_GOTO(kiln_server_start(&command->server, &kiln_canned_engine, canned, &server, err));
  MTR_GOTO(add_routes(server, command, bodies, err));
  MTR_GOTO(say_ready(server, command, err));
  (void)sigwait(&signals, &got);
done:
  kiln_server_stop(server);
  kiln_canned_free(canned);
  return st;
}

static int run(struct kiln_canned_command *command)
{
  struct bodies bodies;
  struct mortar_error err = {0};
  enum mortar_status st;
  int i;

  for (i = 0; i < KILN_CANNED_MAX_REPLIES; i++)
    mtr_buf_init(&bodies.file[i], NULL, "file of a reply", FILE_LIMIT);
  command->server.workers = 1;
  st = serve(command, &bodies, &err);
  for (i = 0; i < KILN_CANNED_MAX_REPLIES; i++)
    mtr_buf_fini(&bodies.file[i]);
  if (st != MORTAR_OK) (void)fprintf(stderr, "kiln-canned: %s\n", err.message);
  return st == MORTAR_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
  struct kiln_canned_command command;
  struct mortar_error err = {0};

  if (kiln_canned_parse(argc, argv, &command, &err) != MORTAR_OK) {
    (void)fprintf(stderr, "kiln-canned: %s\nTry kiln-canned --help.\n", err.message);
    return 2;
  }
  if (command.help) return fputs(kiln_canned_usage(), stdout) < 0;
  if (command.version) return printf("kiln-canned %s\n", mortar_version()) < 0;
  return run(&command);
}
