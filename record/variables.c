#include "record/variables.h"

#include <elf.h>

static void add(variables_t *variables, uint64_t address, uint64_t size)
{
  if (!size)
    return;
  if (variables->count == VARIABLES_RANGES)
    variables->more = true;
  else
    variables->ranges[variables->count++] = (variables_range_t){address, size};
}

static bool has_externals(const rawhal_hsaco_t *hsaco)
{
  const rawhal_relocation_t *relocation;
  for (size_t i = 0; (relocation = rawhal_hsaco_relocation(hsaco, i)); ++i)
    if (relocation->external)
      return true;
  return false;
}

/* Is it what the loader alone writes? */
static bool is_the_loaders(const rawhal_hsaco_t *hsaco, const rawhal_segment_t *segment)
{
  const rawhal_segment_t *other;
  for (size_t i = 0; (other = rawhal_hsaco_segment(hsaco, i)); ++i)
    if (other->type == PT_GNU_RELRO && segment->address >= other->address &&
        segment->memory_size <= other->memory_size &&
        segment->address - other->address <= other->memory_size - segment->memory_size)
      return true;
  return false;
}

/* From the first to the last of the exported variables in a segment. */
static void add_exported(const rawhal_hsaco_t *hsaco, const rawhal_segment_t *segment,
                         variables_t *variables)
{
  const rawhal_symbol_t *symbol;
  uint64_t least = UINT64_MAX, end = 0;
  for (size_t i = 0; (symbol = rawhal_hsaco_symbol(hsaco, i)); ++i) {
    const uint64_t skip = symbol->address - segment->address;
    if (symbol->kind != RAWHAL_SYMBOL_VARIABLE || !symbol->defined || !symbol->size ||
        skip >= segment->memory_size || symbol->size > segment->memory_size - skip)
      continue;
    least = symbol->address < least ? symbol->address : least;
    end = symbol->address + symbol->size > end ? symbol->address + symbol->size : end;
  }
  if (end)
    add(variables, least, end - least);
}

void variables_of(const rawhal_hsaco_t *hsaco, variables_t *variables)
{
  const rawhal_segment_t *segment;
  *variables = (variables_t){.count = 0};
  const bool externals = has_externals(hsaco);
  for (size_t i = 0; (segment = rawhal_hsaco_segment(hsaco, i)); ++i) {
    if (segment->type != PT_LOAD || (segment->flags & PF_X))
      continue;
    if (!(segment->flags & PF_W))
      add_exported(hsaco, segment, variables);
    else if (externals || !is_the_loaders(hsaco, segment))
      add(variables, segment->address, segment->memory_size);
  }
}
