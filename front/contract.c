#include "front/contract.h"

#include "base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A program for a stack of numbers. */
typedef enum step_kind {
  STEP_NUMBER,
  STEP_NAMED,   /* an argument */
  STEP_INDEXED, /* likewise */
  STEP_WORK_ITEMS,
  STEP_WORKGROUP,
  STEP_WORKGROUPS,
  STEP_ADD,
  STEP_SUBTRACT,
  STEP_MULTIPLY,
  STEP_DIVIDE,
  STEP_REMAINDER,
  STEP_MAX,
  STEP_MIN,
} step_kind_t;

typedef struct step {
  step_kind_t kind;
  uint32_t length; /* of a name */
  uint64_t value;  /* a number, an index, an axis, or where in the text a name begins */
} step_t;

enum { STEPS = 256 };

struct contract {
  uint32_t count;
  step_t steps[STEPS];
  char text[CONTRACT_LENGTH + 1];
};

/* ---- Reading ---- */

typedef struct parser {
  contract_t *contract;
  const char *at;
  uint32_t depth;
  rawhal_error_t *error;
} parser_t;

static bool refuse(parser_t *parser, const char *what)
{
  size_t column = (size_t)(parser->at - parser->contract->text) + 1;
  return rawhal_fail(parser->error, RAWHAL_INVALID_ARGUMENT, "'%.100s', column %zu: %s",
                     parser->contract->text, column, what) == RAWHAL_OK;
}

static bool emit(parser_t *parser, step_t step)
{
  contract_t *contract = parser->contract;
  if (contract->count == STEPS)
    return refuse(parser, "it is too long");
  contract->steps[contract->count++] = step;
  return true;
}

static void skip_blanks(parser_t *parser)
{
  while (*parser->at == ' ' || *parser->at == '\t')
    ++parser->at;
}

static bool take(parser_t *parser, char wanted)
{
  skip_blanks(parser);
  if (*parser->at != wanted)
    return false;
  ++parser->at;
  return true;
}

static bool read_number(parser_t *parser)
{
  static const char suffixes[] = "KMG";
  const bool hexadecimal = parser->at[0] == '0' && (parser->at[1] | 32) == 'x';
  const unsigned base = hexadecimal ? 16 : 10;
  uint64_t value = 0;
  parser->at += hexadecimal ? 2 : 0;
  const char *first = parser->at;
  for (; isxdigit((unsigned char)*parser->at); ++parser->at) {
    unsigned digit = *parser->at <= '9' ? (unsigned)(*parser->at - '0')
                                        : (unsigned)((*parser->at | 32) - 'a') + 10;
    if (digit >= base)
      break;
    if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
      return refuse(parser, "number of more than 64 bits");
  }
  if (parser->at == first)
    return refuse(parser, "a digit is missing");
  const char *suffix = *parser->at ? strchr(suffixes, *parser->at) : NULL;
  for (const char *at = suffixes; suffix && at <= suffix; ++at)
    if (__builtin_mul_overflow(value, 1024, &value))
      return refuse(parser, "number of more than 64 bits");
  parser->at += suffix != NULL;
  if (isalnum((unsigned char)*parser->at) || *parser->at == '_')
    return refuse(parser, "malformed number");
  return emit(parser, (step_t){.kind = STEP_NUMBER, .value = value});
}

static bool read_sum(parser_t *parser);

static bool read_two(parser_t *parser, step_kind_t kind)
{
  if (!read_sum(parser))
    return false;
  if (!take(parser, ','))
    return refuse(parser, "a comma is missing");
  if (!read_sum(parser))
    return false;
  return take(parser, ')') ? emit(parser, (step_t){.kind = kind})
                           : refuse(parser, "a parenthesis is missing");
}

static const struct {
  const char *name;
  step_kind_t kind;
} words[] = {{"work_items", STEP_WORK_ITEMS},
             {"workgroup", STEP_WORKGROUP},
             {"workgroups", STEP_WORKGROUPS},
             {"max", STEP_MAX},
             {"min", STEP_MIN}};

static bool is_axis(step_kind_t kind)
{
  return kind == STEP_WORK_ITEMS || kind == STEP_WORKGROUP || kind == STEP_WORKGROUPS;
}

static bool read_axis(parser_t *parser, step_kind_t kind)
{
  static const char axes[] = "xyz";
  const char *axis = *parser->at == '.' && parser->at[1] ? strchr(axes, parser->at[1]) : NULL;
  if (!axis || isalnum((unsigned char)parser->at[2]) || parser->at[2] == '_')
    return refuse(parser, ".x, .y or .z is missing");
  parser->at += 2;
  return emit(parser, (step_t){.kind = kind, .value = (uint64_t)(axis - axes)});
}

/* argN; other words of that kind are names. */
static bool is_index(const char *word, size_t length, uint64_t *index)
{
  *index = 0;
  if (length < 4 || length > 9 || memcmp(word, "arg", 3) != 0)
    return false;
  for (size_t i = 3; i < length; ++i) {
    if (!isdigit((unsigned char)word[i]))
      return false;
    *index = *index * 10 + (uint64_t)(word[i] - '0');
  }
  return true;
}

static bool read_word(parser_t *parser)
{
  const char *word = parser->at;
  uint64_t index;
  while (isalnum((unsigned char)*parser->at) || *parser->at == '_')
    ++parser->at;
  const size_t length = (size_t)(parser->at - word);
  for (size_t i = 0; i < sizeof(words) / sizeof(*words); ++i) {
    if (strlen(words[i].name) != length || memcmp(words[i].name, word, length) != 0)
      continue;
    if (is_axis(words[i].kind) && *parser->at == '.')
      return read_axis(parser, words[i].kind);
    if (!is_axis(words[i].kind) && take(parser, '('))
      return read_two(parser, words[i].kind);
  }
  if (is_index(word, length, &index))
    return emit(parser, (step_t){.kind = STEP_INDEXED, .value = index});
  return emit(parser, (step_t){.kind = STEP_NAMED,
                               .length = (uint32_t)length,
                               .value = (uint64_t)(word - parser->contract->text)});
}

static bool read_factor(parser_t *parser)
{
  skip_blanks(parser);
  if (parser->depth == CONTRACT_DEPTH)
    return refuse(parser, "it is nested too deeply");
  ++parser->depth;
  bool read;
  if (isdigit((unsigned char)*parser->at))
    read = read_number(parser);
  else if (isalpha((unsigned char)*parser->at) || *parser->at == '_')
    read = read_word(parser);
  else if (take(parser, '('))
    read = read_sum(parser) && (take(parser, ')') || refuse(parser, "a parenthesis is missing"));
  else
    read = refuse(parser, "a number, an argument or '(' is missing");
  --parser->depth;
  return read;
}

typedef struct operator_kind {
  char sign;
  step_kind_t kind;
} operator_kind_t;

static const operator_kind_t products[] = {
    {'*', STEP_MULTIPLY}, {'/', STEP_DIVIDE}, {'%', STEP_REMAINDER}, {0, STEP_NUMBER}};
static const operator_kind_t sums[] = {{'+', STEP_ADD}, {'-', STEP_SUBTRACT}, {0, STEP_NUMBER}};

/* Operands, and what is between them, from the left. */
static bool read_chain(parser_t *parser, bool (*operand)(parser_t *), const operator_kind_t *of)
{
  if (!operand(parser))
    return false;
  for (;;) {
    const operator_kind_t *found = of;
    while (found->sign && !take(parser, found->sign))
      ++found;
    if (!found->sign)
      return true;
    if (!operand(parser) || !emit(parser, (step_t){.kind = found->kind}))
      return false;
  }
}

static bool read_product(parser_t *parser)
{
  return read_chain(parser, read_factor, products);
}

static bool read_sum(parser_t *parser)
{
  return read_chain(parser, read_product, sums);
}

rawhal_status_t contract_parse(const char *text, contract_t **contract, rawhal_error_t *error)
{
  *contract = NULL;
  const size_t length = strlen(text);
  if (length > CONTRACT_LENGTH)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the expression has %zu characters; the limit is %d", length,
                       CONTRACT_LENGTH);
  contract_t *made = calloc(1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for an expression");
  memcpy(made->text, text, length + 1);
  rawhal_error_t why;
  parser_t parser = {.contract = made, .at = made->text, .error = error ? error : &why};
  bool read = read_sum(&parser);
  skip_blanks(&parser);
  if (read && *parser.at)
    read = refuse(&parser, "an operator is missing");
  if (read)
    *contract = made;
  else
    contract_free(made);
  return read ? RAWHAL_OK : parser.error->status;
}

void contract_free(contract_t *contract)
{
  free(contract);
}

/* ---- Arguments ---- */

static const rawhal_kernarg_argument_t *argument_of(const contract_t *contract, const step_t *step,
                                                    const rawhal_kernarg_layout_t *layout,
                                                    rawhal_error_t *error)
{
  size_t index = (size_t)step->value;
  const rawhal_string_t name = {contract->text + step->value, step->length};
  if (step->kind == STEP_NAMED &&
      rawhal_kernarg_layout_find(layout, name, &index, error) != RAWHAL_OK)
    return NULL;
  const rawhal_kernarg_argument_t *argument = rawhal_kernarg_layout_argument(layout, index);
  const char *why = !argument                           ? "there is no argument %zu"
                    : argument->size > sizeof(uint64_t) ? "argument %zu has more than 8 bytes"
                                                        : NULL;
  bool usable = !why || rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, why, index) == RAWHAL_OK;
  return usable ? argument : NULL;
}

rawhal_status_t contract_check(const contract_t *contract, const rawhal_kernarg_layout_t *layout,
                               rawhal_error_t *error)
{
  for (uint32_t i = 0; i < contract->count; ++i) {
    const step_t *step = &contract->steps[i];
    if ((step->kind == STEP_NAMED || step->kind == STEP_INDEXED) &&
        !argument_of(contract, step, layout, error))
      return RAWHAL_INVALID_ARGUMENT;
  }
  return RAWHAL_OK;
}

/* ---- Evaluating ---- */

static bool read_argument(const contract_t *contract, const step_t *step,
                          const contract_facts_t *facts, uint64_t *value, rawhal_error_t *error)
{
  const rawhal_kernarg_argument_t *argument = argument_of(contract, step, facts->layout, error);
  if (!argument)
    return false;
  if ((uint64_t)argument->offset + argument->size > facts->image.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the kernargs end before an argument") ==
           RAWHAL_OK;
  *value = 0;
  memcpy(value, (const char *)facts->image.data + argument->offset, argument->size);
  return true;
}

/* False: it has no result. */
static bool combine(step_kind_t kind, uint64_t a, uint64_t b, uint64_t *result)
{
  switch (kind) {
  case STEP_ADD:
    return !__builtin_add_overflow(a, b, result);
  case STEP_SUBTRACT:
    return !__builtin_sub_overflow(a, b, result);
  case STEP_MULTIPLY:
    return !__builtin_mul_overflow(a, b, result);
  case STEP_DIVIDE:
    *result = b ? a / b : 0;
    return b != 0;
  case STEP_REMAINDER:
    *result = b ? a % b : 0;
    return b != 0;
  case STEP_MAX:
    *result = a > b ? a : b;
    return true;
  default:
    *result = a < b ? a : b;
    return true;
  }
}

static uint64_t of_axis(step_kind_t kind, const contract_facts_t *facts, uint64_t axis)
{
  const uint64_t items = facts->work_items[axis], group = facts->workgroup[axis];
  if (kind == STEP_WORK_ITEMS)
    return items;
  return kind == STEP_WORKGROUP ? group : group ? (items + group - 1) / group : 0;
}

rawhal_status_t contract_evaluate(const contract_t *contract, const contract_facts_t *facts,
                                  uint64_t *value, rawhal_error_t *error)
{
  uint64_t stack[STEPS]; /* each step adds one at most */
  uint32_t used = 0;
  *value = 0;
  for (uint32_t i = 0; i < contract->count; ++i) {
    const step_t *step = &contract->steps[i];
    if (step->kind == STEP_NUMBER) {
      stack[used++] = step->value;
    } else if (step->kind == STEP_NAMED || step->kind == STEP_INDEXED) {
      if (!read_argument(contract, step, facts, &stack[used++], error))
        return RAWHAL_INVALID_ARGUMENT;
    } else if (is_axis(step->kind)) {
      stack[used++] = of_axis(step->kind, facts, step->value);
    } else {
      --used; /* two were put before */
      if (!combine(step->kind, stack[used - 1], stack[used], &stack[used - 1]))
        return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                           "'%.100s' is not a number of 64 bits for this dispatch", contract->text);
    }
  }
  *value = stack[0];
  return RAWHAL_OK;
}
