/* rawhal cdi: what its parts share. CDI is the Container Device Interface: a file of a folder that
 * container engines read says what a container gets that asks for a device by its name. */
#ifndef TOOLS_CDI_CDI_H
#define TOOLS_CDI_CDI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rawhal/status.h>

enum { CDI_MOST_GPUS = 16, CDI_MOST_LIBRARIES = 16 };

/* ---- What there is ---- */

typedef struct cdi_gpu {
  uint32_t index;        /* among the machine's GPUs, as runtimes count them */
  uint32_t render_minor; /* of /dev/dri/renderDN */
  uint64_t memory_bytes; /* 0: the driver does not tell */
} cdi_gpu_t;

/* The GPUs that the kernel's driver shows. */
size_t cdi_find_gpus(cdi_gpu_t gpus[CDI_MOST_GPUS]);

/* What a container needs of this machine's files. */
typedef struct cdi_libraries {
  struct {
    char path[PATH_MAX];
    char name[NAME_MAX + 1];  /* that it is asked for by */
  } list[CDI_MOST_LIBRARIES]; /* the front, and what it needs besides libc */
  size_t count;
  char softgpu[PATH_MAX]; /* the folder of its libraries, or "" */
  bool softgpu_waits;     /* libsoftgpu-wait.so is there */
} cdi_libraries_t;

/* Copies the list to a folder, under the names that are asked for; from then on it is those. What
 * is there already is replaced at once: programs that have it open keep it. False: one cannot be
 * copied. */
bool cdi_install_libraries(const char *folder, cdi_libraries_t *libraries, rawhal_error_t *error);

/* False: one cannot be found. */
bool cdi_find_libraries(bool softgpu, cdi_libraries_t *libraries, rawhal_error_t *error);

/* ---- What is written ---- */

typedef struct cdi_plan {
  const char *kind, *region_folder;
  uint32_t tenants;
  uint64_t share_ppm, memory_bytes; /* of a slice; memory 0: the device's part */
  const cdi_gpu_t *gpus;
  size_t gpu_count;
  const cdi_libraries_t *libraries;
} cdi_plan_t;

/* To standard output. */
void cdi_print(const cdi_plan_t *plan);

/* VENDOR/CLASS, by the rules of CDI. */
bool cdi_kind_is_valid(const char *kind);

/* ---- What is checked ---- */

/* Prints a line for each mistake; `*mistakes` counts them. False: it cannot be read at all. */
bool cdi_check(const char *path, size_t *mistakes, rawhal_error_t *error);

#endif
