/* Loads recordings. A line that can't be decoded is refused with its place, so that a replay does
 * not surprise later. */
#include "kiln/replay/tape.h"

#include <stdio.h>

#include "base/error.h"
#include "kiln/recordings/walk.h"
#include "kiln/server/ids.h"

/* Bodies are kept as they are; a line's own limit is that of a recording. */
enum { TAPE_MAX = 2047 << 20, DECODED_MAX = 1 << 30, KEY_MAX = 64 << 20 };

struct kiln_question {
  struct kiln_question *next;
  const struct kiln_call *call;
  struct mtr_span key;
  struct kiln_taped *first, *last;
};

/* A statement of the file that is read, by its operation's id. */
struct origin {
  struct origin *next;
  struct mtr_span guid;
  struct kiln_taped *reply;
};

/* The walk through the files. */
struct reading {
  struct kiln_tape *tape;
  const char *path; /* of the file, good until the next one */
  struct mtr_arena decoded, of_file;
  struct origin *origins;
  enum mortar_status status;
  struct mortar_error *err;
};

/* One exchange, decoded. */
struct pair {
  const struct kiln_call *call;
  struct mtr_span request_bytes, reply_bytes;
  void *request, *reply; /* reply has no fields when it is an EXCEPTION */
  size_t seqid_at;
};

/* ---- Questions ---------------------------------------------------------------------------- */

static uint64_t asking_fields(const struct kiln_call *call)
{
  uint64_t bits = 0;
  uint16_t i;

  if (call->kind == KILN_CALL_OPEN_SESSION) return 0;
  for (i = 0; i < call->request->field_count; i++) {
    const struct mtr_field_info *f = &call->request->fields[i];
    if (f->kind == MTR_KIND_STRING || f->kind == MTR_KIND_LIST || f->kind == MTR_KIND_I32)
      bits |= f->bit;
  }
  return bits;
}

typedef enum mortar_status writer(const struct mtr_struct_info *info, const void *in,
                                  struct mtr_buf *out, struct mortar_error *err);

static enum mortar_status as_bytes(const struct mtr_struct_info *info, const void *in,
                                   struct mtr_buf *out, struct mortar_error *err)
{
  struct mtr_tw wr;

  mtr_tw_init(&wr, out, err);
  mtr_thrift_write_struct(&wr, info, in);
  return mtr_tw_finish(&wr);
}

/* The request with nothing but its question; it is as before afterwards. */
static enum mortar_status write_question(const struct kiln_call *call, void *request, writer *write,
                                         struct mtr_buf *out, struct mortar_error *err)
{
  struct mtr_struct_head *head = request;
  uint64_t has = head->has;
  enum mortar_status st;

  head->has &= asking_fields(call);
  st = write(call->request, request, out, err);
  head->has = has;
  return st;
}

static struct kiln_question *find(const struct kiln_tape *tape, const struct kiln_call *call,
                                  struct mtr_span key)
{
  struct kiln_question *q = tape->questions;

  while (q && !(q->call == call && mtr_span_equal(q->key, key)))
    q = q->next;
  return q;
}

/* As much of a text as an error has room for; kiln_fail cuts it at a whole character. */
static int printed(struct mtr_span text)
{
  enum { ROOM = sizeof(struct kiln_error) };

  return text.size < ROOM ? (int)text.size : ROOM;
}

static void name_question(const struct kiln_call *call, void *request, struct kiln_error *err)
{
  const struct mtr_TExecuteStatementReq *req = request;
  struct mtr_span text;
  struct mtr_buf json;

  mtr_buf_init(&json, NULL, "question", KEY_MAX);
  if (call->kind == KILN_CALL_EXECUTE) {
    text = req->statement;
    kiln_fail(err, "HY000", "the recordings have no answer to this statement: %.*s", printed(text),
              (const char *)text.data);
  } else if (write_question(call, request, mtr_thrift_dump, &json, NULL) == MORTAR_OK) {
    text = mtr_buf_span(&json);
    kiln_fail(err, "HY000", "the recordings have no answer to %s %.*s", call->name, printed(text),
              (const char *)text.data);
  } else {
    kiln_fail(err, "HY001", "out of memory: %s", call->name);
  }
  mtr_buf_fini(&json);
}

const struct kiln_taped *kiln_tape_answer(struct kiln_tape *tape, const struct kiln_call *call,
                                          void *request, struct kiln_error *err)
{
  struct kiln_question *q = NULL;
  struct kiln_taped *answer = NULL;
  struct mtr_buf key;

  mtr_buf_init(&key, NULL, "question", KEY_MAX);
  if (write_question(call, request, as_bytes, &key, NULL) == MORTAR_OK)
    q = find(tape, call, mtr_buf_span(&key));
  mtr_buf_fini(&key);
  if (!q) {
    name_question(call, request, err);
    return NULL;
  }
  for (answer = q->first; answer->used && answer->next;)
    answer = answer->next;
  answer->used = true;
  return answer;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static enum mortar_status decode(struct reading *r, struct mtr_span bytes,
                                 const struct mtr_struct_info *info, void **body,
                                 struct mtr_message *head)
{
  *body = mtr_arena_alloc(&r->decoded, 1, info->size);
  if (!*body) return mtr_fail_nomem(r->err, info->name);
  return mtr_message_read(bytes, info, *body, &r->decoded, head, r->err);
}

/* NULL: a call that Kiln does not know. */
static const struct kiln_call *call_of(struct mtr_span bytes)
{
  struct mtr_message head;
  struct mtr_tr rd;

  mtr_tr_init(&rd, bytes);
  if (mtr_message_read_head(&rd, &head, NULL) != MORTAR_OK) return NULL;
  return kiln_call_find(head.name);
}

static enum mortar_status decode_pair(struct reading *r, struct pair *p)
{
  struct mtr_message call, reply;
  struct mtr_tr rd;

  MTR_TRY(decode(r, p->request_bytes, p->call->request, &p->request, &call));
  MTR_TRY(decode(r, p->reply_bytes, p->call->reply, &p->reply, &reply));
  if (call.type != MTR_MESSAGE_CALL || reply.type == MTR_MESSAGE_CALL ||
      !mtr_span_equal(call.name, reply.name))
    return mtr_fail(r->err, MORTAR_INVALID, "the reply does not belong to its request");
  mtr_tr_init(&rd, p->reply_bytes);
  MTR_TRY(mtr_message_read_head(&rd, &reply, r->err));
  p->seqid_at = (size_t)(rd.pos - p->reply_bytes.data) - sizeof(int32_t);
  return MORTAR_OK;
}

static enum mortar_status keep(struct reading *r, struct mtr_span bytes, struct mtr_span *out)
{
  out->data = (const uint8_t *)mtr_arena_text(&r->tape->arena, bytes.data, bytes.size);
  out->size = bytes.size;
  return out->data ? MORTAR_OK : mtr_fail_nomem(r->err, "recording");
}

/* Where the id that a reply gives out stands in it. */
static enum mortar_status find_id(struct reading *r, const struct pair *p,
                                  const struct mtr_THandleIdentifier *id, struct kiln_taped *taped)
{
  if (!id) return MORTAR_OK;
  if (id->guid.size != KILN_ID_SIZE || id->secret.size != KILN_ID_SIZE)
    return mtr_fail(r->err, MORTAR_INVALID, "a handle whose id or secret has not %d bytes",
                    KILN_ID_SIZE);
  taped->guid_at = (size_t)(id->guid.data - p->reply_bytes.data);
  taped->secret_at = (size_t)(id->secret.data - p->reply_bytes.data);
  return MORTAR_OK;
}

static const struct mtr_THandleIdentifier *new_operation(const struct pair *p)
{
  const struct mtr_TExecuteStatementResp *resp = p->reply;

  if (p->call->reply != &mtr_TExecuteStatementResp_info || !resp->operation_handle) return NULL;
  return resp->operation_handle->operation_id;
}

static const struct mtr_THandleIdentifier *new_session(const struct pair *p)
{
  const struct mtr_TOpenSessionResp *resp = p->reply;

  if (p->call->kind != KILN_CALL_OPEN_SESSION || !resp->session_handle) return NULL;
  return resp->session_handle->session_id;
}

/* Rows may be left until a reply says that they are not. */
static void note_rows(const struct pair *p, struct kiln_taped *taped)
{
  const struct mtr_TSparkDirectResults *direct = NULL;
  const struct mtr_TFetchResultsResp *page = NULL;

  if (p->call->kind == KILN_CALL_FETCH)
    page = p->reply;
  else if (p->call->reply == &mtr_TExecuteStatementResp_info)
    direct = ((const struct mtr_TExecuteStatementResp *)p->reply)->direct_results;
  if (direct) page = direct->result_set;
  taped->closed = direct && direct->close_operation;
  taped->more = !page || page->has_more_rows;
}

static enum mortar_status make_taped(struct reading *r, const struct pair *p,
                                     struct kiln_taped **out)
{
  struct kiln_taped *taped = mtr_arena_one(&r->tape->arena, sizeof *taped);

  *out = taped;
  if (!taped) return mtr_fail_nomem(r->err, "recording");
  taped->call = p->call;
  taped->seqid_at = p->seqid_at;
  note_rows(p, taped);
  MTR_TRY(find_id(r, p, new_session(p), taped));
  MTR_TRY(find_id(r, p, new_operation(p), taped));
  return keep(r, p->reply_bytes, &taped->bytes);
}

static enum mortar_status question_of(struct reading *r, const struct pair *p,
                                      struct kiln_question **out)
{
  struct mtr_buf key;
  enum mortar_status st;

  mtr_buf_init(&key, NULL, "question", KEY_MAX);
  MTR_GOTO(write_question(p->call, p->request, as_bytes, &key, r->err));
  *out = find(r->tape, p->call, mtr_buf_span(&key));
  if (*out) goto done;
  *out = mtr_arena_one(&r->tape->arena, sizeof **out);
  if (!*out) {
    st = mtr_fail_nomem(r->err, "recording");
    goto done;
  }
  MTR_GOTO(keep(r, mtr_buf_span(&key), &(*out)->key));
  (*out)->call = p->call;
  (*out)->next = r->tape->questions;
  r->tape->questions = *out;
done:
  mtr_buf_fini(&key);
  return st;
}

static enum mortar_status add_origin(struct reading *r, const struct pair *p,
                                     struct kiln_taped *taped)
{
  const struct mtr_THandleIdentifier *id = new_operation(p);
  struct origin *origin;

  if (!id) return MORTAR_OK;
  origin = mtr_arena_one(&r->of_file, sizeof *origin);
  if (!origin) return mtr_fail_nomem(r->err, "recording");
  origin->guid = mtr_span_of(taped->bytes.data + taped->guid_at, KILN_ID_SIZE);
  origin->reply = taped;
  origin->next = r->origins;
  r->origins = origin;
  return MORTAR_OK;
}

static enum mortar_status add_answer(struct reading *r, const struct pair *p)
{
  struct kiln_question *q;
  struct kiln_taped *taped;

  MTR_TRY(make_taped(r, p, &taped));
  MTR_TRY(question_of(r, p, &q));
  if (q->last)
    q->last->next = taped;
  else
    q->first = taped;
  q->last = taped;
  r->tape->statements += p->call->kind == KILN_CALL_EXECUTE && q->first == taped;
  return add_origin(r, p, taped);
}

/* All five requests about an operation begin with its handle. */
static struct mtr_span operation_of(const struct pair *p)
{
  const struct mtr_TOperationHandle *handle;

  memcpy(&handle, (const char *)p->request + p->call->request->fields[0].offset, sizeof handle);
  return handle && handle->operation_id ? handle->operation_id->guid : mtr_span_of(NULL, 0);
}

static enum mortar_status add_call(struct reading *r, const struct pair *p)
{
  struct origin *origin = r->origins;
  struct mtr_span guid = operation_of(p);
  struct kiln_taped **end, *taped;

  while (origin && !mtr_span_equal(origin->guid, guid))
    origin = origin->next;
  if (!origin) {
    r->tape->passed_over++;
    return MORTAR_OK;
  }
  MTR_TRY(make_taped(r, p, &taped));
  for (end = &origin->reply->calls; *end;)
    end = &(*end)->next;
  *end = taped;
  return MORTAR_OK;
}

static enum mortar_status add_pair(struct reading *r, const struct pair *p)
{
  switch (p->call->kind) {
    case KILN_CALL_CLOSE_SESSION: /* needs no recorded answer */
      return MORTAR_OK;
    case KILN_CALL_STATUS:
    case KILN_CALL_METADATA:
    case KILN_CALL_FETCH:
    case KILN_CALL_CLOSE:
    case KILN_CALL_CANCEL:
      return add_call(r, p);
    default:
      return add_answer(r, p);
  }
}

static enum mortar_status read_exchange(struct reading *r, const struct kiln_recorded *x)
{
  struct pair p = {.request_bytes = mtr_buf_span(&x->request),
                   .reply_bytes = mtr_buf_span(&x->response)};

  if (x->kind == KILN_RECORDED_THRIFT && x->status == 200 && !x->json_response)
    p.call = call_of(p.request_bytes);
  if (!p.call) {
    r->tape->passed_over++;
    return MORTAR_OK;
  }
  r->tape->exchanges++;
  mtr_arena_reset(&r->decoded);
  MTR_TRY(decode_pair(r, &p));
  return add_pair(r, &p);
}

static void begin_file(void *ctx, const char *path)
{
  struct reading *r = ctx;

  r->path = path;
  r->origins = NULL;
  mtr_arena_reset(&r->of_file);
  r->tape->files++;
}

/* Puts the place in front of the reason. */
static enum mortar_status fail_at(struct reading *r, size_t line, enum mortar_status st,
                                  const char *reason)
{
  char why[sizeof r->err->message];

  (void)snprintf(why, sizeof why, "%s", reason);
  if (line == 0) return mtr_fail(r->err, st, "%s: %s", r->path, why);
  return mtr_fail(r->err, st, "%s:%zu: %s", r->path, line, why);
}

static bool read_line(void *ctx, size_t line, const struct kiln_recorded *x,
                      const struct mortar_error *err)
{
  struct reading *r = ctx;

  r->status = err ? err->status : read_exchange(r, x);
  if (r->status == MORTAR_OK) return true;
  r->status = fail_at(r, line, r->status, err ? err->message : r->err->message);
  return false;
}

enum mortar_status kiln_tape_read(struct kiln_tape *tape, const char *path,
                                  struct mortar_error *err)
{
  struct mortar_error why = {0};
  struct reading r = {.tape = tape, .err = err ? err : &why};
  struct kiln_recording_visitor visitor = {&r, begin_file, read_line};

  memset(tape, 0, sizeof *tape);
  mtr_arena_init(&tape->arena, NULL, TAPE_MAX);
  mtr_arena_init(&r.decoded, NULL, DECODED_MAX);
  mtr_arena_init(&r.of_file, NULL, TAPE_MAX);
  kiln_recording_walk(path, &visitor);
  mtr_arena_fini(&r.decoded);
  mtr_arena_fini(&r.of_file);
  if (r.status != MORTAR_OK || tape->questions) return r.status;
  return mtr_fail(err, MORTAR_INVALID, "%s: no recorded Thrift call in it or below it", path);
}

void kiln_tape_fini(struct kiln_tape *tape) { mtr_arena_fini(&tape->arena); }
