/* Which process is this? A fork copies descriptors, TLS state and locks that belong to the parent;
 * whoever holds such things remembers the generation they were made in and keeps off them when it
 * has changed. No system call is made to ask. */
#ifndef MTR_NET_PROCESS_H
#define MTR_NET_PROCESS_H

#include <stdint.h>

/* A number that is one higher in the child of every fork(2). Any thread. */
uint64_t mtr_process_generation(void);

#endif
