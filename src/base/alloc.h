/* The one door to memory. No other file of src/ calls malloc.
 *
 * A struct mortar_alloc comes in with the config and goes down by pointer; it is copied into the
 * handles that must outlive the config. A NULL result is an error to report, never to abort on. */
#ifndef MTR_BASE_ALLOC_H
#define MTR_BASE_ALLOC_H

#include "mortar/mortar.h"

/* The C library's allocator. Never NULL. */
const struct mortar_alloc *mtr_alloc_default(void);

/* A NULL alloc means the default one. Zeroed memory; NULL when it ran out or the size overflows. */
void *mtr_calloc(const struct mortar_alloc *alloc, size_t count, size_t size);
void *mtr_malloc(const struct mortar_alloc *alloc, size_t size);

/* Like realloc. On NULL the old block is still there. */
void *mtr_realloc(const struct mortar_alloc *alloc, void *ptr, size_t old_size, size_t new_size);

/* size is what was asked for; ptr may be NULL. */
void mtr_free(const struct mortar_alloc *alloc, void *ptr, size_t size);

/* A copy of size bytes with a NUL behind them; free it with size + 1. */
char *mtr_strndup(const struct mortar_alloc *alloc, const char *text, size_t size);

/* Frees a text that ends with NUL; text may be NULL. */
void mtr_free_text(const struct mortar_alloc *alloc, char *text);

/* a * b and a + b, false when they do not fit. */
bool mtr_size_mul(size_t a, size_t b, size_t *out);
bool mtr_size_add(size_t a, size_t b, size_t *out);

#endif
