#include <stdio.h>
#include <string.h>

#include "hsaco/kpack.h"
#include "hsaco/pack_reader.h"

/* The section .rocm_kpack_ref of a host file whose code objects were moved to archives
 * (rocm-systems, shared/kpack, elf/kpack_transform.py): {kernel_name: "lib/x.so",
 * kpack_search_paths: ["../.kpack/y_@GFXARCH@.kpack"...]}. Archives list what belongs to its
 * translation unit number N as "lib/x.so#N". */

typedef struct reference {
  rawhal_string_t name;
  char paths[300]; /* as far as there is room */
  size_t used;
} reference_t;

static bool read_name(pack_reader_t *reader, const char *name, void *context)
{
  return pack_text(reader, name, &((reference_t *)context)->name);
}

static bool read_paths(pack_reader_t *reader, const char *name, void *context)
{
  reference_t *to = context;
  uint32_t count;
  if (!pack_enter(reader, HEADER_ARRAY, name, &count))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    rawhal_string_t path;
    if (!pack_text(reader, "a search path", &path))
      return false;
    int length = snprintf(to->paths + to->used, sizeof(to->paths) - to->used, "%s'%.*s'",
                          i ? ", " : "", (int)(path.size < 200 ? path.size : 200), path.data);
    to->used += length > 0 ? (size_t)length : 0;
    if (to->used >= sizeof(to->paths))
      to->used = sizeof(to->paths) - 1;
  }
  pack_leave(reader);
  return true;
}

rawhal_status_t kpack_reference_note(scan_t *scan, scan_part_t section, rawhal_error_t *error)
{
  static const pack_key_t keys[] = {{"kernel_name", read_name}, {"kpack_search_paths", read_paths}};
  reference_t reference = {0};
  pack_reader_t reader;
  rawhal_error_t why;
  uint32_t seen;
  pack_reader_init(&reader, scan->space.bytes + section.offset, (size_t)section.size,
                   section.offset, ".rocm_kpack_ref", &why);
  reader.work = &scan->work;
  scan->refused_status = RAWHAL_UNSUPPORTED;
  scan->refused_at = section.offset;
  bool read = pack_map(&reader, "it", keys, sizeof(keys) / sizeof(*keys), &reference, &seen);
  if (reader.no_work || !work_take(&scan->work, WORK_OBJECT))
    return scan_fail_work(section.offset, error);
  if (read && seen == 3)
    scan->refused = arena_print(
        &scan->arena,
        "this host file's code objects are in kpack archives, as '%.*s#N': the archives are at %s, "
        "relative to the file's folder, with the target in place of @GFXARCH@",
        (int)(reference.name.size < 100 ? reference.name.size : 100), reference.name.data,
        reference.paths);
  else
    scan->refused = arena_print(
        &scan->arena,
        "this host file's code objects are in kpack archives; which ones cannot be read: %s",
        reader.status ? why.message : ".rocm_kpack_ref lacks a key");
  return RAWHAL_OK;
}
