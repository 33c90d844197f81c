#include "softgpu/thunk/layout.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
  NODE_BYTES = 356, /* of 5.2 to 6.2; those of libdtif.so are longer */
  NODE_TAIL = 344,
  LINK_BYTES = 48,
  DTIF_LINK_BYTES = 52,
};

static_assert(sizeof(HsaNodeProperties) == NODE_BYTES, "as in 5.2 to 6.2");
static_assert(offsetof(HsaNodeProperties, SGPRSizePerCU) + 4 == NODE_TAIL, "as in 5.2 to 6.2");
static_assert(sizeof(HsaIoLinkProperties) == LINK_BYTES, "as in 5.2 to 6.2");
static_assert(sizeof(HsaMemoryProperties) == 32, "as everywhere");
static_assert(sizeof(HsaCacheProperties) == 1056, "as in all before 2026");
static_assert(sizeof(softgpu_node_tail_t) == NODE_BYTES - NODE_TAIL, "three words");

/* A run of bytes that moved together. What lies between is not known: it is 0. */
typedef struct span {
  uint16_t from, to, bytes;
} span_t;

static const span_t node_spans[] = {
    {0, 0, 8},    /* NumCPUCores, NumFComputeCores; then NumNeuralCores */
    {8, 12, 24},  /* NumMemoryBanks to Capability; then Capability2 */
    {32, 40, 40}, /* MaxWavesPerSIMD to EngineId; then OverrideEngineId */
    {72, 84, NODE_BYTES - 72},
};
static const span_t link_spans[] = {
    {0, 0, 44}, /* IoLinkType to RecTransferSize; then RecSdmaEngIdMask */
    {44, 48, 4},
};

static void spans_copy(void *to, const void *from, const span_t *spans, size_t count)
{
  const span_t *last = &spans[count - 1];
  memset(to, 0, (size_t)last->to + last->bytes);
  for (size_t i = 0; i < count; ++i)
    memcpy((char *)to + spans[i].to, (const char *)from + spans[i].from, spans[i].bytes);
}

void softgpu_layout_node(HsaNodeProperties *to, const HsaNodeProperties *node,
                         const softgpu_node_tail_t *tail)
{
  HsaNodeProperties whole = *node;
  memcpy((char *)&whole + NODE_TAIL, tail, sizeof(*tail));
  if (softgpu_is_dtif)
    spans_copy(to, &whole, node_spans, sizeof(node_spans) / sizeof(node_spans[0]));
  else
    memcpy(to, &whole, sizeof(whole));
}

void softgpu_layout_link(HsaIoLinkProperties *array, uint32_t index,
                         const HsaIoLinkProperties *link)
{
  if (softgpu_is_dtif)
    spans_copy((char *)array + (size_t)index * DTIF_LINK_BYTES, link, link_spans,
               sizeof(link_spans) / sizeof(link_spans[0]));
  else
    array[index] = *link;
}

uint32_t softgpu_layout_caches(uint32_t count)
{
  return softgpu_is_dtif && count > 1 ? 1 : count;
}
