#include "front/engine/engine.h"

#include "front/engine/program.h"
#include "front/output.h"

#include "base/error.h"
#include "base/file_signals.h"
#include "base/numbered.h"
#include "hsaco/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the folder all names are short. What is longer than PATH_MAX is no file's path. */
typedef struct place {
  char path[PATH_MAX + 128];
} place_t;

static place_t in(const char *work, const char *name)
{
  place_t place;
  (void)snprintf(place.path, sizeof(place.path), "%.4100s/%.100s", work, name);
  return place;
}

/* ---- Folders ---- */

static char folder[PATH_MAX];
static atomic_uint attempts; /* of this process */

rawhal_status_t engine_folder_open(const char *path, rawhal_error_t *error)
{
  struct stat about;
  int why = 0;
  (void)mkdir(path, 0777); /* mostly it is there */
  if (!realpath(path, folder) || stat(folder, &about))
    why = errno;
  else if (!S_ISDIR(about.st_mode))
    why = ENOTDIR;
  else if (access(folder, W_OK | X_OK))
    why = errno;
  else
    return RAWHAL_OK;
  return rawhal_fail(error, file_failure(why), "the folder of engines '%.200s': %s", path,
                     strerror(why));
}

const char *engine_folder(void)
{
  return folder;
}

static bool put_file(const place_t *work, const char *name, const void *bytes, size_t size)
{
  const place_t file = in(work->path, name);
  const int fd = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const bool whole = fd >= 0 && write_without_signals(fd, bytes, size);
  return fd >= 0 && close(fd) == 0 && whole;
}

/* Processes of other times, or of other containers, may have had this one's number. */
static bool make_folder(const char *name, place_t *work)
{
  int made = -1;
  for (unsigned i = 0; made && i < NUMBERED_ATTEMPTS && (!i || errno == EEXIST); ++i) {
    (void)snprintf(work->path, sizeof(work->path), "%s/%s.%d.%u", folder, name, (int)getpid(),
                   atomic_fetch_add(&attempts, 1) + 1);
    made = mkdir(work->path, 0700);
  }
  return made == 0;
}

/* A new folder with what the engine gets. */
static rawhal_status_t make_work(const engine_subject_t *subject, const char *name, place_t *work,
                                 rawhal_error_t *error)
{
  const rawhal_bytes_t code = object_bytes(subject->kernel->object);
  const rawhal_string_t kernel = subject->kernel->facts->name;
  if (make_folder(name, work) && put_file(work, "original.bin", code.data, code.size) &&
      put_file(work, "name", kernel.data, kernel.size) &&
      put_file(work, "target", subject->device->isa, strlen(subject->device->isa)))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_RUNTIME, "the work folder '%.200s': %s", work->path,
                     strerror(errno));
}

static rawhal_status_t run(const engine_subject_t *subject, const place_t *work,
                           rawhal_error_t *error)
{
  rawhal_error_t why;
  const place_t log = in(work->path, "log");
  const engine_program_t program = {subject->program, work->path, log.path, subject->limit,
                                    subject->stop};
  rawhal_status_t status = engine_program_run(&program, &why);
  return status == RAWHAL_OK
             ? status
             : rawhal_fail(error, status, "%s; see '%.200s'", why.message, log.path);
}

/* One that another could change is not used. False: there is none. */
static bool has_kept(const place_t *kept)
{
  struct stat about;
  return lstat(kept->path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
         !(about.st_mode & (S_IWGRP | S_IWOTH));
}

/* ---- What it has made ---- */

static rawhal_status_t read_manifest(engine_t *engine, const place_t *work, rawhal_error_t *error)
{
  file_bytes_t bytes;
  const place_t file = in(work->path, "manifest.json");
  rawhal_status_t status =
      file_bytes_open(file.path, ENGINE_MANIFEST_BYTES, true, NULL, &bytes, error);
  if (status == RAWHAL_OK)
    status = engine_manifest_read(bytes.data, bytes.size, &engine->maps, error);
  file_bytes_close(&bytes, NULL);
  return status;
}

/* Of one work-item, which is the least that a dispatch has. */
static rawhal_status_t check_maps(const engine_t *engine, uint64_t buffer, rawhal_error_t *error)
{
  static const hsa_kernel_dispatch_packet_t least = {.grid_size_x = 1,
                                                     .grid_size_y = 1,
                                                     .grid_size_z = 1,
                                                     .workgroup_size_x = 1,
                                                     .workgroup_size_y = 1,
                                                     .workgroup_size_z = 1};
  engine_places_t places;
  return engine_lay_out(&engine->maps, &least, engine->lanes, &places) && places.size <= buffer
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                           "its maps take more than the buffer's %llu bytes, whatever the grid",
                           (unsigned long long)buffer);
}

/* The engine's copy has variables of its own: nobody would write what the host writes to the
 * original's. */
static rawhal_status_t check_variables(const engine_t *engine, const engine_subject_t *subject,
                                       rawhal_error_t *error)
{
  object_loaded_t loaded;
  const bool found = objects_loaded(subject->kernel_object, &loaded) && !loaded.unreadable;
  return engine->maps.no_variables || (found && !loaded.variables.count && !loaded.variables.more)
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_UNSUPPORTED,
                           "its code object has variables, which a copy does not share");
}

static rawhal_status_t open_code(engine_t *engine, const engine_subject_t *subject,
                                 const place_t *work, rawhal_error_t *error)
{
  replacement_object_t *object;
  replacement_t *kernel;
  const place_t file = in(work->path, "probed.bin");
  const remap_extra_t extras[ENGINE_MAPS] = {{.kind = REMAP_BUFFER}}; /* so are the others */
  rawhal_status_t status = replacement_open(file.path, &engine->file, error);
  if (status == RAWHAL_OK)
    status = replacement_select(engine->file, subject->device, &object, error);
  if (status == RAWHAL_OK)
    status = replacement_find(object, subject->kernel->facts->name, &kernel, error);
  if (status == RAWHAL_OK)
    status = instead_create(&engine->instead, subject->kernel, kernel, extras, engine->maps.count,
                            error);
  return status == RAWHAL_OK ? replacement_load(object, kernel, error) : status;
}

static rawhal_status_t open_made(engine_t *engine, const engine_subject_t *subject,
                                 const place_t *work, rawhal_error_t *error)
{
  rawhal_status_t status = read_manifest(engine, work, error);
  if (status == RAWHAL_OK)
    status = check_maps(engine, subject->buffer, error);
  if (status == RAWHAL_OK)
    status = check_variables(engine, subject, error);
  return status == RAWHAL_OK ? open_code(engine, subject, work, error) : status;
}

/* ---- The whole ---- */

static rawhal_status_t make(engine_t *engine, const engine_subject_t *subject,
                            rawhal_error_t *error)
{
  char name[OBJECT_HASH_TEXT];
  place_t work;
  content_text(rawhal_content_hash(subject->about, strlen(subject->about)), name);
  const place_t kept = in(folder, name);
  if (has_kept(&kept))
    return open_made(engine, subject, &kept, error);
  rawhal_status_t status = make_work(subject, name, &work, error);
  if (status == RAWHAL_OK)
    status = run(subject, &work, error);
  if (status == RAWHAL_OK)
    status = open_made(engine, subject, &work, error);
  if (status == RAWHAL_OK)
    (void)rename(work.path, kept.path); /* another process may have been faster, with the same */
  return status;
}

rawhal_status_t engine_create(const engine_subject_t *subject, engine_t **engine,
                              rawhal_error_t *error)
{
  engine_t *made = calloc(1, sizeof(*made));
  *engine = NULL;
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for an engine's kernel");
  made->lanes = subject->kernel->facts->wavefront_size;
  rawhal_status_t status = make(made, subject, error);
  if (status == RAWHAL_OK)
    *engine = made;
  else
    engine_destroy(made);
  return status;
}

void engine_destroy(engine_t *engine)
{
  if (!engine)
    return;
  instead_destroy(&engine->instead);
  replacement_close(engine->file);
  free(engine);
}

/* ---- Dispatches ---- */

typedef struct given {
  const engine_places_t *places;
  uint32_t count;
  const char *memory;
} given_t;

static void values_of(void *context, uint64_t values[REMAP_EXTRAS])
{
  const given_t *given = context;
  for (uint32_t i = 0; i < given->count; ++i)
    values[i] = (uint64_t)(uintptr_t)given->memory + given->places->offsets[i];
}

rawhal_status_t engine_dispatch(const engine_t *engine, const front_device_t *device,
                                const engine_places_t *places, const char *memory,
                                hsa_kernel_dispatch_packet_t *packet, void **block,
                                rawhal_error_t *error)
{
  given_t given = {places, engine->maps.count, memory};
  return instead_dispatch(&engine->instead, device, values_of, &given, packet, block, error);
}
