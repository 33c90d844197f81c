/* rawhal probe show, as JSON: docs/probe.schema.json. Counts are whole numbers, so that they are
 * exact; what is a share or a mean is the reader's to divide. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/show.h"

/* ---- Waves ---- */

static void put_unit(json_writer_t *out, const unit_t *unit)
{
  json_begin_object(out, NULL);
  json_put_unsigned(out, "xcc", unit_xcc(unit));
  json_put_unsigned(out, "engine", unit_engine(unit));
  json_put_unsigned(out, "array", unit_array(unit));
  json_put_unsigned(out, "cu", unit_number(unit));
  json_put_unsigned(out, "waves", unit->waves);
  json_begin_array(out, "simds");
  for (int i = 0; i < 4; ++i)
    json_put_unsigned(out, NULL, unit->simds[i]);
  json_end(out);
  json_put_unsigned(out, "ticks", unit->busy);
  json_put_unsigned(out, "at_once", unit->most);
  json_end(out);
}

/* The number of a wave's unit among those that had any. */
static size_t find_unit(const wave_figures_t *waves, uint16_t place)
{
  size_t from = 0, to = waves->unit_count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (waves->units[middle].place < place)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* One in so many, in their order: [number, unit, SIMD, slot, start, end or null, work-group]. Times
 * are from the first start. */
static void put_sample(json_writer_t *out, const show_item_t *item, uint32_t every)
{
  json_begin_array(out, "sample");
  for (uint32_t i = 0; i < item->records.waves; i += every) {
    const rawhal_probe_wave_t *wave = &item->figures->waves[i];
    const uint64_t begin = item->waves->begin;
    const bool ended = wave->end && wave->end >= wave->start;
    json_begin_array(out, NULL);
    json_put_unsigned(out, NULL, i);
    json_put_unsigned(out, NULL, find_unit(item->waves, unit_of(wave)));
    json_put_unsigned(out, NULL, wave->hw_id >> 4 & 3);
    json_put_unsigned(out, NULL, wave->hw_id & 15);
    json_put_unsigned(out, NULL, wave->start > begin ? wave->start - begin : 0);
    json_put_known(out, NULL, ended, wave->end - begin);
    for (int k = 0; k < 3; ++k)
      json_put_unsigned(out, NULL, wave->workgroup[k]);
    json_end(out);
    if (every > UINT32_MAX - i)
      break;
  }
  json_end(out);
}

static void put_waves(json_writer_t *out, const show_item_t *item)
{
  const wave_figures_t *waves = item->waves;
  const uint32_t recorded = item->records.waves;
  const uint32_t every = recorded / SHOW_SAMPLE + (recorded % SHOW_SAMPLE != 0);
  json_begin_object(out, "waves");
  json_put_unsigned(out, "recorded", recorded);
  json_put_unsigned(out, "lost", item->figures->header.waves - recorded);
  json_put_unsigned(out, "capacity", item->figures->header.wave_capacity);
  json_put_unsigned(out, "unfinished", waves->unfinished);
  json_put_unsigned(out, "at_once", waves->most);
  json_put_unsigned(out, "ticks", waves->end - waves->begin);
  json_begin_array(out, "units");
  for (size_t i = 0; i < waves->unit_count; ++i)
    put_unit(out, &waves->units[i]);
  json_end(out);
  json_put_unsigned(out, "sample_every", every ? every : 1);
  put_sample(out, item, every ? every : 1);
  json_end(out);
}

/* ---- Code ---- */

static void put_hex(json_writer_t *out, const code_t *code, const block_t *block)
{
  static const char digits[] = "0123456789abcdef";
  char text[2 * SHOW_CODE_BYTES + 1];
  size_t size = block->bytes < SHOW_CODE_BYTES ? block->bytes : SHOW_CODE_BYTES;
  if (!code->bytes.data || block->offset > code->bytes.size) {
    json_put_null(out, "code");
    return;
  }
  size = size < code->bytes.size - block->offset ? size : code->bytes.size - block->offset;
  for (size_t i = 0; i < size; ++i) {
    const unsigned char byte = ((const unsigned char *)code->bytes.data)[block->offset + i];
    text[2 * i] = digits[byte >> 4];
    text[2 * i + 1] = digits[byte & 15];
  }
  text[2 * size] = 0;
  json_put_text(out, "code", text);
}

static void put_lines(json_writer_t *out, const code_t *code, const block_t *block)
{
  const uint32_t bytes = block->bytes < SHOW_CODE_BYTES ? block->bytes : SHOW_CODE_BYTES;
  if (!code->line_count) {
    json_put_null(out, "lines");
    return;
  }
  json_begin_array(out, "lines");
  for (size_t i = code_line_at(code, block->offset);
       i < code->line_count && code->lines[i].offset - block->offset < bytes; ++i) {
    json_begin_object(out, NULL);
    json_put_unsigned(out, "offset", code->lines[i].offset);
    json_put_text(out, "text", code->text + code->lines[i].text);
    json_end(out);
  }
  json_end(out);
}

static void put_block(json_writer_t *out, const show_item_t *item, const block_t *block,
                      bool with_code)
{
  json_begin_object(out, NULL);
  json_put_unsigned(out, "offset", block->offset);
  json_put_unsigned(out, "bytes", block->bytes);
  json_put_unsigned(out, "instructions", block->instructions);
  json_put_unsigned(out, "count", block->count);
  json_put_unsigned(out, "executed", block->executed);
  if (block->has_lanes)
    json_put_unsigned(out, "lanes", block->lanes);
  else
    json_put_null(out, "lanes");
  if (with_code) {
    put_hex(out, item->code, block);
    put_lines(out, item->code, block);
  } else {
    json_put_null(out, "code");
    json_put_null(out, "lines");
  }
  json_end(out);
}

/* Those that ran most come first, as many as are wanted; of a page, the rest is left out. */
static void put_blocks(json_writer_t *out, const show_t *show, const show_item_t *item)
{
  const code_figures_t *blocks = item->blocks;
  const size_t count = show->request->html && blocks->block_count > SHOW_CODE_BLOCKS
                           ? SHOW_CODE_BLOCKS
                           : blocks->block_count;
  json_put_unsigned(out, "instructions", blocks->executed);
  json_put_unsigned(out, "blocks_left_out", blocks->block_count - count);
  json_begin_array(out, "blocks");
  for (size_t i = 0; i < count; ++i)
    put_block(out, item, &blocks->blocks[item->hottest[i]], i < SHOW_CODE_BLOCKS);
  json_end(out);
}

static void put_instruction(json_writer_t *out, const show_item_t *item, uint32_t offset)
{
  json_put_text(out, "instruction", show_instruction(item->code, offset));
}

static void put_edge(json_writer_t *out, const show_item_t *item, const edge_t *edge)
{
  const bool told = edge->is_told && edge->reached >= edge->not_taken;
  json_begin_object(out, NULL);
  json_put_unsigned(out, "offset", edge->offset);
  json_put_unsigned(out, "target", edge->target);
  json_put_unsigned(out, "not_taken", edge->not_taken);
  json_put_known(out, "taken", told, edge->reached - edge->not_taken);
  put_instruction(out, item, edge->offset);
  json_end(out);
}

/* ---- Memory ---- */

static const rawhal_probe_point_t *point_of(const show_item_t *item, const site_t *site)
{
  return &item->kernel->points[site->point];
}

static void put_global(json_writer_t *out, const site_t *site)
{
  if (!site->global) {
    json_put_null(out, "global");
    return;
  }
  json_begin_object(out, "global");
  json_put_unsigned(out, "times", site->global);
  json_put_unsigned(out, "lanes", site->global_lanes);
  json_put_unsigned(out, "lines_64", site->touched[0]);
  json_put_unsigned(out, "least_64", site->ideal[0]);
  json_put_unsigned(out, "lines_128", site->touched[1]);
  json_put_unsigned(out, "least_128", site->ideal[1]);
  json_begin_array(out, "allocations");
  for (int i = 0; i < FIGURES_SITE_PLACES && site->places[i].place; ++i) {
    json_begin_object(out, NULL);
    json_put_unsigned(out, "allocation", site->places[i].place - 1);
    json_put_unsigned(out, "accesses", site->places[i].accesses);
    json_end(out);
  }
  json_end(out);
  json_put_unsigned(out, "other_allocations", site->other_places);
  json_put_unsigned(out, "elsewhere", site->elsewhere);
  json_end(out);
}

static void put_lds(json_writer_t *out, const site_t *site)
{
  if (!site->lds) {
    json_put_null(out, "lds");
    return;
  }
  json_begin_object(out, "lds");
  json_put_unsigned(out, "times", site->lds);
  json_put_unsigned(out, "groups", site->groups);
  json_put_unsigned(out, "passes", site->passes);
  json_put_unsigned(out, "worst", site->worst);
  json_put_unsigned(out, "first", site->lds_first);
  json_put_unsigned(out, "last", site->lds_last);
  json_end(out);
}

static void put_access(json_writer_t *out, const show_item_t *item, const site_t *site)
{
  const rawhal_probe_point_t *point = point_of(item, site);
  json_begin_object(out, NULL);
  json_put_unsigned(out, "offset", point->offset);
  json_put_text(out, "access", show_access(point));
  json_put_unsigned(out, "bytes_each", point->bytes);
  json_put_unsigned(out, "times", site->events);
  json_put_unsigned(out, "lanes", site->lanes);
  json_put_unsigned(out, "bytes", site->bytes);
  json_put_unsigned(out, "untold", site->untold);
  json_put_unsigned(out, "scratch", site->scratch);
  json_put_unsigned(out, "outside", site->outside);
  put_instruction(out, item, point->offset);
  put_global(out, site);
  put_lds(out, site);
  json_end(out);
}

static void put_value(json_writer_t *out, const rawhal_probe_point_t *point,
                      const site_value_t *value)
{
  json_begin_object(out, NULL);
  json_put_unsigned(out, "wave", value->wave);
  json_put_address(out, "exec", value->exec);
  json_begin_array(out, "lanes");
  if (point->source == RAWHAL_PROBE_SGPR)
    json_put_address(out, NULL, value->lanes[0]);
  else
    for (unsigned i = 0; i < RAWHAL_PROBE_LANES; ++i)
      if (value->exec >> i & 1)
        json_put_address(out, NULL, value->lanes[i]);
      else
        json_put_null(out, NULL);
  json_end(out);
  json_end(out);
}

static void put_values(json_writer_t *out, const show_item_t *item, const site_t *site)
{
  char name[32];
  const rawhal_probe_point_t *point = point_of(item, site);
  show_register(point, name, sizeof(name));
  json_begin_object(out, NULL);
  json_put_unsigned(out, "offset", point->offset);
  json_put_text(out, "register", name);
  json_put_unsigned(out, "times", site->events);
  put_instruction(out, item, point->offset);
  json_begin_array(out, "first");
  for (uint32_t i = 0; i < site->value_count; ++i)
    put_value(out, point, &item->figures->values[site->first_value + i]);
  json_end(out);
  json_end(out);
}

/* How often each wave of a work-group came last, up to the last that ever did. */
static void put_barrier(json_writer_t *out, const show_item_t *item, const site_t *site)
{
  int count = FIGURES_GROUP_WAVES;
  json_begin_object(out, NULL);
  json_put_unsigned(out, "offset", point_of(item, site)->offset);
  json_put_unsigned(out, "times", site->events);
  put_instruction(out, item, point_of(item, site)->offset);
  if (!site->last) {
    json_put_null(out, "last");
  } else {
    while (count && !site->last[count - 1])
      --count;
    json_begin_array(out, "last");
    for (int i = 0; i < count; ++i)
      json_put_unsigned(out, NULL, site->last[i]);
    json_end(out);
  }
  json_end(out);
}

/* The sites of one kind of event that had any. */
static void put_sites(json_writer_t *out, const show_item_t *item, const char *key,
                      rawhal_probe_action_t action,
                      void (*put)(json_writer_t *, const show_item_t *, const site_t *))
{
  json_begin_array(out, key);
  for (size_t i = 0; i < item->kernel->site_count; ++i) {
    const site_t *site = &item->kernel->sites[i];
    if (site->events && point_of(item, site)->action == action)
      put(out, item, site);
  }
  json_end(out);
}

/* ---- Allocations ---- */

/* Rows from the first address on, over the events in their order. */
static void put_picture(json_writer_t *out, const place_t *place)
{
  json_begin_array(out, "picture");
  for (int row = 0; row < PLACES_ROWS; ++row) {
    json_begin_array(out, NULL);
    for (int column = 0; column < PLACES_COLUMNS; ++column)
      json_put_unsigned(out, NULL, place->picture->density[row][column]);
    json_end(out);
  }
  json_end(out);
}

static void put_place(json_writer_t *out, const place_t *place, bool with_picture)
{
  json_begin_object(out, NULL);
  json_put_address(out, "address", place->address);
  json_put_unsigned(out, "size", place->size);
  json_put_string_or_null(out, "name", place->name);
  json_put_known(out, "argument_offset", place->argument != RECORD_NO_ARGUMENT, place->argument);
  json_put_unsigned(out, "accesses", place->accesses);
  json_put_unsigned(out, "reads", place->reads);
  json_put_unsigned(out, "writes", place->writes);
  json_put_unsigned(out, "bytes", place->bytes);
  json_put_unsigned(out, "first", place->first);
  json_put_unsigned(out, "last", place->last);
  if (place->picture)
    json_put_unsigned(out, "footprint", places_footprint(place));
  else
    json_put_null(out, "footprint");
  if (place->picture && with_picture)
    put_picture(out, place);
  else
    json_put_null(out, "picture");
  json_end(out);
}

/* So many accesses at least has one of those that had most: which is found by counting down. */
static uint64_t least_of_most(const places_t *places)
{
  uint64_t most[SHOW_PICTURES] = {0};
  for (size_t i = 0; i < places->places.count; ++i) {
    uint64_t accesses = places_at(places, i)->accesses;
    for (int k = 0; k < SHOW_PICTURES; ++k)
      if (accesses > most[k]) {
        const uint64_t less = most[k];
        most[k] = accesses;
        accesses = less;
      }
  }
  return most[SHOW_PICTURES - 1] ? most[SHOW_PICTURES - 1] : 1;
}

/* All of a document; of a page, those that were accessed or are an argument's. */
static void put_places(json_writer_t *out, const places_t *places)
{
  const uint64_t least = least_of_most(places);
  int pictures = SHOW_PICTURES;
  json_begin_array(out, "allocations");
  for (size_t i = 0; i < places->places.count; ++i) {
    const place_t *place = places_at(places, i);
    const bool drawn = place->accesses >= least && pictures > 0;
    pictures -= drawn;
    put_place(out, place, drawn);
  }
  json_end(out);
  json_begin_object(out, "elsewhere");
  json_put_unsigned(out, "accesses", places->elsewhere);
  json_put_address(out, "least", places->least);
  json_put_address(out, "most", places->most);
  json_end(out);
}

/* ---- A dispatch ---- */

static void put_head(json_writer_t *out, const show_item_t *item)
{
  const record_dispatch_t *dispatch = &item->dispatch;
  const record_probe_t *probe = &item->kernel->probe;
  json_put_unsigned(out, "dispatch", item->records.dispatch);
  json_put_string(out, "kernel", dispatch->kernel);
  json_put_bool(out, "kernel_cut", item->is_cut);
  const rawhal_string_t name = demangle(dispatch->kernel);
  if (name.data == dispatch->kernel.data)
    json_put_null(out, "demangled");
  else
    json_put_string(out, "demangled", name);
  json_put_string(out, "device", dispatch->device);
  json_put_unsigned(out, "queue", dispatch->queue);
  json_put_three(out, "work_items", dispatch->work_items[0], dispatch->work_items[1],
                 dispatch->work_items[2]);
  json_put_three(out, "workgroup", dispatch->workgroup[0], dispatch->workgroup[1],
                 dispatch->workgroup[2]);
  json_put_text(out, "made_by", probe->maker == RECORD_MADE_BY_DEVICE ? "softgpu" : "code");
  json_begin_array(out, "kinds");
  const char *name_of_kind;
  for (uint32_t kind = 1; (name_of_kind = rawhal_probe_kind_name(kind)); kind <<= 1)
    if (probe->kinds & kind)
      json_put_text(out, NULL, name_of_kind);
  json_end(out);
  json_put_bool(out, "stopped", item->records.flags & RECORD_PROBED_STOPPED);
  json_put_bool(out, "host_time", item->records.flags & RECORD_PROBED_HOST_TIME);
  json_put_unsigned(out, "frequency", item->records.frequency);
  json_put_address(out, "entry", probe->entry);
  json_put_unsigned(out, "code_bytes", probe->code_bytes);
  json_put_text(out, "no_code", *item->code->why ? item->code->why : NULL);
}

static void item_json(show_t *show, const show_item_t *item)
{
  json_writer_t *out = &show->json;
  const figures_t *figures = item->figures;
  json_begin_object(out, NULL);
  put_head(out, item);
  put_waves(out, item);
  json_begin_object(out, "events");
  json_put_unsigned(out, "recorded", item->records.events);
  json_put_unsigned(out, "lost", figures->header.events - item->records.events);
  json_put_unsigned(out, "capacity", figures->header.event_capacity);
  json_put_unsigned(out, "unknown", figures->unknown);
  json_end(out);
  put_blocks(out, show, item);
  json_begin_array(out, "branches");
  for (size_t i = 0; i < item->blocks->edge_count; ++i)
    put_edge(out, item, &item->blocks->edges[i]);
  json_end(out);
  put_sites(out, item, "accesses", RAWHAL_PROBE_ACCESS, put_access);
  put_places(out, &figures->places);
  put_sites(out, item, "values", RAWHAL_PROBE_VALUE, put_values);
  put_sites(out, item, "barriers", RAWHAL_PROBE_ARRIVE, put_barrier);
  json_end(out);
}

/* Numbers alone: what there is of its records is not shown. */
static void incomplete_json(show_t *show, uint64_t dispatch)
{
  (void)show;
  (void)dispatch;
}

static void begin_json(show_t *show)
{
  json_writer_t *out = &show->json;
  json_begin_object(out, NULL);
  json_put_text(out, "schema", "rawhal-probe-1");
  json_put_text(out, "file", show->path);
  json_put_text(out, "caveat", PROBE_CAVEAT);
  json_begin_array(out, "dispatches");
}

static void end_json(show_t *show)
{
  json_writer_t *out = &show->json;
  json_end(out);
  json_put_unsigned(out, "dispatches_left_out", show->passed);
  json_put_unsigned(out, "dispatches_incomplete", show->incomplete);
  json_end(out);
}

const show_form_t show_json = {begin_json, item_json, incomplete_json, end_json};
