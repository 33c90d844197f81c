#include "library/tensile/read.h"

#include "base/error.h"
#include "hsaco/pack_reader.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool fail_arena(pack_reader_t *reader, const tensile_tables_t *tables)
{
  reader->status = arena_fail(tables->arena, reader->error);
  return false;
}

/* Of lists and maps that the readers below enter themselves; what is skipped is checked by the
 * parser. */
static bool check_depth(pack_reader_t *reader)
{
  if (reader->depth < PACK_MOST_NESTING)
    return true;
  reader->status = rawhal_fail_at(reader->error, RAWHAL_CAP_EXCEEDED, pack_place(reader),
                                  "%s nests deeper than %d", reader->what, PACK_MOST_NESTING);
  return false;
}

/* ---- Scalars ---- */

/* Numbers of any sign, and what Python's writer makes of a flag or of None: it is 0. */
static bool read_integer(pack_reader_t *reader, const char *name, int64_t *number)
{
  uint64_t place = pack_place(reader);
  unpack_value_t value;
  if (!pack_value(reader, &value))
    return false;
  switch (value.type) {
  case VALUE_UINT:
    if (value.number > INT64_MAX)
      return pack_fail(reader, place, "%s does not fit into a size", name);
    *number = (int64_t)value.number;
    return true;
  case VALUE_BOOL:
  case VALUE_NEGATIVE:
    *number = (int64_t)value.number;
    return true;
  case VALUE_NIL:
    *number = 0;
    return true;
  default:
    return pack_fail(reader, place, "%s is not a whole number", name);
  }
}

static bool read_flag(pack_reader_t *reader, const char *name, bool *flag)
{
  int64_t number = 0;
  bool read = read_integer(reader, name, &number);
  *flag = number != 0;
  return read;
}

/* Of up to three dimensions; those that are not said are 0. */
static bool read_dimensions(pack_reader_t *reader, const char *name, int64_t *numbers)
{
  enum { MOST = 3 };
  uint64_t place = pack_place(reader);
  uint32_t count;
  if (!pack_enter(reader, HEADER_ARRAY, name, &count))
    return false;
  if (count > MOST)
    return pack_fail(reader, place, "%s has %u dimensions", name, count);
  for (uint32_t i = 0; i < MOST; ++i) {
    numbers[i] = 0;
    if (i < count && !read_integer(reader, name, &numbers[i]))
      return false;
  }
  pack_leave(reader);
  return true;
}

/* ---- What `sizeMapping`, `internalArgsSupport` and `problemType` say ---- */

#define FIELD(reader_name, read, field)                                                            \
  static bool reader_name(pack_reader_t *reader, const char *name, void *context)                  \
  {                                                                                                \
    rawhal_tensile_solution_t *solution = context;                                                 \
    return read(reader, name, field);                                                              \
  }

FIELD(read_workgroup, read_dimensions, solution->sizes.workgroup)
FIELD(read_thread_tile, read_dimensions, solution->sizes.thread_tile)
FIELD(read_macro_tile, read_dimensions, solution->sizes.macro_tile)
FIELD(read_depth_u, read_integer, &solution->sizes.depth_u)
FIELD(read_global_split_u, read_integer, &solution->sizes.global_split_u)
FIELD(read_stagger_u, read_integer, &solution->sizes.stagger_u)
FIELD(read_stagger_stride, read_integer, &solution->sizes.stagger_stride_shift)
FIELD(read_mapping, read_integer, &solution->sizes.workgroup_mapping)
FIELD(read_accumulation, read_integer, &solution->sizes.global_accumulation)
FIELD(read_workspace, read_integer, &solution->sizes.workspace_per_c)
FIELD(read_source_kernel, read_flag, &solution->source_kernel)
FIELD(read_stream_k, read_integer, &solution->sizes.stream_k)
FIELD(read_persistent, read_integer, &solution->sizes.persistent)
FIELD(read_stagger_mapping, read_integer, &solution->sizes.stagger_mapping)
FIELD(read_xcc, read_integer, &solution->sizes.xcc)
FIELD(read_xcc_group, read_integer, &solution->sizes.xcc_group)
FIELD(read_coalesced, read_integer, &solution->sizes.split_coalesced)
FIELD(read_round_robin, read_integer, &solution->sizes.split_round_robin)

FIELD(read_protocol, read_integer, &solution->arguments.version)
FIELD(read_takes_split, read_flag, &solution->arguments.global_split_u)
FIELD(read_takes_mapping, read_flag, &solution->arguments.workgroup_mapping)
FIELD(read_takes_stagger, read_flag, &solution->arguments.stagger_u)
FIELD(read_universal, read_flag, &solution->arguments.universal)

FIELD(read_operation, pack_text, &solution->operation)

/* A map of which the first `needed` keys must be there; `all`, when not NULL, becomes its bytes. */
static bool read_record(pack_reader_t *reader, const char *name, const pack_key_t *keys,
                        size_t key_count, size_t needed, void *context, rawhal_bytes_t *all)
{
  const uint64_t place = pack_place(reader);
  const size_t start = reader->offset;
  uint32_t seen;
  if (!pack_map(reader, name, keys, key_count, context, &seen))
    return false;
  for (size_t i = 0; i < needed; ++i)
    if (!(seen >> i & 1))
      return pack_fail(reader, place, "%s has no '%s'", name, keys[i].name);
  if (all)
    *all = (rawhal_bytes_t){reader->unpacker.bytes + start, reader->offset - start};
  return true;
}

static bool read_sizes(pack_reader_t *reader, const char *name, void *context)
{
  enum { NEEDED = 9 }; /* by Tensile and by hipBLASLt */
  static const pack_key_t keys[] = {
      {"workGroup", read_workgroup},
      {"threadTile", read_thread_tile},
      {"macroTile", read_macro_tile},
      {"depthU", read_depth_u},
      {"globalSplitU", read_global_split_u},
      {"staggerU", read_stagger_u},
      {"workGroupMapping", read_mapping},
      {"globalAccumulation", read_accumulation},
      {"sourceKernel", read_source_kernel},
      {"staggerStrideShift", read_stagger_stride},
      {"workspaceSizePerElemC", read_workspace},
      {"streamK", read_stream_k},
      {"persistentKernel", read_persistent},
      {"staggerUMapping", read_stagger_mapping},
      {"workGroupMappingXCC", read_xcc},
      {"workGroupMappingXCCGroup", read_xcc_group},
      {"globalSplitUCoalesced", read_coalesced},
      {"globalSplitUWorkGroupMappingRoundRobin", read_round_robin},
  };
  rawhal_tensile_solution_t *solution = context;
  return read_record(reader, name, keys, COUNT(keys), NEEDED, solution, &solution->size_mapping);
}

static bool read_arguments(pack_reader_t *reader, const char *name, void *context)
{
  static const pack_key_t keys[] = {
      {"version", read_protocol},           {"gsu", read_takes_split},
      {"wgm", read_takes_mapping},          {"staggerU", read_takes_stagger},
      {"useUniversalArgs", read_universal},
  };
  rawhal_tensile_solution_t *solution = context;
  solution->arguments.known = true;
  return read_record(reader, name, keys, COUNT(keys), 1, solution, NULL);
}

static bool read_problem(pack_reader_t *reader, const char *name, void *context)
{
  static const pack_key_t keys[] = {{"operationIdentifier", read_operation}};
  rawhal_tensile_solution_t *solution = context;
  return read_record(reader, name, keys, COUNT(keys), 0, solution, &solution->problem_type);
}

/* ---- solutions: [solution...] ---- */

FIELD(read_index, read_integer, &solution->index)
FIELD(read_name, pack_text, &solution->name)
FIELD(read_kernel, pack_text, &solution->kernel)

static bool read_solutions(pack_reader_t *reader, const char *name, void *context)
{
  enum { NEEDED = 3 };
  static const pack_key_t keys[] = {
      {"index", read_index},
      {"name", read_name},
      {"sizeMapping", read_sizes},
      {"kernelName", read_kernel},
      {"internalArgsSupport", read_arguments},
      {"problemType", read_problem},
  };
  tensile_tables_t *tables = context;
  uint32_t count;
  if (!pack_enter(reader, HEADER_ARRAY, name, &count))
    return false;
  for (uint32_t i = 0; i < count; ++i) { /* each takes bytes: a claimed count ends with them */
    rawhal_tensile_solution_t solution = {0};
    uint64_t place = pack_place(reader);
    if (!read_record(reader, "a solution", keys, COUNT(keys), NEEDED, &solution, NULL))
      return false;
    if (!solution.kernel.size)
      solution.kernel = solution.name;
    if (!solution.kernel.size)
      return pack_fail(reader, place, "solution %u has an empty name", i);
    if (!arena_reserve(tables->arena, &tables->solutions, &tables->solution_capacity,
                       tables->solution_count, sizeof(solution), 8))
      return fail_arena(reader, tables);
    tables->solutions[tables->solution_count++] = solution;
  }
  pack_leave(reader);
  return true;
}

/* ---- library: the tree, of which only the references to other files are kept ---- */

typedef struct node {
  tensile_tables_t *tables;
  rawhal_string_t type;
  unpack_value_t value; /* of a placeholder: the file's name; VALUE_NIL: none */
  uint64_t place;
} node_t;

static bool read_node(pack_reader_t *reader, const char *name, void *context);

static bool read_type(pack_reader_t *reader, const char *name, void *context)
{
  return pack_text(reader, name, &((node_t *)context)->type);
}

static bool read_node_value(pack_reader_t *reader, const char *name, void *context)
{
  (void)name;
  return pack_value(reader, &((node_t *)context)->value);
}

static bool read_child(pack_reader_t *reader, const char *name, void *context)
{
  return read_node(reader, name, ((node_t *)context)->tables);
}

/* [{predicate, library}...] */
static bool read_rows(pack_reader_t *reader, const char *name, void *context)
{
  static const pack_key_t keys[] = {{"library", read_child}};
  uint32_t count, seen;
  if (!check_depth(reader) || !pack_enter(reader, HEADER_ARRAY, name, &count))
    return false;
  for (uint32_t i = 0; i < count; ++i)
    if (!check_depth(reader) || !pack_map(reader, "a row", keys, COUNT(keys), context, &seen))
      return false;
  pack_leave(reader);
  return true;
}

/* {operation: library...} */
static bool read_branches(pack_reader_t *reader, const char *name, void *context)
{
  unpack_value_t key;
  uint32_t count;
  if (!check_depth(reader) || !pack_enter(reader, HEADER_MAP, name, &count))
    return false;
  for (uint32_t i = 0; i < count; ++i)
    if (!pack_value(reader, &key) || !read_child(reader, "library", context))
      return false;
  pack_leave(reader);
  return true;
}

static bool note_library(pack_reader_t *reader, const node_t *node)
{
  tensile_tables_t *tables = node->tables;
  const rawhal_string_t placeholder = RAWHAL_STRING("Placeholder");
  if (node->type.size != placeholder.size ||
      memcmp(node->type.data, placeholder.data, placeholder.size) != 0)
    return true;
  if (node->value.type != VALUE_STRING || !node->value.size)
    return pack_fail(reader, node->place, "a placeholder names no file");
  if (!arena_reserve(tables->arena, &tables->libraries, &tables->library_capacity,
                     tables->library_count, sizeof(*tables->libraries), 8))
    return fail_arena(reader, tables);
  tables->libraries[tables->library_count++] =
      (rawhal_string_t){node->value.text, node->value.size};
  return true;
}

/* Kinds of nodes that have other members, tables and trees of decisions, end in solutions. */
static bool read_node(pack_reader_t *reader, const char *name, void *context)
{
  static const pack_key_t keys[] = {
      {"type", read_type},
      {"rows", read_rows},
      {"map", read_branches},
      {"value", read_node_value},
  };
  node_t node = {.tables = context, .value = {.type = VALUE_NIL}, .place = pack_place(reader)};
  return check_depth(reader) && read_record(reader, name, keys, COUNT(keys), 1, &node, NULL) &&
         note_library(reader, &node);
}

/* ---- The root ---- */

static bool read_version(pack_reader_t *reader, const char *name, void *context)
{
  tensile_tables_t *tables = context;
  unpack_value_t value;
  (void)name;
  if (!pack_value(reader, &value))
    return false;
  if (value.type == VALUE_STRING)
    tables->version = (rawhal_string_t){value.text, value.size};
  return true; /* Python's writer has None where it was not set */
}

/* One pass, in which each value has a byte at least: so much for each byte is enough, and all that
 * reading can take. */
static void give_work(work_t *work, size_t size)
{
  enum { TIMES = 2 + WORK_TOKEN / WORK_A_BYTE };
  work_start(work, 0);
  for (int i = 0; i < TIMES; ++i)
    work_give(work, size);
}

rawhal_status_t tensile_read(tensile_tables_t *tables, const void *bytes, size_t size,
                             rawhal_error_t *error)
{
  static const pack_key_t keys[] = {
      {"solutions", read_solutions}, {"library", read_node}, {"version", read_version}};
  enum { NEEDED = 2 };
  pack_reader_t reader;
  work_t work;
  pack_reader_init(&reader, bytes, size, 0, "a solution library", error);
  give_work(&work, size);
  reader.work = &work;
  if (read_record(&reader, "it", keys, COUNT(keys), NEEDED, tables, NULL) && reader.offset != size)
    (void)pack_fail(&reader, reader.offset, "%zu bytes come after its end", size - reader.offset);
  return reader.status;
}
