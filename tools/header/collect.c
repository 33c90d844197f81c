/* rawhal header: the kernels of the files, each once, with names of their own. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tools/header/header.h"
#include "tools/shared/tool.h"

static int compare_names(const void *a, const void *b)
{
  const kernel_entry_t *first = a, *second = b;
  const int order = tool_compare_text((rawhal_string_t){first->name, first->name_size},
                                      (rawhal_string_t){second->name, second->name_size});
  return order ? order : first->variant < second->variant ? -1 : first->variant > second->variant;
}

static int compare_identifiers(const void *a, const void *b)
{
  return strcmp(((const kernel_entry_t *)a)->identifier, ((const kernel_entry_t *)b)->identifier);
}

/* ---- Collecting ---- */

static void entry_free(kernel_entry_t *entry)
{
  if (!entry)
    return;
  free(entry->name);
  free(entry->identifier);
  free(entry->text);
  free(entry->why_not);
  free(entry);
}

static void keep_in_tree(void *entry)
{
  (void)entry; /* the list owns them */
}

void header_release(header_t *header)
{
  tdestroy(header->by_name, keep_in_tree);
  tdestroy(header->by_identifier, keep_in_tree);
  tdestroy(header->by_text, keep_in_tree);
  for (size_t i = 0; i < header->count; ++i)
    entry_free(header->entries[i]);
  free(header->entries);
}

/* What one object says about a kernel; NULL = out of memory. */
static kernel_entry_t *entry_make(const select_t *select, const rawhal_kernel_t *kernel)
{
  kernel_entry_t *entry = calloc(1, sizeof(*entry));
  if (!entry)
    return NULL;
  rawhal_target_format(&select->object->target, entry->target, sizeof(entry->target));
  entry->object = select->index;
  entry->name_size = kernel->name.size;
  entry->name = malloc(kernel->name.size + 1);
  if (entry->name && kernel->name.size)
    memcpy(entry->name, kernel->name.data, kernel->name.size);
  entry->identifier = header_kernel_identifier(kernel->name, &entry->exact);

  rawhal_kernarg_layout_t *layout = NULL;
  rawhal_error_t error;
  if (rawhal_kernarg_layout_create(kernel, 0, &layout, &error)) {
    entry->why_not = strdup(error.message);
  } else {
    const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
    entry->text = header_struct(kernel, layout, &entry->size);
    entry->signature = info->signature;
    entry->blob_signature = info->blob_signature;
    entry->least =
        info->knowledge == RAWHAL_KERNARG_ARGUMENTS ? info->explicit_end : info->segment_size;
    rawhal_kernarg_layout_destroy(layout);
  }
  if (entry->name && entry->identifier && (entry->text || entry->why_not))
    return entry;
  entry_free(entry);
  return NULL;
}

static bool refuse_memory(rawhal_error_t *error)
{
  return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
}

/* Does one struct do for both: fits a caller's blob either? */
static bool agree(const kernel_entry_t *known, const kernel_entry_t *other)
{
  return known->blob_signature == other->blob_signature && !known->text == !other->text;
}

static bool refuse_file(const kernel_entry_t *known, const kernel_entry_t *other,
                        rawhal_error_t *error)
{
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                     "'%.*s' has one layout in object %zu (%s) and another in object %zu (%s): "
                     "choose with --target or --object",
                     (int)known->name_size, known->name, known->object, known->target,
                     other->object, other->target);
}

/* Goes after the identifier of what another file has with other arguments: the number of that file.
 */
static bool name_variant(kernel_entry_t *entry)
{
  char *name;
  if (!entry->variant)
    return true;
  if (asprintf(&name, "%s_%zu", entry->identifier, entry->file + 1) < 0)
    return false;
  free(entry->identifier);
  entry->identifier = name;
  entry->exact = false;
  return true;
}

/* Takes the entry, which is the first of its name and its arguments. */
static bool keep(header_t *header, kernel_entry_t *entry, rawhal_error_t *error)
{
  if (name_variant(entry) && array_reserve(NULL, &header->entries, &header->room, header->count + 1,
                                           sizeof(*header->entries))) {
    header->entries[header->count++] = entry;
    return true;
  }
  tdelete(entry, &header->by_name, compare_names);
  entry_free(entry);
  return refuse_memory(error);
}

/* Objects of one file must agree about a kernel, for a caller does not choose among them; those of
 * several need not. */
static bool add_kernel(header_t *header, const select_t *select, const rawhal_kernel_t *kernel,
                       rawhal_error_t *error)
{
  kernel_entry_t *entry = entry_make(select, kernel), *same = NULL, *other = NULL;
  if (!entry)
    return refuse_memory(error);
  entry->file = entry->last_file = header->file;
  for (kernel_entry_t **place; (place = tsearch(entry, &header->by_name, compare_names));
       ++entry->variant) {
    if (*place == entry && !same)
      return keep(header, entry, error);
    if (*place == entry) {
      tdelete(entry, &header->by_name, compare_names);
      break;
    }
    if (agree(*place, entry))
      same = *place;
    else if ((*place)->last_file == header->file)
      other = *place;
    if (other)
      break;
  }
  bool done = same && !other;
  if (done) {
    same->signatures_differ |= same->signature != entry->signature;
    same->last_file = header->file;
  } else {
    done = other ? refuse_file(other, entry, error) : refuse_memory(error);
  }
  entry_free(entry);
  return done;
}

/* Kernels whose names are identifiers have them; another that would get the same by a coincidence
 * of hashes gets '_' added. */
static bool tell_apart(header_t *header, bool exact)
{
  for (size_t i = 0; i < header->count; ++i) {
    kernel_entry_t *entry = header->entries[i];
    kernel_entry_t **place;
    if (entry->exact != exact)
      continue;
    while ((place = tsearch(entry, &header->by_identifier, compare_identifiers)) && *place != entry)
      if (!header_name_extend(&entry->identifier))
        return false;
    if (!place)
      return false;
  }
  return true;
}

static bool collect_file(header_t *header, const select_options_t *options, size_t *objects,
                         rawhal_error_t *error)
{
  select_t select = {0};
  bool done = select_open(&select, options, error);
  for (; done && (done = select_next(&select, error)) && select.hsaco; ++*objects) {
    const rawhal_string_t wanted = {options->kernel, options->kernel ? strlen(options->kernel) : 0};
    const rawhal_kernel_t *kernel;
    if (!options->kernel)
      for (size_t i = 0; done && (kernel = rawhal_hsaco_kernel(select.hsaco, i)); ++i)
        done = add_kernel(header, &select, kernel, error);
    else if ((kernel = rawhal_hsaco_find_kernel(select.hsaco, wanted)))
      done = add_kernel(header, &select, kernel, error);
  }
  select_close(&select);
  return done;
}

bool header_collect(header_t *header, const select_options_t *options, size_t count,
                    rawhal_error_t *error)
{
  size_t objects = 0;
  for (header->file = 0; header->file < count; ++header->file) {
    select_options_t of_file = *options;
    rawhal_error_t why;
    of_file.path = header->files[header->file];
    if (collect_file(header, &of_file, &objects, error))
      continue;
    why = *error;
    if (count > 1)
      snprintf(error->message, sizeof(error->message), "%.200s: %.700s", of_file.path, why.message);
    return false;
  }
  if (!objects)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "no such object in '%s'%s", header->files[0],
                       count > 1 ? " or the others" : "");
  if (options->kernel && !header->count)
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "no kernel '%s' (rawhal inspect --brief lists the names)", options->kernel);
  if (options->kernel && header->entries[0]->why_not)
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%s", header->entries[0]->why_not);
  return (tell_apart(header, true) && tell_apart(header, false)) || refuse_memory(error);
}
