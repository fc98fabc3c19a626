/* The binary transports without sockets: where a Thrift message ends, frames, the login. Every
 * input is fed whole, split at every byte, and byte by byte: the result must be the same. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/be.h"
#include "codec/thrift/binary.h"
#include "net/binary.h"
#include "net/sasl.h"
#include "tests/support/failing_alloc.h"

enum { LIMIT = 4096 };

/* ---- Messages ---- */

/* A message with a value of each type, containers of fixed and of open size, and empty ones. */
static void write_message(struct mtr_buf *out)
{
  struct mtr_tw wr;
  int i;

  mtr_tw_init(&wr, out, NULL);
  mtr_tw_i32(&wr, (int32_t)0x80010002);
  mtr_tw_string(&wr, mtr_span_text("ExecuteStatement"));
  mtr_tw_i32(&wr, 7);
  mtr_tw_field(&wr, MTR_T_STRUCT, 0);
  mtr_tw_field(&wr, MTR_T_BOOL, 1);
  mtr_tw_u8(&wr, 1);
  mtr_tw_field(&wr, MTR_T_I16, 2);
  mtr_tw_i16(&wr, 2);
  mtr_tw_field(&wr, MTR_T_I64, 3);
  mtr_tw_i64(&wr, 3);
  mtr_tw_field(&wr, MTR_T_STRING, 4);
  mtr_tw_string(&wr, mtr_span_text(""));
  mtr_tw_field(&wr, MTR_T_LIST, 5);
  mtr_tw_u8(&wr, MTR_T_STRING);
  mtr_tw_i32(&wr, 3);
  for (i = 0; i < 3; i++)
    mtr_tw_string(&wr, mtr_span_text("text"));
  mtr_tw_field(&wr, MTR_T_LIST, 6);
  mtr_tw_u8(&wr, MTR_T_DOUBLE);
  mtr_tw_i32(&wr, 5);
  for (i = 0; i < 5; i++)
    mtr_tw_double(&wr, i);
  mtr_tw_field(&wr, MTR_T_MAP, 7);
  mtr_tw_u8(&wr, MTR_T_STRING);
  mtr_tw_u8(&wr, MTR_T_STRUCT);
  mtr_tw_i32(&wr, 2);
  for (i = 0; i < 2; i++) {
    mtr_tw_string(&wr, mtr_span_text("key"));
    mtr_tw_field(&wr, MTR_T_I8, 1);
    mtr_tw_u8(&wr, 9);
    mtr_tw_u8(&wr, MTR_T_STOP);
  }
  mtr_tw_field(&wr, MTR_T_MAP, 8);
  mtr_tw_u8(&wr, MTR_T_I32);
  mtr_tw_u8(&wr, MTR_T_I64);
  mtr_tw_i32(&wr, 1);
  mtr_tw_i32(&wr, 1);
  mtr_tw_i64(&wr, 1);
  mtr_tw_field(&wr, MTR_T_SET, 9);
  mtr_tw_u8(&wr, 99); /* of no type: it is empty */
  mtr_tw_i32(&wr, 0);
  mtr_tw_u8(&wr, MTR_T_STOP);
  mtr_tw_u8(&wr, MTR_T_STOP);
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_OK);
}

/* The message in frames of `piece` bytes. */
static void write_frames(struct mtr_buf *out, size_t piece)
{
  struct mtr_buf message;
  size_t at = 0;

  mtr_buf_init(&message, NULL, "message", LIMIT);
  write_message(&message);
  while (at < message.size) {
    const size_t n = piece < message.size - at ? piece : message.size - at;
    uint8_t head[MTR_FRAME_HEAD];
    mtr_put_be32(head, (uint32_t)n);
    assert_int_equal(mtr_buf_append(out, head, sizeof head, NULL), MORTAR_OK);
    assert_int_equal(mtr_buf_append(out, message.data + at, n, NULL), MORTAR_OK);
    at += n;
  }
  mtr_buf_fini(&message);
}

/* ---- Feeding ---- */

struct parsed {
  struct mtr_binary binary;
  struct mtr_buf buf;
  struct mortar_error err;
  size_t used;
};

/* Pieces of `step` bytes, the first one of `first`. What is settled is overwritten: nothing may
 * look at it again. */
static enum mortar_status feed(struct parsed *p, bool framed, size_t limit, struct mtr_span data,
                               size_t first, size_t step)
{
  enum mortar_status st = MORTAR_MORE;
  size_t n = first, settled;

  memset(p, 0, sizeof *p);
  mtr_binary_init(&p->binary, framed, limit);
  mtr_buf_init(&p->buf, NULL, "reply", LIMIT * 4);
  while (p->used < data.size && st == MORTAR_MORE) {
    if (n > data.size - p->used) n = data.size - p->used;
    assert_true(mtr_binary_room(&p->binary) > 0);
    assert_true(mtr_binary_room(&p->binary) <= limit + MTR_BINARY_READ_SIZE);
    assert_int_equal(mtr_buf_append(&p->buf, data.data + p->used, n, NULL), MORTAR_OK);
    p->used += n;
    st = mtr_binary_feed(&p->binary, &p->buf, n, &p->err);
    settled = p->binary.end.pos < p->buf.size ? p->binary.end.pos : p->buf.size;
    if (st == MORTAR_MORE && settled) memset(p->buf.data, 0xEE, settled);
    n = step;
  }
  return st;
}

static void expect_everywhere(bool framed, size_t limit, struct mtr_span data,
                              enum mortar_status want, const char *words)
{
  size_t first;

  for (first = 1; first <= data.size; first++) {
    struct parsed p;
    enum mortar_status st = feed(&p, framed, limit, data, first, data.size);
    assert_int_equal(st, want);
    if (words && !strstr(p.err.message, words)) print_error("%s\n", p.err.message);
    if (words) assert_non_null(strstr(p.err.message, words));
    mtr_buf_fini(&p.buf);
    st = feed(&p, framed, limit, data, first, 1);
    assert_int_equal(st, want);
    mtr_buf_fini(&p.buf);
  }
}

static void a_message_ends_where_its_struct_ends(void **state)
{
  struct mtr_buf message;
  struct parsed p;
  size_t cut;

  (void)state;
  mtr_buf_init(&message, NULL, "message", LIMIT);
  write_message(&message);
  expect_everywhere(false, LIMIT, mtr_buf_span(&message), MORTAR_OK, NULL);
  expect_everywhere(false, message.size, mtr_buf_span(&message), MORTAR_OK, NULL);
  for (cut = 0; cut < message.size; cut++) {
    assert_int_equal(feed(&p, false, LIMIT, mtr_span_of(message.data, cut), cut, 1), MORTAR_MORE);
    assert_int_equal(mtr_binary_eof(&p.binary, &p.err), MORTAR_IO);
    assert_int_equal(mtr_binary_begun(&p.binary), cut > 0);
    mtr_buf_fini(&p.buf);
  }
  mtr_buf_fini(&message);
}

static void frames_are_put_together(void **state)
{
  struct mtr_buf message, frames;
  struct parsed p;
  size_t piece;

  (void)state;
  mtr_buf_init(&message, NULL, "message", LIMIT);
  mtr_buf_init(&frames, NULL, "frames", LIMIT);
  write_message(&message);
  for (piece = 1; piece <= message.size; piece++) {
    mtr_buf_reset(&frames);
    write_frames(&frames, piece);
    assert_int_equal(feed(&p, true, message.size, mtr_buf_span(&frames), frames.size, 1),
                     MORTAR_OK);
    assert_int_equal(p.buf.size, message.size);
    assert_memory_equal(p.buf.data, message.data, message.size);
    mtr_buf_fini(&p.buf);
  }
  write_frames(&frames, 50);
  mtr_buf_reset(&frames);
  write_frames(&frames, 50);
  expect_everywhere(true, LIMIT, mtr_buf_span(&frames), MORTAR_OK, NULL);
  mtr_buf_fini(&frames);
  mtr_buf_fini(&message);
}

static void bytes_behind_the_end_are_refused(void **state)
{
  struct mtr_buf bytes;
  struct parsed p;

  (void)state;
  mtr_buf_init(&bytes, NULL, "bytes", LIMIT);
  write_message(&bytes);
  assert_int_equal(mtr_buf_append(&bytes, "x", 1, NULL), MORTAR_OK);
  assert_int_equal(feed(&p, false, LIMIT, mtr_buf_span(&bytes), bytes.size, 1), MORTAR_PROTOCOL);
  assert_string_equal(p.err.message, "1 bytes follow the end of the reply");
  mtr_buf_fini(&p.buf);
  /* In the frame, in another one, and half a head of one. */
  mtr_buf_reset(&bytes);
  write_frames(&bytes, LIMIT);
  mtr_put_be32(bytes.data, mtr_be32(bytes.data) + 1);
  expect_everywhere(true, LIMIT, mtr_buf_span(&bytes), MORTAR_PROTOCOL, "follow the end");
  mtr_put_be32(bytes.data, mtr_be32(bytes.data) - 1);
  assert_int_equal(mtr_buf_append(&bytes, "\0\0\0", 3, NULL), MORTAR_OK);
  assert_int_equal(feed(&p, true, LIMIT, mtr_buf_span(&bytes), bytes.size, 1), MORTAR_PROTOCOL);
  assert_string_equal(p.err.message, "3 bytes follow the end of the reply");
  mtr_buf_fini(&p.buf);
  mtr_buf_fini(&bytes);
}

/* As soon as a length says so, and not when all of it has come. */
static void the_limit_is_seen_in_the_lengths(void **state)
{
  struct mtr_buf bytes;
  struct parsed p;

  (void)state;
  mtr_buf_init(&bytes, NULL, "bytes", LIMIT);
  write_message(&bytes);
  expect_everywhere(false, bytes.size - 1, mtr_buf_span(&bytes), MORTAR_LIMIT, "crosses the limit");
  mtr_buf_reset(&bytes);
  write_frames(&bytes, LIMIT);
  assert_int_equal(feed(&p, true, bytes.size - MTR_FRAME_HEAD - 1, mtr_buf_span(&bytes), 1, 1),
                   MORTAR_LIMIT);
  assert_int_equal(p.used, MTR_FRAME_HEAD);
  mtr_buf_fini(&p.buf);
  mtr_buf_fini(&bytes);
}

#define HEAD "\x80\x01\x00\x02\0\0\0\1x\0\0\0\1"
#define SPAN(text) mtr_span_of(text, sizeof(text) - 1)

static void rubbish_is_refused(void **state)
{
  const struct {
    struct mtr_span bytes;
    enum mortar_status status;
    const char *words;
  } cases[] = {
      {SPAN("\x04\0\0\0\1x"), MORTAR_PROTOCOL, "set 'transport' to sasl"},
      {SPAN("HTTP/1.1 400 Bad Request\r\n"), MORTAR_PROTOCOL, "set 'transport' to http"},
      {SPAN("\x15\3\1\0\2\2\x46"), MORTAR_PROTOCOL, "set 'tls' to true"},
      {SPAN("\x80\x02\0\2\0\0\0\0"), MORTAR_PROTOCOL, "another version"},
      {SPAN("\x80\x01\0\2\0\0\x10\0"), MORTAR_PROTOCOL, "a name too long"},
      {SPAN(HEAD "\x0c\0\0\x05"), MORTAR_PROTOCOL, "unknown type"},
      {SPAN(HEAD "\x0b\0\0\xff\xff\xff\xff"), MORTAR_PROTOCOL, "negative length"},
      {SPAN(HEAD "\x0f\0\0\x0b\xff\xff\xff\xff"), MORTAR_PROTOCOL, "negative count"},
      {SPAN(HEAD "\x0f\0\0\x05\0\0\0\1"), MORTAR_PROTOCOL, "container of an unknown type"},
      {SPAN(HEAD "\x0d\0\0\x0b\x05\0\0\0\1"), MORTAR_PROTOCOL, "container of an unknown type"},
      {SPAN(HEAD "\x0f\0\0\x0a\x7f\xff\xff\xff"), MORTAR_LIMIT, "crosses the limit"},
      {SPAN(HEAD "\x0b\0\0\x7f\xff\xff\xff"), MORTAR_LIMIT, "crosses the limit"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_everywhere(false, LIMIT, cases[i].bytes, cases[i].status, cases[i].words);
  expect_everywhere(true, LIMIT, SPAN("\0\0\0\0"), MORTAR_PROTOCOL, "a frame of 0 bytes");
  expect_everywhere(true, LIMIT, SPAN("\xff\xff\xff\xff"), MORTAR_PROTOCOL, "a frame of -1 bytes");
}

static void nesting_has_an_end(void **state)
{
  uint8_t bytes[13 + 3 * MTR_THRIFT_END_LEVELS];
  int i;

  (void)state;
  memcpy(bytes, HEAD, 13);
  for (i = 0; i < MTR_THRIFT_END_LEVELS; i++)
    memcpy(bytes + 13 + 3 * i, "\x0c\0\1", 3);
  expect_everywhere(false, LIMIT, mtr_span_of(bytes, sizeof bytes), MORTAR_PROTOCOL,
                    "nested too deeply");
  expect_everywhere(false, LIMIT, mtr_span_of(bytes, sizeof bytes - 3), MORTAR_MORE, NULL);
}

/* A length that came is believed. */
static void the_room_follows_what_is_due(void **state)
{
  static const char text[] = HEAD "\x0b\0\0\0\x40\0\0";
  struct mtr_binary binary;
  struct mtr_buf buf;

  (void)state;
  mtr_buf_init(&buf, NULL, "reply", LIMIT);
  mtr_binary_init(&binary, false, 16 << 20);
  assert_int_equal(mtr_buf_append(&buf, text, sizeof text - 1, NULL), MORTAR_OK);
  assert_int_equal(mtr_binary_feed(&binary, &buf, buf.size, NULL), MORTAR_MORE);
  assert_int_equal(mtr_binary_room(&binary), (4 << 20) + MTR_BINARY_READ_SIZE);
  mtr_buf_fini(&buf);
}

/* ---- The login ---- */

static void plain_says_all_at_once(void **state)
{
  static const char want[] = "\1\0\0\0\5PLAIN\2\0\0\0\x0a\0user\0pass";
  struct mtr_buf out;

  (void)state;
  mtr_buf_init(&out, NULL, "login", LIMIT);
  assert_int_equal(mtr_sasl_write_plain(&out, "user", "pass", NULL), MORTAR_OK);
  assert_int_equal(out.size, sizeof want - 1);
  assert_memory_equal(out.data, want, sizeof want - 1);
  mtr_buf_fini(&out);
}

static void the_answer_is_read_in_pieces(void **state)
{
  const struct {
    struct mtr_span bytes;
    enum mortar_status status;
    const char *words;
  } cases[] = {
      {SPAN("\5\0\0\0\0"), MORTAR_OK, ""},
      {SPAN("\5\0\0\0\2ab"), MORTAR_OK, ""},
      {SPAN("\3\0\0\0\4away"), MORTAR_AUTH, "PLAIN): away; check 'username' and 'password'"},
      {SPAN("\4\0\0\0\4fail"), MORTAR_AUTH, "PLAIN): fail; check"},
      {SPAN("\4\0\0\0\0"), MORTAR_AUTH, "it gives no reason"},
      {SPAN("\2\0\0\0\0"), MORTAR_PROTOCOL, "goes on with the login (status 2)"},
      {SPAN("\1\0\0\0\0"), MORTAR_PROTOCOL, "goes on with the login (status 1)"},
      {SPAN("\3\0\1\0\1"), MORTAR_PROTOCOL, "has 65537 bytes"},
      {SPAN("\5\xff\xff\xff\xff"), MORTAR_PROTOCOL, "bytes"},
      {SPAN("H"), MORTAR_PROTOCOL, "no SASL"},
      {SPAN("\0"), MORTAR_PROTOCOL, "no SASL"},
  };
  struct mortar_error err;
  size_t i, cut;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    memset(&err, 0, sizeof err);
    assert_int_equal(mtr_sasl_read_answer(cases[i].bytes, &err), cases[i].status);
    assert_non_null(strstr(err.message, cases[i].words));
    for (cut = 0; cut < cases[i].bytes.size; cut++)
      assert_int_equal(mtr_sasl_read_answer(mtr_span_of(cases[i].bytes.data, cut), NULL),
                       MORTAR_MORE);
  }
  assert_int_equal(mtr_sasl_read_answer(SPAN("\5\0\0\0\0x"), &err), MORTAR_PROTOCOL);
}

static void memory_may_run_out_in_the_login(void **state)
{
  struct failing_alloc fa;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mtr_buf out;
    enum mortar_status st;
    mtr_buf_init(&out, &fa.alloc, "login", LIMIT);
    st = mtr_sasl_write_plain(&out, "user", "pass", NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mtr_buf_fini(&out);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_message_ends_where_its_struct_ends),
      cmocka_unit_test(frames_are_put_together),
      cmocka_unit_test(bytes_behind_the_end_are_refused),
      cmocka_unit_test(the_limit_is_seen_in_the_lengths),
      cmocka_unit_test(rubbish_is_refused),
      cmocka_unit_test(nesting_has_an_end),
      cmocka_unit_test(the_room_follows_what_is_due),
      cmocka_unit_test(plain_says_all_at_once),
      cmocka_unit_test(the_answer_is_read_in_pieces),
      cmocka_unit_test(memory_may_run_out_in_the_login),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
