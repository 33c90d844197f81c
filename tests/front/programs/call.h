/* Calls of HSA that have to succeed: what fails ends the program, with 1. */
#ifndef RAWHAL_TESTS_FRONT_CALL_H
#define RAWHAL_TESTS_FRONT_CALL_H

#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>

#define CALL(call)                                                                                 \
  do {                                                                                             \
    hsa_status_t result_ = (call);                                                                 \
    if (result_ != HSA_STATUS_SUCCESS) {                                                           \
      fprintf(stderr, "%s:%d: %s: 0x%x\n", __FILE__, __LINE__, #call, (unsigned)result_);          \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

#endif
