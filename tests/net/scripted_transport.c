/* A transport without sockets: what each call gives is written down beforehand. */
#include "tests/net/scripted_transport.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

enum { A_DESCRIPTOR = 1000000 }; /* never polled */

static struct scripted *of(struct mtr_transport *t) { return (struct scripted *)t; }

static enum mtr_io do_connect(struct mtr_transport *t, struct mortar_error *err)
{
  struct scripted *s = of(t);

  if (s->connect_waits < 0) return MTR_IO_AGAIN;
  if (s->connect_waits-- > 0) return MTR_IO_AGAIN;
  if (s->connect_fails) {
    (void)mtr_fail(err, MORTAR_CONNECT, "no connection: scripted");
    return MTR_IO_FAILED;
  }
  t->fd = A_DESCRIPTOR;
  s->idle = SCRIPTED_SILENCE;
  s->connects++;
  return MTR_IO_DONE;
}

static bool do_wait(struct mtr_transport *t, int timeout_ms, int wake_fd)
{
  (void)t;
  (void)timeout_ms;
  (void)wake_fd;
  abort(); /* the scripted driver waits by counting */
}

static const char *do_stage(const struct mtr_transport *t)
{
  (void)t;
  return "pretending to connect";
}

static enum mtr_io do_send(struct mtr_transport *t, struct mtr_span data, size_t *n,
                           struct mortar_error *err)
{
  struct scripted *s = of(t);
  size_t size = s->send_piece && data.size > s->send_piece ? s->send_piece : data.size;

  if (s->send_stop || s->send_fails) {
    size_t room = s->send_stop - s->sent_size;
    if (size > room) size = room;
  }
  if (size == 0 && s->send_fails) {
    (void)mtr_fail(err, MORTAR_IO, "sending failed: scripted");
    return MTR_IO_FAILED;
  }
  if (size == 0) return MTR_IO_AGAIN;
  if (size > sizeof s->sent - s->sent_size) abort();
  memcpy(s->sent + s->sent_size, data.data, size);
  s->sent_size += size;
  *n = size;
  return MTR_IO_DONE;
}

static enum mtr_io at_end(enum scripted_end end, struct mortar_error *err)
{
  if (end == SCRIPTED_SILENCE) return MTR_IO_AGAIN;
  if (end == SCRIPTED_CLOSE) return MTR_IO_CLOSED;
  (void)mtr_fail(err, MORTAR_IO, "receiving failed: scripted");
  return MTR_IO_FAILED;
}

/* True while the peer waits for the request. */
static bool waits(const struct scripted *s)
{
  return !s->early && s->sent_size < s->login_size + s->request_size;
}

/* Bytes of the reply that are there: of one behind a login the answer comes first, alone. */
static size_t ready(const struct scripted *s)
{
  if (!waits(s)) return s->reply_size;
  return s->login_size && s->sent_size >= s->login_size ? s->answer_size : 0;
}

static enum mtr_io do_recv(struct mtr_transport *t, void *data, size_t size, size_t *n,
                           struct mortar_error *err)
{
  struct scripted *s = of(t);
  const size_t there = ready(s);
  size_t left = there > s->reply_at ? there - s->reply_at : 0;
  size_t piece = s->reply_at == 0 && s->first_piece ? s->first_piece : s->piece;

  if (left == 0 && waits(s)) return at_end(s->idle, err);
  if (left == 0) return at_end(s->end, err);
  if (s->again_between && s->reply_at && !s->paused) {
    s->paused = true;
    return MTR_IO_AGAIN;
  }
  s->paused = false;
  if (piece && left > piece) left = piece;
  if (left > size) left = size;
  memcpy(data, s->reply + s->reply_at, left);
  s->reply_at += left;
  *n = left;
  return MTR_IO_DONE;
}

static bool do_quiet(struct mtr_transport *t)
{
  uint8_t byte;
  size_t n;

  return do_recv(t, &byte, 1, &n, NULL) == MTR_IO_AGAIN;
}

static void do_close(struct mtr_transport *t)
{
  t->fd = -1;
  of(t)->closes++;
}

static void do_free(struct mtr_transport *t, bool inherited)
{
  (void)t;
  (void)inherited;
}

static const struct mtr_transport_ops ops = {do_connect, do_wait,  do_stage, do_send,
                                             do_recv,    do_quiet, do_close, do_free};

void scripted_init(struct scripted *s, const char *reply, size_t size, bool connected)
{
  memset(s, 0, sizeof *s);
  s->base.ops = &ops;
  s->base.fd = connected ? A_DESCRIPTOR : -1;
  s->reply = reply;
  s->reply_size = size;
}

/* A want that does not fit the connection would make a real driver wait on nothing. */
static void check_want(const struct mtr_exchange *ex, enum mtr_want want)
{
  const bool connected = ex->transport->fd >= 0;

  if (connected != (want != MTR_WANT_CONNECT)) {
    (void)fprintf(stderr, "want %d while %sconnected\n", (int)want, connected ? "" : "not ");
    abort();
  }
}

int64_t scripted_run(struct mtr_exchange *ex, int64_t interrupt_at)
{
  int64_t now = 0;

  of(ex->transport)->request_size = ex->out[0].size + ex->out[1].size;
  mtr_exchange_start(ex, now);
  for (;;) {
    enum mtr_want want = mtr_exchange_step(ex, now);
    if (want == MTR_WANT_NOTHING) return now;
    check_want(ex, want);
    if (now >= interrupt_at) {
      mtr_exchange_interrupt(ex, now);
      return now;
    }
    if (now > 3600 * MTR_SECOND) abort(); /* nobody ended it */
    if (want != MTR_WANT_TIMER) now += MTR_MS;
    ex->stats->waits++;
  }
}
