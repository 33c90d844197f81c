/* The order in which a graph's nodes run, by the barrier bits of their packets.
 *
 * A packet with its barrier bit begins when all before it have finished: so a node for whose sake
 * one earlier node, or a node since, has had the bit need not have it. What stands alone has it,
 * and so has what comes next. */
#include "queue/graph/exec.h"

#include <string.h>

static void write_header(hsa_kernel_dispatch_packet_t *packet, const graph_node_t *node, bool waits)
{
  const hsa_packet_type_t type =
      node->dispatch.kernel ? HSA_PACKET_TYPE_KERNEL_DISPATCH : HSA_PACKET_TYPE_BARRIER_AND;
  const uint32_t header =
      packet_header(type, node->dispatch.flags | (waits ? 0u : RAWHAL_DISPATCH_OVERLAP));
  memcpy(packet, &header, sizeof(header));
}

void exec_order(rawhal_graph_exec_t *exec, const rawhal_graph_t *graph, bool overlap)
{
  uint32_t fence = 0; /* the last node with the bit: what is below has finished when it begins */
  bool alone = false; /* the node before must not meet another */
  for (uint32_t i = 0; i < graph->count; ++i) {
    const graph_node_t *node = &graph->nodes[i];
    const bool stands =
        node->dispatch.flags & RAWHAL_DISPATCH_COOPERATIVE || graph_node_is_part(node);
    const bool waits =
        i == 0 ? !overlap || stands : alone || stands || graph_node_latest(node) > fence;
    write_header(&exec->packets[i], node, waits);
    exec->overlapping += !waits;
    exec->signaller = waits ? i : exec->signaller;
    fence = waits ? i : fence;
    alone = stands;
  }
}
