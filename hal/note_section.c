/* Objects without a note section: kernels written by hand often come without metadata.
 *
 * ROCr's loader looks for the notes of old code objects in every object, and where it finds no note
 * section it adds one to its own view of the ELF file; on some objects it then crashes (5.2.3). One
 * empty section keeps it from doing so. The section header table moves to the end of the copy, which
 * is also where the loader expects the last of all things to be. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "hal/internal.h"

void *note_section_added(rawhal_bytes_t object, size_t *size)
{
  Elf64_Ehdr header; /* the object is loadable: headers in range, no extended numbering */
  memcpy(&header, object.data, sizeof(header));
  size_t count = header.e_shnum;
  uint64_t table, whole;
  if (count + 1 >= SHN_LORESERVE || !checked_align_u64(object.size, 8, &table) ||
      !checked_add_u64(table, (count + 1) * sizeof(Elf64_Shdr), &whole))
    return NULL;
  unsigned char *copy = calloc(1, whole);
  if (!copy)
    return NULL;
  memcpy(copy, object.data, object.size);
  memcpy(copy + table, copy + header.e_shoff, count * sizeof(Elf64_Shdr));
  const Elf64_Shdr note = {.sh_type = SHT_NOTE, .sh_offset = sizeof(Elf64_Ehdr), .sh_addralign = 4};
  memcpy(copy + table + count * sizeof(Elf64_Shdr), &note, sizeof(note));
  header.e_shoff = table;
  header.e_shnum = (Elf64_Half)(count + 1);
  memcpy(copy, &header, sizeof(header));
  *size = whole;
  return copy;
}
