/* rawhal attach --json: schema "rawhal-attach-1", docs/attach.schema.json. */
#include "tools/attach/attach.h"

#include <inttypes.h>
#include <stdio.h>

#include "debug/label.h"
#include "tools/shared/json.h"
#include "tools/shared/program.h"

static void put_packets(json_writer_t *out, const char *key, const attach_status_t *status,
                        const attach_packet_t *packets, size_t count)
{
  json_begin_array(out, key);
  for (size_t i = 0; i < count; ++i) {
    json_begin_object(out, NULL);
    json_put_unsigned(out, "packet", packets[i].index);
    json_put_address(out, "kernel_object", packets[i].kernel_object);
    json_put_string_or_null(out, "kernel",
                            kernels_find(&status->kernels, packets[i].kernel_object));
    if (kernels_instead(&status->kernels, packets[i].kernel_object))
      json_put_text(out, "instead", kernels_instead(&status->kernels, packets[i].kernel_object));
    json_put_three(out, "grid", packets[i].grid[0], packets[i].grid[1], packets[i].grid[2]);
    json_put_three(out, "group", packets[i].group[0], packets[i].group[1], packets[i].group[2]);
    json_end(out);
  }
  json_end(out);
}

static void put_indices(json_writer_t *out, const attach_queue_t *queue)
{
  if (!queue->readable) {
    json_put_null(out, "taken");
    json_put_null(out, "written");
    return;
  }
  json_put_unsigned(out, "taken", queue->now.read);
  json_put_unsigned(out, "written", queue->now.write);
}

static void put_queues(json_writer_t *out, const attach_status_t *status)
{
  const attach_queue_t *queues = status->queues.items;
  json_begin_array(out, "queues");
  for (size_t i = 0; i < status->queues.count; ++i) {
    json_begin_object(out, NULL);
    json_put_unsigned(out, "id", queues[i].now.id);
    json_put_string_or_null(out, "label", label_text(queues[i].label));
    json_put_address(out, "agent", queues[i].agent);
    json_put_address(out, "address", queues[i].address);
    json_put_unsigned(out, "room", queues[i].now.size);
    put_indices(out, &queues[i]);
    put_packets(out, "in_flight", status, queues[i].in_flight, queues[i].flying);
    put_packets(out, "last", status, queues[i].last, queues[i].ended);
    json_end(out);
  }
  json_end(out);
}

static void put_modules(json_writer_t *out, const attach_status_t *status)
{
  const attach_module_t *modules = status->modules.items;
  json_begin_array(out, "modules");
  for (size_t i = 0; i < status->modules.count; ++i) {
    json_begin_object(out, NULL);
    json_put_unsigned(out, "id", modules[i].id);
    json_put_address(out, "agent", modules[i].agent);
    json_put_unsigned(out, "bytes", modules[i].bytes);
    json_put_string_or_null(out, "file", (rawhal_string_t){modules[i].file, modules[i].file_size});
    json_end(out);
  }
  json_end(out);
}

static void put_agents(json_writer_t *out, const attach_status_t *status)
{
  const attach_agent_t *agents = status->agents.items;
  json_begin_array(out, "agents");
  for (size_t i = 0; i < status->agents.count; ++i) {
    json_begin_object(out, NULL);
    json_put_address(out, "agent", agents[i].handle);
    json_put_unsigned(out, "modules", agents[i].modules);
    json_put_unsigned(out, "queues", agents[i].queues);
    json_put_unsigned(out, "allocations", agents[i].allocations);
    json_put_unsigned(out, "bytes", agents[i].bytes);
    json_end(out);
  }
  json_end(out);
}

static void put_why(json_writer_t *out, const attach_why_t *why)
{
  if (!why) {
    json_put_null(out, "why");
    return;
  }
  json_begin_object(out, "why");
  json_put_bool(out, "answered", why->answered);
  json_put_text(out, "text", why->text);
  json_end(out);
}

void attach_show_json(const doors_t *doors, const attach_status_t *statuses,
                      const attach_why_t *whys)
{
  json_writer_t out = {.out = stdout};
  char command[ATTACH_COMMAND];
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-attach-1");
  json_put_signed(&out, "process", doors->process);
  json_put_string_or_null(&out, "arguments",
                          program_command_of(doors->process, command, sizeof(command)));
  json_begin_array(&out, "doors");
  for (size_t i = 0; i < doors->count; ++i) {
    const attach_status_t *status = &statuses[i];
    json_begin_object(&out, NULL);
    json_put_text(&out, "door", doors_name(observer_kind(doors->list[i])));
    json_put_bool(&out, "answers", observer_answers(doors->list[i]));
    json_put_unsigned(&out, "opened_ns", observer_opened(doors->list[i]));
    put_agents(&out, status);
    put_modules(&out, status);
    put_queues(&out, status);
    json_put_unsigned(&out, "kernels", status->kernel_count);
    json_put_unsigned(&out, "allocations", status->allocations);
    json_put_unsigned(&out, "bytes", status->bytes);
    json_put_unsigned(&out, "unlisted", status->unlisted);
    put_why(&out, whys ? &whys[i] : NULL);
    json_end(&out);
  }
  json_end(&out);
  json_end(&out);
}
