/* What there is, page by page. A kernel's place is its number among those of all sources, in the
 * order in which they were added; adding changes no place that there was, indexing anew all. */
#include "library/internal.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/sized.h"

#include <inttypes.h>
#include <string.h>

/* ---- Cursors: a place, and how often indexes had been forgotten ---- */

enum { PLACE_BITS = 36 };
static const uint64_t most_place = (UINT64_C(1) << PLACE_BITS) - 1;

static uint64_t epoch_of(const rawhal_library_t *library)
{
  return library->forgotten << PLACE_BITS;
}

static uint64_t cursor_of(const rawhal_library_t *library, uint64_t place)
{
  return epoch_of(library) | place;
}

/* ---- A listing ---- */

typedef struct listing {
  const rawhal_library_filter_t *filter;
  rawhal_library_page_t *page;
  library_source_t *source;
  image_window_t kernels, texts, arguments;
  uint64_t looks;
  uint32_t object; /* what follows is of it, in the source; UINT32_MAX: of none yet */
  index_object_t facts;
  const path_name_t *file;
  bool file_fits, file_is_current; /* the latter was looked at, and so it is */
  size_t text_used, text_needed;   /* the latter of what has no room */
} listing_t;

/* What comes of looking at one kernel. */
typedef enum look {
  LOOK_PASSED, /* by what does not fit */
  LOOK_GIVEN,
  LOOK_FULL,    /* it fits, or may, and the page has no room */
  LOOK_DAMAGED, /* the index is no more of what is there */
} look_t;

static bool is_empty(rawhal_string_t text)
{
  return text.size == 0;
}

/* The object's facts, and whether its file is wanted. */
static bool turn_to(listing_t *listing, uint32_t object)
{
  if (object == listing->object)
    return true;
  const path_name_t *before = listing->file;
  if (!index_object_at(&listing->source->index, object, &listing->facts) ||
      !(listing->file = source_file(listing->source, &listing->facts)))
    return false;
  listing->object = object;
  listing->file_is_current &= listing->file == before;
  listing->file_fits = path_ends_in(listing->file, listing->filter->file);
  return true;
}

/* A text of the index, with room for ".kd" behind it: in `space`, or, if it is longer, where the
 * page's next name would be. `*text` is empty if that has no room. */
enum { SPACE = 4096, SUFFIX = 3 };
static bool read_text(listing_t *listing, uint64_t at, uint32_t size, char space[SPACE],
                      char **text)
{
  const rawhal_library_page_t *page = listing->page;
  *text = NULL;
  if (size <= SPACE - SUFFIX)
    *text = space;
  else if (page->text_size - listing->text_used >= (size_t)size + SUFFIX)
    *text = page->text + listing->text_used;
  else
    listing->text_needed = (size_t)size + SUFFIX;
  return !*text || image_read_by(&listing->source->index.image, &listing->texts, at, *text, size);
}

static bool fits_text(const listing_t *listing, char *text, uint32_t size)
{
  memcpy(text + size, ".kd", SUFFIX);
  return glob_fits(listing->filter->pattern, (rawhal_string_t){text, size}) ||
         glob_fits(listing->filter->pattern, (rawhal_string_t){text, (size_t)size + SUFFIX});
}

/* LOOK_GIVEN: it fits. */
static look_t fits_pattern(listing_t *listing, const index_kernel_t *kernel)
{
  char space[SPACE], *text;
  const bool is_symbol = kernel->name == kernel->symbol;
  if (is_empty(listing->filter->pattern))
    return LOOK_GIVEN;
  if (!read_text(listing, kernel->name, kernel->name_size, space, &text))
    return LOOK_DAMAGED;
  if (!text)
    return LOOK_FULL;
  if (is_symbol)
    return fits_text(listing, text, kernel->name_size) ? LOOK_GIVEN : LOOK_PASSED;
  if (glob_fits(listing->filter->pattern, (rawhal_string_t){text, kernel->name_size}))
    return LOOK_GIVEN;
  if (!kernel->symbol_size)
    return LOOK_PASSED;
  if (!read_text(listing, kernel->symbol, kernel->symbol_size, space, &text))
    return LOOK_DAMAGED;
  if (!text)
    return LOOK_FULL;
  return fits_text(listing, text, kernel->symbol_size) ? LOOK_GIVEN : LOOK_PASSED;
}

static look_t fits(listing_t *listing, const index_kernel_t *kernel)
{
  const rawhal_library_filter_t *filter = listing->filter;
  if (filter->signature && filter->signature != kernel->signature)
    return LOOK_PASSED;
  if (!is_empty(filter->argument)) {
    const image_answer_t answer =
        index_has_argument(&listing->source->index, &listing->arguments, kernel, filter->argument);
    if (answer != IMAGE_EQUAL)
      return answer == IMAGE_DAMAGED ? LOOK_DAMAGED : LOOK_PASSED;
  }
  return fits_pattern(listing, kernel);
}

static look_t give(listing_t *listing, const index_kernel_t *kernel)
{
  rawhal_library_page_t *page = listing->page;
  const index_object_t *facts = &listing->facts;
  const candidate_t place = {.source = listing->source, .object = *facts, .file = listing->file};
  if (page->text_size - listing->text_used < kernel->name_size) {
    listing->text_needed = kernel->name_size;
    return LOOK_FULL;
  }
  char *name = page->text + listing->text_used;
  if (!image_read_by(&listing->source->index.image, &listing->texts, kernel->name, name,
                     kernel->name_size))
    return LOOK_DAMAGED;
  listing->file_is_current = listing->file_is_current || object_is_as_indexed(&place);
  if (!listing->file_is_current)
    return LOOK_DAMAGED;
  const rawhal_library_match_t match = {
      .file = {listing->file->text, listing->file->size},
      .ordinal = facts->ordinal,
      .offset = facts->offset,
      .bytes = facts->size,
      .target = facts->target,
      .signature = kernel->signature,
      .unpacked = facts->unpacked,
      .usable = kernel->flags & INDEX_USABLE,
      .name = {name, kernel->name_size},
  };
  sized_element((char *)page->matches + page->count++ * page->match_size, page->match_size, &match,
                sizeof(match));
  listing->text_used += kernel->name_size;
  return LOOK_GIVEN;
}

/* Kernel `*number` of the source, or all of an object's that is not wanted; then the next. */
static look_t look_at(listing_t *listing, uint64_t *number)
{
  index_kernel_t kernel;
  if (!index_kernel_at(&listing->source->index, &listing->kernels, (uint32_t)*number, &kernel) ||
      !turn_to(listing, kernel.object))
    return LOOK_DAMAGED;
  if (!listing->file_fits) {
    const uint64_t behind = (uint64_t)listing->facts.first_kernel + listing->facts.kernels;
    if (behind <= *number || behind > listing->source->index.header.kernel_count)
      return LOOK_DAMAGED;
    *number = behind;
    return LOOK_PASSED;
  }
  look_t look = fits(listing, &kernel);
  if (look == LOOK_GIVEN)
    look = give(listing, &kernel);
  *number += look == LOOK_PASSED || look == LOOK_GIVEN;
  return look;
}

static look_t look_through(listing_t *listing, library_source_t *source, uint64_t *number)
{
  look_t look = LOOK_PASSED;
  listing->source = source;
  listing->object = UINT32_MAX;
  listing->file = NULL;
  listing->file_is_current = false;
  image_window_begin(&listing->kernels);
  image_window_begin(&listing->texts);
  image_window_begin(&listing->arguments);
  while (*number < source->index.header.kernel_count) {
    if (listing->page->count == listing->page->capacity ||
        listing->looks == RAWHAL_LIBRARY_PAGE_LOOKS)
      return LOOK_FULL;
    ++listing->looks;
    look = look_at(listing, number);
    if (look != LOOK_PASSED && look != LOOK_GIVEN)
      return look;
  }
  return LOOK_PASSED;
}

/* ---- A page ---- */

typedef struct asked {
  const rawhal_library_filter_t *filter;
  rawhal_library_page_t *page;
} asked_t;

static rawhal_status_t take_cursor(const rawhal_library_t *library, uint64_t cursor,
                                   uint64_t *place, rawhal_error_t *error)
{
  *place = cursor & most_place;
  if (cursor && cursor - *place != epoch_of(library))
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "the place of the cursor is no more: files have changed since, or it is of "
                       "another library; begin again with 0");
  return RAWHAL_OK;
}

static rawhal_status_t ask_for_page(rawhal_library_t *library, void *context,
                                    library_source_t **stale, rawhal_error_t *error)
{
  const asked_t *asked = context;
  rawhal_library_page_t *page = asked->page;
  listing_t listing = {.filter = asked->filter, .page = page};
  uint64_t number, before = 0; /* kernels of earlier sources */
  page->count = page->text_used = 0;
  rawhal_status_t status = take_cursor(library, page->cursor, &number, error);
  look_t look = LOOK_PASSED;
  library_source_t *one = library->sources;
  for (; status == RAWHAL_OK && one; one = one->next) {
    const uint64_t count = one->index.header.kernel_count;
    if (number < count)
      look = look_through(&listing, one, &number);
    if (look == LOOK_DAMAGED)
      *stale = one;
    if (look != LOOK_PASSED)
      break;
    number -= count;
    before += count;
  }
  if (status != RAWHAL_OK || *stale)
    return status;
  if (listing.text_needed && !page->count) {
    page->text_used = listing.text_needed;
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "the next kernel's name needs %zu bytes of text, and there are %zu",
                       listing.text_needed, page->text_size);
  }
  if (!one && number)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the cursor is %" PRIu64 " kernels beyond the end", number);
  if (before + number > most_place)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "a library of more than %" PRIu64 " kernels",
                       most_place);
  page->text_used = listing.text_used;
  page->cursor = one ? cursor_of(library, before + number) : 0;
  return RAWHAL_OK;
}

static rawhal_status_t take_filter(const rawhal_library_filter_t *filter,
                                   rawhal_library_filter_t *taken, rawhal_error_t *error)
{
  const rawhal_status_t status = SIZED_TAKE(taken, filter, signature, error);
  if (status != RAWHAL_OK)
    return status;
  const struct {
    const char *what;
    rawhal_string_t text;
  } texts[] = {{"pattern", taken->pattern}, {"file", taken->file}, {"argument", taken->argument}};
  for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); ++i)
    if (!texts[i].text.data && texts[i].text.size)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the filter's %s is NULL", texts[i].what);
  return RAWHAL_OK;
}

static rawhal_status_t check_page(const rawhal_library_page_t *page, rawhal_error_t *error)
{
  if (!page->capacity || !page->match_size || !page->matches)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the page's %s",
                       !page->matches    ? "matches are NULL"
                       : !page->capacity ? "capacity is 0"
                                         : "match_size is 0");
  if (!page->text && page->text_size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the page's text is NULL");
  return RAWHAL_OK;
}

rawhal_status_t rawhal_library_list(rawhal_library_t *library,
                                    const rawhal_library_filter_t *filter,
                                    rawhal_library_page_t *page, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_library_filter_t taken_filter;
  rawhal_library_page_t taken;
  if (!page)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "page is NULL");
  rawhal_status_t status = SIZED_TAKE(&taken, page, text_used, error);
  if (status != RAWHAL_OK)
    return status;
  page->count = page->text_used = taken.count = taken.text_used = 0;
  status = check_page(&taken, error);
  if (status == RAWHAL_OK)
    status = library_check(library, error);
  if (status == RAWHAL_OK)
    status = take_filter(filter, &taken_filter, error);
  if (status != RAWHAL_OK)
    return status;
  asked_t asked = {&taken_filter, &taken};
  status = library_look_up(
      library, ask_for_page, &asked,
      is_empty(taken_filter.pattern) ? RAWHAL_STRING("*") : taken_filter.pattern, error);
  if (status == RAWHAL_OK || status == RAWHAL_OUT_OF_RANGE)
    page->text_used = taken.text_used;
  if (status != RAWHAL_OK)
    return status;
  page->count = taken.count;
  page->cursor = taken.cursor;
  return RAWHAL_OK;
}
