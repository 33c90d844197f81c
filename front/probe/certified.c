/* Whether somebody has held a kernel's copy against its original: see probe/certificate.h. */
#include "front/probe/probed.h"

#include "base/error.h"
#include "hsaco/file_bytes.h"
#include "probe/certificate.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* Such as it has to be about. `target`: of CERTIFICATE_TARGET bytes. */
static rawhal_status_t find_subject(const probed_t *entry, certificate_subject_t *subject,
                                    char *target, rawhal_error_t *error)
{
  debug_softgpu_t softgpu;
  rawhal_target_t parsed;
  rawhal_status_t status = rawhal_target_parse(rawhal_string(entry->device->isa), &parsed, error);
  if (status != RAWHAL_OK)
    return status;
  (void)rawhal_target_format(&parsed, target, CERTIFICATE_TARGET);
  debug_softgpu_find_loaded(&softgpu);
  *subject = (certificate_subject_t){.object = object_hash(entry->kernel->object),
                                     .kernel = entry->kernel->facts->name,
                                     .kinds = rawhal_probe_plan_info(entry->plan)->kinds,
                                     .target = target,
                                     .is_software = softgpu.memory_bound != NULL};
  return certificate_copy(entry->plan, &subject->copy, error);
}

static rawhal_status_t find_path(const char *given, const certificate_subject_t *subject,
                                 char path[PATH_MAX], rawhal_error_t *error)
{
  struct stat facts;
  char name[CERTIFICATE_FILE] = "";
  const bool is_folder = stat(given, &facts) == 0 && S_ISDIR(facts.st_mode);
  if (is_folder)
    certificate_file(subject, name);
  const int size = snprintf(path, PATH_MAX, "%s%s%s", given, is_folder ? "/" : "", name);
  return size < PATH_MAX
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "'%.200s' is too long", given);
}

static rawhal_status_t check_file(const char *path, const certificate_subject_t *subject,
                                  rawhal_error_t *error)
{
  file_bytes_t bytes;
  certificate_t certificate;
  rawhal_status_t status = file_bytes_open(path, CERTIFICATE_BYTES, true, NULL, &bytes, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_error_t why;
  status = certificate_read(bytes.data, bytes.size, &certificate, &why);
  if (status == RAWHAL_OK) {
    status = certificate_check(&certificate, subject, &why);
    certificate_close(&certificate);
  }
  file_bytes_close(&bytes, NULL);
  return status == RAWHAL_OK ? status
                             : rawhal_fail(error, status, "'%.400s': %s", path, why.message);
}

rawhal_status_t probed_certified(const probed_t *entry, rawhal_error_t *error)
{
  char path[PATH_MAX], target[CERTIFICATE_TARGET];
  certificate_subject_t subject;
  rawhal_error_t why;
  rawhal_status_t status = find_subject(entry, &subject, target, error);
  if (status == RAWHAL_OK)
    status = find_path(entry->rule->verified, &subject, path, error);
  if (status != RAWHAL_OK)
    return status;
  status = check_file(path, &subject, &why);
  return status == RAWHAL_OK
             ? status
             : rawhal_fail(error, status, "its copy has no certificate: %.600s", why.message);
}
