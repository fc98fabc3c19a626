/* JSON values into buffers. */
#ifndef KILN_SERVER_JSON_H
#define KILN_SERVER_JSON_H

#include <jansson.h>

#include "base/buf.h"

/* Appends the text of a value, indented for people. false: memory or the buffer's limit. */
static inline int kiln_json_write(const char *data, size_t size, void *out)
{
  return mtr_buf_append((struct mtr_buf *)out, data, size, NULL) == MORTAR_OK ? 0 : -1;
}

static inline bool kiln_json_append(const json_t *value, struct mtr_buf *out)
{
  return value && json_dump_callback(value, kiln_json_write, out, JSON_INDENT(2)) == 0;
}

#endif
