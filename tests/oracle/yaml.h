// What llvm-readelf prints as metadata, read back: the part of YAML that LLVM writes.
#ifndef TESTS_ORACLE_YAML_H
#define TESTS_ORACLE_YAML_H

#include <string>
#include <utility>
#include <vector>

struct Yaml {
  enum Kind { kNil, kText, kNumber, kTruth, kList, kMap } kind = kNil;
  std::string text; // of kText, kNumber ("-5", "1.000000e+00") and kTruth ("true", "false")
  std::vector<Yaml> items;
  std::vector<std::pair<std::string, Yaml>> entries;

  const Yaml *find(const std::string &key) const;
};

// The documents ("---" ... "...") in the text, in order. False when a line is not understood;
// `wrong` is that line.
bool parse_yaml(const std::string &text, std::vector<Yaml> &documents, std::string &wrong);

#endif
