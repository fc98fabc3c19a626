/* How a failure travels: one status, one line of text, one carrier.
 *
 *     return mtr_fail(err, MORTAR_PROTOCOL, "row %zu: negative length", row);
 *
 * Every function here accepts err == NULL. It says what was being done and with which value; it
 * never holds a token, a signed URL or a password: whoever formats the text keeps them out. */
#ifndef MTR_BASE_ERROR_H
#define MTR_BASE_ERROR_H

#include "mortar/mortar.h"

/* Fills err with the status, the status's SQLSTATE and the text, clears the rest; returns st. */
MORTAR_PRINTF(3, 4)
enum mortar_status mtr_fail(struct mortar_error *err, enum mortar_status st, const char *fmt, ...);

/* The usual text for memory that ran out while making `what`. */
enum mortar_status mtr_fail_nomem(struct mortar_error *err, const char *what);

/* Puts "context: " before the text of an error that is passed on; keeps everything else. */
MORTAR_PRINTF(2, 3)
void mtr_error_prefix(struct mortar_error *err, const char *fmt, ...);

/* Set one field of an error that mtr_fail filled. */
void mtr_error_sqlstate(struct mortar_error *err, const char *five, size_t size);
void mtr_error_outcome(struct mortar_error *err, enum mortar_outcome outcome);

/* Puts *** where the text holds secret, which a server may have sent back; also where the text was
 * cut inside it. Secrets of fewer than 8 bytes are words: they stay, as does everything for NULL.
 */
void mtr_error_mask(struct mortar_error *err, const char *secret);

/* Returns st if it is a failure, leaving the function: for calls that need no clean-up. */
#define MTR_TRY(call)                                                                              \
  do {                                                                                             \
    enum mortar_status try_st_ = (call);                                                           \
    if (try_st_ != MORTAR_OK) return try_st_;                                                      \
  } while (0)

/* The same for functions with a done: label and a variable st. */
#define MTR_GOTO(call)                                                                             \
  do {                                                                                             \
    st = (call);                                                                                   \
    if (st != MORTAR_OK) goto done;                                                                \
  } while (0)

/* Checks of our own invariants, in debug builds only. Never for data from the wire. */
#ifdef MTR_DEBUG
#include <assert.h>
#define MTR_ASSERT(cond) assert(cond)
#else
#define MTR_ASSERT(cond) ((void)0)
#endif

#endif
