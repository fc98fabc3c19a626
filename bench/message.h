/* How long an HTTP message is: all that the programs here read of one. */
#ifndef BENCH_MESSAGE_H
#define BENCH_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of head and body of the message that begins at data, which ends with NUL. *size is 0 when
 * the head does not say how long the body is. false: the head is not whole yet. */
bool message_size(const char *data, size_t *size);

#endif
