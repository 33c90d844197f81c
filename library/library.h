/* rawhal/library.h: the kernels of many code objects, found by name.
 *
 * A library is a device's set of code objects: folders of thousands of them, files of any kind that
 * container.h reads, bytes. Adding reads no file. The first search reads the names of all kernels,
 * or the index that an earlier process left on disk; an object is loaded when the first of its
 * kernels is asked for, shared by all callers, and unloaded when none of its kernels is held and
 * room is needed.
 *
 *     rawhal_library_create -> _add -> _kernel -> rawhal_queue_submit() -> _release
 *
 * Which object: of those that have the kernel and that the device can run, the one that was made
 * for it most exactly, as rawhal_container_select() decides. Names are not unique: AMBIGUOUS if
 * objects that are equally good have different code; a query must then say which it means.
 *
 * Files may change, be replaced and come and go at any time: what was indexed is compared with what
 * is there (size, inode, and times of change) before it is used, and a library that finds itself
 * out of date looks again. (A store through a shared mapping need not show in these.) Files are
 * mapped while they are read, and truncating one then is fatal, unless the container options say
 * RAWHAL_CONTAINER_COPY: see rawhal_container_open_file(). Files that were added to a folder
 * meanwhile are seen after rawhal_library_refresh(), or when something else has made the library
 * look again. No file is kept open except an index of each folder, up to `max_open_files`.
 *
 * Ownership: a library keeps its device's runtime open; strings that it returns live until it is
 * destroyed. Thread-safety: all functions are thread-safe, except destroying. While one thread
 * reads names, others that search wait; a load waits only for another load of the same object. */
#ifndef RAWHAL_LIBRARY_H
#define RAWHAL_LIBRARY_H

#include <rawhal/hal.h>

RAWHAL_BEGIN

/* A device's set of code objects. */
typedef struct rawhal_library rawhal_library_t;

/* Zero-initialise, then set what should differ; 0 means the default. Read during the call only. */
typedef struct rawhal_library_options {
  size_t size; /* sizeof(rawhal_library_options_t), or 0: see types.h */
  /* Bytes of loaded code objects: beyond it, those with no kernel held are unloaded, the least
   * recently used first. Default 1 GiB. What is in use may come to more. When the device lacks
   * memory for a load, unused objects are unloaded first in any case. */
  uint64_t max_loaded_bytes;
  /* The folder where indexes are kept between processes; it is created if missing. An index belongs
   * to a path and to the sizes, inodes and times of the files there; their content is not compared,
   * which would mean reading it. So files that were copied, moved or unpacked again are read once
   * more, with the same answers. Folders that are read as quickly without one (fewer than 16 files,
   * less than 1 MiB with what is unpacked from them) have none. NULL: RAWHAL_CACHE in the
   * environment (ignored in a program with more rights than its user), else XDG_CACHE_HOME/rawhal,
   * else HOME/.cache/rawhal. "off", here or there: none. It is used only if it is the user's own
   * and no one else can write to it; nothing fails if it cannot be used. */
  const char *cache;
  const rawhal_container_options_t *container; /* how files are read; NULL: the defaults */
  const rawhal_hsaco_options_t *hsaco;         /* the same for the objects in them */
  uint32_t max_open_files;                     /* default 32 */
} rawhal_library_options_t;

/* Makes an empty library. `options` may be NULL. INVALID_ARGUMENT; OUT_OF_MEMORY; DEVICE_LOST. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_library_create(rawhal_device_t *device, const rawhal_library_options_t *options,
                      rawhal_library_t **library, rawhal_error_t *error);
/* Its kernels must not be submitted any more; what is submitted may go on, as with
 * rawhal_executable_destroy(). NULL is allowed. */
RAWHAL_API void rawhal_library_destroy(rawhal_library_t *library);

/* ---- What is in it ---- */

/* Adds a file, or a folder with all that is below it, including links to files but not links to
 * folders. Files in a folder that carry no code objects are passed over. Adding a path again does
 * nothing. NOT_FOUND: no such path; INVALID_ARGUMENT: it is neither. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_library_add(rawhal_library_t *library,
                                                             const char *path,
                                                             rawhal_error_t *error);
/* Adds bytes, which must stay unchanged until the library is destroyed, unless the container
 * options say RAWHAL_CONTAINER_COPY. `name` stands for a path. Fails as rawhal_container_open(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_library_add_bytes(rawhal_library_t *library,
                                                                   const void *bytes, size_t size,
                                                                   rawhal_string_t name,
                                                                   rawhal_error_t *error);
/* Looks again at what is in the folders and files. What is loaded stays loaded. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_library_refresh(rawhal_library_t *library,
                                                                 rawhal_error_t *error);

/* ---- Finding ---- */

/* Zero-initialise, then say what is known: what is not set may be anything. */
typedef struct rawhal_library_query {
  size_t size;                   /* sizeof(rawhal_library_query_t), or 0: see types.h */
  rawhal_string_t name;          /* of the kernel, or its symbol (NAME.kd); needed */
  rawhal_string_t file;          /* its last parts ("gfx942/gemm.co"), or the whole path */
  rawhal_content_hash_t content; /* of the object */
  uint64_t signature;            /* of the kernel's arguments: rawhal_kernarg_info_t.signature */
  uint32_t kernarg_size;         /* of a kernel whose facts do not state it, see
                                    rawhal_executable_kernel() */
} rawhal_library_query_t;

/* A kernel of a code object. */
typedef struct rawhal_library_match {
  rawhal_string_t file; /* path, absolute, or the name of bytes */
  uint32_t ordinal;     /* the object's number in it, as rawhal_container_object() counts */
  uint64_t offset;      /* in it; of an unpacked object, that of the outermost compressed bytes that
                           it came from */
  uint64_t bytes;       /* the object's size */
  rawhal_target_t target;
  rawhal_content_hash_t content;
  uint64_t signature; /* 0: unusable, or its facts do not state the size of its arguments */
  bool unpacked, usable;
  rawhal_string_t name; /* by rawhal_library_list() only: otherwise it is the query's */
} rawhal_library_match_t;

/* Finds all kernels that fit the query in objects that the device can run, the best first, those
 * that are equally good in the order in which they were added. `*count` is how many there are; the
 * first `capacity` are stored, each of `match_size` bytes, sizeof(rawhal_library_match_t). Reads
 * the objects of those; loads nothing. Finding no kernel is not a failure: 0. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_library_find(rawhal_library_t *library,
                                                              const rawhal_library_query_t *query,
                                                              rawhal_library_match_t *matches,
                                                              size_t capacity, size_t match_size,
                                                              size_t *count, rawhal_error_t *error);

/* Zero-initialise, then say which kernels are wanted: what is not set may be anything. Text is read
 * during the call only. */
typedef struct rawhal_library_filter {
  size_t size;              /* sizeof(rawhal_library_filter_t), or 0: see types.h */
  rawhal_string_t pattern;  /* of the name, or of the symbol with or without ".kd": as in the shell,
                               * is any text, ? any byte, [...] one of those, \ escapes;
                               empty: any name */
  rawhal_string_t file;     /* as in a query */
  rawhal_string_t argument; /* the name of one of the arguments that callers pass */
  uint64_t signature;       /* as in a query, of kernels whose facts state the size of their
                               arguments */
} rawhal_library_filter_t;

/* Where a page is written to, and where the next begins. The memory is the caller's. */
typedef struct rawhal_library_page {
  size_t size; /* sizeof(rawhal_library_page_t), or 0: see types.h */
  rawhal_library_match_t *matches;
  size_t capacity;   /* of them, at least 1 */
  size_t match_size; /* sizeof(rawhal_library_match_t) */
  char *text;        /* for the names, not NUL-terminated, that the matches point to */
  size_t text_size;  /* a name that does not fit is the next page's first */
  uint64_t cursor;   /* 0: from the first kernel on. The call sets it: where the next page begins, 0
                        at the end */
  size_t count;      /* set by the call: of the matches */
  size_t text_used; /* set by the call; if it fails with OUT_OF_RANGE, what it needs for one name */
} rawhal_library_page_t;

/* Kernels a call looks at, or objects that it passes over, before it gives what it has. */
#define RAWHAL_LIBRARY_PAGE_LOOKS 4096

/* Lists kernels of objects that the device can run, in pages: all that fit the filter (NULL: all),
 * in the order in which they were added, those of an object as the file has them. Equal names are
 * listed each. A page is full, or a part of it where the text is full, or where the call has looked
 * at RAWHAL_LIBRARY_PAGE_LOOKS kernels; it may be empty: the end is where the cursor becomes 0.
 *
 *     rawhal_library_page_t page = {.size = sizeof(page), .matches = matches, .capacity = 64, ...};
 *     do {
 *       status = rawhal_library_list(library, &filter, &page, &error);
 *       for (size_t i = 0; status == RAWHAL_OK && i < page.count; ++i) ...
 *     } while (status == RAWHAL_OK && page.cursor);
 *
 * All is from the index: no object is opened, `content` is zeros, nothing is allocated or read
 * again from the page before; files of kernels that fit are compared with what was indexed. (The
 * first call that meets what was added reads its index or makes it, as a search does.)
 *
 * A cursor is a place in the library that returned it, for any filter. From page to page a kernel
 * that is there all the time comes exactly once, whatever other threads add meanwhile: that comes
 * at the end. It is NOT_FOUND, never another place, once the library has indexed anything anew
 * because a file has changed, by whatever call: begin again at 0. (So it is after 2^28 times, when
 * it could be taken for a new one.) What has not changed does not end it, refreshing included.
 *
 * On failure the cursor stays, and `count` is 0. INVALID_ARGUMENT: also a cursor beyond the end;
 * NOT_FOUND: above; OUT_OF_RANGE: the text has no room for the next name alone; otherwise as
 * rawhal_library_find(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_library_list(rawhal_library_t *library,
                                                              const rawhal_library_filter_t *filter,
                                                              rawhal_library_page_t *page,
                                                              rawhal_error_t *error);

/* ---- Kernels ---- */

/* Loads the kernel that the query means; each call needs a rawhal_library_release(). NOT_FOUND: the
 * message says what there is instead: names that are near (of more than 1,024, those nearest in
 * length are compared), objects for other targets. Where misses are usual, pass no error: then
 * nothing is compared; AMBIGUOUS: it names the
 * candidates; otherwise as rawhal_executable_load() and rawhal_executable_kernel(). An object that
 * could not be loaded is tried again the next time. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_library_kernel(rawhal_library_t *library, const rawhal_library_query_t *query,
                      const rawhal_device_kernel_t **kernel, rawhal_error_t *error);
/* Gives a kernel back: the caller must not submit or record it any more; what is submitted or
 * recorded may go on. NULL is allowed. */
RAWHAL_API void rawhal_library_release(rawhal_library_t *library,
                                       const rawhal_device_kernel_t *kernel);
/* The executable of a kernel that was not given back: for the object's variables and facts. Owned
 * by the library: do not destroy it. NULL: not a kernel of the library. */
RAWHAL_API rawhal_executable_t *rawhal_library_executable(rawhal_library_t *library,
                                                          const rawhal_device_kernel_t *kernel);

/* Counters, for tests and monitoring. */
typedef struct rawhal_library_stats {
  uint64_t files;           /* listed */
  uint64_t objects;         /* indexed, that the device can run */
  uint64_t kernels;         /* of those */
  uint64_t files_read;      /* for the index, ever */
  uint64_t index_bytes;     /* read from indexes on disk, ever */
  uint64_t indexes_read;    /* found on disk and used, ever */
  uint64_t indexes_written; /* to disk, ever */
  uint64_t loads, unloads;  /* of objects, ever */
  uint64_t loaded_bytes;    /* of objects, now */
  uint64_t loaded_objects;
} rawhal_library_stats_t;
/* Fills in `*stats`. `stats_size`: sizeof(rawhal_library_stats_t); that many bytes are written,
 * zeros where the library knows less. Zeros for NULL. */
RAWHAL_API void rawhal_library_stats(rawhal_library_t *library, rawhal_library_stats_t *stats,
                                     size_t stats_size);

RAWHAL_END

#endif
