/* Certificates: that a copy of a kernel, with probes in it, was run beside the original on recorded
 * dispatches, and left the same memory. Internal. docs/probe-certificate.schema.json has the file's
 * members.
 *
 * It is about one original, one copy, and one kind of device. Hashes tell these apart; they do not
 * protect against who makes others on purpose, and nothing in a certificate says who has written
 * it. */
#ifndef RAWHAL_PROBE_CERTIFICATE_H
#define RAWHAL_PROBE_CERTIFICATE_H

#include <rawhal/probe.h>

enum {
  CERTIFICATE_BYTES = 256 << 10, /* the most that is read of one */
  CERTIFICATE_FILE = 48,         /* of a file's name */
  CERTIFICATE_TARGET = 96,
};
#define CERTIFICATE_SCHEMA "rawhal-probe-certificate-1"

/* What it is about. */
typedef struct certificate_subject {
  rawhal_content_hash_t object; /* the original's code object, */
  rawhal_content_hash_t copy;   /* and certificate_copy()'s */
  rawhal_string_t kernel;       /* its name in there */
  uint32_t kinds;               /* rawhal_probe_kind_t, with those that others include */
  const char *target;           /* the device's, as rawhal_target_format() has it */
  bool is_software;
} certificate_subject_t;

/* What copies recorded, each held against what softgpu recorded of the original. */
typedef struct certificate_records {
  uint64_t waves, counters, events;
} certificate_records_t;

typedef struct certificate {
  certificate_subject_t subject;
  uint64_t dispatches, bytes, waves, instructions; /* that were compared */
  certificate_records_t records;
  bool has_waves, has_instructions, has_records;
  void *root; /* what texts are in */
} certificate_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a file's bytes. INVALID_ARGUMENT: they are no certificate of this version; UNSUPPORTED: no
 * JSON can be read. To be closed if it was read. Cost is proportional to the bytes. */
RAWHAL_CHECKED rawhal_status_t certificate_read(const void *text, size_t size,
                                                certificate_t *certificate, rawhal_error_t *error);
void certificate_close(certificate_t *certificate);

/* TARGET_MISMATCH: it is about something else, and what. */
RAWHAL_CHECKED rawhal_status_t certificate_check(const certificate_t *certificate,
                                                 const certificate_subject_t *wanted,
                                                 rawhal_error_t *error);

/* The copy's hash, as certificates have it: of a kernel that reads its PC, whose copies depend on
 * where the original is, of the one for an original at 0. Errors of rawhal_probe_apply(). */
RAWHAL_CHECKED rawhal_status_t certificate_copy(const rawhal_probe_plan_t *plan,
                                                rawhal_content_hash_t *hash, rawhal_error_t *error);

/* Of its file in a folder of them: it follows from all but the copy. */
void certificate_file(const certificate_subject_t *subject, char name[CERTIFICATE_FILE]);

#ifdef __cplusplus
}
#endif

#endif
