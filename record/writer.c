#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/numbered.h"
#include "record/append.h"
#include "record/sum.h"

static size_t piece_size(uint64_t left)
{
  return left < RECORD_PIECE ? (size_t)left : RECORD_PIECE;
}

/* ---- Objects ---- */

/* Whole before anything can refer to it, as the lock is held. */
static rawhal_status_t append_object(record_writer_t *writer, rawhal_bytes_t bytes,
                                     rawhal_content_hash_t hash, rawhal_error_t *error)
{
  const format_object_t object = {writer->objects + 1, writer->contents + 1, hash.high, hash.low,
                                  bytes.size};
  rawhal_status_t status =
      append_frame(writer, FORMAT_OBJECT, payload_of(&object, sizeof(object)), error);
  if (status != RAWHAL_OK)
    return status;
  ++writer->objects;
  ++writer->contents;
  for (size_t at = 0; at < bytes.size && status == RAWHAL_OK; at += RECORD_PIECE)
    status = append_piece(writer, object.content, at, (const char *)bytes.data + at,
                          piece_size(bytes.size - at), error);
  return status;
}

uint64_t record_writer_known(record_writer_t *writer, rawhal_content_hash_t hash)
{
  pthread_mutex_lock(&writer->lock);
  const uint64_t number = known_find(writer->known, hash);
  pthread_mutex_unlock(&writer->lock);
  return number;
}

rawhal_status_t record_writer_object(record_writer_t *writer, rawhal_bytes_t bytes,
                                     uint64_t *object, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  *object = 0;
  if (!bytes.data || !bytes.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a code object of no bytes");
  const rawhal_content_hash_t hash = rawhal_content_hash(bytes.data, bytes.size);
  rawhal_status_t status = append_enter(writer, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t *known = known_add(&writer->known, hash);
  if (!known)
    status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for one more code object");
  else if (!*known && (status = append_object(writer, bytes, hash, error)) == RAWHAL_OK)
    *known = writer->objects;
  if (status == RAWHAL_OK)
    *object = *known;
  pthread_mutex_unlock(&writer->lock);
  return status;
}

/* ---- Dispatches ---- */

static rawhal_status_t check_dispatch(const record_dispatch_t *dispatch, rawhal_error_t *error)
{
  if (dispatch->device.size > RECORD_MOST_NAME || dispatch->kernel.size > RECORD_MOST_NAME)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "a name of %zu bytes, more than %d",
                       dispatch->device.size > RECORD_MOST_NAME ? dispatch->device.size
                                                                : dispatch->kernel.size,
                       RECORD_MOST_NAME);
  if (dispatch->kernargs.size > RECORD_MOST_KERNARGS)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%zu bytes of kernargs, more than %d",
                       dispatch->kernargs.size, RECORD_MOST_KERNARGS);
  return RAWHAL_OK;
}

rawhal_status_t record_writer_dispatch(record_writer_t *writer, const record_dispatch_t *given,
                                       uint64_t *number, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  *number = 0;
  rawhal_status_t status = check_dispatch(given, error);
  if (status != RAWHAL_OK || (status = append_enter(writer, error)))
    return status;
  const format_dispatch_t dispatch = {
      .dispatch = writer->dispatches + 1,
      .object = given->object,
      .queue = given->queue,
      .work_items = {given->work_items[0], given->work_items[1], given->work_items[2]},
      .workgroup = {given->workgroup[0], given->workgroup[1], given->workgroup[2]},
      .dynamic_group_bytes = given->dynamic_group_bytes,
      .private_bytes = given->private_bytes,
      .device_size = (uint32_t)given->device.size,
      .kernel_size = (uint32_t)given->kernel.size,
      .kernargs_size = (uint32_t)given->kernargs.size};
  payload_t payload = payload_of(&dispatch, sizeof(dispatch));
  payload_add(&payload, given->device.data, given->device.size);
  payload_add(&payload, given->kernel.data, given->kernel.size);
  payload_add(&payload, given->kernargs.data, given->kernargs.size);
  if (!given->object || given->object > writer->objects)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no code object %" PRIu64,
                         given->object);
  else
    status = append_frame(writer, FORMAT_DISPATCH, payload, error);
  if (status == RAWHAL_OK)
    *number = ++writer->dispatches;
  pthread_mutex_unlock(&writer->lock);
  return status;
}

/* ---- Beginning and end ---- */

static uint64_t make_salt(void)
{
  uint64_t salt;
  struct timespec now;
  if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) == sizeof(salt))
    return salt;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static rawhal_status_t make_file(record_writer_t *writer, const char *path, rawhal_error_t *error)
{
  char text[128];
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return rawhal_fail(error, file_failure(errno), "cannot create %.200s: %s", path,
                       strerror_r(errno, text, sizeof(text)));
  format_header_t header = {.magic = FORMAT_MAGIC,
                            .byte_order = FORMAT_BYTE_ORDER,
                            .version = FORMAT_VERSION,
                            .bound = writer->bound,
                            .salt = writer->salt,
                            .process = (uint64_t)writer->process};
  header.check = sum_bytes(&header, offsetof(format_header_t, check), 0);
  struct iovec part = {&header, sizeof(header)};
  if (own_file_keep(&writer->file, file) && append_raw(&writer->file, 0, &part, 1))
    return RAWHAL_OK;
  rawhal_status_t status = rawhal_fail(error, RAWHAL_RUNTIME, "writing %.200s: %s", path,
                                       strerror_r(errno, text, sizeof(text)));
  (void)unlink(path);
  (void)close(file);
  return status;
}

rawhal_status_t record_writer_create(const char *path, const record_options_t *options,
                                     record_writer_t **writer, rawhal_error_t *error)
{
  static const record_options_t defaults;
  WITHOUT_CANCELLATION();
  *writer = NULL;
  options = options ? options : &defaults;
  const uint64_t bound = options->bound ? options->bound : RECORD_DEFAULT_BOUND;
  if (!path || bound < sizeof(format_header_t) + FORMAT_END_BYTES || bound > INT64_MAX)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a recording has a path, and at least %zu bytes",
                       sizeof(format_header_t) + FORMAT_END_BYTES);
  record_writer_t *made = allocate_zeroed(NULL, 1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a recording");
  made->process = getpid();
  made->bound = bound;
  made->buffer_bound = options->buffer_bound;
  made->salt = make_salt();
  made->bytes = sizeof(format_header_t);
  strncpy(made->path, path, sizeof(made->path) - 1);
  rawhal_status_t status = make_file(made, path, error);
  if (status == RAWHAL_OK && pthread_mutex_init(&made->lock, NULL)) {
    (void)own_file_close(&made->file);
    status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a lock");
  }
  if (status != RAWHAL_OK)
    allocate_free(NULL, made);
  else
    *writer = made;
  return status;
}

/* Beside a pipe, a device or a folder nobody has asked for a file. */
static bool is_file(const char *path)
{
  struct stat there;
  return stat(path, &there) == 0 && S_ISREG(there.st_mode);
}

rawhal_status_t record_writer_create_new(const char *path, const record_options_t *options,
                                         record_writer_t **writer, rawhal_error_t *error)
{
  char candidate[PATH_WITH_NUMBER_BYTES];
  rawhal_status_t status = record_writer_create(path, options, writer, error);
  const char *taken = path;
  for (unsigned i = 0; i < NUMBERED_ATTEMPTS && status == RAWHAL_INVALID_ARGUMENT && path &&
                       is_file(taken) && path_with_number(candidate, path, i);
       ++i, taken = candidate)
    status = record_writer_create(candidate, options, writer, error);
  return status;
}

void record_writer_info(record_writer_t *writer, record_writer_info_t *info)
{
  WITHOUT_CANCELLATION();
  *info = (record_writer_info_t){0};
  if (getpid() != writer->process)
    return;
  pthread_mutex_lock(&writer->lock);
  *info = (record_writer_info_t){writer->bytes, writer->objects, writer->dispatches, writer->end};
  pthread_mutex_unlock(&writer->lock);
}

rawhal_status_t record_writer_close(record_writer_t *writer, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_status_t status = RAWHAL_OK;
  if (!writer)
    return RAWHAL_OK;
  const bool ours = getpid() == writer->process;
  if (ours && writer->end == RECORD_UNFINISHED)
    append_end(writer, RECORD_CLOSED, 0);
  /* some filesystems say only here that there was no room */
  if (own_file_close(&writer->file) && errno != EINTR && ours && writer->end == RECORD_CLOSED) {
    writer->end = RECORD_FAILED;
    writer->code = errno;
  }
  if (ours && writer->end != RECORD_CLOSED)
    status = append_ended(writer, error);
  if (ours)
    pthread_mutex_destroy(&writer->lock);
  known_free(&writer->known);
  kept_free(&writer->kept);
  list_free(&writer->probes);
  allocate_free(NULL, writer);
  return status;
}
