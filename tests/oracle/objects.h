// Code objects for one processor from everywhere the tests may find some.
#ifndef TESTS_ORACLE_OBJECTS_H
#define TESTS_ORACLE_OBJECTS_H

#include <string>
#include <vector>

struct NamedObject {
  std::string name, bytes;
};

// The first file that matches; empty when there is none.
std::string find_file(const std::string &pattern);
std::vector<std::string> find_files(const std::string &pattern);

// All objects in the file whose processor is `processor` (any when empty).
std::vector<NamedObject> objects_of(const std::string &path, const std::string &processor);

// Of tests/fixtures, and of the shared corpus where it stands beside the checkout.
std::vector<NamedObject> fixtures_for(const std::string &processor);
std::vector<NamedObject> corpus_for(const std::string &processor);

#endif
