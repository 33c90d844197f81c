// A runtime of the functions that the front calls, in tables of either major, and a device that runs
// on the thread that rings the doorbell: each packet in turn, while it is not held. A dispatch takes
// as many ns of device time as its packet's reserved2 says. The program is the test: it calls what
// the tables say after the front was loaded.
#ifndef RAWHAL_TESTS_FRONT_TOY_HSA_H
#define RAWHAL_TESTS_FRONT_TOY_HSA_H

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes the tables anew and calls the front's OnLoad().
// `amd_bytes`: what AMD's table says its size is; 0: what it is in that major.
void toy_load(uint32_t amd_major, uint32_t amd_step, uint32_t amd_bytes);
void toy_unload(void);
// The steps of it: a runtime that has no tool yet; another call of the front's OnLoad(); what the
// runtime does when all tools are unloaded. The root of the tables is for other tools.
void toy_make(uint32_t amd_major, uint32_t amd_step, uint32_t amd_bytes);
void toy_enter(void);
void toy_enter_by(void *root); // another runtime's
void toy_reset(void);
void *toy_root(void);
// How many entries of the tables are not as they were made.
size_t toy_replaced(void);
// What the front takes for an entry's offsets in majors 1 and 2, 0: none. False: no such entry.
typedef struct toy_entry {
  const char *name;
  bool amd;
  size_t first, second;
} toy_entry_t;
bool toy_entry(size_t index, toy_entry_t *entry);
// Replaces an entry as another tool would that comes after the front.
void toy_replace_core(size_t offset, void *function);
void toy_replace_amd(size_t offset, void *function);
// The entry at that offset, and of which table.
void *toy_core(size_t offset);
void *toy_amd(size_t offset);
void *toy_image(size_t offset);

hsa_agent_t toy_agent(void);
hsa_amd_memory_pool_t toy_pool(void); // of the device
hsa_amd_memory_pool_t toy_host_pool(void);
// The device keeps what it is told of until it goes on.
void toy_hold(bool held);
// Runs one packet, though it is held. False: there was none.
bool toy_step(void);
// The device's own, as its kernels know it.
hsa_queue_t *toy_queue(void);
// The device fails its queue.
void toy_fail(hsa_status_t status);

typedef struct toy_packet {
  uint16_t header;
  uint64_t kernel_object, completion_signal;
  uint32_t words[16];
} toy_packet_t;
// What the device has run, oldest first. Forgets it.
size_t toy_ran(toy_packet_t *packets, size_t capacity);
// Of dispatches, since that was last asked.
size_t toy_dispatches(void);
// The last one that was asked for: does it wait for nothing any more? It ends.
bool toy_prefetch_may_go(void);
void toy_prefetch_ends(void);
// Copies and fills that threads waited for, and how many of them ran at the same time at most.
size_t toy_copies(size_t *at_once);
size_t toy_live_signals(void);
size_t toy_live_queues(void);
// The private segment that the last queue was made for.
uint32_t toy_private_asked(void);
size_t toy_doorbells(void); // the device's own, rung

#ifdef __cplusplus
}
#endif

#endif
