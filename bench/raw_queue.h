// The baseline of all submissions: the least the HSA API allows for an empty dispatch.
#ifndef RAWHAL_BENCH_RAW_QUEUE_H
#define RAWHAL_BENCH_RAW_QUEUE_H

#include "queue_bench.h"

#include <hsa/hsa.h>

class RawQueue {
public:
  explicit RawQueue(const rawhal_device_kernel_t *kernel)
      : object(rawhal_device_kernel_info(kernel)->kernel_object)
  {
    static hsa_agent_t gpu;
    symbol<decltype(hsa_iterate_agents)>("hsa_iterate_agents")(
        [](hsa_agent_t agent, void *) {
          hsa_device_type_t type;
          symbol<decltype(hsa_agent_get_info)>("hsa_agent_get_info")(agent, HSA_AGENT_INFO_DEVICE,
                                                                     &type);
          if (type == HSA_DEVICE_TYPE_GPU)
            gpu = agent;
          return HSA_STATUS_SUCCESS;
        },
        nullptr);
    ready = symbol<decltype(hsa_queue_create)>("hsa_queue_create")(
                gpu, 1024, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                &queue) == HSA_STATUS_SUCCESS &&
            symbol<decltype(hsa_signal_create)>("hsa_signal_create")(0, 0, nullptr, &done) ==
                HSA_STATUS_SUCCESS;
  }
  ~RawQueue()
  {
    if (queue)
      symbol<decltype(hsa_queue_destroy)>("hsa_queue_destroy")(queue);
    if (done.handle)
      symbol<decltype(hsa_signal_destroy)>("hsa_signal_destroy")(done);
  }
  RawQueue(const RawQueue &) = delete;
  RawQueue &operator=(const RawQueue &) = delete;

  // Index, full-ring check, packet, header, doorbell; no kernargs, no checks, and no signal but for
  // the last. From any thread.
  void write(bool last)
  {
    uint64_t index = add(queue, 1);
    while (index - read(queue) >= queue->size)
      ;
    auto *packet = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) +
                   (index & (queue->size - 1));
    hsa_kernel_dispatch_packet_t body = {};
    body.workgroup_size_x = body.workgroup_size_y = body.workgroup_size_z = 1;
    body.grid_size_x = body.grid_size_y = body.grid_size_z = 1;
    body.kernel_object = object;
    body.completion_signal.handle = last ? done.handle : 0;
    memcpy(reinterpret_cast<char *>(packet) + 4, reinterpret_cast<char *>(&body) + 4, 60);
    __atomic_store_n(reinterpret_cast<uint32_t *>(packet), 0x00031502u, __ATOMIC_RELEASE);
    store(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  // A batch with arguments, as a graph would be: `bytes` of them for each, copied to blocks of 64 at
  // `kernargs`, and one doorbell; the last signals.
  void write_batch(size_t count, const void *blob, size_t bytes, char *kernargs)
  {
    const uint64_t first = add(queue, count);
    while (first + count - read(queue) > queue->size)
      ;
    for (size_t i = count; i-- > 0;) {
      memcpy(kernargs + 64 * i, blob, bytes);
      auto *packet = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) +
                     ((first + i) & (queue->size - 1));
      hsa_kernel_dispatch_packet_t body = {};
      body.workgroup_size_x = body.workgroup_size_y = body.workgroup_size_z = 1;
      body.grid_size_x = body.grid_size_y = body.grid_size_z = 1;
      body.kernel_object = object;
      body.kernarg_address = kernargs + 64 * i;
      body.completion_signal.handle = i + 1 == count ? done.handle : 0;
      memcpy(reinterpret_cast<char *>(packet) + 4, reinterpret_cast<char *>(&body) + 4, 60);
      __atomic_store_n(reinterpret_cast<uint32_t *>(packet), 0x00031502u, __ATOMIC_RELEASE);
    }
    store(queue->doorbell_signal, static_cast<hsa_signal_value_t>(first + count - 1));
  }

  // A round; the last write of it signals.
  void write_round()
  {
    for (size_t i = 0; i < round_size; ++i)
      write(i + 1 == round_size);
  }

  // Waits for as many last writes more.
  bool drain(int64_t lasts)
  {
    finished -= lasts;
    return symbol<decltype(hsa_signal_wait_scacquire)>("hsa_signal_wait_scacquire")(
               done, HSA_SIGNAL_CONDITION_LT, finished + 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) <=
           finished;
  }

  bool ready = false;

private:
  const uint64_t object;
  hsa_queue_t *queue = nullptr;
  hsa_signal_t done = {};
  int64_t finished = 0;
  decltype(hsa_queue_add_write_index_screlease) *add =
      symbol<decltype(hsa_queue_add_write_index_screlease)>("hsa_queue_add_write_index_screlease");
  decltype(hsa_queue_load_read_index_scacquire) *read =
      symbol<decltype(hsa_queue_load_read_index_scacquire)>("hsa_queue_load_read_index_scacquire");
  decltype(hsa_signal_store_screlease) *store =
      symbol<decltype(hsa_signal_store_screlease)>("hsa_signal_store_screlease");
};

#endif
