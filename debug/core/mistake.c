#include "debug/core/mistake.h"

#include <stddef.h>

static const struct {
  const char *name, *text;
  core_weight_t weight;
} mistakes[MISTAKES] = {
    [MISTAKE_NONE] = {"NONE", "no mistake", WEIGHT_PARTIAL},
    [MISTAKE_NO_NOTE] = {"NO_NOTE", "there is no AMDGPU note", WEIGHT_REFUSED},
    [MISTAKE_NOTE_SIZE] = {"NOTE_SIZE", "the note's sizes contradict each other", WEIGHT_FATAL},
    [MISTAKE_KFD_VERSION] = {"KFD_VERSION", "the driver's version is not in 1.13 to 1.x",
                             WEIGHT_REFUSED},
    [MISTAKE_RUNTIME_STATE] = {"RUNTIME_STATE", "the runtime was busy or refused to be debugged",
                               WEIGHT_REFUSED},
    [MISTAKE_R_DEBUG] = {"R_DEBUG", "the list of code objects is not in the file", WEIGHT_FATAL},
    [MISTAKE_R_VERSION] = {"R_VERSION", "no debugger knows this r_version", WEIGHT_REFUSED},
    [MISTAKE_CODE_OBJECT] = {"CODE_OBJECT", "a code object is not in the file as its URI says",
                             WEIGHT_FATAL},
    [MISTAKE_NODE] = {"NODE", "an agent without SIMDs, waves, arrays or XCCs", WEIGHT_FATAL},
    [MISTAKE_GPU_ID] = {"GPU_ID", "a queue of no agent, or two agents of one id", WEIGHT_FATAL},
    [MISTAKE_RING] = {"RING", "the ring's size is no number of packets", WEIGHT_FATAL},
    [MISTAKE_QUEUE_MEMORY] = {"QUEUE_MEMORY", "the queue's amd_queue_t is not in the file",
                              WEIGHT_FATAL},
    [MISTAKE_SAVE_HEADER] = {"SAVE_HEADER", "corrupted context save area header", WEIGHT_FATAL},
    [MISTAKE_SAVE_AREA] = {"SAVE_AREA", "corrupted control stack or wave save area", WEIGHT_FATAL},
    [MISTAKE_GROUP] = {"GROUP", "a wave is not between its work-group's first and last",
                       WEIGHT_FATAL},
    [MISTAKE_PACKET_ID] = {"PACKET_ID", "a wave's packet is not in flight", WEIGHT_FATAL},
    [MISTAKE_PACKET] = {"PACKET", "a wave's packet is not in the file", WEIGHT_FATAL},
    [MISTAKE_KERNEL] = {"KERNEL", "a kernel's descriptor is not in the file", WEIGHT_FATAL},
    [MISTAKE_PC] = {"PC", "a wave's pc is misaligned", WEIGHT_FATAL},
    [MISTAKE_TOO_MUCH] = {"TOO_MUCH", "more is listed than so many bytes can hold", WEIGHT_FATAL},
    [MISTAKE_INACTIVE] = {"INACTIVE", "no runtime was active: nothing is shown", WEIGHT_PARTIAL},
    [MISTAKE_CHIP] = {"CHIP", "an agent's chip is not supported, and its queues are not shown",
                      WEIGHT_PARTIAL},
    [MISTAKE_CAPABILITY] = {"CAPABILITY", "an agent cannot be debugged: its queues are not shown",
                            WEIGHT_PARTIAL},
    [MISTAKE_TTMPS] = {"TTMPS", "no ttmps: waves are shown without dispatch and position",
                       WEIGHT_PARTIAL},
    [MISTAKE_WAVE_TTMPS] = {"WAVE_TTMPS", "a wave is shown without dispatch and position",
                            WEIGHT_PARTIAL},
    [MISTAKE_R_STATE] = {"R_STATE", "the list of code objects was being changed: none is shown",
                         WEIGHT_PARTIAL},
    [MISTAKE_QUEUE_TYPE] = {"QUEUE_TYPE", "a queue of packets other than AQL's: without waves",
                            WEIGHT_PARTIAL},
    [MISTAKE_STOP_REASON] = {"STOP_REASON", "a wave's stop reason is lost", WEIGHT_PARTIAL},
    [MISTAKE_FLAT_SCRATCH] = {"FLAT_SCRATCH", "a wave's private memory is not where it should be",
                              WEIGHT_PARTIAL},
    [MISTAKE_OBJECT_ELSEWHERE] = {"OBJECT_ELSEWHERE",
                                  "a code object is a file of the machine that wrote this",
                                  WEIGHT_PARTIAL},
    [MISTAKE_NO_PROCESS] = {"NO_PROCESS",
                            "of GPUs alone: to be merged with the core file of their host",
                            WEIGHT_PARTIAL},
};

const char *core_mistake_name(core_mistake_t mistake)
{
  return (unsigned)mistake < MISTAKES ? mistakes[mistake].name : NULL;
}

const char *core_mistake_text(core_mistake_t mistake)
{
  return (unsigned)mistake < MISTAKES ? mistakes[mistake].text : "unknown";
}

core_weight_t core_mistake_weight(core_mistake_t mistake)
{
  return (unsigned)mistake < MISTAKES ? mistakes[mistake].weight : WEIGHT_FATAL;
}
