/* Relocations: listed, and judged. Internal. */
#ifndef RAWHAL_HSACO_RELOCATIONS_H
#define RAWHAL_HSACO_RELOCATIONS_H

#include "hsaco/object.h"

/* Fills in hsaco->relocations from the SHT_RELA sections that can be read. */
RAWHAL_CHECKED rawhal_status_t relocations_read(struct rawhal_hsaco *hsaco, rawhal_error_t *error);

/* Of relocation section number `index`: NULL when every entry can be applied safely. */
const char *loadable_relocations(const struct elf_view *elf, size_t index, uint64_t *offset);

#endif
