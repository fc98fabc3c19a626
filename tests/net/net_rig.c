/* An endpoint, a lease and one exchange, with what came of it. */
#include "tests/net/net_rig.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void must(enum mortar_status st, const struct mortar_error *err)
{
  if (st == MORTAR_OK) return;
  (void)fprintf(stderr, "%s: %s\n", mortar_status_name(st), err->message);
  abort();
}

void net_rig_init(struct net_rig *rig, int port)
{
  memset(rig, 0, sizeof *rig);
  rig->options.host = "127.0.0.1";
  rig->options.port = port;
  rig->options.verify_peer = rig->options.verify_host = true;
  rig->options.connect_timeout_ms = -1;
  rig->options.idle_ms = -1;
  rig->options.max_reply = 64 << 20;
  rig->request.path = "/sql";
  rig->request.headers = "X-Test: secret\r\n";
}

void net_rig_open(struct net_rig *rig)
{
  must(mtr_endpoint_new(&rig->options, NULL, &rig->endpoint, &rig->err), &rig->err);
  must(mtr_lease_new(rig->endpoint, &rig->lease, &rig->err), &rig->err);
}

void net_rig_close(struct net_rig *rig)
{
  mtr_lease_free(rig->lease);
  mtr_endpoint_unref(rig->endpoint);
}

enum mortar_status net_rig_exchange(struct net_rig *rig, int64_t timeout_ms,
                                    struct mortar_wake *wake)
{
  const int64_t start = mtr_clock_now();
  struct mtr_wait wait = {.deadline = mtr_deadline_after(start, timeout_ms),
                          .wake = wake,
                          .tick = rig->tick,
                          .tick_ctx = rig->tick_ctx};
  enum mortar_status st;

  must(mtr_buf_append(mtr_lease_body(rig->lease), "ping", 4, &rig->err), &rig->err);
  st = mtr_lease_exchange(rig->lease, &rig->request, &wait, &rig->reply, &rig->err);
  rig->took_ms = (mtr_clock_now() - start) / MTR_MS;
  /* No error may show what the headers hold. */
  if (st != MORTAR_OK && strstr(rig->err.message, "secret")) abort();
  return st;
}

void net_rig_fill_body(struct net_rig *rig)
{
  enum { TOO_MUCH = 32 << 20 };
  struct mtr_buf *body = mtr_lease_body(rig->lease);

  must(mtr_buf_reserve(body, TOO_MUCH, &rig->err), &rig->err);
  memset(body->data, 'x', TOO_MUCH);
  body->size = TOO_MUCH;
}

struct sharer {
  pthread_t thread;
  struct mtr_endpoint *endpoint;
  int exchanges, good;
};

static void *share(void *arg)
{
  struct sharer *sharer = arg;
  int i;

  for (i = 0; i < sharer->exchanges; i++) {
    struct net_rig rig;
    net_rig_init(&rig, 1);
    rig.endpoint = mtr_endpoint_ref(sharer->endpoint);
    if (mtr_lease_new(rig.endpoint, &rig.lease, &rig.err) == MORTAR_OK)
      sharer->good += net_rig_exchange(&rig, 8000, NULL) == MORTAR_OK;
    net_rig_close(&rig);
  }
  return NULL;
}

int net_rig_share(struct net_rig *rig, int threads, int exchanges)
{
  struct sharer sharers[NET_MAX_SHARE];
  int good = 0, i;

  if (threads > NET_MAX_SHARE) abort();
  for (i = 0; i < threads; i++) {
    sharers[i] = (struct sharer){.endpoint = rig->endpoint, .exchanges = exchanges};
    if (pthread_create(&sharers[i].thread, NULL, share, &sharers[i])) abort();
  }
  for (i = 0; i < threads; i++) {
    if (pthread_join(sharers[i].thread, NULL)) abort();
    good += sharers[i].good;
  }
  return good;
}

struct net_alarm {
  pthread_t thread;
  struct mortar_wake *wake;
  int delay_ms;
};

static void *ring(void *arg)
{
  struct net_alarm *alarm = arg;
  struct timespec delay = {alarm->delay_ms / 1000, alarm->delay_ms % 1000 * 1000000L};

  (void)nanosleep(&delay, NULL);
  mortar_wake_signal(alarm->wake);
  return NULL;
}

struct net_alarm *net_alarm_start(struct mortar_wake *wake, int delay_ms)
{
  struct net_alarm *alarm = malloc(sizeof *alarm);

  if (!alarm) abort();
  alarm->wake = wake;
  alarm->delay_ms = delay_ms;
  if (pthread_create(&alarm->thread, NULL, ring, alarm)) abort();
  return alarm;
}

void net_alarm_join(struct net_alarm *alarm)
{
  (void)pthread_join(alarm->thread, NULL);
  free(alarm);
}
