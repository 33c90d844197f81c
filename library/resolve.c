/* From a query to the object that is meant. */
#include "library/internal.h"
#include "library/nearest.h"

#include "base/error.h"
#include "base/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "no memory for what a library has found";

/* ---- What has the name ---- */

typedef struct finding {
  list_t *candidates; /* of candidate_t */
  library_source_t *source;
  uint32_t order, wanted; /* flags */
  bool failed;            /* no memory */
} finding_t;

static bool note(void *context, uint32_t object, uint32_t flags)
{
  finding_t *finding = context;
  const candidate_t candidate = {
      .source = finding->source, .order = finding->order, .number = object, .flags = flags};
  if (flags & finding->wanted)
    finding->failed = !list_add(finding->candidates, &candidate, sizeof(candidate));
  return !finding->failed;
}

static candidate_t *candidate_at(const list_t *candidates, size_t index)
{
  return (candidate_t *)candidates->items + index;
}

static int by_place(const void *left, const void *right)
{
  const candidate_t *a = left, *b = right;
  if (a->order != b->order)
    return a->order < b->order ? -1 : 1;
  if (a->number != b->number)
    return a->number < b->number ? -1 : 1;
  /* The kernel of that name comes before one of that symbol. */
  return (int)(b->flags & INDEX_BY_NAME) - (int)(a->flags & INDEX_BY_NAME);
}

static int by_merit(const void *left, const void *right)
{
  const candidate_t *a = left, *b = right;
  bool a_usable = a->flags & INDEX_USABLE, b_usable = b->flags & INDEX_USABLE;
  if (a_usable != b_usable)
    return a_usable ? -1 : 1;
  if (a->object.rating != b->object.rating)
    return a->object.rating > b->object.rating ? -1 : 1;
  return by_place(left, right);
}

static void sort(list_t *candidates, int (*compare)(const void *left, const void *right))
{
  if (candidates->count)
    qsort(candidates->items, candidates->count, sizeof(candidate_t), compare);
}

/* Keeps those of which it is true; `context` is the query, or what there is to know. */
static void keep(list_t *candidates, bool (*is_kept)(const candidate_t *one, const void *context),
                 const void *context)
{
  size_t kept = 0;
  for (size_t i = 0; i < candidates->count; ++i)
    if (is_kept(candidate_at(candidates, i), context))
      *candidate_at(candidates, kept++) = *candidate_at(candidates, i);
  candidates->count = kept;
}

/* An object once, however many of its kernels' names and symbols fit. */
static void keep_first_of_each(list_t *candidates)
{
  size_t kept = 0;
  for (size_t i = 0; i < candidates->count; ++i) {
    const candidate_t *last = kept ? candidate_at(candidates, kept - 1) : NULL;
    const candidate_t *one = candidate_at(candidates, i);
    if (!last || last->source != one->source || last->number != one->number)
      *candidate_at(candidates, kept++) = *one;
  }
  candidates->count = kept;
}

/* What the index knows of them. False: it is damaged. */
static bool fill_in(list_t *candidates, library_source_t **stale)
{
  for (size_t i = 0; i < candidates->count; ++i) {
    candidate_t *one = candidate_at(candidates, i);
    const library_source_t *source = one->source;
    if (!index_object_at(&source->index, one->number, &one->object) ||
        !(one->file = source_file(source, &one->object))) {
      *stale = one->source;
      return false;
    }
  }
  return true;
}

static rawhal_status_t find_named(const rawhal_library_t *library, rawhal_string_t name,
                                  list_t *candidates, library_source_t **stale,
                                  rawhal_error_t *error)
{
  finding_t finding = {.candidates = candidates};
  rawhal_string_t base = name;
  bool is_symbol = name.size > 3 && memcmp(name.data + name.size - 3, ".kd", 3) == 0;
  base.size -= is_symbol ? 3 : 0;
  for (finding.source = library->sources; finding.source;
       finding.source = finding.source->next, ++finding.order) {
    const library_index_t *index = &finding.source->index;
    finding.wanted = UINT32_MAX;
    bool good = index_find(index, name, note, &finding);
    finding.wanted = INDEX_BY_SYMBOL;
    if (good && is_symbol && !finding.failed)
      good = index_find(index, base, note, &finding);
    if (finding.failed)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, no_memory);
    if (!good) {
      *stale = finding.source;
      return RAWHAL_OK;
    }
  }
  sort(candidates, by_place);
  keep_first_of_each(candidates);
  if (fill_in(candidates, stale))
    sort(candidates, by_merit);
  return RAWHAL_OK;
}

/* ---- What else is asked for ---- */

/* Does the path end in those parts? */
static bool fits_file(const candidate_t *one, const void *context)
{
  return path_ends_in(one->file, ((const rawhal_library_query_t *)context)->file);
}

static bool names_content(const rawhal_library_query_t *query)
{
  return query->content.high || query->content.low;
}

static bool fits_code(const candidate_t *one, const void *context)
{
  const rawhal_library_query_t *query = context;
  return (!query->signature || query->signature == one->signature) &&
         (!names_content(query) || content_equal(query->content, one->content));
}

/* Reads the first `count`. */
static rawhal_status_t examine(const rawhal_library_t *library, const rawhal_library_query_t *query,
                               list_t *candidates, size_t count, library_source_t **stale,
                               rawhal_error_t *error)
{
  for (size_t i = 0; i < count; ++i) {
    candidate_t *one = candidate_at(candidates, i);
    rawhal_status_t status = object_examine(library, query, one, error);
    if (status == RAWHAL_NOT_FOUND)
      *stale = one->source;
    if (status != RAWHAL_OK)
      return status == RAWHAL_NOT_FOUND ? RAWHAL_OK : status;
  }
  return RAWHAL_OK;
}

static rawhal_status_t find_fitting(const rawhal_library_t *library,
                                    const rawhal_library_query_t *query, list_t *candidates,
                                    size_t *named, library_source_t **stale, rawhal_error_t *error)
{
  rawhal_status_t status = find_named(library, query->name, candidates, stale, error);
  *named = candidates->count;
  if (status != RAWHAL_OK || *stale)
    return status;
  keep(candidates, fits_file, query);
  if (!query->signature && !names_content(query))
    return RAWHAL_OK;
  status = examine(library, query, candidates, candidates->count, stale, error);
  if (status == RAWHAL_OK && !*stale)
    keep(candidates, fits_code, query);
  return status;
}

rawhal_status_t resolve_all(const rawhal_library_t *library, const rawhal_library_query_t *query,
                            size_t examined, list_t *candidates, library_source_t **stale,
                            rawhal_error_t *error)
{
  size_t named;
  rawhal_status_t status = find_fitting(library, query, candidates, &named, stale, error);
  size_t count = examined < candidates->count ? examined : candidates->count;
  if (status == RAWHAL_OK && !*stale)
    status = examine(library, query, candidates, count, stale, error);
  for (size_t i = count; status == RAWHAL_OK && !*stale && i < candidates->count; ++i)
    if (!object_is_as_indexed(candidate_at(candidates, i)))
      *stale = candidate_at(candidates, i)->source;
  return status;
}

/* ---- Which of them ---- */

/* What there was instead. */
static rawhal_status_t fail_to_find(const rawhal_library_t *library,
                                    const rawhal_library_query_t *query, size_t named,
                                    rawhal_error_t *error)
{
  char text[800], nearest[NEAR_TEXT];
  print_t said = print_into(text, sizeof(text));
  uint64_t kernels = 0, objects = 0, more = 0;
  if (named)
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "%zu code objects have a kernel '%.*s', but none that fits the query's "
                       "file, content or signature",
                       named, RAWHAL_STRING_ARGS(query->name));
  for (const library_source_t *one = library->sources; one; one = one->next) {
    const index_header_t *header = &one->index.header;
    kernels += header->kernels;
    objects += header->object_count;
    more += header->more_others;
    for (size_t i = 0; i < INDEX_OTHER_TARGETS && header->others[i].objects; ++i)
      print(&said, "; %" PRIu64 " objects are for %.55s", header->others[i].objects,
            header->others[i].target);
    if (header->unreadable)
      print(&said, "; %" PRIu64 " cannot be read, the first is %.399s", header->unreadable,
            header->unreadable_reason);
  }
  if (more)
    print(&said, "; %" PRIu64 " objects are for other targets", more);
  *nearest = '\0';
  if (error)
    nearest_names(library, query->name, nearest);
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "no kernel '%.*s' among %" PRIu64 " of %" PRIu64 " code objects%s%s",
                     RAWHAL_STRING_ARGS(query->name), kernels, objects, nearest, text);
}

static rawhal_status_t fail_ambiguous(const rawhal_library_query_t *query, const list_t *candidates,
                                      rawhal_error_t *error)
{
  char text[800];
  print_t said = print_into(text, sizeof(text));
  for (size_t i = 0; i < candidates->count; ++i) {
    const candidate_t *one = candidate_at(candidates, i);
    print(&said, "%s%s, object %u (signature 0x%016" PRIx64 ")", i ? ", " : "", one->file->text,
          one->object.ordinal, one->signature);
  }
  return rawhal_fail(error, RAWHAL_AMBIGUOUS,
                     "kernel '%.*s' is in %zu code objects of different code: %s",
                     RAWHAL_STRING_ARGS(query->name), candidates->count, text);
}

static bool is_as_good(const candidate_t *one, const void *best)
{
  const candidate_t *other = best;
  return one->object.rating == other->object.rating &&
         (one->flags & INDEX_USABLE) == (other->flags & INDEX_USABLE);
}

/* Other code than the first, or the first itself. */
static bool is_rival(const candidate_t *one, const void *first)
{
  const candidate_t *other = first;
  return (one->source == other->source && one->number == other->number) ||
         !content_equal(one->content, other->content);
}

static rawhal_status_t choose(const rawhal_library_t *library, const rawhal_library_query_t *query,
                              list_t *candidates, candidate_t *chosen, library_source_t **stale,
                              rawhal_error_t *error)
{
  *chosen = *candidate_at(candidates, 0);
  keep(candidates, is_as_good, chosen);
  if (candidates->count == 1)
    return RAWHAL_OK;
  rawhal_status_t status = examine(library, query, candidates, candidates->count, stale, error);
  if (status != RAWHAL_OK || *stale)
    return status;
  *chosen = *candidate_at(candidates, 0);
  keep(candidates, is_rival, chosen);
  return candidates->count == 1 ? RAWHAL_OK : fail_ambiguous(query, candidates, error);
}

rawhal_status_t resolve_one(const rawhal_library_t *library, const rawhal_library_query_t *query,
                            candidate_t *chosen, library_source_t **stale, rawhal_error_t *error)
{
  size_t named;
  list_t candidates = {.allocator = &library->allocator};
  rawhal_status_t status = find_fitting(library, query, &candidates, &named, stale, error);
  if (status == RAWHAL_OK && !*stale)
    status = candidates.count ? choose(library, query, &candidates, chosen, stale, error)
                              : fail_to_find(library, query, named, error);
  list_free(&candidates);
  return status;
}
