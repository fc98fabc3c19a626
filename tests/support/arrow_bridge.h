/* A shared library for tests in other languages: whole IPC streams in memory as Arrow C streams,
 * and back. Every function gives an enum mortar_status and fills err. Not installed.
 *
 * The memory that the reader takes comes from one counted allocator of the process, so that a test
 * can cap it and see its peak. */
#ifndef MTR_TESTS_ARROW_BRIDGE_H
#define MTR_TESTS_ARROW_BRIDGE_H

#include "mortar/mortar.h"

/* Sets the cap of all memory held from now on and forgets the peak. */
MORTAR_API void mtr_bridge_limit(size_t bytes);
MORTAR_API size_t mtr_bridge_peak(void);
MORTAR_API size_t mtr_bridge_held(void);

/* Reads the schema at once and batches as they are asked for. data is copied. */
MORTAR_API int mtr_bridge_read(const uint8_t *data, size_t size, struct ArrowArrayStream *out,
                               struct mortar_error *err);

/* Writes everything that in gives. Free *data with mtr_bridge_free. */
MORTAR_API int mtr_bridge_write(struct ArrowArrayStream *in, uint8_t **data, size_t *size,
                                struct mortar_error *err);
MORTAR_API void mtr_bridge_free(uint8_t *data);

/* mortar_format_cell. */
MORTAR_API int mtr_bridge_format(const struct ArrowSchema *schema, const struct ArrowArray *array,
                                 int64_t column, int64_t row, char *buf, size_t capacity,
                                 size_t *size, struct mortar_error *err);

#endif
