/* The terminal that standard output may be: how wide it is, and whether it gets colours. */
#ifndef TOOLS_SHARED_TERMINAL_H
#define TOOLS_SHARED_TERMINAL_H

#include <rawhal/types.h>

typedef enum terminal_style {
  STYLE_NONE = 0, /* ends what was begun */
  STYLE_NAME = 1,
  STYLE_QUIET = 2,
  STYLE_BAD = 3,
  STYLE_GOOD = 4,
  STYLE_ODD = 5,
} terminal_style_t;

/* Begins a style on standard output; nothing where there are no colours. They are for terminals
 * that are not "dumb" (TERM), unless NO_COLOR is set or CLICOLOR is 0, and wherever CLICOLOR_FORCE
 * is set to anything but 0. No style changes what is written: none is needed to understand it. */
void terminal_style(terminal_style_t style);

/* Does it, by TERM, take no escapes, or is that not known? */
bool terminal_is_dumb(void);

/* The terminal's columns; SIZE_MAX where it does not say, or standard output is not a terminal. */
size_t terminal_columns(void);

/* Prints text from outside, escaped, in at most `most` columns: what is longer ends in "...";
 * nothing of it where there is no room for that. Returns the columns. */
size_t terminal_print_within(rawhal_string_t text, size_t most);

/* "TEXT:", behind an empty line: the head of a section. */
void terminal_heading(const char *text);

/* A row of a table. Begins as {0}; the caller ends its last line. */
typedef struct terminal_row {
  size_t used, gap; /* columns of the line, and those before the next cell */
} terminal_row_t;

/* The next cell, escaped, of `width` columns or more, and one between. What a terminal has no room
 * for is on its next line, behind `indent` blanks, or is cut, as terminal_print_within() has it,
 * where that is not enough, either. */
void terminal_row_put(terminal_row_t *row, const char *text, size_t width, size_t indent);

/* The same of a sentence, which is broken between words; the terminal breaks it itself where the
 * indent leaves too little. */
void terminal_row_put_wrapped(terminal_row_t *row, rawhal_string_t text, size_t indent);

/* A whole row: cells up to NULL, each of its width, and the line's end. */
void terminal_row_print(const char *const *cells, const unsigned char *widths, size_t gap,
                        size_t indent);

/* A cell of text from outside, at most what `buffer` holds; "-" where there is none. */
const char *terminal_cell(rawhal_string_t text, char *buffer, size_t size);

#endif
