/* What an observer may ask a process that answers, RAWHAL_DOOR=answers or poke: by a message to the
 * descriptor that the memory names (format.h), which comes with a socket for the reply. Internal to
 * both sides; includes nothing of rawhal's.
 *
 * A message is a door_request_t, and with POKE the bytes behind it; one descriptor comes along, an
 * end of a socketpair(AF_UNIX, SOCK_DGRAM). The reply is a door_reply_t, and behind it its text;
 * what is larger comes along as a memfd that nobody can change any more. A process sends without
 * waiting: a reply that does not fit is lost, and so is a message that is none of these. */
#ifndef RAWHAL_DEBUG_DOOR_REQUESTS_H
#define RAWHAL_DEBUG_DOOR_REQUESTS_H

#include <stdint.h>

#define DOOR_REQUEST_MAGIC UINT32_C(0x52476872)

enum {
  DOOR_POKE_BYTES = 4096,     /* at once */
  DOOR_PEEK_BYTES = 16 << 20, /* at once */
  DOOR_TEXT_BYTES = 8192,
};

typedef enum door_ask {
  DOOR_WHY = 1,  /* what does not end, and where it stands: text */
  DOOR_PEEK = 2, /* bytes of an allocation: memory */
  DOOR_POKE = 3, /* writes to one */
  DOOR_CORE = 4, /* a core file: memory */
} door_ask_t;

typedef struct door_request {
  uint32_t magic, ask; /* door_ask_t */
  uint64_t address, bytes;
} door_request_t;

typedef struct door_reply {
  uint32_t magic;
  uint32_t status; /* rawhal_status_t */
  uint64_t bytes;  /* in the memory that came along */
} door_reply_t;

#endif
