#include "tests/limit/schema.h"

#include <regex.h>

#include <cstring>
#include <iterator>

namespace {

class Validator {
public:
  explicit Validator(const json_t *root) : root_(root) {}
  // Where `value` stands in the document is only for messages.
  std::string Check(const json_t *schema, const json_t *value, const std::string &at) const;

private:
  using Rule = std::string (Validator::*)(const json_t *argument, const json_t *value,
                                          const std::string &at) const;
  struct Keyword {
    const char *name;
    Rule rule; // none: for people
  };
  static const Keyword keywords[];

  std::string Ref(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string OneOf(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Not(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Type(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Const(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Enum(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Required(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Properties(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Items(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Minimum(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Maximum(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string MinItems(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string MaxItems(const json_t *argument, const json_t *value, const std::string &at) const;
  std::string Pattern(const json_t *argument, const json_t *value, const std::string &at) const;

  const json_t *root_;
};

const Validator::Keyword Validator::keywords[] = {
    {"$schema", nullptr},
    {"$defs", nullptr},
    {"title", nullptr},
    {"description", nullptr},
    {"additionalProperties", nullptr}, // what is not described is refused in any case
    {"$ref", &Validator::Ref},
    {"oneOf", &Validator::OneOf},
    {"not", &Validator::Not},
    {"type", &Validator::Type},
    {"const", &Validator::Const},
    {"enum", &Validator::Enum},
    {"required", &Validator::Required},
    {"properties", &Validator::Properties},
    {"items", &Validator::Items},
    {"minimum", &Validator::Minimum},
    {"maximum", &Validator::Maximum},
    {"minItems", &Validator::MinItems},
    {"maxItems", &Validator::MaxItems},
    {"pattern", &Validator::Pattern},
};

std::string Text(const json_t *value)
{
  char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
  std::string result = text ? text : "?";
  free(text);
  return result;
}

bool HasType(const json_t *value, const std::string &type)
{
  switch (json_typeof(value)) {
  case JSON_OBJECT:
    return type == "object";
  case JSON_ARRAY:
    return type == "array";
  case JSON_STRING:
    return type == "string";
  case JSON_INTEGER:
    return type == "integer" || type == "number";
  case JSON_REAL:
    return type == "number";
  case JSON_TRUE:
  case JSON_FALSE:
    return type == "boolean";
  case JSON_NULL:
    return type == "null";
  }
  return false;
}

std::string Validator::Check(const json_t *schema, const json_t *value, const std::string &at) const
{
  const char *key;
  json_t *argument;
  json_object_foreach(const_cast<json_t *>(schema), key, argument)
  {
    const Keyword *keyword = std::begin(keywords);
    while (keyword != std::end(keywords) && strcmp(keyword->name, key) != 0)
      ++keyword;
    if (keyword == std::end(keywords))
      return at + ": the schema's keyword '" + key + "' is not known";
    std::string wrong = keyword->rule ? (this->*keyword->rule)(argument, value, at) : "";
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

std::string Validator::Ref(const json_t *argument, const json_t *value, const std::string &at) const
{
  const std::string prefix = "#/$defs/", name = json_string_value(argument);
  const json_t *target =
      name.compare(0, prefix.size(), prefix) == 0
          ? json_object_get(json_object_get(root_, "$defs"), name.c_str() + prefix.size())
          : nullptr;
  return target ? Check(target, value, at) : at + ": no definition " + name;
}

std::string Validator::OneOf(const json_t *argument, const json_t *value,
                             const std::string &at) const
{
  std::string why;
  int fitting = 0;
  size_t i;
  json_t *schema;
  json_array_foreach(argument, i, schema)
  {
    std::string wrong = Check(schema, value, at);
    fitting += wrong.empty();
    why += wrong + "; ";
  }
  return fitting == 1 ? ""
                      : at + ": fits " + std::to_string(fitting) + " of the alternatives: " + why;
}

std::string Validator::Not(const json_t *argument, const json_t *value, const std::string &at) const
{
  return Check(argument, value, at).empty() ? at + ": is what it must not be" : "";
}

std::string Validator::Type(const json_t *argument, const json_t *value,
                            const std::string &at) const
{
  if (json_is_string(argument))
    return HasType(value, json_string_value(argument)) ? ""
                                                       : at + ": no " + json_string_value(argument);
  size_t i;
  json_t *type;
  json_array_foreach(argument, i, type)
  {
    if (HasType(value, json_string_value(type)))
      return "";
  }
  return at + ": none of " + Text(argument);
}

std::string Validator::Const(const json_t *argument, const json_t *value,
                             const std::string &at) const
{
  return json_equal(argument, value) ? "" : at + ": " + Text(value) + " is not " + Text(argument);
}

std::string Validator::Enum(const json_t *argument, const json_t *value,
                            const std::string &at) const
{
  size_t i;
  json_t *one;
  json_array_foreach(argument, i, one)
  {
    if (json_equal(one, value))
      return "";
  }
  return at + ": " + Text(value) + " is none of " + Text(argument);
}

std::string Validator::Required(const json_t *argument, const json_t *value,
                                const std::string &at) const
{
  size_t i;
  json_t *key;
  json_array_foreach(argument, i, key)
  {
    if (json_is_object(value) && !json_object_get(value, json_string_value(key)))
      return at + ": has no '" + json_string_value(key) + "'";
  }
  return "";
}

std::string Validator::Properties(const json_t *argument, const json_t *value,
                                  const std::string &at) const
{
  const char *key;
  json_t *member;
  json_object_foreach(const_cast<json_t *>(value), key, member)
  {
    const json_t *schema = json_object_get(argument, key);
    if (!schema)
      return at + ": '" + key + "' is not described";
    std::string wrong = Check(schema, member, at + "/" + key);
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

std::string Validator::Items(const json_t *argument, const json_t *value,
                             const std::string &at) const
{
  size_t i;
  json_t *item;
  json_array_foreach(value, i, item)
  {
    std::string wrong = Check(argument, item, at + "/" + std::to_string(i));
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

std::string Validator::Minimum(const json_t *argument, const json_t *value,
                               const std::string &at) const
{
  bool less = json_is_number(value) && json_number_value(value) < json_number_value(argument);
  return less ? at + ": " + Text(value) + " is less than " + Text(argument) : "";
}

std::string Validator::Maximum(const json_t *argument, const json_t *value,
                               const std::string &at) const
{
  bool more = json_is_number(value) && json_number_value(value) > json_number_value(argument);
  return more ? at + ": " + Text(value) + " is more than " + Text(argument) : "";
}

std::string Validator::MinItems(const json_t *argument, const json_t *value,
                                const std::string &at) const
{
  bool few = json_is_array(value) &&
             json_array_size(value) < static_cast<size_t>(json_integer_value(argument));
  return few ? at + ": fewer items than " + Text(argument) : "";
}

std::string Validator::MaxItems(const json_t *argument, const json_t *value,
                                const std::string &at) const
{
  bool many = json_is_array(value) &&
              json_array_size(value) > static_cast<size_t>(json_integer_value(argument));
  return many ? at + ": more items than " + Text(argument) : "";
}

std::string Validator::Pattern(const json_t *argument, const json_t *value,
                               const std::string &at) const
{
  if (!json_is_string(value))
    return "";
  regex_t expression;
  if (regcomp(&expression, json_string_value(argument), REG_EXTENDED | REG_NOSUB))
    return at + ": the pattern " + Text(argument) + " is not understood";
  bool found = regexec(&expression, json_string_value(value), 0, nullptr, 0) == 0;
  regfree(&expression);
  return found ? "" : at + ": " + Text(value) + " does not match " + Text(argument);
}

} // namespace

std::string Violation(const json_t *schema, const json_t *document)
{
  return Validator(schema).Check(schema, document, "");
}
