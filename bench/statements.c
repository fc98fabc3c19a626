/* The load of statements. Each is a new one, made, run, read to its end and freed, as a program
 * does that has many different ones. Of every batch the first value of the first column is read, so
 * that nothing can be put off for ever; and every run must give as many rows as the first. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/mortar_bench.h"

struct client {
  const struct mortar_config *config;
  struct mortar_session *session;
  pthread_t thread; /* that opens or closes it */
  bool ready;
  const char *sql;
  int64_t rows, batches; /* of one run; -1: none yet */
  uint64_t touched;      /* a sum, so that the reads can't be optimised away */
};

static void touch(struct client *client, const struct ArrowArray *batch)
{
  const struct ArrowArray *column = batch->n_children ? batch->children[0] : NULL;
  const uint8_t *values =
      column && column->n_buffers ? column->buffers[column->n_buffers - 1] : NULL;

  if (values && column->length) client->touched += values[0];
}

/* Reads all batches; their rows and number are added up. */
static enum mortar_status read_all(struct client *client, struct mortar_result *result,
                                   int64_t *rows, int64_t *batches, struct mortar_error *err)
{
  for (;;) {
    struct ArrowArray batch;
    enum mortar_status st = mortar_result_next(result, NULL, &batch, err);
    if (st != MORTAR_OK) return st;
    if (!batch.release) return MORTAR_OK;
    touch(client, &batch);
    *rows += batch.length;
    ++*batches;
    batch.release(&batch);
  }
}

static bool once(void *arg)
{
  struct client *client = arg;
  struct mortar_result *result = NULL;
  struct mortar_error err = {0};
  int64_t rows = 0, batches = 0;
  enum mortar_status st = mortar_query(client->session, client->sql, NULL, &result, &err);

  if (st == MORTAR_OK) st = read_all(client, result, &rows, &batches, &err);
  mortar_result_free(result);
  if (st != MORTAR_OK) return bench_fail("statement", &err);
  if (client->rows < 0) {
    client->rows = rows;
    client->batches = batches;
  }
  if (client->rows == rows) return true;
  fprintf(stderr, "mortar_bench: %lld rows, %lld before\n", (long long)rows,
          (long long)client->rows);
  return false;
}

/* ---- Sessions ------------------------------------------------------------------------------ */

static void *open_client(void *arg)
{
  struct client *client = arg;
  struct mortar_error err = {0};

  if (!client->session && mortar_session_open(client->config, NULL, &client->session, &err)) {
    client->ready = bench_fail("session", &err);
    return NULL;
  }
  client->ready = once(client);
  return NULL;
}

static void *close_client(void *arg)
{
  struct client *client = arg;

  mortar_session_free(client->session);
  return NULL;
}

/* A thread for each: the server takes its time for every call. */
static bool in_parallel(void *(*step)(void *), struct client *clients, int count)
{
  int started, i;

  for (started = 0; started < count; started++)
    if (pthread_create(&clients[started].thread, NULL, step, &clients[started])) break;
  for (i = 0; i < started; i++)
    (void)pthread_join(clients[i].thread, NULL);
  return started == count;
}

/* Opens the sessions and runs the statement once in each. */
static bool open_clients(const struct bench_arguments *args, const struct mortar_config *config,
                         struct client *clients, void **list)
{
  const int count = args->plan.threads;
  int i, ready = 0;

  for (i = 0; i < count; i++) {
    list[i] = &clients[i];
    clients[i].config = config;
    clients[i].sql = args->sql;
    clients[i].rows = -1;
  }
  if (args->shared) {
    if (!in_parallel(open_client, clients, 1)) return false;
    for (i = 1; i < count; i++)
      clients[i].session = clients[0].session;
  }
  if (!in_parallel(open_client, clients, count)) return false;
  for (i = 0; i < count; i++)
    ready += clients[i].ready;
  return ready == count;
}

static void close_clients(const struct bench_arguments *args, struct client *clients)
{
  if (clients) (void)in_parallel(close_client, clients, args->shared ? 1 : args->plan.threads);
  free(clients);
}

/* ---- The load ------------------------------------------------------------------------------ */

/* By the sessions' own counters; each has had one more, which opened it. */
static double exchanges_of_one(const struct bench_arguments *args, const struct client *clients)
{
  const int sessions = args->shared ? 1 : args->plan.threads;
  uint64_t exchanges = 0, statements = 0;
  int i;

  for (i = 0; i < sessions; i++) {
    struct mortar_session_stats stats;
    mortar_session_get_stats(clients[i].session, &stats);
    exchanges += stats.exchanges - 1;
    statements += stats.statements;
  }
  return statements ? (double)exchanges / (double)statements : 0;
}

static bool run_load(const struct bench_arguments *args, const struct client *clients,
                     void *const *list)
{
  struct load_report report;

  if (!load_run(&args->plan, once, list, &report)) return false;
  printf("{\"program\": \"mortar\", \"threads\": %d, \"rows\": %lld, \"batches\": %lld, ",
         args->plan.threads, (long long)clients[0].rows, (long long)clients[0].batches);
  printf("\"exchanges\": %.4f, ", exchanges_of_one(args, clients));
  load_print(&report);
  printf("}\n");
  return true;
}

bool bench_statements(const struct bench_arguments *args)
{
  struct mortar_config *config = bench_config(args);
  struct client *clients = calloc((size_t)args->plan.threads, sizeof *clients);
  void **list = calloc((size_t)args->plan.threads, sizeof *list);
  bool ok = config && clients && list && open_clients(args, config, clients, list) &&
            run_load(args, clients, list);

  close_clients(args, clients);
  free(list);
  mortar_config_free(config);
  return ok;
}
