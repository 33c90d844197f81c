/* rawhal devices: what there is to run on. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawhal/hal.h>

#include "tools/shared/device.h"
#include "tools/shared/json.h"
#include "tools/shared/terminal.h"
#include "tools/shared/tool.h"

enum { TARGET_BYTES = 64, PCI_BYTES = 32 };

static void format_pci(const rawhal_device_info_t *info, char text[PCI_BYTES])
{
  snprintf(text, PCI_BYTES, "%04" PRIx32 ":%02" PRIx32 ":%02" PRIx32 ".%" PRIx32, info->pci_domain,
           info->pci_bus, info->pci_device, info->pci_function);
}

/* Whose memory a device can be given, as numbers of devices. */
static bool is_peer(const rawhal_instance_t *instance, size_t device, size_t other)
{
  return device != other && rawhal_device_can_access(rawhal_instance_device(instance, device),
                                                     rawhal_instance_device(instance, other));
}

/* ---- Text ---- */

enum { INDENT = 8 }; /* of what is below a device's row */

static void print_row(const char *const cells[8])
{
  static const size_t widths[8] = {7, 25, 12, 4, 10, 13, 5, 20};
  terminal_row_t row = {0};
  for (size_t i = 0; i < 8; ++i)
    terminal_row_put(&row, cells[i], widths[i], INDENT);
  putchar('\n');
}

static void print_words(const char *text)
{
  terminal_row_t row = {.gap = INDENT};
  terminal_row_put_wrapped(&row, rawhal_string(text), INDENT);
  putchar('\n');
}

/* The peers of a device, if it has any. */
static void print_peers(const rawhal_instance_t *instance, size_t device)
{
  char *text = NULL;
  size_t size = 0, count = 0;
  FILE *line = open_memstream(&text, &size);
  for (size_t i = 0; line && i < rawhal_instance_device_count(instance); ++i)
    if (is_peer(instance, device, i))
      fprintf(line, "%s%zu", count++ ? ", " : "reaches the memory of ", i);
  if (line && !fclose(line) && count)
    print_words(text);
  free(text);
}

static void print_device(const rawhal_instance_t *instance, size_t index)
{
  const rawhal_device_info_t *info = rawhal_device_info(rawhal_instance_device(instance, index));
  char number[24], target[TARGET_BYTES], memory[32], units[16], clock[24] = "-", pci[PCI_BYTES],
                                                                numa[16] = "-";
  snprintf(number, sizeof(number), "%zu", index);
  rawhal_target_format(&info->target, target, sizeof(target));
  snprintf(memory, sizeof(memory), "%" PRIu64 " MiB", info->memory_bytes >> 20);
  snprintf(units, sizeof(units), "%" PRIu32, info->compute_units);
  if (info->clock_mhz)
    snprintf(clock, sizeof(clock), "%" PRIu32 " MHz", info->clock_mhz);
  format_pci(info, pci);
  if (info->numa_node >= 0)
    snprintf(numa, sizeof(numa), "%" PRId32, info->numa_node);
  print_row((const char *const[8]){number, target, memory, units, clock, pci, numa,
                                   *info->uuid ? info->uuid : "-"});
  print_words(info->description);
  print_peers(instance, index);
}

static void print_text(const rawhal_instance_t *instance)
{
  print_row(
      (const char *const[8]){"DEVICE", "TARGET", "MEMORY", "CUS", "CLOCK", "PCI", "NUMA", "UUID"});
  for (size_t i = 0; i < rawhal_instance_device_count(instance); ++i)
    print_device(instance, i);
}

/* ---- JSON ---- */

/* What the runtime does not tell is null. */
static void put_known(json_writer_t *out, const char *key, uint64_t value)
{
  json_put_known(out, key, value != 0, value);
}

static void put_place(json_writer_t *out, const rawhal_device_info_t *info)
{
  char pci[PCI_BYTES];
  format_pci(info, pci);
  json_put_text(out, "uuid", *info->uuid ? info->uuid : NULL);
  json_put_text(out, "pci", pci);
  if (info->numa_node >= 0)
    json_put_signed(out, "numa_node", info->numa_node);
  else
    json_put_null(out, "numa_node");
}

static void put_parts(json_writer_t *out, const rawhal_device_info_t *info)
{
  json_put_unsigned(out, "compute_units", info->compute_units);
  put_known(out, "simds_per_cu", info->simds_per_cu);
  put_known(out, "waves_per_cu", info->waves_per_cu);
  json_put_unsigned(out, "wavefront_size", info->wavefront_size);
  json_put_unsigned(out, "lds_bytes", info->lds_bytes);
  put_known(out, "clock_mhz", info->clock_mhz);
  json_put_unsigned(out, "timestamp_hz", info->timestamp_hz);
  json_put_unsigned(out, "memory_bytes", info->memory_bytes);
  put_known(out, "memory_clock_mhz", info->memory_clock_mhz);
  put_known(out, "memory_bus_bits", info->memory_bus_bits);
  json_begin_array(out, "cache_bytes");
  for (size_t level = 0; level < 4; ++level)
    put_known(out, NULL, info->cache_bytes[level]);
  json_end(out);
  put_known(out, "cacheline_bytes", info->cacheline_bytes);
}

static void put_limits(json_writer_t *out, const rawhal_device_info_t *info)
{
  json_put_unsigned(out, "max_workgroup_size", info->max_workgroup_size);
  json_put_three(out, "max_workgroup_dim", info->max_workgroup_dim[0], info->max_workgroup_dim[1],
                 info->max_workgroup_dim[2]);
  json_put_three(out, "max_grid_dim", info->max_grid_dim[0], info->max_grid_dim[1],
                 info->max_grid_dim[2]);
  json_put_unsigned(out, "max_queue_packets", info->max_queue_packets);
}

static void put_device(json_writer_t *out, const rawhal_instance_t *instance, size_t index)
{
  const rawhal_device_info_t *info = rawhal_device_info(rawhal_instance_device(instance, index));
  char target[TARGET_BYTES];
  rawhal_target_format(&info->target, target, sizeof(target));
  json_begin_object(out, NULL);
  json_put_unsigned(out, "device", index);
  json_put_text(out, "name", info->name);
  json_put_text(out, "target", target);
  json_put_text(out, "product", info->product);
  json_put_text(out, "description", info->description);
  json_put_bool(out, "software", info->is_software);
  put_place(out, info);
  put_parts(out, info);
  put_limits(out, info);
  json_begin_array(out, "peers");
  for (size_t i = 0; i < rawhal_instance_device_count(instance); ++i)
    if (is_peer(instance, index, i))
      json_put_unsigned(out, NULL, i);
  json_end(out);
  json_end(out);
}

/* Schema "rawhal-devices-1", described in docs/devices.schema.json. */
static void print_json(const rawhal_instance_t *instance)
{
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-devices-1");
  json_begin_array(&out, "devices");
  for (size_t i = 0; i < rawhal_instance_device_count(instance); ++i)
    put_device(&out, instance, i);
  json_end(&out);
  json_end(&out);
}

/* ---- */

typedef struct devices_request {
  rawhal_backend_t backend;
  bool json;
} devices_request_t;

static const tool_option_t options[] = {
    {TOOL_OPTION("json", FLAG, devices_request_t, json)},
    {DEVICE_OPTION(devices_request_t, backend)},
    {0},
};

static int run(int argc, char **argv)
{
  devices_request_t request = {0};
  if (!option_read_all("devices", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc)
    return tool_usage("devices", "unexpected argument '%s'", *argv);
  const rawhal_instance_options_t wanted = {.size = sizeof(wanted), .backend = request.backend};
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  rawhal_instance_t *instance;
  if (rawhal_instance_create(&wanted, &instance, &error) != RAWHAL_OK)
    return tool_fail("devices", &error);
  (request.json ? print_json : print_text)(instance);
  rawhal_instance_destroy(instance);
  return TOOL_OK;
}

const tool_command_t devices_command = {
    .name = "devices",
    .summary = "list devices and their location",
    .help = "usage: rawhal devices [--device KIND] [--json]\n\n"
            "Lists the devices available to programs in this environment, with their location\n"
            "in the machine and the devices whose memory each can access. Without a GPU, the\n"
            "device is softgpu, a GPU in software.\n\n"
            "options:\n"
            "  --device KIND    softgpu or hsa (hardware); default: hardware if present\n"
            "  --json           print one JSON document (schema \"rawhal-devices-1\") instead\n"
            "                   of text, with more about each device\n"
            "  --help           show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  2   the command line is wrong\n"
            "  3   there is no runtime or no device, or an environment variable is not valid;\n"
            "      standard error says why\n",
    .run = run,
    .options = options,
};
