// Several translation units, each with a fat binary of its own.
#include "show.h"
#include "units.h"

int main()
{
  std::printf("%d %d %d\n", first_unit(1), second_unit(2), first_unit(3));
  std::printf("%d\n", second_unit(4));
}
