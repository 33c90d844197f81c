#include "front/trace.h"

#include "front/devices.h"
#include "front/report.h"

#include "front/output.h"

#include "base/error.h"
#include "base/file_signals.h"
#include "base/own_file.h"
#include "hsaco/json.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, THREAD_HELD = 1 << 16, THREAD_COPIES = 1 << 17 };
static const uint64_t flush_after_ns = 500000000;

static struct {
  pthread_mutex_t lock;
  own_file_t file;
  bool open;
  uint64_t began, flushed; /* ns */
  size_t used;
  uint32_t queues[64]; /* bits: those that have been named */
  char buffer[BUFFER];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = {.descriptor = -1}};

/* ---- Writing ---- */

/* The caller holds the lock. What cannot be written ends the trace. */
static void flush_buffer(void)
{
  if (trace.open && trace.used &&
      !(own_file_is_open(&trace.file) &&
        write_without_signals(trace.file.descriptor, trace.buffer, trace.used))) {
    front_report("the trace ends here: %s", strerror(errno));
    trace.open = false;
  }
  trace.used = 0;
}

static bool append(void *context, const char *text, size_t size)
{
  (void)context;
  while (size && trace.open) {
    if (trace.used == BUFFER)
      flush_buffer();
    size_t part = size < BUFFER - trace.used ? size : BUFFER - trace.used;
    memcpy(trace.buffer + trace.used, text, part);
    trace.used += part;
    text += part;
    size -= part;
  }
  return trace.open;
}

/* As text in microseconds; the program's locale may have a comma where JSON has a point. */
typedef struct us_text {
  char text[32];
} us_text_t;

static us_text_t us_of(uint64_t ns)
{
  us_text_t us;
  (void)snprintf(us.text, sizeof(us.text), "%llu.%03llu", (unsigned long long)(ns / 1000),
                 (unsigned long long)(ns % 1000));
  return us;
}

static us_text_t us_since(uint64_t ns)
{
  return us_of(ns > trace.began ? ns - trace.began : 0);
}

static us_text_t us_between(uint64_t from, uint64_t to)
{
  return us_of(to > from ? to - from : 0);
}

/* {"name":NAME, and what comes before "args". The caller holds the lock. */
static void put_text(json_sink_t *sink, rawhal_string_t name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put_text(json_sink_t *sink, rawhal_string_t name, const char *format, ...)
{
  char text[512];
  va_list arguments;
  json_text(sink, "{\"name\":");
  json_quote(sink, name);
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  json_text(sink, text);
}

static void finish(json_sink_t *sink, uint64_t now)
{
  json_text(sink, "},\n");
  json_flush(sink);
  if (now - trace.flushed > flush_after_ns) {
    flush_buffer();
    trace.flushed = now;
  }
}

static void put_name(const char *kind, uint32_t thread, const char *name)
{
  json_sink_t sink = {.write = append};
  put_text(&sink, RAWHAL_STRING("thread_name"),
           ",\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":\"%s %s\"}", getpid(), thread,
           kind, name);
  finish(&sink, trace.flushed);
}

static void name_queue(uint32_t queue)
{
  enum { NAMED = sizeof(trace.queues) * 8 };
  char number[16];
  if (queue >= NAMED || trace.queues[queue / 32] >> queue % 32 & 1)
    return;
  trace.queues[queue / 32] |= 1u << queue % 32;
  (void)snprintf(number, sizeof(number), "%u", queue);
  put_name("queue", queue, number);
  put_name("held back, queue", THREAD_HELD + queue, number);
}

static const char *const ways[] = {[TRACE_TO_DEVICE] = "to a device",
                                   [TRACE_FROM_DEVICE] = "from a device",
                                   [TRACE_BESIDE] = "between devices",
                                   [TRACE_CALLED] = "and fills, waited for"};

/* ---- Opening ---- */

rawhal_status_t trace_open(const char *path, rawhal_error_t *error)
{
  int fd = output_make(path, 0644);
  if (fd < 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the trace '%.200s': %s", path,
                       strerror(errno));
  pthread_mutex_lock(&trace.lock);
  trace.open = own_file_keep(&trace.file, fd);
  trace.used = 0;
  memset(trace.queues, 0, sizeof(trace.queues));
  trace.began = trace.flushed = front_now();
  char name[256] = "";
  ssize_t size = readlink("/proc/self/exe", name, sizeof(name) - 1);
  json_sink_t sink = {.write = append};
  json_text(&sink, "[\n");
  put_text(&sink, RAWHAL_STRING("process_name"),
           ",\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":", getpid());
  json_quote(&sink, (rawhal_string_t){name, size > 0 ? (size_t)size : 0});
  json_text(&sink, "}");
  finish(&sink, trace.began);
  for (uint32_t way = 0; way < sizeof(ways) / sizeof(*ways); ++way)
    put_name("copies", THREAD_COPIES + way, ways[way]);
  flush_buffer();
  pthread_mutex_unlock(&trace.lock);
  return RAWHAL_OK;
}

void trace_close(void)
{
  pthread_mutex_lock(&trace.lock);
  if (trace.open) {
    json_sink_t sink = {.write = append}; /* the last event has no comma after it */
    put_text(&sink, RAWHAL_STRING("end"),
             ",\"ph\":\"i\",\"s\":\"p\",\"pid\":%d,\"tid\":0,"
             "\"ts\":%s}\n]\n",
             getpid(), us_since(front_now()).text);
    json_flush(&sink);
    flush_buffer();
  }
  trace.open = false;
  (void)own_file_close(&trace.file);
  pthread_mutex_unlock(&trace.lock);
}

/* ---- Events ---- */

static bool begin(void)
{
  pthread_mutex_lock(&trace.lock);
  if (trace.open)
    return true;
  pthread_mutex_unlock(&trace.lock);
  return false;
}

void trace_dispatch(const trace_dispatch_t *dispatch)
{
  char text[512], hash[OBJECT_HASH_TEXT] = "";
  rawhal_string_t name = RAWHAL_STRING("unknown kernel");
  if (dispatch->kernel) {
    object_hash_text(dispatch->kernel->object, hash);
    name = dispatch->kernel->facts->name;
  }
  if (!begin())
    return;
  json_sink_t sink = {.write = append};
  name_queue(dispatch->queue);
  put_text(&sink, name,
           ",\"cat\":\"dispatch\",\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%s,"
           "\"dur\":%s,\"args\":{",
           getpid(), dispatch->queue, us_since(dispatch->start).text,
           us_between(dispatch->start, dispatch->end).text);
  (void)snprintf(text, sizeof(text),
                 "\"work_items\":[%u,%u,%u],\"workgroup\":[%u,%u,%u],\"group_bytes\":%u,"
                 "\"object\":\"%s\",\"kernel_object\":\"0x%llx\",\"waited_us\":%s,\"measured\":%s}",
                 dispatch->work_items[0], dispatch->work_items[1], dispatch->work_items[2],
                 dispatch->workgroup[0], dispatch->workgroup[1], dispatch->workgroup[2],
                 dispatch->group_bytes, hash, (unsigned long long)dispatch->kernel_object,
                 us_between(dispatch->submitted, dispatch->start).text,
                 dispatch->measured ? "true" : "false");
  json_text(&sink, text);
  finish(&sink, dispatch->end);
  pthread_mutex_unlock(&trace.lock);
}

void trace_held(uint32_t queue, uint64_t from, uint64_t to)
{
  if (!begin())
    return;
  json_sink_t sink = {.write = append};
  name_queue(queue);
  put_text(&sink, RAWHAL_STRING("held back"),
           ",\"cat\":\"limit\",\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%s,\"dur\":%s", getpid(),
           THREAD_HELD + queue, us_since(from).text, us_between(from, to).text);
  finish(&sink, to);
  pthread_mutex_unlock(&trace.lock);
}

void trace_memory(uint32_t device, uint64_t bytes)
{
  if (!begin())
    return;
  json_sink_t sink = {.write = append};
  uint64_t now = front_now();
  put_text(
      &sink, RAWHAL_STRING("memory"),
      ",\"cat\":\"memory\",\"ph\":\"C\",\"pid\":%d,\"id\":%u,\"ts\":%s,\"args\":{\"bytes\":%llu}",
      getpid(), device, us_since(now).text, (unsigned long long)bytes);
  finish(&sink, now);
  pthread_mutex_unlock(&trace.lock);
}

void trace_copy(const trace_copy_t *copy)
{
  const bool known = copy->start != 0;
  if (!begin())
    return;
  json_sink_t sink = {.write = append};
  put_text(&sink, rawhal_string(copy->what), ",\"cat\":\"copy\",%s,\"pid\":%d,\"tid\":%u,\"ts\":%s",
           known ? "\"ph\":\"X\"" : "\"ph\":\"i\",\"s\":\"t\"", getpid(), THREAD_COPIES + copy->way,
           us_since(known ? copy->start : copy->asked).text);
  char text[160];
  if (known) {
    (void)snprintf(text, sizeof(text), ",\"dur\":%s", us_between(copy->start, copy->end).text);
    json_text(&sink, text);
  }
  (void)snprintf(text, sizeof(text), ",\"args\":{\"bytes\":%llu,\"waited_us\":%s}",
                 (unsigned long long)copy->bytes, us_between(copy->asked, copy->start).text);
  json_text(&sink, text);
  finish(&sink, known ? copy->end : copy->asked);
  pthread_mutex_unlock(&trace.lock);
}

void trace_object(rawhal_content_hash_t hash, uint64_t size, const char *uri)
{
  char text[OBJECT_HASH_TEXT];
  if (!begin())
    return;
  content_text(hash, text);
  json_sink_t sink = {.write = append};
  uint64_t now = front_now();
  put_text(&sink, RAWHAL_STRING("code object"),
           ",\"cat\":\"object\",\"ph\":\"i\",\"s\":\"p\",\"pid\":%d,\"tid\":0,\"ts\":%s,"
           "\"args\":{\"object\":\"%s\",\"bytes\":%llu,\"uri\":",
           getpid(), us_since(now).text, text, (unsigned long long)size);
  json_quote(&sink, rawhal_string(uri ? uri : ""));
  json_text(&sink, "}");
  finish(&sink, now);
  pthread_mutex_unlock(&trace.lock);
}

void trace_abandon(void)
{
  (void)pthread_mutex_init(&trace.lock, NULL);
  trace.open = false;
  trace.used = 0;
}
