/* Making and unmaking proxies, and telling which queues are ours. Internal. */
#ifndef RAWHAL_FRONT_PROXIES_H
#define RAWHAL_FRONT_PROXIES_H

#include "front/proxy.h"

/* By the program's queue or the device's. NULL: not one of ours. */
proxy_t *proxy_of(const hsa_queue_t *queue);
/* NULL: no doorbell of ours. */
proxy_t *proxy_of_doorbell(hsa_signal_t signal);

/* Calls `visitor` for every proxy. Threads that destroy one wait until it has returned, so it must
 * neither destroy one, nor call the program, nor wait for a thread that does: what it begins in
 * `notice` is told after the visit. */
typedef void proxy_visitor(proxy_t *proxy, notice_t *notice);
void proxies_each(proxy_visitor *visitor);
void proxy_set_held(proxy_t *proxy, bool held);
/* Is anything of another queue held back, or a copy? */
bool proxies_hold(const proxy_t *but);

typedef struct proxy_wish {
  hsa_agent_t agent;
  uint32_t size;
  hsa_queue_type32_t type;
  void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data);
  void *data;
  uint32_t private_bytes, group_bytes;
} proxy_wish_t;
hsa_status_t proxy_create(front_device_t *device, const proxy_wish_t *wish, hsa_queue_t **queue);
hsa_status_t proxy_destroy(proxy_t *proxy);
void proxies_destroy(void); /* all of them; no other thread makes or destroys one */
void proxies_forget(void);  /* when the runtime ends */
void proxies_abandon(void); /* they are another process's */

#endif
