/* Every fact of hiplaunch/hip/hip_types.h is HIP's. */
#include <stdio.h>
#include <string.h>

#include "hiplaunch/hip/hip_types.h"
#include "tests/hiplaunch/abi_list.h"

enum { FLAGS = 17 };

int main(void)
{
  int facts = 0, wrong = 0;
  for (; ours[facts].text; ++facts)
    if (ours[facts].value != theirs[facts].value && ++wrong)
      printf("%s: %llu, and HIP's is %llu\n", ours[facts].text,
             (unsigned long long)ours[facts].value, (unsigned long long)theirs[facts].value);
  if (memcmp(our_flags, their_flags, FLAGS * sizeof(*our_flags)) != 0 && ++wrong)
    printf("the flags of hipDeviceArch_t are in another order\n");
  printf("%d facts and %d flags, %d wrong\n", facts, FLAGS, wrong);
  return wrong != 0;
}
