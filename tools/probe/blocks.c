/* Counters as blocks and branches. */
#include <stdlib.h>

#include "tools/probe/figures.h"
#include "tools/shared/tool.h"

static bool multiply(uint64_t a, uint64_t b, uint64_t *product)
{
  if (!__builtin_mul_overflow(a, b, product))
    return true;
  *product = UINT64_MAX;
  return false;
}

static uint64_t add(uint64_t a, uint64_t b)
{
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t counter_of(const figures_t *figures, const rawhal_probe_point_t *point)
{
  return point->counter < figures->records->counters ? figures->counters[point->counter] : 0;
}

const block_t *code_block_at(const code_figures_t *code, uint32_t offset)
{
  size_t from = 0, to = code->block_count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (code->blocks[middle].offset <= offset)
      from = middle + 1;
    else
      to = middle;
  }
  return from && offset - code->blocks[from - 1].offset < code->blocks[from - 1].bytes
             ? &code->blocks[from - 1]
             : NULL;
}

static void add_block(const figures_t *figures, const rawhal_probe_point_t *point,
                      code_figures_t *code)
{
  block_t *block = &code->blocks[code->block_count++];
  *block = (block_t){.offset = point->offset,
                     .bytes = point->block_bytes,
                     .instructions = point->instructions,
                     .count = counter_of(figures, point)};
  (void)multiply(block->count, block->instructions, &block->executed);
  code->executed = add(code->executed, block->executed);
}

/* Of the block that begins there: before its count or behind it. */
static void add_lanes(const figures_t *figures, const rawhal_probe_point_t *point,
                      code_figures_t *code)
{
  block_t *block = (block_t *)(uintptr_t)code_block_at(code, point->offset);
  if (!block || block->offset != point->offset)
    return;
  block->has_lanes = true;
  block->lanes = counter_of(figures, point);
}

static void add_edge(const figures_t *figures, const rawhal_probe_point_t *point,
                     code_figures_t *code)
{
  const block_t *block = code_block_at(code, point->offset);
  code->edges[code->edge_count++] = (edge_t){.offset = point->offset,
                                             .target = point->target,
                                             .not_taken = counter_of(figures, point),
                                             .reached = block ? block->count : 0,
                                             .is_told = block != NULL};
}

bool code_figures(const figures_t *figures, code_figures_t *code, rawhal_error_t *error)
{
  const rawhal_probe_point_t *points = figures->kernel->points;
  const uint32_t count = figures->kernel->probe.point_count;
  size_t blocks = 0, edges = 0;
  for (uint32_t i = 0; i < count; ++i) {
    blocks += points[i].action == RAWHAL_PROBE_COUNT;
    edges += points[i].action == RAWHAL_PROBE_PASSED;
  }
  *code = (code_figures_t){.blocks = calloc(blocks + 1, sizeof(block_t)),
                           .edges = calloc(edges + 1, sizeof(edge_t))};
  if (!code->blocks || !code->edges) {
    code_figures_free(code);
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for blocks of a kernel");
  }
  for (uint32_t i = 0; i < count; ++i)
    if (points[i].action == RAWHAL_PROBE_COUNT)
      add_block(figures, &points[i], code);
  for (uint32_t i = 0; i < count; ++i)
    if (points[i].action == RAWHAL_PROBE_ACTIVE)
      add_lanes(figures, &points[i], code);
    else if (points[i].action == RAWHAL_PROBE_PASSED)
      add_edge(figures, &points[i], code);
  return true;
}

void code_figures_free(code_figures_t *code)
{
  free(code->blocks);
  free(code->edges);
  *code = (code_figures_t){0};
}
