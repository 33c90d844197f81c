/* rawhal header: kernels' arguments as C structs. */
#include "tools/header/header.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/progress.h"
#include "tools/shared/select.h"
#include "tools/shared/tool.h"

static int compare_texts(const void *a, const void *b)
{
  return strcmp(((const kernel_entry_t *)a)->text, ((const kernel_entry_t *)b)->text);
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

static void write_comment(const header_t *header, const kernel_entry_t *entry)
{
  fputs("\n/* Kernel ", stdout);
  header_print_comment(stdout, (rawhal_string_t){entry->name, entry->name_size});
  if (entry->variant) {
    const char *file = header->files[entry->file], *slash = strrchr(file, '/');
    fputs(" of ", stdout);
    header_print_comment(stdout, rawhal_string(slash ? slash + 1 : file)); /* not where it is */
    fputs(", whose arguments are others than above", stdout);
  }
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
  write_comment(header, entry);
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
  progress_clear();
  printf("%s#ifndef RAWHAL_KERNARG_%016" PRIx64 "\n#define RAWHAL_KERNARG_%016" PRIx64 "\n\n%s",
         preamble, hash, hash, includes);
  for (size_t i = 0; done && i < header->count; ++i)
    done = write_entry(header, header->entries[i]);
  puts("\n#pragma pack(pop)\n\n#endif");
  return done;
}

static int header_files(const select_options_t *options, char **files, size_t count)
{
  header_t header = {.files = files};
  rawhal_error_t error;
  bool done = header_collect(&header, options, count, &error);
  if (done && !write_header(&header))
    done = tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  header_release(&header);
  return done ? TOOL_OK : tool_fail("header", &error);
}

/* ---- The command ---- */

static const tool_option_t options[] = {
    {TOOL_OPTION("kernel", TEXT, select_options_t, kernel)},
    {SELECT_TARGET_OPTION(select_options_t, target)},
    {SELECT_OBJECT_OPTION(select_options_t, object)},
    {0},
};

static int run(int argc, char **argv)
{
  select_options_t wanted = {.progress = "header", .hsaco_flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS};
  if (!option_read_all("header", options, false, &argc, &argv, &wanted))
    return TOOL_USAGE;
  if (!argc)
    return tool_usage("header", "expected at least one FILE");
  return header_files(&wanted, argv, (size_t)argc);
}

const tool_command_t header_command = {
    .name = "header",
    .summary = "write a C header with kernel arguments as structs",
    .help = "usage: rawhal header FILE... [OPTIONS]\n\n"
            "Writes a self-contained header for C11 and C++11. For each kernel in FILE it has\n"
            "a packed struct kernarg_KERNEL with the visible arguments, assertions of their\n"
            "offsets and the size, and macros with the name, the size and the signatures.\n"
            "Kernels with equal structs share one. FILE can be anything that 'rawhal inspect'\n"
            "reads; - is standard input. If several objects of one FILE have a kernel, they\n"
            "must agree on its visible arguments. If several FILEs do and disagree, those of\n"
            "the N-th FILE are named kernarg_KERNEL_N, and a comment says so.\n\n"
            "Arguments have the type that the metadata states; pointers are uint64_t device\n"
            "addresses. Arguments without a type are unions rawhal_value16/32/64, or arrays\n"
            "of unsigned char.\n\n"
            "options:\n"
            "  --kernel NAME    only the kernel with this exact name or symbol\n"
            "  --target ID      only objects that run on ID, such as gfx90a or gfx90a:xnack-\n"
            "  --object NUMBER  only this object of each FILE, as numbered by 'rawhal\n"
            "                   inspect'\n"
            "  --help           show this text\n\n"
            "exit status:\n"
            "  0   the header is on standard output\n"
            "  2   the command line is wrong\n"
            "  3   a FILE cannot be read, or its objects disagree; standard error says why\n",
    .run = run,
    .options = options,
};
