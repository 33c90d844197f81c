/* rawhal core: what its parts share. */
#ifndef TOOLS_CORE_CORE_H
#define TOOLS_CORE_CORE_H

#include <rawhal/hsaco.h>

#include "base/list.h"
#include "debug/core/core.h"
#include "debug/core/notes.h"
#include "debug/core/walk.h"
#include "tools/shared/core_file.h"
#include "tools/shared/target.h"
#include "tools/shared/tool.h"

/* The command line. */
typedef struct core_request {
  bool json, all, force;
  uint32_t abi;           /* 0: not given */
  uint32_t object;        /* its number, from 1; 0: none */
  uint64_t address, size; /* size 0: none */
} core_request_t;

/* ---- What a file has (contents.c) ---- */

typedef struct core_function {
  uint64_t address, size; /* the object's own */
  rawhal_string_t name;
} core_function_t;

typedef struct core_code {
  walk_object_t object;
  const unsigned char *bytes; /* NULL: they are not one piece of the file */
  rawhal_hsaco_t *hsaco;      /* NULL: it cannot be read */
  list_t functions;           /* core_function_t, by address */
} core_code_t;

typedef struct core_contents {
  const core_file_t *file;
  list_t agents, queues, waves; /* walk_agent_t, walk_queue_t, walk_wave_t */
  list_t codes;                 /* core_code_t */
  uint64_t opened;              /* bytes of objects that were opened */
  walk_finding_t finding;
  bool shown;   /* a debugger would show it */
  bool starved; /* there was no memory for all of it */
} core_contents_t;

/* False, with `error`: no memory. To be freed always. */
bool core_contents_read(core_contents_t *contents, const core_file_t *file, rawhal_error_t *error);
void core_contents_free(core_contents_t *contents);

/* The id of the queue that is the file's `index`-th; 0: it is not shown. */
uint32_t core_queue_id(const core_contents_t *contents, size_t index);

/* What the program calls the queue of that id, by the first dispatch of it that is listed; empty:
 * nothing. */
rawhal_string_t core_queue_label(const core_contents_t *contents, uint64_t id);

/* The function that has an address, and how far behind its start it is. False: none is known. */
bool core_symbol(const core_contents_t *contents, uint64_t address, rawhal_string_t *name,
                 uint64_t *offset);

/* "stopped: memory violation", "running"; words for what comes from files, "?" for what is none. */
void core_stop_text(const walk_wave_t *wave, char text[96]);
void core_reason_text(uint32_t reason, char text[128]);
const char *core_class_text(uint32_t kind);
const char *core_outcome_text(uint32_t outcome);
const char *core_state_text(uint32_t state);

/* Is an allocation among those shown around the fault's address? All are without one. */
enum { CORE_NEAREST = 8 };
typedef struct core_near {
  bool any;
  uint64_t distances[CORE_NEAREST]; /* the least ones */
  size_t count;
} core_near_t;
void core_near_find(core_near_t *near, rawhal_bytes_t allocations, rawhal_bytes_t cause);
bool core_is_near(const core_near_t *near, const core_note_allocation_t *allocation,
                  uint64_t address);

/* ---- Showing (text.c, json.c) ---- */

void core_show_text(const core_contents_t *contents, const core_request_t *request);
void core_show_json(const core_contents_t *contents, const core_request_t *request);

#endif
