/* rawhal inspect as text for people. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/inspect/inspect.h"
#include "tools/shared/demangle.h"
#include "tools/shared/escape.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"

static void begin(const inspect_options_t *options)
{
  (void)options;
}

static void print_name(const char *label, rawhal_string_t name)
{
  printf("%s", label);
  tool_print_text(name);
}

/* A kernel's name, or the start of one that is too long to be written once more. */
static void print_kernel_name(const inspect_options_t *options, inspect_names_t *names,
                              rawhal_string_t name)
{
  if (inspect_names_take(names, name)) {
    tool_print_text(demangle_if(options->demangle, name));
    return;
  }
  tool_print_text((rawhal_string_t){name.data, escape_cut(name, TOOL_NAME_START)});
  printf("... (%zu bytes)", name.size);
}

static void print_dimensions(const char *label, const uint32_t value[3])
{
  if (value[0])
    printf(", %s %" PRIu32 "x%" PRIu32 "x%" PRIu32, label, value[0], value[1], value[2]);
}

enum { LEAST = 11 }; /* of a name or a type that is shown at all */

/* Of a terminal's line, behind what is used of it and what is kept free. */
static size_t columns_left(size_t used, size_t kept)
{
  const size_t columns = terminal_columns();
  return columns == SIZE_MAX ? SIZE_MAX : columns > used + kept ? columns - used - kept : 0;
}

/* On a terminal, in what is left of the line. */
static void print_argument_name(const rawhal_argument_t *argument, size_t used)
{
  const rawhal_string_t type = argument->detail->type_name;
  const size_t left = columns_left(used, 0);
  const size_t name = terminal_print_within(argument->name, left);
  if (!type.size || (left != SIZE_MAX && left < name + 2 + LEAST))
    return;
  fputs(": ", stdout);
  (void)terminal_print_within(type, left == SIZE_MAX ? left : left - name - 2);
}

static void print_arguments(const rawhal_kernel_t *kernel)
{
  enum { KIND = 24 };
  if (!kernel->has_arguments) {
    puts("    (arguments unknown: prepacked blobs only)");
    return;
  }
  if (!kernel->argument_count)
    return;
  printf("    %5s %6s %5s  %-24s %s\n", "index", "offset", "size", "kind", "name");
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const rawhal_argument_t *argument = &kernel->arguments[i];
    const bool hidden = rawhal_argument_is_hidden(argument);
    if (hidden)
      terminal_style(STYLE_QUIET);
    const bool named = argument->name.size || argument->detail->type_name.size;
    size_t used = (size_t)printf("    %5" PRIu32 " %6" PRIu32 " %5" PRIu32 "  ", i,
                                 argument->offset, argument->size);
    const size_t width = terminal_print_within(argument->detail->value_kind_text,
                                               columns_left(used, named ? LEAST + 1 : 0));
    const size_t gap = width < KIND ? KIND + 1 - width : 1;
    used += width + gap;
    if (named && columns_left(used, 0)) {
      printf("%*s", (int)gap, "");
      print_argument_name(argument, used);
    }
    if (hidden)
      terminal_style(STYLE_NONE);
    putchar('\n');
  }
}

static void print_layout(const rawhal_kernel_t *kernel)
{
  rawhal_kernarg_layout_t *layout = NULL;
  rawhal_error_t error;
  if (rawhal_kernarg_layout_create(kernel, 0, &layout, &error)) {
    fputs("  kernarg    no layout: ", stdout);
    tool_print_string(error.message);
    putchar('\n');
    return;
  }
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  printf("  kernarg    %" PRIu32 " bytes, %" PRIu32 " of them explicit, align %" PRIu32
         ", signature %016" PRIx64 "\n",
         info->effective_size, info->explicit_end, info->alignment, info->signature);
  rawhal_kernarg_layout_destroy(layout);
  print_arguments(kernel);
}

/* The name that the other commands want. */
static void print_exact_name(const inspect_options_t *options, rawhal_string_t name)
{
  if (demangle_if(options->demangle, name).data == name.data)
    return;
  print_name("  name       ", name);
  putchar('\n');
}

static void print_kernel(const inspect_options_t *options, inspect_names_t *names,
                         const rawhal_kernel_t *kernel)
{
  fputs("\nkernel ", stdout);
  terminal_style(STYLE_NAME);
  print_kernel_name(options, names, kernel->name);
  terminal_style(STYLE_NONE);
  putchar('\n');
  print_exact_name(options, kernel->name);
  if (!kernel->usable) {
    terminal_style(STYLE_BAD);
    print_name("  unusable   ", kernel->unusable_reason);
    terminal_style(STYLE_NONE);
    putchar('\n');
  }
  if (kernel->has_metadata) {
    printf("  workgroup  up to %" PRIu32 " work-items, wave%" PRIu32,
           kernel->max_flat_workgroup_size, kernel->wavefront_size);
    print_dimensions("required", kernel->reqd_workgroup_size);
    print_dimensions("hint", kernel->workgroup_size_hint);
    print_dimensions("in clusters of", kernel->cluster_dims);
    printf("\n  registers  %" PRIu32 " SGPRs, %" PRIu32 " VGPRs", kernel->sgpr_count,
           kernel->vgpr_count);
    if (kernel->agpr_count)
      printf(" (%" PRIu32 " of them AGPRs)", kernel->agpr_count);
    printf("\n  memory     %" PRIu32 " bytes of LDS a work-group, %" PRIu32
           " bytes of scratch a work-item\n",
           kernel->group_segment_fixed_size, kernel->private_segment_fixed_size);
  } else if (kernel->descriptor) {
    printf("  memory     %" PRIu32 " bytes of LDS a work-group, %" PRIu32
           " bytes of scratch a work-item (from the descriptor; no metadata)\n",
           kernel->descriptor->group_segment_size, kernel->descriptor->private_segment_size);
  }
  print_layout(kernel);
}

static const char *severity_name(rawhal_severity_t severity)
{
  static const char *const names[] = {"note", "warning", "error"};
  return severity <= RAWHAL_SEVERITY_ERROR ? names[severity] : "?";
}

static terminal_style_t style_of(rawhal_severity_t severity)
{
  static const terminal_style_t styles[] = {STYLE_QUIET, STYLE_ODD, STYLE_BAD};
  return severity <= RAWHAL_SEVERITY_ERROR ? styles[severity] : STYLE_BAD;
}

static void print_diagnostics(const inspect_options_t *options, inspect_names_t *names,
                              const rawhal_hsaco_t *hsaco)
{
  const rawhal_diagnostic_t *diagnostic;
  for (size_t i = 0; (diagnostic = rawhal_hsaco_diagnostic(hsaco, i)); ++i) {
    if (!inspect_wants(options, diagnostic->kernel))
      continue;
    terminal_style(style_of(diagnostic->severity));
    fputs(severity_name(diagnostic->severity), stdout);
    terminal_style(STYLE_NONE);
    fputs(": ", stdout);
    if (diagnostic->kernel.size) {
      print_kernel_name(options, names, diagnostic->kernel);
      fputs(": ", stdout);
    }
    tool_print_text(diagnostic->message);
    putchar('\n');
  }
}

static void print_origin(const rawhal_container_object_t *object)
{
  if (object->binary.size) {
    print_name("\n  archive entry ", object->binary);
    print_name(" for ", object->id);
    printf(", ordinal %" PRIu32, object->ordinal);
  } else if (object->id.size) {
    print_name("\n  bundle entry ", object->id);
  }
  if (object->member.size)
    print_name("\n  archive member ", object->member);
}

static bool object(const inspect_options_t *options, const select_t *object, rawhal_error_t *error)
{
  (void)error;
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(object->hsaco);
  inspect_names_t names = inspect_names_of(info);
  char target[64];
  rawhal_target_format(&info->target, target, sizeof(target));
  printf(
      "%sobject %zu: %s, code object V%" PRIu32 ", %zu bytes at offset %" PRIu64 ", %zu kernel%s",
      object->index ? "\n" : "", object->index, target, info->code_object_version, info->bytes.size,
      object->object->offset, info->kernel_count, info->kernel_count == 1 ? "" : "s");
  if (object->object->unpacked)
    fputs(" (unpacked; the offset is that of its compressed bytes)", stdout);
  print_origin(object->object);
  if (!info->loadable)
    print_name("\n  not loadable: ", info->not_loadable_reason);
  putchar('\n');
  for (size_t i = 0; i < info->kernel_count && !ferror(stdout); ++i) {
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(object->hsaco, i);
    if (!inspect_wants(options, kernel->name))
      continue;
    if (options->brief) {
      fputs("  ", stdout);
      print_kernel_name(options, &names, kernel->name);
      if (!kernel->usable) {
        terminal_style(STYLE_BAD);
        fputs("  (unusable)", stdout);
        terminal_style(STYLE_NONE);
      }
      putchar('\n');
    } else {
      print_kernel(options, &names, kernel);
    }
  }
  if (!options->brief)
    print_diagnostics(options, &names, object->hsaco);
  return true;
}

static void end(const rawhal_error_t *error)
{
  (void)error;
}

const inspect_form_t inspect_text_form = {begin, object, end};
