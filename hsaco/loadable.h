/* May this object be handed to the HSA loader? Internal.
 *
 * ROCr's loader trusts most of what it reads. The verdict demands the opposite of everything it
 * does not check, so that nothing called loadable can crash it. */
#ifndef RAWHAL_HSACO_LOADABLE_H
#define RAWHAL_HSACO_LOADABLE_H

#include "hsaco/object.h"

/* Sets info.loadable, or the reason and a diagnostic. */
void loadable_judge(struct rawhal_hsaco *hsaco);

#endif
