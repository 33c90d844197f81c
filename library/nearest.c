/* The index has its kernels by the lengths of their names: what has few edits has a length that is
 * near, and of a large library only those are looked at. */
#include "library/nearest.h"

typedef struct search {
  near_names_t near;
  const library_index_t *index;
  /* What is asked for stands together, but in three places. */
  image_window_t lengths, kernels, texts;
} search_t;

/* False: the index is damaged. */
static bool look(search_t *search, const index_length_t *length)
{
  index_kernel_t kernel;
  char name[NEAR_BYTES];
  if (length->size >= sizeof(name))
    return true;
  if (!index_kernel_at(search->index, &search->kernels, length->kernel, &kernel) ||
      !image_read_by(&search->index->image, &search->texts, kernel.name, name, length->size))
    return false;
  near_look(&search->near, (rawhal_string_t){name, length->size});
  return true;
}

/* From the length that is wanted in both directions, the nearer one first. */
static size_t look_into(search_t *search, const library_index_t *index, size_t most)
{
  const size_t wanted = search->near.wanted.size;
  const uint32_t count = (uint32_t)index->header.kernel_count;
  uint32_t above;
  size_t looked = 0;
  search->index = index;
  image_window_begin(&search->lengths);
  image_window_begin(&search->kernels);
  image_window_begin(&search->texts);
  if (!index_first_length(index, &search->lengths, wanted, &above))
    return 0;
  for (uint32_t below = above; looked < most && (below || above < count); ++looked) {
    index_length_t shorter = {0}, longer = {0}, *next;
    if ((below && !index_length_at(index, &search->lengths, below - 1, &shorter)) ||
        (above < count && !index_length_at(index, &search->lengths, above, &longer)))
      break;
    const size_t too_long = longer.size - wanted, too_short = wanted - shorter.size;
    if (!below ||
        (above < count && (too_long < too_short || (too_long == too_short && looked % 2)))) {
      next = &longer;
      ++above;
    } else {
      next = &shorter;
      --below;
    }
    if (!look(search, next))
      break;
  }
  return looked;
}

void nearest_names(const rawhal_library_t *library, rawhal_string_t name, char text[NEAR_TEXT])
{
  search_t search = {.near.wanted = near_stem(name)};
  size_t left = search.near.wanted.size < NEAR_BYTES ? NEAR_COMPARED : 0, sources = 0;
  for (const library_source_t *one = library->sources; one; one = one->next)
    ++sources;
  for (const library_source_t *one = library->sources; one && left; one = one->next, --sources) {
    const size_t share = left / sources;
    left -= look_into(&search, &one->index, share ? share : 1);
  }
  near_text(&search.near, text);
}
