/* What ROCm's debugger library finds wrong with a core file, and what comes of it. Internal. */
#ifndef RAWHAL_DEBUG_CORE_MISTAKE_H
#define RAWHAL_DEBUG_CORE_MISTAKE_H

typedef enum core_mistake {
  MISTAKE_NONE = 0,
  MISTAKE_NO_NOTE,
  MISTAKE_NOTE_SIZE,
  MISTAKE_KFD_VERSION,
  MISTAKE_RUNTIME_STATE,
  MISTAKE_R_DEBUG,
  MISTAKE_R_VERSION,
  MISTAKE_CODE_OBJECT,
  MISTAKE_NODE,
  MISTAKE_GPU_ID,
  MISTAKE_RING,
  MISTAKE_QUEUE_MEMORY,
  MISTAKE_SAVE_HEADER,
  MISTAKE_SAVE_AREA,
  MISTAKE_GROUP,
  MISTAKE_PACKET_ID,
  MISTAKE_PACKET,
  MISTAKE_KERNEL,
  MISTAKE_PC,
  MISTAKE_TOO_MUCH,
  /* The file is shown, but not all of it. */
  MISTAKE_INACTIVE,
  MISTAKE_CHIP,
  MISTAKE_CAPABILITY,
  MISTAKE_TTMPS,
  MISTAKE_WAVE_TTMPS,
  MISTAKE_R_STATE,
  MISTAKE_QUEUE_TYPE,
  MISTAKE_STOP_REASON,
  MISTAKE_FLAT_SCRATCH,
  MISTAKE_OBJECT_ELSEWHERE,
  MISTAKE_NO_PROCESS,
  MISTAKES,
} core_mistake_t;

typedef enum core_weight {
  WEIGHT_FATAL,   /* the debugger attaches to nothing: no wave of any queue is shown */
  WEIGHT_REFUSED, /* the same, quietly: "a restriction" */
  WEIGHT_PARTIAL, /* something is missing, the rest is right */
} core_weight_t;

/* "SAVE_AREA"; NULL for values that are none. */
const char *core_mistake_name(core_mistake_t mistake);
const char *core_mistake_text(core_mistake_t mistake);
core_weight_t core_mistake_weight(core_mistake_t mistake);

#endif
