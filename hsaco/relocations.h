/* Listing relocations; loadable.h judges them. Internal. */
#ifndef RAWHAL_HSACO_RELOCATIONS_H
#define RAWHAL_HSACO_RELOCATIONS_H

#include "hsaco/object.h"

enum { R_AMDGPU_RELATIVE64 = 13 }; /* adds no symbol, but the loader looks at it */

/* Whether the loader looks the symbol up by its name, because it has no type and no section. */
bool symbol_is_external(const elf_view_t *elf, const Elf64_Sym *symbol);

/* Fills in hsaco->relocations from the SHT_RELA sections that can be read. */
RAWHAL_CHECKED rawhal_status_t relocations_read(rawhal_hsaco_t *hsaco, rawhal_error_t *error);

#endif
