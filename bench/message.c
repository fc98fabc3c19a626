/* Looks for Content-Length in the lines of the head and at nothing else. */
#include "bench/message.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BODY_MAX = 1 << 30 };

bool message_size(const char *data, size_t *size)
{
  static const char name[] = "content-length:";
  const char *end = strstr(data, "\r\n\r\n"), *line = data;

  *size = 0;
  if (!end) return false;
  while (line < end && strncasecmp(line, name, sizeof name - 1) != 0)
    line = strstr(line, "\r\n") + 2;
  if (line < end) {
    const long length = strtol(line + sizeof name - 1, NULL, 10);
    if (length > 0 && length <= BODY_MAX) *size = (size_t)(end - data) + 4 + (size_t)length;
  }
  return true;
}
