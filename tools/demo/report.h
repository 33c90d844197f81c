/* What the demo prints: aligned plain text of at most 100 columns. */
#ifndef TOOLS_DEMO_REPORT_H
#define TOOLS_DEMO_REPORT_H

#include <rawhal/kernarg.h>

#define REPORT_COLUMNS 100

/* A rule with the title of a job in it. */
void report_title(const char *title);

/* "label     text", text as printf makes it. */
__attribute__((format(printf, 2, 3))) void report_line(const char *label, const char *format, ...);

/* A continuation of the line above. */
__attribute__((format(printf, 1, 2))) void report_more(const char *format, ...);

/* The kernel's arguments as a table; meanings[i] says what the demo puts into argument i and may
 * be missing from `meaning_count` on. */
void report_layout(const rawhal_kernarg_layout_t *layout, const char *const *meanings,
                   size_t meaning_count, size_t blob_size);

void report_dispatch(const char *label, uint32_t workgroups, uint32_t workgroup_size);

/* 1234567 as "1,234,567"; the buffer is returned. */
typedef struct report_count {
  char text[32];
} report_count_t;
const char *report_count(uint64_t value, report_count_t *buffer);

#endif
