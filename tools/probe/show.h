/* rawhal probe show: dispatches one after the other, in one of several forms. */
#ifndef TOOLS_PROBE_SHOW_H
#define TOOLS_PROBE_SHOW_H

#include <rawhal/probe.h>

#include "tools/probe/code.h"
#include "tools/probe/figures.h"
#include "tools/probe/probe.h"
#include "tools/shared/json.h"

enum {
  SHOW_PAGE_DISPATCHES = 64, /* of a page */
  SHOW_SAMPLE = 4096,        /* waves that are drawn of a dispatch */
  SHOW_CODE_BLOCKS = 512,    /* blocks whose code is shown: those that ran most */
  SHOW_CODE_BYTES = 1024,    /* of each */
  SHOW_PICTURES = 16,        /* of the allocations of a dispatch that had most accesses */
};

/* One dispatch that probes looked at. */
typedef struct show_item {
  uint64_t number; /* of its records */
  record_records_t records;
  record_dispatch_t dispatch; /* its kernel's name is the kernel's own, */
  bool is_cut;                /* of which there is but the start: a dispatch before had all of it */
  char device[256];
  const kernel_t *kernel;
  const figures_t *figures;
  const code_figures_t *blocks;
  const wave_figures_t *waves;
  const code_t *code;
  const uint32_t *hottest; /* numbers of the blocks, those that ran most instructions first */
} show_item_t;

typedef struct show show_t;

/* How they are shown. */
typedef struct show_form {
  void (*begin)(show_t *show);
  void (*item)(show_t *show, const show_item_t *item);
  void (*incomplete)(show_t *show, uint64_t dispatch); /* its records are not all there */
  void (*end)(show_t *show);
} show_form_t;

struct show {
  const probe_request_t *request;
  const char *path;
  record_reader_t *reader;
  const show_form_t *form;
  bool demangle;
  json_writer_t json;
  uint64_t most;          /* dispatches that are shown */
  uint64_t shown, passed; /* that were, and that were not although they were asked for */
  uint64_t incomplete;    /* of those that were, without all records */
};

extern const show_form_t show_text, show_json;

/* Shows all that are asked for. */
bool show_all(show_t *show, rawhal_error_t *error);

/* What the forms share. */
/* "load", "store", "atomic". */
const char *show_access(const rawhal_probe_point_t *point);
/* "s4", "v[2:3]": what a value's point keeps. */
void show_register(const rawhal_probe_point_t *point, char *text, size_t size);
/* The instruction at an offset; NULL: nobody has disassembled it. */
const char *show_instruction(const code_t *code, uint32_t offset);

#endif
