/* Variables that an object needs and others have: what the caller supplies of them, by name. */
#include "hal/executable.h"

#include "base/error.h"
#include "base/near.h"
#include "base/sized.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
  const rawhal_string_t *a = &((const rawhal_external_t *)left)->name;
  const rawhal_string_t *b = &((const rawhal_external_t *)right)->name;
  int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
  return order ? order : (a->size > b->size) - (a->size < b->size);
}

static const rawhal_external_t *find(const external_set_t *set, rawhal_string_t name)
{
  const rawhal_external_t key = {.name = name};
  return set->count ? bsearch(&key, set->all, set->count, sizeof(key), compare) : NULL;
}

static rawhal_status_t check_one(const rawhal_external_t *one, size_t index, rawhal_error_t *error)
{
  if (!one->name.data || !one->name.size || memchr(one->name.data, '\0', one->name.size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "external %zu: its name is not a C string",
                       index);
  if (!one->address)
    return rawhal_fail(
        error, RAWHAL_INVALID_ARGUMENT,
        "external %zu, '%.*s', has the address 0, which stands for a missing variable", index,
        RAWHAL_STRING_ARGS(one->name));
  return RAWHAL_OK;
}

/* What the caller has, sorted. */
static rawhal_status_t take(const rawhal_executable_options_t *options, external_set_t *given,
                            rawhal_error_t *error)
{
  size_t size = options->external_size ? options->external_size : sizeof(*given->all);
  if (!options->external_count)
    return RAWHAL_OK;
  if (!options->externals)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "externals is NULL, of %zu",
                       options->external_count);
  rawhal_status_t status = sized_array(options->externals, size, options->external_count,
                                       sizeof(*given->all), "rawhal_external_t", error);
  if (status != RAWHAL_OK)
    return status;
  given->all = allocate_zeroed(given->allocator, options->external_count, sizeof(*given->all));
  if (!given->all)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu externals",
                       options->external_count);
  for (; given->count < options->external_count; ++given->count) {
    rawhal_external_t *one = &given->all[given->count];
    memcpy(one, (const char *)options->externals + given->count * size, sizeof(*one));
    status = check_one(one, given->count, error);
    if (status != RAWHAL_OK)
      return status;
  }
  qsort(given->all, given->count, sizeof(*given->all), compare);
  for (size_t i = 1; i < given->count; ++i)
    if (compare(&given->all[i - 1], &given->all[i]) == 0)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the external '%.*s' is given twice",
                         RAWHAL_STRING_ARGS(given->all[i].name));
  return RAWHAL_OK;
}

/* The runtime has no place for a second one. */
static rawhal_status_t check_defined(const rawhal_hsaco_t *hsaco, const external_set_t *given,
                                     rawhal_error_t *error)
{
  const rawhal_symbol_t *symbol;
  for (size_t i = 0; given->count && (symbol = rawhal_hsaco_symbol(hsaco, i)); ++i)
    if (symbol->defined && symbol->kind == RAWHAL_SYMBOL_VARIABLE && find(given, symbol->name))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the external '%.*s' is a variable that the code object defines itself",
                         RAWHAL_STRING_ARGS(symbol->name));
  return RAWHAL_OK;
}

static rawhal_string_t external_name(const void *given, size_t number)
{
  return ((const external_set_t *)given)->all[number].name;
}

static rawhal_status_t not_given(const external_set_t *given, rawhal_string_t name,
                                 rawhal_error_t *error)
{
  const near_phrase_t nearest = near_phrase(name, external_name, given, given->count, error);
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "the code object needs the variable '%.*s', which it does not define: pass "
                     "its address to rawhal_executable_load_with()%s",
                     RAWHAL_STRING_ARGS(name), nearest.text);
}

/* Every variable that is needed, once, with the object's own names: they live as long as it. */
static rawhal_status_t choose(const rawhal_hsaco_t *hsaco, const external_set_t *given,
                              external_set_t *needed, rawhal_error_t *error)
{
  const rawhal_relocation_t *relocation;
  if (given->count) {
    needed->all = allocate_zeroed(given->allocator, given->count, sizeof(*needed->all));
    if (!needed->all)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu externals", given->count);
  }
  bool *taken =
      given->count ? allocate_zeroed(given->allocator, given->count, sizeof(*taken)) : NULL;
  rawhal_status_t status = RAWHAL_OK;
  if (given->count && !taken)
    status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu externals", given->count);
  for (size_t i = 0; status == RAWHAL_OK && (relocation = rawhal_hsaco_relocation(hsaco, i)); ++i) {
    if (!relocation->external)
      continue;
    const rawhal_external_t *one = find(given, relocation->symbol);
    if (!one)
      status = not_given(given, relocation->symbol, error);
    else if (!taken[one - given->all]) {
      taken[one - given->all] = true;
      needed->all[needed->count++] = (rawhal_external_t){relocation->symbol, one->address};
    }
  }
  allocate_free(given->allocator, taken);
  if (needed->count)
    qsort(needed->all, needed->count, sizeof(*needed->all), compare);
  return status;
}

rawhal_status_t externals_resolve(const rawhal_hsaco_t *hsaco,
                                  const rawhal_executable_options_t *options,
                                  const allocator_t *allocator, external_set_t *needed,
                                  rawhal_error_t *error)
{
  external_set_t given = {.allocator = allocator};
  *needed = given;
  rawhal_status_t status = take(options, &given, error);
  if (status == RAWHAL_OK)
    status = check_defined(hsaco, &given, error);
  if (status == RAWHAL_OK)
    status = choose(hsaco, &given, needed, error);
  externals_free(&given);
  if (status != RAWHAL_OK)
    externals_free(needed);
  return status;
}

void externals_free(external_set_t *set)
{
  allocate_free(set->allocator, set->all);
  *set = (external_set_t){0};
}

bool externals_equal(const external_set_t *left, const external_set_t *right)
{
  if (left->count != right->count)
    return false;
  for (size_t i = 0; i < left->count; ++i)
    if (compare(&left->all[i], &right->all[i]) != 0 ||
        left->all[i].address != right->all[i].address)
      return false;
  return true;
}

rawhal_status_t externals_define(const rawhal_executable_t *executable, rawhal_error_t *error)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  const allocator_t *allocator = &executable->device->runtime->allocator;
  for (size_t i = 0; i < executable->externals.count; ++i) {
    const rawhal_external_t *one = &executable->externals.all[i];
    char *name = symbol_text(allocator, one->name);
    if (!name)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a variable's name");
    hsa_status_t result = hsa->hsa_executable_agent_global_variable_define(
        executable->executable, executable->device->queue.agent, name,
        (void *)(uintptr_t)one->address);
    allocate_free(allocator, name);
    if (result != HSA_STATUS_SUCCESS)
      return hsa_fail(hsa, result, error, "supplying a variable to the runtime's loader");
  }
  return RAWHAL_OK;
}
