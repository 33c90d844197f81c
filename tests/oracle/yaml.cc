#include "yaml.h"

#include <cstdlib>

namespace {

struct Line {
  size_t indent;
  std::string text; // behind the indentation
};

class Parser {
public:
  std::vector<Line> lines;
  size_t next = 0;
  bool failed = false;

  Yaml node(size_t indent)
  {
    if (next >= lines.size() || failed)
      return fail();
    return lines[next].text.compare(0, 2, "- ") == 0 ? list(indent) : map(indent);
  }

private:
  Yaml fail()
  {
    failed = true;
    return {};
  }
  bool at(size_t indent) const { return next < lines.size() && lines[next].indent == indent; }

  // "- item": the item starts on the same line, two columns further.
  Yaml list(size_t indent)
  {
    Yaml value;
    value.kind = Yaml::kList;
    while (!failed && at(indent) && lines[next].text.compare(0, 2, "- ") == 0) {
      Line &line = lines[next];
      size_t inner = line.text.find_first_not_of(' ', 1);
      if (inner == std::string::npos)
        return fail();
      line = {indent + inner, line.text.substr(inner)};
      bool nested = line.text.compare(0, 2, "- ") == 0 || key_end(line.text) != std::string::npos;
      value.items.push_back(nested ? node(line.indent) : scalar(lines[next++].text));
    }
    return value;
  }
  Yaml map(size_t indent)
  {
    Yaml value;
    value.kind = Yaml::kMap;
    while (!failed && at(indent)) {
      std::string text = lines[next].text;
      size_t end = key_end(text);
      if (end == std::string::npos)
        return fail();
      std::string key = scalar(text.substr(0, end)).text;
      size_t start = text.find_first_not_of(' ', end + 1);
      ++next;
      if (start != std::string::npos)
        value.entries.emplace_back(key, scalar(text.substr(start)));
      else if (next < lines.size() && lines[next].indent > indent)
        value.entries.emplace_back(key, node(lines[next].indent));
      else
        return fail();
    }
    return value;
  }

  // The colon behind a key, or npos for a scalar.
  static size_t key_end(const std::string &text)
  {
    size_t at = 0;
    if (text[0] == '\'' || text[0] == '"') {
      at = quote_end(text);
      if (at == std::string::npos)
        return at;
      ++at;
      return at < text.size() && text[at] == ':' ? at : std::string::npos;
    }
    for (at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1))
      if (at + 1 == text.size() || text[at + 1] == ' ')
        return at;
    return at;
  }
  static size_t quote_end(const std::string &text)
  {
    for (size_t i = 1; i < text.size(); ++i) {
      if (text[0] == '"' && text[i] == '\\')
        ++i;
      else if (text[i] == text[0]) {
        if (text[0] == '\'' && i + 1 < text.size() && text[i + 1] == '\'')
          ++i;
        else
          return i;
      }
    }
    return std::string::npos;
  }

  Yaml scalar(std::string text)
  {
    Yaml value;
    bool tagged = text.compare(0, 5, "!str ") == 0;
    if (tagged)
      text.erase(0, 5);
    if (text.compare(0, 4, "!nil") == 0)
      return value;
    value.kind = Yaml::kText;
    value.text = text;
    if (text == "[]" || text == "[  ]" || text == "{}") {
      value.kind = text == "{}" ? Yaml::kMap : Yaml::kList;
      value.text.clear();
    } else if (text[0] == '\'' || text[0] == '"') {
      size_t end = quote_end(text);
      if (end != text.size() - 1)
        return fail();
      value.text = unquote(text.substr(1, end - 1), text[0]);
    } else if (!tagged && (text == "true" || text == "false")) {
      value.kind = Yaml::kTruth;
    } else if (!tagged && is_number(text)) {
      value.kind = Yaml::kNumber;
    }
    return value;
  }
  static bool is_number(const std::string &text)
  {
    char *end;
    strtod(text.c_str(), &end);
    return end != text.c_str() && !*end && text.find_first_of("0123456789") != std::string::npos;
  }
  static std::string unquote(const std::string &text, char quote)
  {
    static const std::string from = "nrt0\\\"eabvf", to("\n\r\t\0\\\"\033\a\b\v\f", 11);
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i) {
      if (quote == '\'' && text[i] == '\'')
        ++i; // a doubled one
      if (quote == '\'' || text[i] != '\\' || i + 1 == text.size()) {
        plain += text[i];
      } else if (text[++i] == 'x' && i + 2 < text.size()) {
        plain += static_cast<char>(strtoul(text.substr(i + 1, 2).c_str(), nullptr, 16));
        i += 2;
      } else {
        size_t known = from.find(text[i]);
        plain += known == std::string::npos ? text[i] : to[known];
      }
    }
    return plain;
  }
};

} // namespace

const Yaml *Yaml::find(const std::string &key) const
{
  for (const auto &[name, value] : entries)
    if (name == key)
      return &value;
  return nullptr;
}

bool parse_yaml(const std::string &text, std::vector<Yaml> &documents, std::string &wrong)
{
  Parser parser;
  bool inside = false;
  for (size_t start = 0; start < text.size();) {
    size_t end = text.find('\n', start);
    end = end == std::string::npos ? text.size() : end;
    size_t first = text.find_first_not_of(' ', start);
    std::string line = first < end ? text.substr(first, end - first) : "";
    size_t indent = first - start;
    start = end + 1;
    if (line == "---" && !inside) {
      inside = true;
      parser = {};
    } else if (line == "..." && inside) {
      inside = false;
      documents.push_back(parser.lines.empty() ? Yaml{} : parser.node(parser.lines[0].indent));
      if (parser.failed || parser.next != parser.lines.size()) {
        wrong = parser.next < parser.lines.size() ? parser.lines[parser.next].text : "(its end)";
        return false;
      }
    } else if (inside && !line.empty()) {
      parser.lines.push_back({indent, line});
    }
  }
  return !inside;
}
