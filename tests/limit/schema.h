// Holds JSON documents against JSON schemas, as far as the schemas in docs/ go: draft 2020-12 without formats,
// combinations other than oneOf and not, and references out of the document. A keyword it does not know is a
// violation, so that nothing is taken for checked that is not.
#ifndef TESTS_LIMIT_SCHEMA_H
#define TESTS_LIMIT_SCHEMA_H

#include <jansson.h>

#include <string>

// "" when `document` is what `schema` describes, and has no keys that it does not; else what is wrong, and where.
std::string Violation(const json_t *schema, const json_t *document);

#endif
