/* A doubly linked list through the members of others; the head is a link too. One thread. A link
 * that is in no list points at itself, so that taking it out again does nothing. */
#ifndef KILN_SERVER_LIST_H
#define KILN_SERVER_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct kiln_link {
  struct kiln_link *prev, *next;
};

static inline void kiln_list_init(struct kiln_link *link) { link->prev = link->next = link; }

static inline bool kiln_list_empty(const struct kiln_link *head) { return head->next == head; }

static inline void kiln_list_append(struct kiln_link *head, struct kiln_link *link)
{
  link->prev = head->prev;
  link->next = head;
  head->prev->next = link;
  head->prev = link;
}

static inline void kiln_list_remove(struct kiln_link *link)
{
  link->prev->next = link->next;
  link->next->prev = link->prev;
  kiln_list_init(link);
}

/* The object that a link is a member of. */
#define KILN_OWNER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

#endif
