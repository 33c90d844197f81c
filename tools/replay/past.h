/* rawhal replay: going back. A dispatch that runs in an order that can be had again is stopped at a
 * moment, and it is said who wrote bytes last. */
#ifndef TOOLS_REPLAY_PAST_H
#define TOOLS_REPLAY_PAST_H

#include "base/list.h"
#include "softgpu/back.h"
#include "tools/replay/replay.h"
#include "tools/shared/json.h"
#include "tools/shared/lines.h"

/* ---- What the command line says ---- */

enum { PAST_NAME = 256 };

typedef struct past_moment {
  bool is_pc, is_flat, is_own; /* of a wave: its number in the dispatch; of code: its own address */
  uint32_t group[3];
  uint64_t wave, count;
  char symbol[PAST_NAME]; /* of code; "": the kernel */
  uint64_t offset;
} past_moment_t;

typedef struct past_bytes {
  bool is_lds;
  uint32_t group[3];
  char argument[PAST_NAME]; /* whose pointer `address` counts from; "": from 0 */
  uint64_t address, bytes;
} past_bytes_t;

/* X[,Y[,Z]]/WAVE:COUNT, WAVE:COUNT, [SYMBOL][+OFFSET][:N], 0xADDRESS[:N]. False: it is none. */
bool past_read_moment(const char *text, past_moment_t *moment);
/* ADDRESS[:BYTES], ARGUMENT[+OFFSET][:BYTES], of a name or %N, lds@X[,Y[,Z]]+OFFSET[:BYTES]. */
bool past_read_bytes(const char *text, past_bytes_t *bytes);

/* The same of a dispatch that is ready to be launched. False, with the replay's error. */
bool past_find_moment(replay_t *replay, const past_moment_t *moment, softgpu_back_t *asked);
/* `*recorded`: the address in the recorded process; of LDS, the offset. */
bool past_find_bytes(replay_t *replay, const past_bytes_t *bytes, softgpu_back_t *asked,
                     uint64_t *recorded);

/* ---- What came of it ---- */

/* Where an instruction is, in words. */
typedef struct past_place {
  bool is_found;
  uint64_t pc_offset; /* from where waves begin */
  uint64_t own;       /* the code object's own address */
  char symbol[PAST_NAME];
  uint64_t offset;
  lines_place_t source; /* file "": not known */
} past_place_t;

enum { PAST_PLACES = 16 };

struct replay_past {
  uint64_t order;
  softgpu_back_told_t told;
  bool has_stop, has_bytes, has_core; /* were asked for */
  bool stops_at_write;                /* and not at the moment, which was later */
  past_bytes_t bytes;
  uint64_t recorded; /* address of the first of the bytes */
  list_t writers; /* softgpu_back_writer_t: parts, of which those that were written alike are one */
  char core[256]; /* what was written; "": nothing */
  past_place_t places[PAST_PLACES]; /* that were looked for, by where they are */
};

/* Where an instruction is, by what does not depend on where a run's code was. Valid until the next
 * call. Many parts have few writers, and line tables are long: places are kept. */
const past_place_t *past_place(const replay_t *replay, uint64_t pc_offset);

/* softgpu.c: asks softgpu, and what it tells. False, with the replay's error. */
bool past_ask(replay_t *replay, const softgpu_back_t *asked);
bool past_told(replay_t *replay, replay_past_t *past);
/* Or without: `--order` alone, whose run has a digest. */
bool past_follow(replay_t *replay);

/* past_report.c: text behind that of the dispatch, and the key "past". `replay`: NULL where there
 * is nothing to say, as it could not be done. */
void past_print(const replay_t *replay);
void past_put(json_writer_t *out, const replay_t *replay);
/* "stopped", "ran", "not reached". */
const char *past_result(const replay_past_t *past);

#endif
