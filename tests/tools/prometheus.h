// A strict reader of Prometheus' text exposition format, version 0.0.4, as it is published; and of
// what its naming rules ask for: base units, counters that end in _total.
#ifndef TESTS_TOOLS_PROMETHEUS_H
#define TESTS_TOOLS_PROMETHEUS_H

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value;
};

struct Family {
  std::string type, help;
  std::vector<Sample> samples;
};

class Exposition {
public:
  explicit Exposition(const std::string &text) { Read(text); }
  const std::string &wrong() const { return wrong_; } // "": nothing
  const std::map<std::string, Family> &families() const { return families_; }
  // The value of the one sample that has these labels among its own; NAN: none, or several.
  double Value(const std::string &name, const std::map<std::string, std::string> &labels) const
  {
    double found = NAN;
    int count = 0;
    for (const auto &family : families_)
      for (const Sample &sample : family.second.samples) {
        bool all = sample.name == name;
        for (const auto &label : labels) {
          auto at = sample.labels.find(label.first);
          all = all && at != sample.labels.end() && at->second == label.second;
        }
        if (all && ++count)
          found = sample.value;
      }
    return count == 1 ? found : NAN;
  }

private:
  static bool IsName(const std::string &name, bool colons)
  {
    if (name.empty() || (name[0] >= '0' && name[0] <= '9'))
      return false;
    for (char c : name)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '_' || (colons && c == ':')))
        return false;
    return true;
  }
  static bool EndsIn(const std::string &text, const std::string &end)
  {
    return text.size() >= end.size() && !text.compare(text.size() - end.size(), end.size(), end);
  }
  static bool IsUtf8(const std::string &text)
  {
    for (size_t i = 0; i < text.size();) {
      unsigned char lead = static_cast<unsigned char>(text[i]);
      size_t more = lead < 0x80       ? 0
                    : lead >> 5 == 6  ? 1
                    : lead >> 4 == 14 ? 2
                    : lead >> 3 == 30 ? 3
                                      : 9;
      if (more == 9 || i + more >= text.size() + (more == 0))
        return false;
      uint32_t code = more ? lead & (0x3fu >> more) : lead;
      for (size_t k = 1; k <= more; ++k) {
        unsigned char next = static_cast<unsigned char>(text[i + k]);
        if (next >> 6 != 2)
          return false;
        code = code << 6 | (next & 0x3fu);
      }
      const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
      if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
      i += more + 1;
    }
    return true;
  }
  bool Fail(const std::string &why)
  {
    if (wrong_.empty())
      wrong_ = "line " + std::to_string(line_) + ": " + why;
    return false;
  }
  void Read(const std::string &text)
  {
    if (!IsUtf8(text))
      Fail("no UTF-8");
    if (text.empty() || text.back() != '\n')
      Fail("the last line does not end");
    for (size_t at = 0; wrong_.empty() && at < text.size();) {
      size_t end = text.find('\n', at);
      ++line_;
      Line(text.substr(at, end - at));
      at = end + 1;
    }
    for (const auto &family : families_)
      if (wrong_.empty())
        Judge(family.first, family.second);
  }
  bool Line(const std::string &line)
  {
    if (line.empty())
      return true;
    if (line[0] != '#')
      return ReadSample(line);
    bool help = !line.compare(0, 7, "# HELP "), type = !line.compare(0, 7, "# TYPE ");
    if (!help && !type)
      return true; // a comment
    size_t space = line.find(' ', 7);
    if (space == std::string::npos)
      return Fail("nothing after the name");
    std::string name = line.substr(7, space - 7), rest = line.substr(space + 1);
    if (!IsName(name, true))
      return Fail("'" + name + "' is no name");
    if (!Enter(name))
      return false;
    Family &family = families_[name];
    std::string &field = help ? family.help : family.type;
    if (!field.empty())
      return Fail("a second one of " + name);
    if (!family.samples.empty())
      return Fail("after a sample of " + name);
    static const std::set<std::string> types = {"counter", "gauge", "histogram", "summary",
                                                "untyped"};
    if (type && !types.count(rest))
      return Fail("'" + rest + "' is no type");
    for (size_t i = 0; help && i < rest.size(); ++i)
      if (rest[i] == '\\' && (i + 1 == rest.size() || (rest[++i] != '\\' && rest[i] != 'n')))
        return Fail("an unknown escape");
    field = rest;
    return true;
  }
  // All lines of a family stand together.
  bool Enter(const std::string &family)
  {
    if (family != current_ && !left_.insert(family).second)
      return Fail(family + " was left before");
    current_ = family;
    return true;
  }
  bool ReadSample(const std::string &line)
  {
    Sample sample;
    size_t at = line.find_first_of("{ ");
    if (at == std::string::npos)
      return Fail("no value");
    sample.name = line.substr(0, at);
    if (!IsName(sample.name, true))
      return Fail("'" + sample.name + "' is no name");
    if (line[at] == '{' && !ReadLabels(line, &at, &sample.labels))
      return false;
    if (at >= line.size() || line[at] != ' ')
      return Fail("no blank before the value");
    const char *begin = line.c_str() + at + 1;
    char *end;
    if (*begin == ' ' || *begin == '\0')
      return Fail("no value");
    sample.value = strtod(begin, &end);
    if (end == begin || *end) // timestamps are not wanted here
      return Fail("'" + std::string(begin) + "' is no value");
    std::string family = sample.name;
    for (const char *suffix : {"_bucket", "_sum", "_count"})
      if (EndsIn(sample.name, suffix)) {
        std::string stem = sample.name.substr(0, sample.name.size() - strlen(suffix));
        if (families_.count(stem) && families_[stem].type == "histogram")
          family = stem;
      }
    if (!Enter(family))
      return false;
    if (families_[family].type.empty())
      return Fail(family + " has no type");
    std::string series = sample.name;
    for (const auto &label : sample.labels)
      series += '\0' + label.first + '\0' + label.second;
    if (!series_.insert(series).second)
      return Fail("the series " + line.substr(0, at) + " is there twice");
    families_[family].samples.push_back(sample);
    return true;
  }
  bool ReadLabels(const std::string &line, size_t *at, std::map<std::string, std::string> *labels)
  {
    size_t i = *at + 1;
    while (i < line.size() && line[i] != '}') {
      size_t equals = line.find('=', i);
      if (equals == std::string::npos || equals + 1 >= line.size() || line[equals + 1] != '"')
        return Fail("a label without a value");
      std::string name = line.substr(i, equals - i), value;
      if (!IsName(name, false) || !name.compare(0, 2, "__"))
        return Fail("'" + name + "' is no label's name");
      for (i = equals + 2; i < line.size() && line[i] != '"'; ++i) {
        char c = line[i];
        if (c == '\\') {
          c = ++i < line.size() ? line[i] : '\0';
          if (c != '\\' && c != '"' && c != 'n')
            return Fail("an unknown escape");
          c = c == 'n' ? '\n' : c;
        }
        value += c;
      }
      if (i >= line.size())
        return Fail("a label's value does not end");
      if (!labels->emplace(name, value).second)
        return Fail("the label " + name + " is there twice");
      ++i;
      if (i < line.size() && line[i] == ',')
        ++i;
      else if (i < line.size() && line[i] != '}')
        return Fail("no comma between labels");
    }
    if (i >= line.size())
      return Fail("labels do not end");
    *at = i + 1;
    return true;
  }
  bool Judge(const std::string &name, const Family &family)
  {
    if (family.help.empty())
      return Fail(name + " has no help");
    if ((family.type == "counter") != EndsIn(name, "_total"))
      return Fail(name + " is a " + family.type);
    for (const char *unit :
         {"_ms", "_us", "_ns", "_milliseconds", "_kb", "_percent", "_ppm", "_mib"})
      if (EndsIn(name, unit) || name.find(std::string(unit) + "_") != std::string::npos)
        return Fail(name + " is in no base unit");
    for (const Sample &sample : family.samples)
      if (family.type == "counter" && !(sample.value >= 0))
        return Fail(name + " is below zero");
    return family.type != "histogram" || JudgeHistogram(name, family);
  }
  bool JudgeHistogram(const std::string &name, const Family &family)
  {
    struct Seen {
      double edge = -HUGE_VAL, below = 0, count = NAN, sum = NAN;
    };
    std::map<std::map<std::string, std::string>, Seen> all;
    for (const Sample &sample : family.samples) {
      std::map<std::string, std::string> labels = sample.labels;
      std::string edge = labels.count("le") ? labels["le"] : "";
      labels.erase("le");
      Seen &seen = all[labels];
      if (sample.name == name + "_sum")
        seen.sum = sample.value;
      else if (sample.name == name + "_count")
        seen.count = sample.value;
      else if (sample.name != name + "_bucket" || edge.empty())
        return Fail(sample.name + " is no part of a histogram");
      else if (double value = edge == "+Inf" ? HUGE_VAL : strtod(edge.c_str(), nullptr);
               value <= seen.edge || sample.value < seen.below)
        return Fail(name + "'s buckets do not grow");
      else
        seen.edge = value, seen.below = sample.value;
    }
    for (const auto &one : all)
      if (one.second.edge != HUGE_VAL || one.second.count != one.second.below ||
          std::isnan(one.second.sum))
        return Fail(name + " is not whole");
    return true;
  }

  std::map<std::string, Family> families_;
  std::set<std::string> left_, series_;
  std::string current_, wrong_;
  int line_ = 0;
};

#endif
