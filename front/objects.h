/* Code objects that the program loads, by any library, and the kernels of its packets.
 *
 * An object is identified by its content: what is loaded several times, or by several devices, is
 * kept once, with one copy of its bytes, which the program need not keep. Its kernels are read when
 * the first of them is dispatched, each kernel's layout when that is.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_OBJECTS_H
#define RAWHAL_FRONT_OBJECTS_H

#include "front/front.h"
#include "front/policy.h"

#include "debug/door/tell.h"
#include "hsaco/content.h"
#include "record/variables.h"

#include <rawhal/kernarg.h>

typedef struct front_object front_object_t;

typedef struct front_kernel {
  front_object_t *object;
  const rawhal_kernel_t *facts;
  rawhal_kernarg_layout_t *layout; /* NULL: what it takes is not known */
  policy_kernel_t *policy;         /* NULL: nothing is said of it */
  bool learnt;                     /* both of these are as they will be */
  _Atomic uint32_t code;           /* recorder_find.c: what its instructions do */
  uint64_t address;                /* of its descriptor, as in the object */
} front_kernel_t;

/* The kernel that a packet names, and for which device that was loaded; NULL: its object was not
 * loaded here, or cannot be read. The caller gives it back. `agent` may be NULL. */
front_kernel_t *objects_kernel(uint64_t kernel_object, hsa_agent_t *agent);
/* The program asks for it, by its name, or has launched it: observers are told of it. Runtimes ask
 * for all of a library's thousands: those it has to launch. */
void objects_asked(uint64_t kernel_object, bool by_name);
/* A copy of a kernel, with probes, loaded by us, is that kernel to whoever asks, until either goes.
 * 0: the copy goes. */
void objects_set_copy(uint64_t copy, uint64_t kernel_object);
/* Observers are told of another kernel that runs in the place of that one. */
tell_entry_t objects_tell_substitute(uint64_t substitute, uint64_t kernel_object,
                                     const front_kernel_t *kernel);
/* Why there is none, as far as can be told. */
void objects_why_unknown(uint64_t kernel_object, char *text, size_t size);
/* NULL is allowed. */
void objects_release(front_kernel_t *kernel);

/* Of what the program gave, which is what people know the object by. */
rawhal_content_hash_t object_hash(const front_object_t *object);
/* What is loaded, and from which copies can be made that the runtime loads. */
rawhal_bytes_t object_bytes(const front_object_t *object);
/* What the program gave to whoever changed it for the runtime, as librawhal does; else the same.
 * This is what files hold: its chip is the one whose code it is. */
rawhal_bytes_t object_given(const front_object_t *object);
/* How a report names it: the hash as text. */
enum { OBJECT_HASH_TEXT = CONTENT_TEXT };
void object_hash_text(const front_object_t *object, char text[OBJECT_HASH_TEXT]);
/* Where it came from when it was first loaded, by the runtime's word; empty: not known. */
const char *object_uri(const front_object_t *object);

/* Where an address lies in what is loaded, its code and its variables, and of which device that is.
 * False: nowhere. */
bool objects_range(uint64_t address, uint64_t *base, uint64_t *size, hsa_agent_t *agent);

/* Where an object is loaded, and what of it may be written, by its own addresses. */
typedef struct object_loaded {
  uint64_t executable;        /* by the runtime's number */
  uint64_t base, size, delta; /* on the device; from its own addresses to those */
  variables_t variables;
  bool unreadable; /* what may be written is not known */
} object_loaded_t;

/* The object in which an address lies. False: none. */
bool objects_loaded(uint64_t address, object_loaded_t *loaded);
/* From the first byte of all that is loaded to its end; both 0: nothing is. */
void objects_bounds(uint64_t *least, uint64_t *end);

/* A listener that is told what is loaded, and what is about to go: each kernel, by the thread that
 * loads. `loaded` may be NULL: then kernels are not read for it. */
typedef struct objects_listener {
  void (*loaded)(hsa_agent_t agent, hsa_executable_t executable, const front_kernel_t *kernel,
                 uint64_t kernel_object);
  void (*unload)(hsa_executable_t executable);
} objects_listener_t;

/* `listener`: NULL for none; else it must stay. */
void objects_listen(const objects_listener_t *listener);

/* All that the executable has by now, by whichever call. */
void objects_remember(hsa_executable_t executable);
/* It is about to be destroyed: afterwards another may get its number and its addresses. */
void objects_unload(hsa_executable_t executable);
void objects_forget(void); /* when the runtime ends */
void objects_abandon(void);

#endif
