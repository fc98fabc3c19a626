/* Decodes plans. The message is a run of fields:
 *
 *     "plan"    answer  use_catalog  use_schema  needs  statement...
 *     "refused" sqlstate  message
 *
 * needs is a list of words with spaces between: "samples", "own", "valued", "timeout=SECONDS".
 * Nothing of the peer's is trusted beyond that: a length past the end refuses the message. */
#include "kiln/engine/translate/plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kiln/engine/translate/field.h"

enum {
  PLAN_FIXED_FIELDS = 5,
  /* A table of a thousand columns with a comment each. */
  PLAN_MAX_STATEMENTS = 1024,
  PLAN_MAX_FIELDS = PLAN_FIXED_FIELDS + PLAN_MAX_STATEMENTS
};

/* Texts are copied out of a message that is itself limited to 64 MB. */
#define PLAN_MAX_BYTES ((size_t)72 << 20)

struct fields {
  struct mtr_span at[PLAN_MAX_FIELDS];
  size_t count;
};

static bool split(struct mtr_span body, struct fields *out)
{
  const uint8_t *p = body.data, *end = p + body.size;

  out->count = 0;
  while (p < end) {
    size_t size;

    if (end - p < KILN_FIELD_HEAD || out->count == PLAN_MAX_FIELDS) return false;
    size = kiln_field_read_size(p);
    p += KILN_FIELD_HEAD;
    if ((size_t)(end - p) < size) return false;
    out->at[out->count++] = mtr_span_of(p, size);
    p += size;
  }
  return true;
}

static bool is(struct mtr_span field, const char *word)
{
  return mtr_span_equal(field, mtr_span_text(word));
}

static bool answer_kind(struct mtr_span word, enum kiln_answer_kind *out)
{
  static const char *const words[] = {"none", "rows", "insert", "change", "merge"};
  size_t i;

  for (i = 0; i < sizeof words / sizeof *words; i++) {
    if (!is(word, words[i])) continue;
    *out = (enum kiln_answer_kind)i;
    return true;
  }
  return false;
}

/* The first of the words in a list, which have spaces between them; takes it off the list. */
static struct mtr_span next_word(struct mtr_span *list)
{
  struct mtr_span word = {list->data, 0};

  while (word.size < list->size && word.data[word.size] != ' ')
    word.size++;
  *list = mtr_span_of(list->data + word.size, list->size - word.size);
  if (list->size > 0) *list = mtr_span_of(list->data + 1, list->size - 1);
  return word;
}

/* Words that are not known are passed over. */
static void read_needs(struct kiln_plan *plan, struct mtr_span list)
{
  static const char timeout[] = "timeout=";
  const size_t head = sizeof timeout - 1;
  uint64_t seconds;

  while (list.size > 0) {
    struct mtr_span word = next_word(&list);

    if (is(word, "samples")) plan->samples = true;
    if (is(word, "own")) plan->own = true;
    if (is(word, "valued")) plan->valued = true;
    if (word.size <= head || memcmp(word.data, timeout, head) != 0) continue;
    plan->times =
        mtr_text_u64(mtr_span_of(word.data + head, word.size - head), INT32_MAX, &seconds);
    plan->timeout = plan->times ? (int64_t)seconds : 0;
  }
}

static const char *keep(struct kiln_plan *plan, struct mtr_span text)
{
  plan->size += text.size;
  return mtr_arena_text(&plan->arena, text.data, text.size);
}

static enum mortar_status fill_refusal(struct kiln_plan *plan, const struct fields *f,
                                       struct mortar_error *err)
{
  plan->refused = true;
  plan->sqlstate = keep(plan, f->at[1]);
  plan->message = keep(plan, f->at[2]);
  if (!plan->sqlstate || !plan->message) return mtr_fail_nomem(err, "translated statement");
  return MORTAR_OK;
}

static enum mortar_status fill_plan(struct kiln_plan *plan, const struct fields *f,
                                    struct mortar_error *err)
{
  size_t i;

  read_needs(plan, f->at[4]);
  plan->count = f->count - PLAN_FIXED_FIELDS;
  plan->statements = mtr_arena_alloc(&plan->arena, plan->count, sizeof *plan->statements);
  if (!plan->statements) return mtr_fail_nomem(err, "translated statement");
  if (f->at[2].size > 0) {
    plan->use_catalog = keep(plan, f->at[2]);
    plan->use_schema = keep(plan, f->at[3]);
    if (!plan->use_catalog || !plan->use_schema) return mtr_fail_nomem(err, "names of USE");
  }
  for (i = 0; i < plan->count; i++) {
    plan->statements[i] = keep(plan, f->at[PLAN_FIXED_FIELDS + i]);
    if (!plan->statements[i]) return mtr_fail_nomem(err, "translated statement");
  }
  return MORTAR_OK;
}

static enum mortar_status fill(struct kiln_plan *plan, const struct fields *f,
                               struct mortar_error *err)
{
  if (f->count == 3 && is(f->at[0], "refused")) return fill_refusal(plan, f, err);
  if (f->count >= PLAN_FIXED_FIELDS && is(f->at[0], "plan") && answer_kind(f->at[1], &plan->answer))
    return fill_plan(plan, f, err);
  return mtr_fail(err, MORTAR_PROTOCOL, "translator's answer of %zu fields is none that is known",
                  f->count);
}

enum mortar_status kiln_plan_decode(struct mtr_span body, struct kiln_plan **out,
                                    struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct fields fields;
  struct kiln_plan *plan = NULL;

  *out = NULL;
  if (!split(body, &fields))
    return mtr_fail(err, MORTAR_PROTOCOL, "translator's answer of %zu bytes is malformed",
                    body.size);
  plan = mtr_calloc(NULL, 1, sizeof *plan);
  if (!plan) return mtr_fail_nomem(err, "translated statement");
  atomic_init(&plan->refs, 1);
  plan->size = sizeof *plan;
  mtr_arena_init(&plan->arena, NULL, PLAN_MAX_BYTES);
  MTR_GOTO(fill(plan, &fields, err));
  *out = plan;
  plan = NULL;
done:
  kiln_plan_unref(plan);
  return st;
}

struct kiln_plan *kiln_plan_ref(struct kiln_plan *plan)
{
  atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
  return plan;
}

void kiln_plan_unref(struct kiln_plan *plan)
{
  if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1) return;
  mtr_arena_fini(&plan->arena);
  mtr_free(NULL, plan, sizeof *plan);
}
