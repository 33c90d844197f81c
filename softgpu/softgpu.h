/* The control interface of softgpu, the GPU in software below the HSA runtime.
 *
 * The functions are exported by softgpu's libhsakmt.so.1 under the symbol version SOFTGPU_1. They
 * need no hsa_init() and no linking: open the library before libhsa-runtime64.so.1, then ask it.
 *
 *     void *thunk = dlopen(".../softgpu/libhsakmt.so.1", RTLD_NOW | RTLD_GLOBAL);
 *     softgpu_option_set_fn *set = (softgpu_option_set_fn *)dlsym(thunk, "softgpu_option_set");
 *     set("timeout_ms", 5000);
 *
 * A runtime of ROCm 7 or later does not link libhsakmt.so.1. Its softgpu is libdtif.so, in the same
 * folder and with the same functions: open it before hsa_init(), which then loads it, too. The two
 * libraries have separate devices. docs/softgpu-runtimes.md says which runtimes were tried.
 *
 * A library that lacks these symbols is a real thunk. Every function is thread-safe; none prints.
 *
 * Memory rights are those of the real driver, for kernels, copy engines and what a packet names: a
 * device may use what is mapped to it (hsa_amd_agents_allow_access(); its own memory by default)
 * and what the program locked (hsa_amd_memory_lock(), hipHostRegister()), by the address it got for
 * that, within the exact bounds, while it is locked and not unmapped. It may be the host's: see
 * same_address. Locking needs writable pages. Memory of the runtime's pools ends where its last
 * page does, unless whoever allocates says where: softgpu_memory_bound(). Beyond bounds that are
 * exact, kernels may still load the rest of a dword of which they have a byte, or exchange it
 * atomically, and scalar loads of 4 dwords or more may end in padding, less than half of them, in
 * the same aligned block as what is theirs: compilers do so. Any other access is a fault whose text
 * says what is there. Not detected: a kernel that writes to code or constants, which lie among a
 * code object's variables. Unmapping memory while an instruction uses it ends the process.
 *
 * Loading the library sets HSA_DISABLE_FRAGMENT_ALLOCATOR=1 in the environment unless it is set
 * already: without it the runtime packs device allocations into 2 MiB blocks, and an access beyond
 * one of them would land in its neighbour unnoticed.
 *
 * Memory by handle (hsa_amd_ipc_memory_create(), hipIpcGetMemHandle()) is for processes of the same
 * user in the same PID namespace. Its pages are exchanged when the first handle of it is made: no
 * thread of the host may write to it then. A handle is valid as long as the process that made it
 * has the memory; a process that has opened it keeps the pages. Each such allocation takes a file
 * descriptor.
 *
 * Memory of the program that devices use in place (SVM, hipMallocManaged()) has no guards. Its
 * attributes outlive an munmap() by the program, until a device allocation takes the addresses or
 * they are set again. Setting attributes of pages ends the locks of any of their bytes at the
 * host's address. Nothing migrates. */
#ifndef SOFTGPU_SOFTGPU_H
#define SOFTGPU_SOFTGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softgpu/back.h"
#include "softgpu/waves.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options. Each is also read from the environment when the library is loaded, as SOFTGPU_<NAME> in
 * capitals; an invalid value there leaves the default and a message. As text, a check is "off", 0,
 * or "refuse", 1: what it finds is a fault, and the queue stops.
 *
 *   name         default  range        meaning
 *   chip         0x90a    see below    every GPU's chip; text may also say "gfx90a"
 *   chips        0        see below    a chip for each GPU, which are as many then, as text:
 *                                      "gfx942,gfx950"; 0: all as chip and gpus say. As text, what
 *                                      contradicts gpus where that is not 1, or a chip or gpus that
 *                                      is given with it or later, is refused. As a number: four
 *                                      bits a GPU, the first in the lowest, its chip's place in the
 *                                      list below, from 1
 *   listed       0        as chips     the chip that all GPUs are listed as, or one for each; 0: as
 *                                      what they are. For a runtime that does not know their chips:
 *                                      it accepts only code for the listed chip (rawhal relabels
 *                                      code)
 *   sramecc      1        0..1         0: chips whose target id can say sramecc+ are listed with
 *                                      sramecc-, whose D16 loads keep the other half of a register
 *   gpus         1        0..16        number of GPUs
 *   vram_mib     8192     8..1048576   memory per GPU; more is refused. Host pages as touched
 *   compute_units 0       0..65535    per GPU, at most its chip's; 0: the chip's. The runtime loads
 *                                      code, copies and fills by kernels of four work-groups a
 *                                      unit: with few, what uses little takes less
 *   timeout_ms   120000   0..2^32-1    time limit of one dispatch; 0 is none
 *   spin         2000     0..10^9      polls of an idle queue before it sleeps
 *   userfaultfd  1        0..1         0: idle queues poll (50 us to 1 ms), no doorbell wakes them
 *   threads      0        0..256       threads that execute one dispatch; 0 is one per CPU
 *   guard_kib    1024     0..1048576   inaccessible address space on both sides of each allocation
 *                                      of the first 16384 that live
 *   slowdown     1        1..1000      a dispatch takes this many times as long as it needs
 *   check_lds    0        0..1         reads of unwritten LDS are faults, and accesses beyond the
 *                                      work-group's LDS, where else reads give 0 and writes are
 *                                      dropped, as on the hardware
 *   check_races  0        0..1         so is use of the same byte of LDS by two waves, of which one
 *                                      writes, without a barrier between; a load from memory into
 *                                      LDS writes from its issue to the s_waitcnt that awaits it.
 *                                      Waves that store the same bytes by the same instruction,
 *                                      as of layouts that are replicated, are no race
 *   check_kernarg 0       0..1         so are reads of what softgpu_kernarg_missing() named
 *   check_stores 0        0..1         so is the end of a wave without s_dcache_wb after a scalar
 *                                      store: memory has the data here, on the hardware it may stay
 *                                      in the scalar cache
 *   check_memory 0        0..1         so are reads of a device's memory that was not written since
 *                                      it was allocated: see below
 *   check_freed  0        0..1         so is use of memory that was freed before the dispatch, in
 *                                      the order of its queue: see softgpu_memory_order()
 *   reference    0        0..1         1: kernels run on the plain reference engine, a lane at a
 *                                      time, 20 to 100 times slower, and of the checks above only
 *                                      with check_memory, check_freed and uses beyond LDS
 *   hardware_faults 0     0..1         1: of a fault only what a GPU and its driver tell: of one of
 *                                      memory, an event of the whole device with the address of the
 *                                      page; of others, the queue's error. The functions below tell
 *                                      nothing of why a queue stopped; SOFTGPU_REPORT does
 *   same_address 0        0..1         1: devices have locked memory at the host's address, as by
 *                                      thunks of ROCm 5.5 and later on a driver with SVM, unless it
 *                                      overlaps other locked memory or has attributes of managed
 *                                      memory. 0: each lock has an address of its own with guards
 *                                      around it, as before then, and as HIP 5.2 needs it, unless
 *                                      who locks asked: softgpu_memory_in_place(). In libdtif.so
 *                                      the default is 1
 *   order        0        0..2^64-1    0: work-groups run on all threads, as these come. Any other
 *                                      number: of each dispatch one thread executes, in an order of
 *                                      turns of waves that follows from the number alone, 1 being
 *                                      the usual one: see below
 *
 * SOFTGPU_REPORT in the environment is a file's name or a descriptor's number; a line is appended
 * there for each queue that stops, with what softgpu_queue_fault() says.
 *
 * SOFTGPU_PROBE in the environment has dispatches recorded, as `rawhal exec --probe` has them by
 * softgpu, of programs that know nothing of rawhal: a rule a line, of that syntax, by kernel,
 * queue, grid and number (docs/probe.md). SOFTGPU_PROBE_FILE, which must be set, too, is
 * the file, whose name gets the process's number where there is one already, and
 * SOFTGPU_PROBE_BYTES how large it may grow, 1G without. Who is told that a dispatch has ended
 * finds its records there. What is wrong with the variables is a message
 * (softgpu_option_messages()) and a line for SOFTGPU_REPORT, and nothing is recorded; what became
 * of dispatches is such lines, when the process ends.
 *
 * check_memory is about memory of devices that is allocated while it is set, but for code and its
 * variables. A kernel writes what it stores or exchanges, a fill all that it goes to. What a copy
 * engine copies from there is written as far as it was, if it stays the same byte of a dword: so
 * are copies between devices, and of rectangles. Within a device the runtime and HIP copy by
 * kernels, which may read anything, and all that they copy counts as written. What the host,
 * or another process, writes by itself is seen by what it has changed: each dword of such memory is
 * 0xbad0d00d at first, for which its pages are touched when it is allocated, and where one of 16
 * aligned bytes has changed and nobody here wrote it, all of them count as written. Of aligned
 * dwords that are loaded, or one that is exchanged, it is enough that a byte of each was written. A
 * bit for each byte is kept, and each access of a lane is looked at by itself until all of an
 * allocation has been written; from then on it costs nothing. The host's memory is not looked at.
 *
 * Checks apply to dispatches that begin later; others pay nothing for them. Race checks know only
 * barriers: waves that synchronize by flags in LDS are reported, unless all of them use atomics or
 * those that read follow one that wrote with an atomic.
 *
 * With an order a dispatch that finds the same memory does the same, instruction by instruction, on
 * either engine: which wave goes on and for how many instructions follows from the number. What
 * kernels read of clocks counts turns then, and leads to no time of the host's. Work-groups begin
 * in their order whatever the number, as on hardware. Addresses are another matter, and so is what
 * other queues, copies and the host do meanwhile. Only with an order softgpu_back() answers. Under
 * SOFTGPU_DEBUG there is none.
 *
 * timeout_ms does not limit the runtime's own kernels, which copy memory and load code: they always
 * end, and the runtime ends the process when one fails.
 *
 * Chips: 0x900, 0x906, 0x908, 0x90a, 0x942, 0x950, 0x1030, 0x1100 to 0x1103 and 0x1150 to 0x1153
 * can be listed; the first three execute no kernels. Debian's runtime 5.2.3 knows none of gfx942,
 * gfx950 and gfx11: it gets them listed as gfx90a or gfx1030, whose code its own kernels are. A
 * gfx950 has 160 KiB of LDS under whatever name it is listed.
 * chip, chips, listed, sramecc, gpus, vram_mib and order are fixed while a runtime holds the device
 * open, userfaultfd from the first queue on. */

/* SOFTGPU_DEBUG=1 in the environment lets a debugger with ROCdbgapi look at waves, as `rawhal gdb`
 * starts one: dispatches then run on one thread each, without a time limit. 8 to 12: the version of
 * _amdgpu_r_debug that the debugger is told, which is 10 otherwise. */

/* False, and nothing changed, for an unknown name, a value out of range, or an option that is fixed
 * at the moment. */
bool softgpu_option_set(const char *name, uint64_t value);
/* The same from text, as the environment is read: decimal, 0x hexadecimal, or gfx<hexadecimal>;
 * of a check, off or refuse. */
bool softgpu_option_set_text(const char *name, const char *text);
/* Sets all options of a list, "gpus=2,chips=gfx942,gfx950": NAME=VALUE, where what has no '='
 * belongs to the value before, and of two of a name the last counts. Whether they contradict each
 * other is asked when all are known, so that their order says nothing. False, and nothing changed:
 * what softgpu_option_set_text() refuses, one of them would be, and `why`, of `size` bytes, says
 * what it is. `before`, unless NULL, is told what each of them is before any is changed, and its
 * false refuses all. */
typedef bool softgpu_option_before_fn(void *context, const char *name, uint64_t value);
bool softgpu_options_set_text(const char *list, softgpu_option_before_fn *before, void *context,
                              char *why, size_t size);
bool softgpu_option_get(const char *name, uint64_t *value);

/* What was wrong with the environment, one line per variable. Copies at most `size` bytes including
 * the terminating NUL and returns the length of the whole text, 0 when there is nothing to say. */
size_t softgpu_option_messages(char *text, size_t size);

/* Stops every packet processor between two packets and returns when none of them will touch queue,
 * packet or signal memory any more; a dispatch that runs is waited for. Doorbells are plain memory
 * while paused. Calls nest. Never call it from a callback that a processor waits for. */
void softgpu_pause(void);
void softgpu_resume(void);

/* Orders a fault, for tests of what stands above the device. It happens once, on the nth occasion
 * from now on (1 is the next); an order takes the place of an earlier one of the same name, and nth
 * 0 cancels. `hsa_queue` restricts the first three to the occasions of one queue; NULL takes those
 * of all AQL queues, among them the runtime's own, which copies and loads code objects by kernels.
 * A queue that a tool handed out instead of the runtime's is found by its id, here and below.
 *
 *   name                occasion             fault
 *   queue_error         a packet's turn      its queue stops, `value` goes to queue_inactive_signal
 *   stall               a packet's turn      the queue stands still for `value` ms, with NULL the
 *                                            whole device; dispatches that run go on
 *   lost_doorbell       a new doorbell that  as if the doorbell had not been stored to: the queue
 *                       covers a packet      sleeps until the next store
 *   allocation_failure  hsaKmtAllocMemory    NO_MEMORY, `value` times in a row (0 is once)
 *   event_failure       hsaKmtCreateEvent    OUT_OF_RESOURCES, `value` times in a row (0 is once)
 *
 * Values of queue_error by the status the runtime's callback gets: 2 INCOMPATIBLE_ARGUMENTS, 4
 * INVALID_ALLOCATION, 8 INVALID_CODE_OBJECT, 32 and 256 INVALID_PACKET_FORMAT, 64 INVALID_ARGUMENT,
 * 128 INVALID_ISA, 0x20000000 MEMORY_APERTURE_VIOLATION, 0x40000000 ILLEGAL_INSTRUCTION, 0x80000000
 * EXCEPTION. False, and nothing ordered, for an unknown name, a queue where none belongs, or a
 * value that is not an error: 0 and the runtime's requests 1, 512, 1024. */
bool softgpu_inject(const char *name, const void *hsa_queue, uint64_t nth, uint64_t value);

/* Says that the program supplied nothing for bytes [from, to) of the kernarg segment at `kernarg`,
 * for the next dispatch that uses it: with check_kernarg, a kernel that reads one of them faults
 * (finds argument blobs that are too short where the rest of the segment holds zeros). False, and
 * nothing noted, for a NULL segment or a negative range. 1024 segments are remembered. */
bool softgpu_kernarg_missing(const void *kernarg, uint32_t from, uint32_t to);

/* Blocks until the event of a signal (amd_signal_t.event_id) is raised or the time is over. It may
 * return early: the signal's value says what happened. Any number of threads may wait for an event,
 * this way and by the runtime. False at once when there is no such event. */
bool softgpu_event_wait(uint32_t id, uint32_t milliseconds);

/* Totals of this process. */
typedef struct softgpu_counters {
  uint64_t dispatches;        /* kernel dispatches completed */
  uint64_t wave_instructions; /* instructions executed, one per wave */
  uint64_t barriers;          /* barrier packets completed */
  uint64_t copies;            /* SDMA copies and fills completed */
  uint64_t copied_bytes;
  uint64_t queue_errors;
  uint64_t doorbell_wakeups; /* sleeping queues woken by their doorbell */
  uint64_t injected;         /* faults ordered by softgpu_inject() that happened */
} softgpu_counters_t;

/* `size` is sizeof(softgpu_counters_t) as the caller knows it; only that much is written. */
void softgpu_counters(softgpu_counters_t *counters, size_t size);

/* Why a queue stopped. `hsa_queue` is the hsa_queue_t the runtime handed out. The answer exists
 * before the runtime calls the queue's error callback and as long as the queue does. The text is
 * one line without the kernel's name, which only the loader knows; its length is returned as by
 * softgpu_option_messages(), 0 when the queue is unknown or in order. For its waves, and those of a
 * queue that hangs, see waves.h. */
size_t softgpu_queue_fault(const void *hsa_queue, char *text, size_t size);
/* `size` as for softgpu_counters(). */
bool softgpu_queue_fault_info(const void *hsa_queue, softgpu_fault_info_t *info, size_t size);

/* An instruction that softgpu cannot run, `offset` bytes into the code. `mnemonic` is NULL and
 * `text` empty where the bytes are not an instruction that it knows; else it knows the instruction
 * and cannot execute it, or not with these operands. `code`: three dwords from there, zero beyond
 * the end. */
typedef void softgpu_coverage_missing_fn(void *context, uint64_t offset, const char *mnemonic,
                                         const char *text, const uint32_t code[3]);

/* Calls `missing` for each such instruction in `bytes` of code, in order, without running any, and
 * returns how many instructions there are; 0 when `chip` (as in the options) runs no code here.
 * Instructions are taken one after the other, as a disassembler does: padding is s_nop, s_code_end
 * or zeros, which are instructions or, from gfx10 on, passed over, and after a dword that is not
 * one the search goes on at the next. Data between functions is reported as unknown. */
uint64_t softgpu_coverage(uint32_t chip, const void *code, size_t bytes,
                          softgpu_coverage_missing_fn *missing, void *context);

/* What the GPU that is node `node` of the runtime's (HSA_AGENT_INFO_NODE; from 1) executes, and the
 * chip that it is listed as, by the options as they are; numbers as the option chip's. False when
 * there is no such GPU. */
bool softgpu_device_chip(uint32_t node, uint32_t *chip, uint32_t *listed);

typedef bool softgpu_option_set_fn(const char *name, uint64_t value);
typedef bool softgpu_option_set_text_fn(const char *name, const char *text);
typedef bool softgpu_options_set_text_fn(const char *list, softgpu_option_before_fn *before,
                                         void *context, char *why, size_t size);
typedef bool softgpu_option_get_fn(const char *name, uint64_t *value);
typedef size_t softgpu_option_messages_fn(char *text, size_t size);
typedef bool softgpu_device_chip_fn(uint32_t node, uint32_t *chip, uint32_t *listed);
typedef void softgpu_pause_fn(void);
typedef void softgpu_resume_fn(void);
typedef bool softgpu_inject_fn(const char *name, const void *hsa_queue, uint64_t nth,
                               uint64_t value);
typedef bool softgpu_kernarg_missing_fn(const void *kernarg, uint32_t from, uint32_t to);
typedef bool softgpu_event_wait_fn(uint32_t id, uint32_t milliseconds);
typedef void softgpu_counters_fn(softgpu_counters_t *counters, size_t size);
typedef size_t softgpu_queue_fault_fn(const void *hsa_queue, char *text, size_t size);
typedef uint64_t softgpu_coverage_fn(uint32_t chip, const void *code, size_t bytes,
                                     softgpu_coverage_missing_fn *missing, void *context);

#ifdef __cplusplus
}
#endif

#endif
