#include "objects.h"

#include <glob.h>

#include <cstring>

#include <rawhal/container.h>

std::vector<std::string> find_files(const std::string &pattern)
{
  glob_t found;
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
  }
  return paths;
}

std::string find_file(const std::string &pattern)
{
  std::vector<std::string> paths = find_files(pattern);
  return paths.empty() ? "" : paths[0];
}

std::vector<NamedObject> objects_of(const std::string &path, const std::string &processor)
{
  std::vector<NamedObject> objects;
  rawhal_container_t *container;
  if (rawhal_container_open_file(path.c_str(), nullptr, &container, nullptr) != RAWHAL_OK)
    return objects;
  std::string base = path.substr(path.rfind('/') + 1);
  for (size_t i = 0; i < rawhal_container_count(container); ++i) {
    const rawhal_container_object_t *object = rawhal_container_object(container, i);
    if (!processor.empty() && object->target.processor != processor)
      continue;
    if (!processor.empty() && object->target.sramecc == RAWHAL_FEATURE_OFF)
      continue; // the device is listed with sramecc+
    std::string name = base + " #" + std::to_string(i);
    name += " " + std::string(object->id.data ? object->id.data : "", object->id.size);
    objects.push_back({name, {static_cast<const char *>(object->bytes.data), object->bytes.size}});
  }
  rawhal_container_close(container);
  return objects;
}

static std::vector<NamedObject> objects_of_all(const std::string &pattern,
                                               const std::string &processor)
{
  std::vector<NamedObject> objects;
  for (const std::string &path : find_files(pattern))
    for (NamedObject &object : objects_of(path, processor))
      objects.push_back(std::move(object));
  return objects;
}

std::vector<NamedObject> fixtures_for(const std::string &processor)
{
  return objects_of_all(RAWHAL_SOURCE_DIR "/tests/fixtures/*.co", processor);
}

std::vector<NamedObject> corpus_for(const std::string &processor)
{
  return objects_of_all(RAWHAL_CORPUS "/*/*.co", processor);
}
