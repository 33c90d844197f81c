/* What an operator wants done with which program's which kernels: RAWHAL_POLICY names a file of
 * JSON, which docs/policy.md describes. Internal.
 *
 * For each kind of setting the first rule counts that is for the kernel and has such a setting;
 * what no rule sets is as the environment has it. Limits of the file hold in addition to those of
 * the environment: the stricter counts.
 *
 * Thread-safety: a policy is immutable between policy_open() and policy_close(). */
#ifndef RAWHAL_FRONT_POLICY_H
#define RAWHAL_FRONT_POLICY_H

#include "front/contract.h"
#include "front/watch_check.h"
#include "queue/limit.h"

/* ---- Rules ---- */

enum { POLICY_BYTES = 1 << 20, POLICY_RULES = 4096, POLICY_CONTRACTS = 64 };

typedef enum policy_word {
  POLICY_UNSAID = 0,
  POLICY_NO = 1,
  POLICY_YES = 2,
} policy_word_t;

typedef struct policy_contract {
  char *argument; /* a name or "argN" */
  contract_t *bytes;
} policy_contract_t;

typedef struct policy_limit {
  rawhal_limit_t limit;
  char *value;
} policy_limit_t;

typedef struct policy_rule {
  char *program, *kernel, *object; /* NULL: any */
  bool has_check;
  watch_check_t check;
  policy_word_t record, trace;
  char *substitute; /* NULL: unsaid; empty: nothing */
  policy_contract_t *contracts;
  size_t contract_count;
  policy_limit_t *limits;
  size_t limit_count;
} policy_rule_t;

typedef struct policy {
  policy_rule_t *rules;
  size_t rule_count;
} policy_t;

/* policy_read.c: text of at most POLICY_BYTES. INVALID_ARGUMENT: it says where; OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t policy_read(const char *text, size_t size, policy_t *policy,
                                           rawhal_error_t *error);
void policy_free(policy_t *policy);

/* ---- The process's ---- */

/* Reads the file that the environment names, if it does, and keeps the rules for a program's file;
 * NULL: this one's. INVALID_ARGUMENT, OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t policy_open(const char *program, rawhal_error_t *error);
void policy_close(void);

/* Does any rule have kernels checked? */
bool policy_checks(void);
/* How a kernel is checked of which nothing is known: it may be that of any rule. */
watch_check_t policy_strictest_check(void);
/* Lines of what is replaced, as RAWHAL_SUBSTITUTE has them; NULL: there are none. The caller frees
 * it. OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t policy_substitutes(char **lines, rawhal_error_t *error);
/* Sets what rules limit. Fails as rawhal_limit_config_set_text(). */
RAWHAL_CHECKED rawhal_status_t policy_limits(rawhal_limit_config_t *config,
                                             const rawhal_limit_device_t *device,
                                             rawhal_error_t *error);
bool policy_has_limits(void);
bool policy_has_rules(void); /* for whatever program */

/* ---- A kernel's ---- */

typedef struct policy_argument {
  uint32_t index;
  const contract_t *bytes;
} policy_argument_t;

typedef struct policy_kernel {
  bool has_check;
  watch_check_t check;
  bool no_record, no_trace;
  size_t argument_count;
  policy_argument_t arguments[]; /* pointers of which is known what they must lead to */
} policy_kernel_t;

/* What rules say of a kernel; NULL: nothing. What cannot be, or for which there is no memory, is
 * reported. The caller frees it. */
policy_kernel_t *policy_for(const rawhal_kernel_t *kernel, const rawhal_kernarg_layout_t *layout,
                            rawhal_content_hash_t object);

#endif
