/* rawhal header: kernels' arguments as C structs. */
#include "tools/header.h"

#include <getopt.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tools/select.h"
#include "tools/tool.h"

/* One kernel, by name; where several objects have it, what they agree on. */
typedef struct kernel_entry {
  char *name; /* name_size bytes: copied, as objects are closed */
  size_t name_size;
  char *identifier;
  bool exact;         /* the identifier is the name */
  char *text;         /* of the struct; NULL when there is no layout */
  uint64_t size;      /* of the struct */
  uint32_t least;     /* bytes that a blob must have */
  char *why_not;      /* there is no layout */
  uint64_t signature; /* where signatures agree */
  uint64_t blob_signature;
  bool signatures_differ;
  size_t object; /* where it was first */
  char target[64];
} kernel_entry_t;

typedef struct header {
  kernel_entry_t **entries; /* in order of appearance */
  size_t count;
  void *by_name;       /* tsearch() trees: a hostile file has no bad case for them */
  void *by_identifier; /* to tell identifiers apart */
  void *by_text;       /* the first entry with each struct */
} header_t;

static int compare_names(const void *a, const void *b)
{
  const kernel_entry_t *first = a, *second = b;
  return tool_compare_text((rawhal_string_t){first->name, first->name_size},
                           (rawhal_string_t){second->name, second->name_size});
}

static int compare_identifiers(const void *a, const void *b)
{
  return strcmp(((const kernel_entry_t *)a)->identifier, ((const kernel_entry_t *)b)->identifier);
}

static int compare_texts(const void *a, const void *b)
{
  return strcmp(((const kernel_entry_t *)a)->text, ((const kernel_entry_t *)b)->text);
}

/* ---- Collecting ---- */

static void entry_free(kernel_entry_t *entry)
{
  if (!entry)
    return;
  free(entry->name);
  free(entry->identifier);
  free(entry->text);
  free(entry->why_not);
  free(entry);
}

static void keep_in_tree(void *entry)
{
  (void)entry; /* the list owns them */
}

static void header_release(header_t *header)
{
  tdestroy(header->by_name, keep_in_tree);
  tdestroy(header->by_identifier, keep_in_tree);
  tdestroy(header->by_text, keep_in_tree);
  for (size_t i = 0; i < header->count; ++i)
    entry_free(header->entries[i]);
  free(header->entries);
}

/* What one object says about a kernel; NULL = out of memory. */
static kernel_entry_t *entry_make(const select_t *select, const rawhal_kernel_t *kernel)
{
  kernel_entry_t *entry = calloc(1, sizeof(*entry));
  if (!entry)
    return NULL;
  rawhal_target_format(&select->object->target, entry->target, sizeof(entry->target));
  entry->object = select->index;
  entry->name_size = kernel->name.size;
  entry->name = malloc(kernel->name.size + 1);
  if (entry->name && kernel->name.size)
    memcpy(entry->name, kernel->name.data, kernel->name.size);
  entry->identifier = header_kernel_identifier(kernel->name, &entry->exact);

  rawhal_kernarg_layout_t *layout = NULL;
  rawhal_error_t error;
  if (rawhal_kernarg_layout_create(kernel, 0, &layout, &error)) {
    entry->why_not = strdup(error.message);
  } else {
    const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
    entry->text = header_struct(kernel, layout, &entry->size);
    entry->signature = info->signature;
    entry->blob_signature = info->blob_signature;
    entry->least =
        info->knowledge == RAWHAL_KERNARG_ARGUMENTS ? info->explicit_end : info->segment_size;
    rawhal_kernarg_layout_destroy(layout);
  }
  if (entry->name && entry->identifier && (entry->text || entry->why_not))
    return entry;
  entry_free(entry);
  return NULL;
}

/* The same kernel in another object: a caller's blob must fit both. */
static bool agree(kernel_entry_t *known, const kernel_entry_t *other, rawhal_error_t *error)
{
  known->signatures_differ |= known->signature != other->signature;
  if (known->blob_signature == other->blob_signature && !known->text == !other->text)
    return true;
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                     "'%.*s' has one layout in object %zu (%s) and another in object %zu (%s): "
                     "choose with --target or --object",
                     (int)known->name_size, known->name, known->object, known->target,
                     other->object, other->target);
}

static bool add_kernel(header_t *header, const select_t *select, const rawhal_kernel_t *kernel,
                       rawhal_error_t *error)
{
  kernel_entry_t *entry = entry_make(select, kernel);
  kernel_entry_t **place = entry ? tsearch(entry, &header->by_name, compare_names) : NULL;
  if (!place) {
    entry_free(entry);
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  }
  if (*place != entry) {
    bool agreed = agree(*place, entry, error);
    entry_free(entry);
    return agreed;
  }
  if (tool_grow((void **)&header->entries, header->count, sizeof(*header->entries))) {
    header->entries[header->count++] = entry;
    return true;
  }
  tdelete(entry, &header->by_name, compare_names);
  entry_free(entry);
  return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
}

static bool collect(header_t *header, const select_options_t *options, rawhal_error_t *error)
{
  select_t select = {0};
  size_t objects = 0;
  bool done = select_open(&select, options, error);
  for (; done && (done = select_next(&select, error)) && select.hsaco; ++objects) {
    const rawhal_string_t wanted = {options->kernel, options->kernel ? strlen(options->kernel) : 0};
    const rawhal_kernel_t *kernel;
    if (!options->kernel)
      for (size_t i = 0; done && (kernel = rawhal_hsaco_kernel(select.hsaco, i)); ++i)
        done = add_kernel(header, &select, kernel, error);
    else if ((kernel = rawhal_hsaco_find_kernel(select.hsaco, wanted)))
      done = add_kernel(header, &select, kernel, error);
  }
  select_close(&select);
  if (done && !objects)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "no such object in '%s'", options->path);
  if (done && options->kernel && !header->count)
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "no kernel '%s' (rawhal inspect --brief lists the names)", options->kernel);
  if (done && options->kernel && header->entries[0]->why_not)
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%s", header->entries[0]->why_not);
  return done;
}

/* Kernels whose names are identifiers have them; another that would get the same by a coincidence
 * of hashes gets '_' added. */
static bool tell_apart(header_t *header, bool exact)
{
  for (size_t i = 0; i < header->count; ++i) {
    kernel_entry_t *entry = header->entries[i];
    kernel_entry_t **place;
    if (entry->exact != exact)
      continue;
    while ((place = tsearch(entry, &header->by_identifier, compare_identifiers)) && *place != entry)
      if (!header_name_extend(&entry->identifier))
        return false;
    if (!place)
      return false;
  }
  return true;
}

/* ---- Writing ---- */

static const char preamble[] =
    "/* Kernel arguments as the kernels' own metadata describe them; written by rawhal header.\n"
    " *\n"
    " * kernarg_KERNEL is the beginning of the kernarg segment: fill one in and pass it as the "
    "blob\n"
    " * of a dispatch. Pointers are device addresses. Hidden arguments are the launch's, not "
    "ours.\n"
    " * KERNARG_NAME_      the kernel's name\n"
    " * KERNARG_SIZE_      bytes of the struct\n"
    " * KERNARG_SIGNATURE_ rawhal_kernarg_info_t.signature: changes with anything in the layout\n"
    " * KERNARG_BLOB_SIGNATURE_ .blob_signature: changes with what the struct depends on\n"
    " */\n";

static const char includes[] =
    "#include <assert.h>\n"
    "#include <stddef.h>\n"
    "#include <stdint.h>\n\n"
    "/* Values whose type the metadata does not tell: the caller knows. */\n"
    "#ifndef RAWHAL_VALUE_TYPES\n"
    "#define RAWHAL_VALUE_TYPES\n"
    "typedef union rawhal_value16 {\n"
    "  uint16_t u16;\n  int16_t i16;\n  unsigned char bytes[2];\n} rawhal_value16;\n"
    "typedef union rawhal_value32 {\n"
    "  uint32_t u32;\n  int32_t i32;\n  float f32;\n  unsigned char bytes[4];\n} rawhal_value32;\n"
    "typedef union rawhal_value64 {\n"
    "  uint64_t u64;\n  int64_t i64;\n  double f64;\n  unsigned char bytes[8];\n} rawhal_value64;\n"
    "#endif\n\n"
    "#pragma pack(push, 1)\n";

static void write_comment(const kernel_entry_t *entry)
{
  fputs("\n/* Kernel ", stdout);
  header_print_comment(stdout, (rawhal_string_t){entry->name, entry->name_size});
  if (entry->why_not) {
    fputs(": no layout: ", stdout);
    header_print_comment(stdout, rawhal_string(entry->why_not));
  } else if (!entry->size) {
    fputs(" takes no arguments.", stdout);
  }
  if (entry->size && entry->least < entry->size)
    printf(". The first %" PRIu32 " bytes suffice.", entry->least);
  if (entry->signatures_differ)
    fputs(" Its hidden arguments differ between objects: there is no one signature.", stdout);
  fputs(" */\n", stdout);
}

static bool write_entry(header_t *header, kernel_entry_t *entry)
{
  const char *id = entry->identifier;
  write_comment(entry);
  if (entry->why_not)
    return true;
  printf("#define KERNARG_NAME_%s ", id);
  header_print_literal(stdout, (rawhal_string_t){entry->name, entry->name_size});
  printf("\n#define KERNARG_SIZE_%s %" PRIu64 "u\n", id, entry->size);
  if (!entry->signatures_differ)
    printf("#define KERNARG_SIGNATURE_%s UINT64_C(0x%016" PRIx64 ")\n", id, entry->signature);
  printf("#define KERNARG_BLOB_SIGNATURE_%s UINT64_C(0x%016" PRIx64 ")\n", id,
         entry->blob_signature);
  if (!entry->size)
    return true;
  kernel_entry_t **first = tsearch(entry, &header->by_text, compare_texts);
  if (!first)
    return false;
  if (*first != entry) {
    printf("typedef kernarg_%s kernarg_%s;\n", (*first)->identifier, id);
    return true;
  }
  for (const char *c = entry->text; *c; ++c)
    if (*c == HEADER_TYPE)
      printf("kernarg_%s", id);
    else
      putchar(*c);
  return true;
}

/* A guard that depends on the contents: headers of several files can be included together. */
static uint64_t guard(const header_t *header)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < header->count; ++i) {
    const kernel_entry_t *entry = header->entries[i];
    for (const char *c = entry->identifier; *c; ++c)
      hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    hash = (hash ^ entry->blob_signature) * UINT64_C(0x100000001b3);
  }
  return hash;
}

static bool write_header(header_t *header)
{
  uint64_t hash = guard(header);
  bool done = true;
  printf("%s#ifndef RAWHAL_KERNARG_%016" PRIx64 "\n#define RAWHAL_KERNARG_%016" PRIx64 "\n\n%s",
         preamble, hash, hash, includes);
  for (size_t i = 0; done && i < header->count; ++i)
    done = write_entry(header, header->entries[i]);
  puts("\n#pragma pack(pop)\n\n#endif");
  return done;
}

static int header_file(const select_options_t *options)
{
  header_t header = {0};
  rawhal_error_t error;
  bool done = collect(&header, options, &error);
  if (done && !(tell_apart(&header, true) && tell_apart(&header, false) && write_header(&header)))
    done = tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  header_release(&header);
  return done ? TOOL_OK : tool_fail("header", &error);
}

/* ---- The command ---- */

static int run(int argc, char **argv)
{
  static const struct option long_options[] = {
      {"kernel", required_argument, NULL, 'k'},
      {"target", required_argument, NULL, 't'},
      {"object", required_argument, NULL, 'o'},
      {NULL, 0, NULL, 0},
  };
  select_options_t options = {.hsaco_flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS};
  rawhal_target_t target;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
    switch (option) {
    case 'k':
      options.kernel = optarg;
      break;
    case 't':
      if (!select_read_target("header", optarg, &target))
        return TOOL_USAGE;
      options.target = &target;
      break;
    case 'o':
      if (!select_read_object("header", optarg, &options.object))
        return TOOL_USAGE;
      break;
    default:
      return tool_usage("header", "unknown or incomplete option '%s'", argv[optind - 1]);
    }
  if (argc - optind != 1)
    return tool_usage("header", "expected one FILE, got %d", argc - optind);
  options.path = argv[optind];
  return header_file(&options);
}

static const char *help(void)
{
  return "usage: rawhal header FILE [OPTIONS]\n\n"
         "Writes a self-contained header for C11 and C++11: for each kernel in FILE a packed "
         "struct\n"
         "kernarg_KERNEL of its visible arguments, with their offsets and its size asserted, and\n"
         "its name, size and signatures as macros. Kernels with equal structs share one. FILE may\n"
         "be anything 'rawhal inspect' reads; where several objects in it have a kernel, they "
         "must\n"
         "agree on its visible arguments.\n\n"
         "Arguments whose type the metadata tells have that type, pointers are uint64_t device\n"
         "addresses; others are unions rawhal_value16/32/64, or unsigned char arrays.\n\n"
         "options:\n"
         "  --kernel NAME    only this kernel (its name or symbol, exactly)\n"
         "  --target ID      only objects that run on ID, such as gfx90a or gfx90a:xnack-\n"
         "  --object NUMBER  only this object of FILE, by its number in 'rawhal inspect'\n"
         "  --help           this text\n\n"
         "exit status:\n"
         "  0   the header is on standard output\n"
         "  1   FILE was refused, or its objects disagree; one line on standard error says why\n"
         "  2   the command line is wrong\n";
}

const tool_command_t header_command = {
    .name = "header",
    .summary = "write a C header with the kernels' arguments as structs",
    .help = help,
    .run = run,
};
