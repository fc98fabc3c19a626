/* Which process is this? A fork copies descriptors, TLS state and locks that belong to the parent;
 * whoever holds such things remembers the generation they were made in and keeps off them when it
 * has changed. No system call is made to ask. */
#ifndef MTR_NET_PROCESS_H
#define MTR_NET_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* A number that is one higher in the child of every fork(2). Any thread. */
uint64_t mtr_process_generation(void);

/* The one lock of the tables that a whole process shares. Held for a few comparisons, never across
 * a wait, a file or a function of the caller's: every fork takes it, so that a child finds it free
 * and the tables whole. *table_generation is 0 at first; true when it was another
 * process's: what the table holds is left alone then, and it starts empty. */
bool mtr_process_lock(uint64_t *table_generation);
void mtr_process_unlock(void);

#endif
