/* A fault as JSON: a table of its members, each with what makes it known. */
#include "debug/report_internal.h"

#include <string.h>

/* ---- Values ---- */

typedef enum member_form {
  NUMBER,   /* uint32_t */
  SIGNED,   /* int64_t */
  LONG,     /* uint64_t */
  SOME,     /* the same; 0 is null */
  ADDRESS,  /* uint64_t, as text */
  HANDLE,   /* the same; 0 is null */
  TEXT,     /* char[]; "" is null */
  GROUP,    /* uint32_t[3] */
  WORDS,    /* uint32_t[2], as text */
  ACCESS,   /* rawhal_fault_access_t */
  FAULT,    /* rawhal_fault_kind_t */
  CAUSE,    /* rawhal_cause_kind_t */
  ARGUMENT, /* uint32_t; RAWHAL_NO_ARGUMENT is null */
  STATUS,   /* int32_t; 0 is null */
} member_form_t;

typedef struct member {
  const char *name;
  size_t offset, size;
  member_form_t form;
  uint32_t known; /* null without these bits of `known` */
} member_t;

#define OF(type, name, member, form, known)                                                        \
  {                                                                                                \
    name, offsetof(type, member), sizeof(((type *)0)->member), form, known                         \
  }

#define DISPATCH RAWHAL_FAULT_KNOWS_DISPATCH
#define PC       RAWHAL_FAULT_KNOWS_PC
static const member_t fault_members[] = {
    OF(rawhal_fault_t, "kind", kind, FAULT, 0),
    OF(rawhal_fault_t, "status", hsa_status, STATUS, 0),
    OF(rawhal_fault_t, "kernel", kernel, TEXT, 0),
    OF(rawhal_fault_t, "kernel_object", kernel_object, HANDLE, 0),
    OF(rawhal_fault_t, "queue", queue_id, LONG, 0),
    OF(rawhal_fault_t, "ticket", ticket, SOME, DISPATCH),
    OF(rawhal_fault_t, "dispatch", dispatch, NUMBER, DISPATCH),
    OF(rawhal_fault_t, "packet", packet, LONG, DISPATCH),
    OF(rawhal_fault_t, "pc", pc, ADDRESS, PC),
    OF(rawhal_fault_t, "pc_offset", pc_offset, SIGNED, PC),
    OF(rawhal_fault_t, "object_address", object_address, ADDRESS, RAWHAL_FAULT_KNOWS_OBJECT),
    OF(rawhal_fault_t, "instruction", instruction, WORDS, PC),
    OF(rawhal_fault_t, "workgroup", group, GROUP, PC),
    OF(rawhal_fault_t, "wave", wave, NUMBER, PC),
    OF(rawhal_fault_t, "lane", lane, NUMBER, RAWHAL_FAULT_KNOWS_LANE),
    OF(rawhal_fault_t, "lanes", lanes, ADDRESS, RAWHAL_FAULT_KNOWS_LANES),
    OF(rawhal_fault_t, "access", access, ACCESS, RAWHAL_FAULT_KNOWS_ADDRESS),
    OF(rawhal_fault_t, "address", address, ADDRESS, RAWHAL_FAULT_KNOWS_ADDRESS),
    OF(rawhal_fault_t, "bytes", bytes, NUMBER, RAWHAL_FAULT_KNOWS_ADDRESS),
    OF(rawhal_fault_t, "device_text", device_text, TEXT, 0),
    OF(rawhal_fault_t, "label", label, TEXT, 0),
    OF(rawhal_fault_t, "queue_label", queue_label, TEXT, 0),
    OF(rawhal_fault_t, "instruction_text", instruction_text, TEXT, 0),
};

static const member_t cause_members[] = {
    OF(rawhal_cause_t, "kind", kind, CAUSE, 0),
    OF(rawhal_cause_t, "confidence", confidence, NUMBER, 0),
    OF(rawhal_cause_t, "text", text, TEXT, 0),
    OF(rawhal_cause_t, "argument", argument, ARGUMENT, 0),
    OF(rawhal_cause_t, "argument_name", argument_name, TEXT, 0),
    OF(rawhal_cause_t, "levels", levels, NUMBER, 0),
    OF(rawhal_cause_t, "offset", offset, SIGNED, 0),
    OF(rawhal_cause_t, "allocation", allocation, HANDLE, 0),
    OF(rawhal_cause_t, "allocation_bytes", allocation_bytes, LONG, 0),
    OF(rawhal_cause_t, "freed_ns", freed_ns, SOME, 0),
    OF(rawhal_cause_t, "label", label, TEXT, 0),
    OF(rawhal_cause_t, "queue", queue_id, LONG, 0),
    OF(rawhal_cause_t, "ticket", ticket, SOME, 0),
    OF(rawhal_cause_t, "dispatch", dispatch, NUMBER, 0),
    OF(rawhal_cause_t, "packet", packet, LONG, 0),
};

/* ---- Writing ---- */

static void put_text(const report_to_t *to, rawhal_string_t text)
{
  if (!text.size) {
    report_say(to, "null");
    return;
  }
  report_say(to, "\"");
  (void)escape(text, ESCAPE_JSON, SIZE_MAX, to->put, to->context);
  report_say(to, "\"");
}

static const char *access_name(uint32_t access)
{
  static const char *const names[] = {NULL, "read", "write", "atomic"};
  return access < sizeof(names) / sizeof(*names) ? names[access] : NULL;
}

static bool is_null(const member_t *member, uint32_t word, uint64_t number)
{
  return member->form == ARGUMENT ? word == RAWHAL_NO_ARGUMENT
         : member->form == STATUS ? !word
                                  : (member->form == SOME || member->form == HANDLE) && !number;
}

/* Members of 4 and 8 bytes; an enumeration is one of 4. */
static void put_value(const report_to_t *to, const member_t *member, const void *at)
{
  uint32_t words[3] = {0};
  uint64_t number = 0;
  if (member->form == TEXT) {
    put_text(to, report_field(at, member->size));
    return;
  }
  memcpy(words, at, member->size < sizeof(words) ? member->size : sizeof(words));
  memcpy(&number, at, member->size < sizeof(number) ? member->size : sizeof(number));
  if (is_null(member, words[0], number)) {
    report_say(to, "null");
    return;
  }
  switch (member->form) {
  case NUMBER:
  case ARGUMENT:
  case LONG:
  case SOME:
    report_say(to, "%llu", (unsigned long long)number);
    break;
  case SIGNED:
    report_say(to, "%lld", (long long)number);
    break;
  case ADDRESS:
  case HANDLE:
    report_say(to, "\"0x%llx\"", (unsigned long long)number);
    break;
  case GROUP:
    report_say(to, "[%u, %u, %u]", words[0], words[1], words[2]);
    break;
  case WORDS:
    report_say(to, "[\"0x%08x\", \"0x%08x\"]", words[0], words[1]);
    break;
  case ACCESS:
    put_text(to, rawhal_string(access_name(words[0])));
    break;
  case FAULT:
    put_text(to, rawhal_string(rawhal_fault_kind_name((rawhal_fault_kind_t)words[0])));
    break;
  case CAUSE:
    put_text(to, rawhal_string(rawhal_cause_kind_name((rawhal_cause_kind_t)words[0])));
    break;
  case STATUS:
    report_say(to, "%d", (int)words[0]);
    break;
  case TEXT:
    break;
  }
}

static void put_members(const report_to_t *to, const member_t *members, size_t count,
                        const void *of, uint32_t known)
{
  for (size_t i = 0; i < count; ++i) {
    report_say(to, "%s\"%s\": ", i ? ", " : "", members[i].name);
    if ((members[i].known & known) == members[i].known)
      put_value(to, &members[i], (const char *)of + members[i].offset);
    else
      report_say(to, "null");
  }
}

void report_json(const report_to_t *to, const rawhal_fault_t *fault)
{
  report_say(to, "{\"schema\": \"rawhal-fault-1\", ");
  put_members(to, fault_members, sizeof(fault_members) / sizeof(*fault_members), fault,
              fault->known);
  report_say(to, ", \"causes\": [");
  for (uint32_t i = 0; i < report_causes(fault); ++i) {
    report_say(to, "%s{", i ? ", " : "");
    put_members(to, cause_members, sizeof(cause_members) / sizeof(*cause_members),
                &fault->causes[i], 0);
    report_say(to, "}");
  }
  report_say(to, "]}");
}
