// What runtimes have that make queues from descriptors.
#ifndef RAWHAL_TESTS_FRONT_TOY_LATER_H
#define RAWHAL_TESTS_FRONT_TOY_LATER_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#ifdef __cplusplus
extern "C" {
#endif

// As the header has it.
typedef struct toy_description {
  uint16_t version, flags;
  uint8_t engine_type, reserved_header[3];
  uint32_t queue_size_bytes;
  hsa_amd_queue_priority_t priority;
  void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data);
  void *callback_data;
  hsa_queue_t *queue;
  union {
    struct {
      const uint32_t *cu_mask;
      hsa_queue_type32_t type;
      uint32_t private_segment_size, cu_mask_count, reserved[3];
    } compute;
    uint32_t sdma_engine_id;
    uint8_t reserved[32];
  } engine;
  uint32_t traffic_class;
  uint8_t reserved[20];
} toy_description_t;

enum { TOY_COUNTED = 624, TOY_RELEASE = 632, TOY_DESCRIBED = 704, TOY_SIGNAL = 712 };

// What reached the runtime since the table was made: descriptors by their engine, queues that were
// acquired, and the last priority and mask of a queue.
typedef struct toy_later {
  unsigned engines[3], acquired, semaphores;
  int priority;
  uint32_t cus, mask;
  hsa_queue_t *masked; // the queue whose mask it was
  hsa_status_t mask_result;
} toy_later_t;
extern toy_later_t toy_later;
void toy_later_fill(unsigned char *amd);

#ifdef __cplusplus
}
#endif

#endif
