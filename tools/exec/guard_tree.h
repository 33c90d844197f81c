/* A program's processes, and which of them use a device without the front. */
#ifndef TOOLS_EXEC_GUARD_TREE_H
#define TOOLS_EXEC_GUARD_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One image of a process: exec() makes another. */
typedef struct tree_process {
  pid_t pid;
  uint64_t start; /* with the number it is one of all processes since the machine started */
  uint64_t image; /* differs after exec() */
  uint64_t bytes; /* of its address space, when that was last looked at */
  bool limited;   /* the front is there */
  uint64_t front_from, front_to; /* where its mapping is */
  bool told;                     /* of what is wrong with it */
} tree_process_t;

/* Zero-initialise; list[] is freed by tree_free(). */
typedef struct tree {
  tree_process_t *list, *foreign;
  size_t count, foreign_count, room;
  pid_t *others; /* of the last look: processes that are none of the program's, in order */
  size_t other_count, other_room;
  pid_t newest; /* the number that the system had given out last; 0: not known */
  bool changed; /* by the last look: there was something new */
} tree_t;

typedef enum tree_sight {
  TREE_UNLIMITED, /* uses a device, and the front is not there */
  TREE_HIDDEN,    /* cannot be looked at */
} tree_sight_t;

/* Looks at all descendants of this process, and of those that were found before, which may have
 * left. `found` is called once for an image. False: no memory, or /proc cannot be read. */
bool tree_look(tree_t *tree, void (*found)(void *context, pid_t pid, tree_sight_t sight),
               void *context);
/* Before there is a program: what this process has started before is not its, nor what that starts.
 */
bool tree_exclude(tree_t *tree);
void tree_free(tree_t *tree);

#endif
