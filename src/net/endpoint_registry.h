/* The endpoints of this process by what they were made from, so that sessions to the same place
 * share one. Holds no references: an endpoint leaves when its last one is gone. */
#ifndef MTR_NET_ENDPOINT_REGISTRY_H
#define MTR_NET_ENDPOINT_REGISTRY_H

#include "base/buf.h"
#include "net/endpoint.h"

/* An endpoint's place in the registry, a part of it. */
struct mtr_registered {
  struct mtr_endpoint *endpoint;
  struct mtr_registered *next;
  struct mtr_buf key; /* empty unless registered */
};

/* For the endpoint alone: puts the entry in a state in which it may be removed. */
void mtr_registered_init(struct mtr_registered *entry, struct mtr_endpoint *endpoint,
                         const struct mortar_alloc *alloc);

/* Takes it out, if it is in, and frees the key. inherited: in the child of a fork, whose registry
 * never held it. */
void mtr_registered_fini(struct mtr_registered *entry, bool inherited);

#endif
