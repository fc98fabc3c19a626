/* An endpoint on loopback, a lease and one call to exchange a small request: what the tests with
 * real sockets begin with. */
#ifndef MTR_TESTS_NET_RIG_H
#define MTR_TESTS_NET_RIG_H

#include "net/lease.h"

/* A deadline, a time to connect and a wake-up end a wait within this, also on a busy machine; a
 * wait that nothing ends lasts seconds in these tests. */
enum { NET_PROMPT_MS = 900 };

struct net_rig {
  struct mtr_endpoint_options options; /* change before net_rig_open */
  struct mtr_endpoint *endpoint;
  struct mtr_lease *lease;
  struct mtr_request request;
  struct mtr_reply reply;
  struct mortar_error err;
  int64_t took_ms;
  int (*tick)(void *ctx); /* of the exchanges; NULL: none */
  void *tick_ctx;
};

/* 127.0.0.1, no TLS, no limits but 64 MiB of reply. */
void net_rig_init(struct net_rig *rig, int port);
void net_rig_open(struct net_rig *rig);
void net_rig_close(struct net_rig *rig);

/* One exchange with the body "ping"; fills reply or err, and how long it took. timeout_ms -1: none;
 * wake may be NULL. */
enum mortar_status net_rig_exchange(struct net_rig *rig, int64_t timeout_ms,
                                    struct mortar_wake *wake);

/* Gives the lease a body that no pair of sockets can hold. */
void net_rig_fill_body(struct net_rig *rig);

/* Leases come and go over the rig's endpoint on that many threads, NET_MAX_SHARE at most: each
 * makes that many exchanges, with a new lease for each. Returns how many succeeded. */
enum { NET_MAX_SHARE = 8 };
int net_rig_share(struct net_rig *rig, int threads, int exchanges);

/* Signals wake after a delay, from a thread. */
struct net_alarm;
struct net_alarm *net_alarm_start(struct mortar_wake *wake, int delay_ms);
void net_alarm_join(struct net_alarm *alarm);

#endif
