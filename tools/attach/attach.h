/* rawhal attach: what its parts share. */
#ifndef TOOLS_ATTACH_ATTACH_H
#define TOOLS_ATTACH_ATTACH_H

#include "tools/shared/doors.h"
#include "tools/shared/kernels.h"
#include "tools/shared/tool.h"

/* The command line. */
typedef struct attach_place {
  bool given;
  uint64_t address, bytes;
  const char *hex; /* of poke */
} attach_place_t;
typedef struct attach_request {
  bool json, why, force;
  unsigned of;       /* door_kind_t; 0: both */
  unsigned demangle; /* demangle_when_t */
  const char *core, *output;
  attach_place_t peek, poke;
} attach_request_t;

/* ---- What a process shows (status.c) ---- */

enum { ATTACH_PACKETS = 16, ATTACH_TEXT = 200 };

typedef struct attach_packet {
  uint64_t index, kernel_object;
  uint32_t grid[3], group[3];
} attach_packet_t;

typedef struct attach_queue {
  uint64_t agent, address;
  observer_queue_t now; /* its id is set in any case */
  char label[RAWHAL_LABEL_BYTES];
  bool readable;
  uint64_t oldest; /* index of the first that has not ended; `write`: there is none */
  size_t flying;   /* the first of those that may run, and those that wait */
  attach_packet_t in_flight[ATTACH_PACKETS];
  size_t ended; /* the last of those that have, as far as the ring still has them: newest first */
  attach_packet_t last[ATTACH_PACKETS / 2];
} attach_queue_t;

typedef struct attach_module {
  uint64_t id, agent, bytes;
  char file[ATTACH_TEXT];
  size_t file_size;
} attach_module_t;

typedef struct attach_agent {
  uint64_t handle;
  uint64_t modules, queues, allocations, bytes;
} attach_agent_t;

/* Of one door. */
typedef struct attach_status {
  const observer_t *observer;
  list_t modules, queues, agents; /* attach_module_t, ... */
  kernels_t kernels;
  uint64_t kernel_count, allocations, bytes, unlisted;
  bool starved;
} attach_status_t;

/* False: no memory. To be freed always. */
bool attach_status_read(attach_status_t *status, observer_t *observer);
void attach_status_free(attach_status_t *status);

/* ---- What does not end (why.c) ---- */

enum { ATTACH_LOOKS = 10, ATTACH_LOOK_MS = 20 };

/* What a door says, or what can be seen from outside of it. */
typedef struct attach_why {
  bool answered;
  char text[DOOR_TEXT_BYTES];
} attach_why_t;
bool attach_why(attach_why_t *why, observer_t *observer, rawhal_error_t *error);

/* ---- Showing (text.c, json.c) ---- */

void attach_show_text(const doors_t *doors, const attach_status_t *statuses,
                      const attach_request_t *request);
/* `whys`: NULL, or one of each door. */
void attach_show_json(const doors_t *doors, const attach_status_t *statuses,
                      const attach_why_t *whys);
enum { ATTACH_COMMAND = 1024 }; /* of the process's, escaped by whoever prints it */

/* ---- Memory and core files (memory.c) ---- */

bool attach_peek(const doors_t *doors, const attach_request_t *request, rawhal_error_t *error);
bool attach_poke(const doors_t *doors, const attach_request_t *request, rawhal_error_t *error);
bool attach_core(const doors_t *doors, const attach_request_t *request, rawhal_error_t *error);

#endif
