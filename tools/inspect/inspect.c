/* rawhal inspect: the kernels of a file and their kernarg layouts. */
#include "tools/inspect/inspect.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/shared/demangle.h"
#include "tools/shared/near.h"
#include "tools/shared/page/page.h"
#include "tools/shared/tool.h"
#include "tools/shared/triton.h"

typedef struct progress {
  bool begun;  /* there is output */
  bool nobody; /* all was read, and no kernel, or object, is the one asked for */
} progress_t;

/* "gfx90a" is not one of "gfx90a:xnack+, gfx942". */
static bool is_listed(const char *all, const char *one)
{
  const size_t size = strlen(one);
  for (const char *at = all; (at = strstr(at, one)); at += size)
    if ((at == all || at[-1] == ' ') && (!at[size] || at[size] == ','))
      return true;
  return false;
}

/* With those that there are, as far as they fit. */
static bool refuse_target(const rawhal_container_t *container, const rawhal_target_t *target,
                          rawhal_error_t *error)
{
  char wanted[64], one[64], all[512] = "";
  const rawhal_container_object_t *object;
  rawhal_target_format(target, wanted, sizeof(wanted));
  for (size_t i = 0; (object = rawhal_container_object(container, i)); ++i) {
    const size_t size = strlen(all);
    rawhal_target_format(&object->target, one, sizeof(one));
    if (object->readable && !is_listed(all, one) && size + strlen(one) + 3 < sizeof(all))
      (void)snprintf(all + size, sizeof(all) - size, "%s%s", size ? ", " : "", one);
  }
  return tool_refuse(error, RAWHAL_NOT_FOUND, "no code object runs on %s; available: %s", wanted,
                     *all ? all : "none that can be read");
}

static bool inspect_objects(const inspect_options_t *options, const inspect_form_t *form,
                            select_t *select, progress_t *progress, rawhal_error_t *error)
{
  size_t count = 0;
  bool done = true;
  near_names_t others = {.wanted = rawhal_string(options->kernel)};
  char nearest[NEAR_TEXT];
  for (; done && (done = select_next(select, error)) && select->hsaco; ++count) {
    if (!inspect_wants_object(options, select->hsaco)) {
      near_look_at(&others, select->hsaco);
      continue;
    }
    if (!progress->begun)
      form->begin(options);
    progress->begun = true;
    done = form->object(options, select, error) && !ferror(stdout);
  }
  const bool none_runs = options->target && !count && rawhal_container_object(select->container, 0);
  progress->nobody = done && !progress->begun && (options->kernel || none_runs);
  if (!progress->nobody)
    return done;
  if (none_runs)
    return refuse_target(select->container, options->target, error);
  near_text(&others, nearest);
  return tool_refuse(error, RAWHAL_NOT_FOUND, "no kernel's name contains '%s', in %zu object%s%s%s",
                     options->kernel, count, count == 1 ? "" : "s",
                     options->target ? " for that target" : "", nearest);
}

static int inspect_file(const inspect_options_t *options, const inspect_form_t *form)
{
  const select_options_t wanted = {.path = options->path, .target = options->target};
  rawhal_error_t error = {.status = RAWHAL_OUT_OF_MEMORY, .offset = RAWHAL_NO_OFFSET};
  select_t select = {0};
  progress_t progress = {0};
  bool done = select_open(&select, &wanted, &error) &&
              inspect_objects(options, form, &select, &progress, &error);
  select_close(&select);
  if (ferror(stdout))
    return TOOL_FAILED; /* main() says so */
  if (!progress.begun && !progress.nobody)
    form->begin(options);
  if (!progress.nobody) /* which is not a document */
    form->end(done ? NULL : &error);
  fflush(stdout); /* before what standard error says */
  return done ? TOOL_OK : tool_fail("inspect", &error);
}

static int inspect_page(inspect_options_t *options, const char *output)
{
  rawhal_error_t error;
  page_t page;
  if (!page_begin(&page, &page_of_kernels, output, &options->path, 1, &error))
    return tool_fail("inspect", &error);
  options->page = &page;
  const int status = inspect_file(options, &inspect_json_form);
  return page_end(&page, &error) ? status : tool_fail("inspect", &error);
}

static bool is_folder(const char *path)
{
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ---- The command line ---- */

typedef struct inspect_request {
  inspect_options_t options;
  const char *output; /* of --html */
  demangle_when_t demangle;
  bool json, list, html, disassemble;
} inspect_request_t;

static const tool_option_t option_table[] = {
    {TOOL_OPTION("json", FLAG, inspect_request_t, json)},
    {TOOL_OPTION("brief", FLAG, inspect_request_t, options.brief)},
    {TOOL_OPTION("list", FLAG, inspect_request_t, list)},
    {TOOL_OPTION("kernel", TEXT, inspect_request_t, options.kernel)},
    {SELECT_TARGET_OPTION(inspect_request_t, options.target)},
    {TOOL_OPTION("html", FLAG, inspect_request_t, html)},
    {TOOL_OPTION("output", TEXT, inspect_request_t, output), .letter = 'o'},
    DEMANGLE_OPTIONS(inspect_request_t, demangle),
    {TOOL_OPTION("disassemble", FLAG, inspect_request_t, disassemble)},
    {0},
};

/* Of forms that are for one file: NULL, or what is wrong. */
static const char *not_of_one_file(const inspect_request_t *request, const char *path, int count)
{
  const inspect_options_t *options = &request->options;
  const bool of_one = request->html || request->disassemble;
  if (request->output && !request->html)
    return "--output requires --html";
  if (request->html + request->disassemble + request->json + options->brief > 1 && of_one)
    return "--html and --disassemble cannot be combined with another form";
  if (of_one && (request->list || count > 1 || is_folder(path) || tool_is_triton_json(path) ||
                 inspect_is_tensile(path)))
    return "--html and --disassemble take one FILE with code objects";
  return NULL;
}

static int run(int argc, char **argv)
{
  inspect_request_t request = {0};
  inspect_options_t *options = &request.options;
  if (!option_read_all("inspect", option_table, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (!argc)
    return tool_usage("inspect", "expected at least one PATH");
  options->path = *argv;
  options->demangle = request.html ? request.demangle != DEMANGLE_NEVER /* pages have both */
                                   : demangle_text(request.demangle);
  const char *wrong = not_of_one_file(&request, options->path, argc);
  if (wrong)
    return tool_usage("inspect", "%s", wrong);
  if (request.html)
    return inspect_page(options, request.output);
  if (request.disassemble)
    return inspect_file(options, &inspect_disassembly_form);
  if (request.list || argc > 1 || is_folder(options->path) || tool_is_triton_json(options->path)) {
    if (options->brief)
      return tool_usage("inspect", "--brief takes one FILE");
    return inspect_list(options, request.json, argv, argc);
  }
  if (inspect_is_tensile(options->path))
    return inspect_tensile(options, request.json);
  return inspect_file(options, request.json ? &inspect_json_form : &inspect_text_form);
}

const tool_command_t inspect_command = {
    .name = "inspect",
    .summary = "show the kernels of a file and their kernarg layouts",
    .help = "usage: rawhal inspect FILE [OPTIONS]\n"
            "       rawhal inspect PATH... [OPTIONS]\n\n"
            "Shows every code object in FILE: its target, its kernels, and the exact layout\n"
            "of each kernel's arguments. FILE can be an ELF code object (HSACO, .co), several\n"
            "of them back to back, a clang offload bundle, an offload binary, a kpack\n"
            "archive, a host program, library or object with code objects in its sections\n"
            "(.hip_fatbin, .llvm.offloading), or an ar archive of these. Bundles and kpack\n"
            "archives can be compressed. - is standard input.\n\n"
            "If FILE is a solution library of Tensile (a .dat file of rocBLAS or hipBLASLt),\n"
            "shows its solutions, their kernels and code objects, and the libraries that it\n"
            "refers to.\n\n"
            "With several PATHs or a folder, lists the code objects of all files,\n"
            "recursively, one per line: the file, the object's number, its offset, its\n"
            "target, the number of kernels, whether it can be loaded, the first diagnostic,\n"
            "and the launch parameters that Triton's NAME.json states for a NAME.hsaco. A\n"
            "PATH can also be such a JSON file. A solution library of Tensile has one line.\n\n"
            "options:\n"
            "  --json            print one JSON document (schema \"rawhal-inspect-1\", of a\n"
            "                    list \"rawhal-list-1\", of a solution library\n"
            "                    \"rawhal-tensile-1\") instead of text\n"
            "  --html            write one HTML page instead of text (of one FILE): a table\n"
            "                    of kernels to sort and search, and arguments as maps of\n"
            "                    bytes\n"
            "  -o, --output OUT  write the page of --html to OUT, not to standard output\n"
            "  --brief           print one line per kernel (text of one FILE only)\n"
            "  --disassemble     print the instructions of FILE, or of the kernels that\n"
            "                    --kernel selects, with llvm-objdump: the program that\n"
            "                    RAWHAL_OBJDUMP names, or the newest that is installed\n"
            "  --list            list the code objects even if there is only one FILE\n"
            "  --demangle        print C++ names of kernels as in the source, which is the\n"
            "                    default on a terminal; --no-demangle: never. JSON always has\n"
            "                    the mangled names\n"
            "  --kernel TEXT     only kernels whose name contains TEXT\n"
            "  --target ID       only objects that run on ID, such as gfx90a or\n"
            "                    gfx90a:xnack-\n"
            "  --help            show this text\n\n"
            "exit status:\n"
            "  0   everything was read\n"
            "  2   the command line is wrong\n"
            "  3   the file, or an object in it, cannot be read: standard error says why, and\n"
            "      so do \"status\", \"message\" and \"offset\" of the document of --json; a list\n"
            "      continues with the others. Or no kernel's name contains TEXT, or no object\n"
            "      runs on ID: then there is no output. Or llvm-objdump is missing or failed\n",
    .run = run,
    .options = option_table,
};
