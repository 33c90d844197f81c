#include "hiplaunch/module/registry.h"
#include "hiplaunch/device/stream.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <rawhal/process.h>

typedef struct variable {
  struct variable *next; /* of the module */
  const void *host;
  struct ihipModule_t *module;
  const char *name;
  allocation_t managed; /* its memory, when it is __managed__ */
  bool is_managed;
} variable_t;

/* A fat binary of the program, on all devices that ask for it; or a module, on one. */
struct ihipModule_t {
  struct ihipModule_t *next;
  const void *wrapper; /* NULL: a module */
  device_t *device;    /* of a module */
  image_t **images;    /* by the device's ordinal; NULL before the first */
  struct ihipModuleSymbol_t *functions;
  variable_t *variables;
};

/* All below is locked. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ihipModule_t *modules;
static void *functions, *variables; /* by the handle, and the host's address */

void registry_lock_all(void)
{
  pthread_mutex_lock(&lock);
}

void registry_unlock_all(void)
{
  pthread_mutex_unlock(&lock);
}

static int compare_addresses(const void *left, const void *right)
{
  uintptr_t a = (uintptr_t)left, b = (uintptr_t)right;
  return (a > b) - (a < b);
}

static int compare_functions(const void *left, const void *right)
{
  const struct ihipModuleSymbol_t *a = left, *b = right;
  return compare_addresses(a->host, b->host);
}

static int compare_variables(const void *left, const void *right)
{
  const variable_t *a = left, *b = right;
  return compare_addresses(a->host, b->host);
}

/* ---- Loading ---- */

/* What hipcc's wrapper points to. */
static hipError_t open_wrapped(device_t *device, const void *wrapper, image_t **image)
{
  rawhal_process_fatbin_t fatbin;
  rawhal_error_t error;
  if (rawhal_process_wrapper(wrapper, &fatbin, &error))
    return fail_rawhal(&error, "the program's code");
  if (fatbin.kpack)
    return fail(hipErrorNotSupported,
                "the program's code is in kpack archives (HIPK), which are not read here");
  return image_open(device, fatbin.image.data, NULL, image);
}

/* The device's __managed__ variables are pointers to their memory. */
static hipError_t set_managed(const struct ihipModule_t *module, image_t *image)
{
  hipError_t status = hipSuccess;
  rawhal_error_t error;
  for (const variable_t *at = module->variables; status == hipSuccess && at; at = at->next) {
    allocation_t pointer;
    if (!at->is_managed)
      continue;
    status = image_variable(image, at->name, &pointer);
    if (status == hipSuccess &&
        (pointer.size != sizeof(uint64_t) ||
         rawhal_buffer_write(pointer.buffer, 0, &at->managed.address, sizeof(uint64_t), &error)))
      status = pointer.size != sizeof(uint64_t)
                   ? fail(hipErrorInvalidImage, "managed variable %s is not a pointer", at->name)
                   : fail_rawhal(&error, "managed variable %s", at->name);
  }
  return status;
}

static hipError_t image_on(struct ihipModule_t *module, device_t *device, image_t **image)
{
  device_t *devices;
  int count = devices_opened(&devices);
  if (!module->images)
    module->images = calloc((size_t)count, sizeof(image_t *));
  if (!module->images)
    return fail(hipErrorOutOfMemory, "out of host memory");
  image_t **place = &module->images[device->ordinal];
  hipError_t status = hipSuccess;
  if (!*place && module->device)
    return fail(hipErrorInvalidHandle, "the module is loaded on device %d, not on %d",
                module->device->ordinal, device->ordinal);
  if (!*place) {
    status = open_wrapped(device, module->wrapper, image);
    if (status == hipSuccess && (status = set_managed(module, *image)))
      image_close(*image);
    *place = status ? NULL : *image;
  }
  *image = *place;
  return status;
}

static hipError_t load(const struct ihipModuleSymbol_t *function, device_t *device,
                       loaded_t *loaded)
{
  hipError_t status = image_on(function->module, device, &loaded->image);
  loaded->name = function->name;
  return status != hipSuccess ? status
                              : image_kernel(loaded->image, function->name, &loaded->kernel);
}

hipError_t registry_kernel(const void *host, device_t *device, loaded_t *loaded)
{
  const struct ihipModuleSymbol_t key = {.host = host};
  pthread_mutex_lock(&lock);
  void *const *found = tfind(&key, &functions, compare_functions);
  hipError_t status = found ? load(*found, device, loaded)
                            : fail(hipErrorInvalidDeviceFunction,
                                   "%p is not a kernel that the program has registered", host);
  pthread_mutex_unlock(&lock);
  return status;
}

hipError_t registry_function(hipFunction_t function, device_t *device, loaded_t *loaded)
{
  if (!function)
    return fail(hipErrorInvalidHandle, "function is NULL");
  const struct ihipModuleSymbol_t key = {.host = function};
  pthread_mutex_lock(&lock);
  void *const *found = tfind(&key, &functions, compare_functions);
  hipError_t status = found && *found == function
                          ? load(function, device, loaded)
                          : fail(hipErrorInvalidHandle, "%p is not a function", (void *)function);
  pthread_mutex_unlock(&lock);
  return status;
}

hipError_t registry_variable(const void *host, device_t *device, allocation_t *variable)
{
  const variable_t key = {.host = host};
  image_t *image;
  pthread_mutex_lock(&lock);
  void *const *found = tfind(&key, &variables, compare_variables);
  hipError_t status = hipSuccess;
  if (!found) {
    status = fail(hipErrorInvalidSymbol, "%p is not a __device__ variable of the program", host);
  } else {
    const variable_t *known = *found;
    status = image_on(known->module, device, &image);
    if (status == hipSuccess)
      status = image_variable(image, known->name, variable);
  }
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- Modules ---- */

static struct ihipModule_t *add_module(const void *wrapper)
{
  struct ihipModule_t *module = calloc(1, sizeof(*module));
  if (!module)
    return NULL;
  module->wrapper = wrapper;
  module->next = modules;
  modules = module;
  return module;
}

static void remove_module(struct ihipModule_t *module)
{
  device_t *devices;
  int count = devices_opened(&devices);
  while (module->functions) {
    struct ihipModuleSymbol_t *next = module->functions->next;
    tdelete(module->functions, &functions, compare_functions);
    if (module->functions->host == module->functions)
      free((char *)module->functions->name);
    free(module->functions);
    module->functions = next;
  }
  while (module->variables) {
    variable_t *next = module->variables->next;
    tdelete(module->variables, &variables, compare_variables);
    if (module->variables->managed.buffer)
      memory_release(&module->variables->managed);
    free(module->variables);
    module->variables = next;
  }
  for (int i = 0; module->images && i < count; ++i)
    if (module->images[i])
      image_close(module->images[i]);
  struct ihipModule_t **at = &modules;
  while (*at != module)
    at = &(*at)->next;
  *at = module->next;
  free(module->images);
  free(module);
}

static struct ihipModule_t *find_module(const void *handle)
{
  struct ihipModule_t *module = modules;
  while (module && module != handle)
    module = module->next;
  return module;
}

static hipError_t open_module(hipModule_t *module, const void *bytes, const char *path)
{
  device_t *device, *devices;
  if (!module || (!bytes && !path))
    return fail(hipErrorInvalidValue, "%s is NULL", module ? "image" : "module");
  *module = NULL;
  hipError_t status = device_current(&device);
  if (status != hipSuccess)
    return status;
  pthread_mutex_lock(&lock);
  struct ihipModule_t *added = add_module(NULL);
  if (added)
    added->images = calloc((size_t)devices_opened(&devices), sizeof(image_t *));
  if (!added || !added->images) {
    status = fail(hipErrorOutOfMemory, "out of host memory");
  } else {
    added->device = device;
    status = image_open(device, bytes, path, &added->images[device->ordinal]);
  }
  if (status != hipSuccess && added)
    remove_module(added);
  *module = status ? NULL : added;
  pthread_mutex_unlock(&lock);
  return status;
}

hipError_t hipModuleLoad(hipModule_t *module, const char *path)
{
  return open_module(module, NULL, path);
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
  return open_module(module, image, NULL);
}

/* The options are for compilers: code objects are loaded as they are. */
hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned count,
                               hipJitOption *options, void **values)
{
  (void)count, (void)options, (void)values;
  return open_module(module, image, NULL);
}

hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *symbol)
{
  const struct ihipModuleSymbol_t key = {.host = symbol};
  if (!function)
    return fail(hipErrorInvalidValue, "function is NULL");
  pthread_mutex_lock(&lock);
  void *const *found = tfind(&key, &functions, compare_functions);
  *function = found ? *found : NULL;
  pthread_mutex_unlock(&lock);
  return *function ? hipSuccess
                   : fail(hipErrorInvalidDeviceFunction,
                          "%p is not a kernel that the program has registered", symbol);
}

hipError_t hipModuleUnload(hipModule_t module)
{
  hipError_t status = hipSuccess;
  devices_settle();
  pthread_mutex_lock(&lock);
  if (find_module(module) && module->device)
    remove_module(module);
  else
    status = fail(hipErrorInvalidHandle, "%p is not a module", (void *)module);
  pthread_mutex_unlock(&lock);
  return status;
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
  loaded_t loaded;
  if (!function || !name)
    return fail(hipErrorInvalidValue, "%s is NULL", name ? "function" : "name");
  *function = NULL;
  pthread_mutex_lock(&lock);
  hipError_t status = hipSuccess;
  struct ihipModuleSymbol_t *added = NULL;
  if (!find_module(module) || !module->device)
    status = fail(hipErrorInvalidHandle, "%p is not a module", (void *)module);
  else if (!(added = calloc(1, sizeof(*added))) || !(added->name = strdup(name)))
    status = fail(hipErrorOutOfMemory, "out of host memory");
  if (status == hipSuccess) {
    added->module = module;
    added->host = added;
    status = load(added, module->device, &loaded);
  }
  if (status == hipSuccess && !tsearch(added, &functions, compare_functions))
    status = fail(hipErrorOutOfMemory, "out of host memory");
  if (status != hipSuccess && added) {
    free((char *)added->name);
    free(added);
  } else if (status == hipSuccess) {
    added->next = module->functions;
    module->functions = added;
    *function = added;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *size, hipModule_t module,
                              const char *name)
{
  allocation_t variable = {0};
  if (!name)
    return fail(hipErrorInvalidValue, "name is NULL");
  pthread_mutex_lock(&lock);
  hipError_t status = hipSuccess;
  if (!find_module(module) || !module->device)
    status = fail(hipErrorInvalidHandle, "%p is not a module", (void *)module);
  else
    status = image_variable(module->images[module->device->ordinal], name, &variable);
  pthread_mutex_unlock(&lock);
  if (address)
    *address = (void *)(uintptr_t)variable.address;
  if (size)
    *size = variable.size;
  return status;
}

/* ---- What hipcc's constructors call ---- */

void **__hipRegisterFatBinary(const void *wrapper)
{
  fork_prepare();
  pthread_mutex_lock(&lock);
  struct ihipModule_t *module = add_module(wrapper);
  pthread_mutex_unlock(&lock);
  return (void **)module;
}

void __hipUnregisterFatBinary(void **handle)
{
  pthread_mutex_lock(&lock);
  struct ihipModule_t *module = find_module(handle);
  if (module)
    remove_module(module);
  pthread_mutex_unlock(&lock);
}

static void remember(void **root, void *node, int (*compare)(const void *, const void *))
{
  if (!tsearch(node, root, compare))
    note(RAWHAL_SEVERITY_ERROR, "out of host memory: a kernel or a variable is not registered");
}

void __hipRegisterFunction(void **handle, const void *host, char *device, const char *name,
                           unsigned thread_limit, void *tid, void *bid, void *block, void *grid,
                           int *wave_size)
{
  (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)wave_size;
  pthread_mutex_lock(&lock);
  struct ihipModule_t *module = find_module(handle);
  struct ihipModuleSymbol_t *function = module ? calloc(1, sizeof(*function)) : NULL;
  if (function) {
    *function = (struct ihipModuleSymbol_t){
        .next = module->functions, .host = host, .module = module, .name = name};
    module->functions = function;
    remember(&functions, function, compare_functions);
  }
  pthread_mutex_unlock(&lock);
}

static variable_t *add_variable(struct ihipModule_t *module, const void *host, const char *name)
{
  variable_t *variable = module ? calloc(1, sizeof(*variable)) : NULL;
  if (!variable)
    return NULL;
  *variable = (variable_t){.next = module->variables, .host = host, .module = module, .name = name};
  module->variables = variable;
  remember(&variables, variable, compare_variables);
  return variable;
}

void __hipRegisterVar(void **handle, void *host, char *host_name, char *name, int external,
                      size_t size, int constant, int global)
{
  (void)host_name, (void)external, (void)size, (void)constant, (void)global;
  pthread_mutex_lock(&lock);
  add_variable(find_module(handle), host, name);
  pthread_mutex_unlock(&lock);
}

/* The program may use it before it calls anything: its memory is needed now, and so are the
 * devices. Without devices the program has memory of its own there, for as long as it lives. */
void __hipRegisterManagedVar(void *handle, void **pointer, void *initial, const char *name,
                             size_t size, unsigned alignment)
{
  (void)alignment; /* at most a page's, which all allocations have */
  allocation_t memory = {.size = size, .kind = ALLOCATION_MANAGED};
  hipError_t status = device_current(&memory.device);
  if (status == hipSuccess)
    status = memory_allocate(&memory);
  *pointer = status ? malloc(size) : (void *)(uintptr_t)memory.address;
  if (*pointer)
    memcpy(*pointer, initial, size);
  if (status != hipSuccess)
    note(RAWHAL_SEVERITY_WARNING, "managed variable %s is the host's alone: there is no device",
         name);
  pthread_mutex_lock(&lock);
  variable_t *variable = add_variable(find_module(handle), pointer, name);
  if (variable) {
    variable->managed = memory;
    variable->is_managed = true;
  }
  pthread_mutex_unlock(&lock);
}
