/* rawhal probe verify: certificates, and the copies that they are about, in a folder. */
#include "tools/probe/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawhal/version.h>

#include "base/new_file.h"
#include "base/whole.h"
#include "tools/shared/file.h"
#include "tools/shared/tool.h"

static certificate_subject_t subject_of(const verify_kernel_t *kernel)
{
  return (certificate_subject_t){.object = kernel->object,
                                 .copy = kernel->copy,
                                 .kernel = kernel->facts->name,
                                 .kinds = rawhal_probe_plan_info(kernel->plan)->kinds,
                                 .target = kernel->target,
                                 .is_software = kernel->is_software};
}

/* ---- Its text ---- */

static void put(json_writer_t *json, const verify_kernel_t *kernel,
                const certificate_subject_t *subject)
{
  json_begin_object(json, NULL);
  json_put_text(json, "schema", CERTIFICATE_SCHEMA);
  json_put_text(json, "rawhal", rawhal_version_text());
  json_put_string(json, "kernel", subject->kernel);
  json_put_hash(json, "object", subject->object);
  json_put_hash(json, "copy", subject->copy);
  verify_put_kinds(json, subject->kinds);
  json_begin_object(json, "device");
  json_put_text(json, "target", subject->target);
  json_put_bool(json, "software", subject->is_software);
  json_end(json);
  json_put_unsigned(json, "dispatches", kernel->compared);
  json_put_unsigned(json, "bytes", kernel->bytes_compared);
  json_put_known(json, "waves", kernel->has_waves, kernel->waves);
  json_put_known(json, "instructions", kernel->has_instructions, kernel->instructions);
  verify_put_records(json, kernel);
  json_end(json);
}

/* A name that JSON does not bring back would be another kernel's. */
static bool reads_back(const char *text, size_t size, const certificate_subject_t *subject,
                       rawhal_error_t *error)
{
  certificate_t certificate;
  if (certificate_read(text, size, &certificate, error) != RAWHAL_OK)
    return false;
  const bool same = certificate_check(&certificate, subject, error) == RAWHAL_OK;
  certificate_close(&certificate);
  return same;
}

/* To be freed. NULL, with `error`. */
static char *make_text(const verify_kernel_t *kernel, const certificate_subject_t *subject,
                       size_t *size, rawhal_error_t *error)
{
  char *text = NULL;
  json_writer_t json = {.out = open_memstream(&text, size)};
  if (json.out)
    put(&json, kernel, subject);
  if (!json.out || fclose(json.out)) {
    (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a certificate");
    free(text);
    return NULL;
  }
  if (reads_back(text, *size, subject, error))
    return text;
  free(text);
  return NULL;
}

/* ---- Files ---- */

/* Whole, or not at all: who reads it meanwhile has the one before. */
static bool write_file(const char *path, const void *bytes, size_t size, rawhal_error_t *error)
{
  enum { MODE = 0644 };
  new_file_t file;
  bool done = new_file_open(&file, path);
  if (done && (!write_whole(file.descriptor, bytes, size) || fchmod(file.descriptor, MODE))) {
    const int why = errno;
    new_file_drop(&file);
    errno = why;
    done = false;
  } else if (done) {
    done = new_file_keep(&file, true);
  }
  return done || tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot write '%.400s': %s", path,
                             strerror(errno));
}

/* Beside the certificate, with another ending. */
static bool write_copy(const verify_kernel_t *kernel, const char *path, rawhal_error_t *error)
{
  char beside[VERIFY_PATH + 8];
  rawhal_bytes_t made = {0};
  (void)snprintf(beside, sizeof(beside), "%.*s.hsaco", (int)(strlen(path) - strlen(".json")), path);
  bool done = kernel->given.size || rawhal_probe_apply(kernel->plan, 0, &made, error) == RAWHAL_OK;
  const rawhal_bytes_t bytes = kernel->given.size ? kernel->given : made;
  done = done && write_file(beside, bytes.data, bytes.size, error);
  rawhal_probe_free(kernel->plan, &made);
  return done;
}

static bool path_of(const char *folder, const certificate_subject_t *subject, char *path,
                    rawhal_error_t *error)
{
  char name[CERTIFICATE_FILE];
  certificate_file(subject, name);
  const int size = snprintf(path, VERIFY_PATH, "%s/%s", folder, name);
  return (size > 0 && size < VERIFY_PATH) ||
         tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "the folder's path is too long");
}

static bool issue(verify_kernel_t *kernel, const char *folder, rawhal_error_t *error)
{
  const certificate_subject_t subject = subject_of(kernel);
  char path[VERIFY_PATH];
  size_t size = 0;
  if (mkdir(folder, 0777) && errno != EEXIST)
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot make '%.400s': %s", folder,
                       strerror(errno));
  char *text = make_text(kernel, &subject, &size, error);
  const bool done = text && path_of(folder, &subject, path, error) &&
                    write_copy(kernel, path, error) && write_file(path, text, size, error);
  free(text);
  if (done)
    memcpy(kernel->certificate, path, sizeof(path));
  return done;
}

/* One of before, about the copy that now was found to be another. */
static bool take_back(const verify_kernel_t *kernel, const char *folder, rawhal_error_t *error)
{
  const certificate_subject_t subject = subject_of(kernel);
  char path[VERIFY_PATH];
  unsigned char *text;
  size_t size;
  rawhal_error_t none;
  if (!path_of(folder, &subject, path, error))
    return false;
  const bool is_there = tool_read_file(path, CERTIFICATE_BYTES, &text, &size, &none) &&
                        reads_back((const char *)text, size, &subject, &none);
  free(text);
  return !is_there || !unlink(path) ||
         tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot remove '%.400s': %s", path,
                     strerror(errno));
}

bool verify_certify(verify_kernel_t *kernel, const char *folder, rawhal_error_t *error)
{
  if (!folder || !kernel->plan || !*kernel->target)
    return true;
  return kernel->result == VERIFY_SAME        ? issue(kernel, folder, error)
         : kernel->result == VERIFY_DIFFERENT ? take_back(kernel, folder, error)
                                              : true;
}
