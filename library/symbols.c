/* The functions that the public headers define, once more as symbols of the library: what cannot
 * compile C calls them by name. */
#define RAWHAL_INLINE RAWHAL_API extern inline
#include <rawhal/rawhal.h>
