/* The descriptor behind mortar_wake: readable once it was signalled, until it is cleared. */
#ifndef MTR_BASE_WAKE_H
#define MTR_BASE_WAKE_H

#include "mortar/mortar.h"

/* To poll for reading, never to read. -1 when wake is NULL, which poll(2) skips. */
int mtr_wake_fd(const struct mortar_wake *wake);

/* Asks without waiting; false when wake is NULL. */
bool mtr_wake_signalled(const struct mortar_wake *wake);

#endif
