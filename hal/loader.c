/* Choosing between hardware and softgpu, and loading the runtime above it. */
#include "hal/loader.h"

#include "hal/installed.h"
#include "hal/log.h"
#include "hal/softgpu.h"

#include "base/error.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char kfd_path[] = "/dev/kfd";

static const char *backend_name(rawhal_backend_t backend)
{
  return backend == RAWHAL_BACKEND_SOFTGPU ? "softgpu" : "hsa";
}

/* What the caller or the environment asks for; DEFAULT when neither does. */
static rawhal_status_t backend_asked(const rawhal_instance_options_t *options,
                                     rawhal_backend_t *backend, rawhal_error_t *error)
{
  *backend = options->backend;
  if (*backend == RAWHAL_BACKEND_SOFTGPU || *backend == RAWHAL_BACKEND_HSA)
    return RAWHAL_OK;
  if (*backend != RAWHAL_BACKEND_DEFAULT)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown backend %d", (int)*backend);
  const char *text = secure_getenv("RAWHAL_DEVICE");
  if (!text || !*text)
    return RAWHAL_OK;
  if (strcmp(text, "softgpu") == 0)
    *backend = RAWHAL_BACKEND_SOFTGPU;
  else if (strcmp(text, "hsa") == 0)
    *backend = RAWHAL_BACKEND_HSA;
  else
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "RAWHAL_DEVICE: expected softgpu or hsa, got '%s' (ROCR_VISIBLE_DEVICES "
                       "selects devices by number)",
                       text);
  return RAWHAL_OK;
}

/* The process keeps its first backend: libraries cannot be exchanged under the runtime. */
static rawhal_status_t backend_choose(const rawhal_instance_options_t *options,
                                      const loaded_libraries_t *libraries,
                                      rawhal_backend_t *backend, bool *fallback,
                                      rawhal_error_t *error)
{
  rawhal_status_t status = backend_asked(options, backend, error);
  if (status != RAWHAL_OK)
    return status;
  bool has_kfd = access(kfd_path, F_OK) == 0;
  *fallback = *backend == RAWHAL_BACKEND_DEFAULT && !has_kfd;
  rawhal_backend_t present = libraries->backend;
  if (*backend == RAWHAL_BACKEND_DEFAULT && present != RAWHAL_BACKEND_DEFAULT)
    *backend = present;
  else if (*backend == RAWHAL_BACKEND_DEFAULT)
    *backend = has_kfd ? RAWHAL_BACKEND_HSA : RAWHAL_BACKEND_SOFTGPU;
  if (*backend == RAWHAL_BACKEND_HSA && !has_kfd)
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "hardware was requested, but there is no %s: there is no AMD GPU, or its "
                       "driver amdgpu is not loaded",
                       kfd_path);
  if (present != RAWHAL_BACKEND_DEFAULT && present != *backend)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s was requested, but this process has already loaded %s",
                       backend_name(*backend), backend_name(present));
  return RAWHAL_OK;
}

rawhal_status_t rawhal_backend_default(rawhal_backend_t *backend, rawhal_error_t *error)
{
  static const rawhal_instance_options_t options;
  static const loaded_libraries_t nothing;
  bool fallback;
  return backend ? backend_choose(&options, &nothing, backend, &fallback, error)
                 : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "backend is NULL");
}

static bool is_softgpu(const char *name, int flags)
{
  softgpu_thunk_t thunk;
  void *library = dlopen(name, flags | RTLD_LAZY);
  bool software = library && softgpu_resolve(library, &thunk);
  if (library)
    dlclose(library);
  return software;
}

/* A program that asked for hardware must not end up on a softgpu in the library path. */
static rawhal_status_t check_real_thunk(rawhal_error_t *error)
{
  const char *dtif = getenv("HSA_ENABLE_DTIF"); /* as runtimes of ROCm 7 read it */
  const char *name = NULL;
  if (is_softgpu(THUNK_LIBRARY, RTLD_NOLOAD))
    name = THUNK_LIBRARY;
  else if (dtif && strcmp(dtif, "1") == 0 && is_softgpu(DTIF_LIBRARY, 0))
    name = DTIF_LIBRARY;
  if (name)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "hardware was requested, but the %s of this process is that of softgpu",
                       name);
  return RAWHAL_OK;
}

/* The caller's word, or the environment's; NULL when neither names one. */
static const char *runtime_named(const char *given)
{
  if (!given)
    given = secure_getenv("RAWHAL_RUNTIME_LIBRARY");
  return given && *given ? given : NULL;
}

/* A runtime that is installed with the library is softgpu's alone: a GPU of the machine wants the
 * one that came with its driver. */
static const char *runtime_default(rawhal_backend_t backend, char path[PATH_MAX])
{
  return backend == RAWHAL_BACKEND_SOFTGPU && installed_find("runtime/" RUNTIME_LIBRARY, path)
             ? path
             : RUNTIME_LIBRARY;
}

rawhal_status_t rawhal_runtime_library(rawhal_backend_t backend, const char *given, char *name,
                                       size_t size, rawhal_error_t *error)
{
  if (!name || !size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "name has no room");
  name[0] = '\0';
  rawhal_status_t status = RAWHAL_OK;
  if (backend == RAWHAL_BACKEND_DEFAULT)
    status = rawhal_backend_default(&backend, error);
  if (status != RAWHAL_OK)
    return status;
  char path[PATH_MAX];
  const char *found = runtime_named(given);
  if (!found)
    found = runtime_default(backend, path);
  if (strlen(found) >= size)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "the name has %zu bytes; the buffer has %zu",
                       strlen(found) + 1, size);
  memcpy(name, found, strlen(found) + 1);
  return RAWHAL_OK;
}

static rawhal_status_t runtime_load(const char *given, rawhal_backend_t backend,
                                    loaded_libraries_t *libraries, rawhal_error_t *error)
{
  given = runtime_named(given);
  if (libraries->runtime && !given)
    return RAWHAL_OK;
  char path[PATH_MAX];
  const char *name = given ? given : runtime_default(backend, path);
  void *runtime = NULL;
  if (!given) /* one that the program has already, on softgpu too, is to stay the only one */
    runtime = dlopen(RUNTIME_LIBRARY, RTLD_NOLOAD | RTLD_NOW | RTLD_GLOBAL);
  if (!runtime)
    runtime = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!runtime)
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "the HSA runtime cannot be loaded: %s; it comes with the package "
                       "libhsa-runtime64-1",
                       dlerror());
  if (libraries->runtime && runtime != libraries->runtime) {
    dlclose(runtime);
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s was requested, but this process has already loaded another HSA runtime",
                       name);
  }
  libraries->runtime = runtime;
  return RAWHAL_OK;
}

rawhal_status_t loader_open(const rawhal_instance_options_t *options, loaded_libraries_t *libraries,
                            rawhal_error_t *error)
{
  rawhal_backend_t backend;
  bool fallback = false; /* softgpu because there is nothing else */
  rawhal_status_t status = backend_choose(options, libraries, &backend, &fallback, error);
  if (status != RAWHAL_OK)
    return status;
  if (backend == RAWHAL_BACKEND_SOFTGPU) {
    const char *why = fallback ? "without /dev/kfd softgpu takes the place of a GPU (unless "
                                 "RAWHAL_DEVICE=hsa refuses that)"
                               : "softgpu was asked for";
    status = softgpu_load(options->softgpu_library, why, &libraries->softgpu, error);
    if (status == RAWHAL_OK)
      libraries->backend = backend;
  } else if (options->softgpu_options) {
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "softgpu options are given, but the device is hardware");
  } else {
    status = check_real_thunk(error);
  }
  if (status == RAWHAL_OK)
    status = runtime_load(options->runtime_library, backend, libraries, error);
  if (status == RAWHAL_OK)
    libraries->backend = backend;
  if (status == RAWHAL_OK && backend == RAWHAL_BACKEND_SOFTGPU)
    status = softgpu_follow(libraries->runtime, &libraries->softgpu, error);
  if (status == RAWHAL_OK && backend == RAWHAL_BACKEND_SOFTGPU)
    status = softgpu_configure(&libraries->softgpu, options->softgpu_options, error);
  if (status == RAWHAL_OK && fallback)
    hal_log(
        RAWHAL_SEVERITY_WARNING,
        "there is no %s: kernels run on softgpu, a GPU in software; RAWHAL_DEVICE=softgpu confirms "
        "that, and RAWHAL_DEVICE=hsa, or RAWHAL_BACKEND_HSA in an instance's options, refuses it",
        kfd_path);
  return status;
}
