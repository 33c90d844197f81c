/* rawhal attach: text. */
#include "tools/attach/attach.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "debug/label.h"
#include "tools/shared/demangle.h"
#include "tools/shared/program.h"
#include "tools/shared/terminal.h"

enum { INDENT = 4, WORD = 24, NAME = 512 };

/* ---- Pieces ---- */

/* Cells with the width of each; the last has none. */
static void row(const char *const *cells, const unsigned char *widths)
{
  terminal_row_print(cells, widths, 2, INDENT);
}

static const char *number(uint64_t value, char text[WORD])
{
  (void)snprintf(text, WORD, "%" PRIu64, value);
  return text;
}

/* Of memory that is no device's there is none. */
static const char *agent_of(uint64_t handle, char text[WORD])
{
  (void)snprintf(text, WORD, handle ? "0x%" PRIx64 : "-", handle);
  return text;
}

static const char *three(const uint32_t values[3], char text[40])
{
  (void)snprintf(text, 40, "%u,%u,%u", values[0], values[1], values[2]);
  return text;
}

static const char *kernel_of(const attach_status_t *status, uint64_t kernel_object, bool nice,
                             char text[NAME])
{
  const rawhal_string_t name = kernels_find(&status->kernels, kernel_object);
  const char *instead = kernels_instead(&status->kernels, kernel_object);
  if (name.size) {
    (void)terminal_cell(demangle_if(nice, name), text, NAME);
    const size_t length = strlen(text);
    if (instead)
      (void)snprintf(text + length, NAME - length, " (%s)", instead);
    return text;
  }
  (void)snprintf(text, NAME, "0x%" PRIx64, kernel_object);
  return text;
}

/* ---- Sections ---- */

static void show_agents(const attach_status_t *status)
{
  static const unsigned char widths[] = {18, 8, 8, 12, 0};
  const attach_agent_t *agents = status->agents.items;
  if (!status->agents.count)
    return;
  terminal_heading("devices");
  row((const char *const[]){"AGENT", "MODULES", "QUEUES", "ALLOCATIONS", "BYTES", NULL}, widths);
  for (size_t i = 0; i < status->agents.count; ++i) {
    char handle[WORD], modules[WORD], queues[WORD], allocations[WORD], bytes[WORD];
    row((const char *const[]){agent_of(agents[i].handle, handle),
                              number(agents[i].modules, modules), number(agents[i].queues, queues),
                              number(agents[i].allocations, allocations),
                              number(agents[i].bytes, bytes), NULL},
        widths);
  }
}

static void show_modules(const attach_status_t *status)
{
  static const unsigned char widths[] = {7, 18, 12, 0};
  const attach_module_t *modules = status->modules.items;
  if (!status->modules.count)
    return;
  terminal_heading("code");
  row((const char *const[]){"MODULE", "AGENT", "BYTES", "FILE", NULL}, widths);
  for (size_t i = 0; i < status->modules.count; ++i) {
    char id[WORD], agent[WORD], bytes[WORD], file[NAME];
    const rawhal_string_t path = {modules[i].file, modules[i].file_size};
    row((const char *const[]){number(modules[i].id, id), agent_of(modules[i].agent, agent),
                              number(modules[i].bytes, bytes), terminal_cell(path, file, NAME),
                              NULL},
        widths);
  }
}

static void show_queues(const attach_status_t *status)
{
  static const unsigned char widths[] = {6, 18, 8, 10, 10, 14, 0};
  const attach_queue_t *queues = status->queues.items;
  if (!status->queues.count)
    return;
  terminal_heading("queues");
  row((const char *const[]){"QUEUE", "AGENT", "ROOM", "TAKEN", "WRITTEN", "STATE", "LABEL", NULL},
      widths);
  for (size_t i = 0; i < status->queues.count; ++i) {
    const attach_queue_t *queue = &queues[i];
    char id[WORD], agent[WORD], room[WORD], taken[WORD] = "-", written[WORD] = "-", label[NAME];
    if (queue->readable) {
      (void)number(queue->now.read, taken);
      (void)number(queue->now.write, written);
    }
    row((const char *const[]){number(queue->now.id, id), agent_of(queue->agent, agent),
                              number(queue->now.size, room), taken, written,
                              !queue->readable ? "cannot be read"
                              : queue->flying || queue->now.read != queue->now.write ? "in flight"
                                                                                     : "idle",
                              terminal_cell(label_text(queue->label), label, NAME), NULL},
        widths);
  }
}

static void show_packet(const attach_status_t *status, const attach_queue_t *queue,
                        const attach_packet_t *packet, const char *state, bool nice)
{
  static const unsigned char widths[] = {6, 10, 8, 14, 12, 0};
  char id[WORD], index[WORD], grid[40], group[40], kernel[NAME];
  row((const char *const[]){number(queue->now.id, id), number(packet->index, index), state,
                            three(packet->grid, grid), three(packet->group, group),
                            kernel_of(status, packet->kernel_object, nice, kernel), NULL},
      widths);
}

static void show_heads(const char *title)
{
  static const unsigned char widths[] = {6, 10, 8, 14, 12, 0};
  terminal_heading(title);
  row((const char *const[]){"QUEUE", "PACKET", "STATE", "GRID", "GROUP", "KERNEL", NULL}, widths);
}

static void show_in_flight(const attach_status_t *status, bool nice)
{
  const attach_queue_t *queues = status->queues.items;
  bool any = false;
  for (size_t i = 0; i < status->queues.count; ++i) {
    const attach_queue_t *queue = &queues[i];
    for (size_t k = 0; k < queue->flying; ++k) {
      const attach_packet_t *packet = &queue->in_flight[k];
      if (!any)
        show_heads("in flight");
      any = true;
      show_packet(status, queue, packet,
                  packet->index < queue->now.read ? "taken"
                  : k == 0                        ? "first"
                                                  : "waits",
                  nice);
    }
    const uint64_t behind = queue->flying == ATTACH_PACKETS
                                ? queue->now.write - queue->in_flight[ATTACH_PACKETS - 1].index - 1
                                : 0;
    if (behind)
      printf("  and %" PRIu64 " more packets of queue %" PRIu64 "\n", behind, queue->now.id);
  }
}

static void show_last(const attach_status_t *status, bool nice)
{
  const attach_queue_t *queues = status->queues.items;
  bool any = false;
  for (size_t i = 0; i < status->queues.count; ++i)
    for (size_t k = 0; k < queues[i].ended; ++k) {
      if (!any)
        show_heads("last dispatches");
      any = true;
      show_packet(status, &queues[i], &queues[i].last[k], "ended", nice);
    }
}

static void show_door(const doors_t *doors, size_t index, const attach_status_t *status, bool nice)
{
  const bool front = observer_kind(doors->list[index]) == DOOR_OF_FRONT;
  printf("%s%s: %s\n", index ? "\n" : "",
         front ? "'rawhal exec' round the process" : "librawhal in the process",
         observer_answers(doors->list[index])
             ? "tells events and answers"
             : "tells events, and answers nothing (RAWHAL_DOOR=answers)");
  show_agents(status);
  show_modules(status);
  show_queues(status);
  show_in_flight(status, nice);
  show_last(status, nice);
  printf("\n%" PRIu64 " kernels, %" PRIu64 " allocations of %" PRIu64 " bytes\n",
         status->kernel_count, status->allocations, status->bytes);
  if (status->unlisted)
    printf("%" PRIu64 " more modules, kernels, queues or allocations found no place in the list\n",
           status->unlisted);
}

void attach_show_text(const doors_t *doors, const attach_status_t *statuses,
                      const attach_request_t *request)
{
  char command[ATTACH_COMMAND];
  printf("process %d, '", (int)doors->process);
  (void)tool_print_text(program_command_of(doors->process, command, sizeof(command)));
  fputs("'\n", stdout);
  for (size_t i = 0; i < doors->count; ++i)
    show_door(doors, i, &statuses[i], demangle_text(request->demangle));
}
