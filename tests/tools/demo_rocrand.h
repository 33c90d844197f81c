// Where the tests find the real rocRAND, and its code object for one processor.
#ifndef TESTS_TOOLS_DEMO_ROCRAND_H
#define TESTS_TOOLS_DEMO_ROCRAND_H

#include <glob.h>
#include <string>
#include <vector>

#include <rawhal/container.h>

// ./dev unpacks Debian's librocrand1 beside the presets' build folders and links it into each.
inline std::string demo_rocrand()
{
  glob_t found;
  std::string path;
  if (glob(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*", 0, nullptr, &found) == 0) {
    path = found.gl_pathv[0];
    globfree(&found);
  }
  return path;
}

// Any of the library's objects for `processor`; empty when there is none.
inline std::vector<char> demo_rocrand_object(const std::string &path, const std::string &processor)
{
  std::vector<char> bytes;
  rawhal_container_t *container;
  if (rawhal_container_open_file(path.c_str(), nullptr, &container, nullptr) != RAWHAL_OK)
    return bytes;
  for (size_t i = 0; i < rawhal_container_count(container) && bytes.empty(); ++i) {
    const rawhal_container_object_t *object = rawhal_container_object(container, i);
    const char *data = static_cast<const char *>(object->bytes.data);
    if (object->target.processor == processor)
      bytes.assign(data, data + object->bytes.size);
  }
  rawhal_container_close(container);
  return bytes;
}

#endif
