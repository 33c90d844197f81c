// The same facts through AMD's comgr: every kernel, every key, every argument as text. Only when its
// header was there to build with and its library is there to open; nothing links it.
#ifndef RAWHAL_BENCH_HSACO_COMGR_H
#define RAWHAL_BENCH_HSACO_COMGR_H

#include <dlfcn.h>

#include <memory>
#include <string>

#if __has_include(<amd_comgr/amd_comgr.h>) // since ROCm 5.5; the other warns there
#include <amd_comgr/amd_comgr.h>
#elif __has_include(<amd_comgr.h>)
#include <amd_comgr.h>
#else
#define RAWHAL_NO_COMGR
#endif

class Comgr {
public:
#ifdef RAWHAL_NO_COMGR
  static std::unique_ptr<Comgr> load()
  {
    return nullptr;
  }
  bool read(const std::string &)
  {
    return false;
  }
#else
  static std::unique_ptr<Comgr> load()
  {
    std::unique_ptr<Comgr> comgr(new Comgr);
    return comgr->found ? std::move(comgr) : nullptr;
  }

  bool read(const std::string &bytes)
  {
    amd_comgr_data_t data;
    amd_comgr_metadata_node_t root;
    if (create(AMD_COMGR_DATA_KIND_EXECUTABLE, &data))
      return false;
    bool fine = !set(data, bytes.size(), bytes.data()) && !metadata(data, &root);
    if (fine) {
      fine = visit(root);
      destroy(root);
    }
    release(data);
    return fine;
  }

private:
  Comgr() : library(dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL))
  {
    found = library && find(&create, "amd_comgr_create_data") && find(&set, "amd_comgr_set_data") &&
            find(&release, "amd_comgr_release_data") &&
            find(&metadata, "amd_comgr_get_data_metadata") &&
            find(&destroy, "amd_comgr_destroy_metadata") &&
            find(&kind_of, "amd_comgr_get_metadata_kind") &&
            find(&text_of, "amd_comgr_get_metadata_string") &&
            find(&each, "amd_comgr_iterate_map_metadata") &&
            find(&count_of, "amd_comgr_get_metadata_list_size") &&
            find(&item, "amd_comgr_index_list_metadata");
  }

  template <typename Function> bool find(Function **function, const char *name)
  {
    *function = reinterpret_cast<Function *>(dlsym(library, name));
    return *function;
  }

  bool visit(amd_comgr_metadata_node_t node)
  {
    amd_comgr_metadata_kind_t kind;
    if (kind_of(node, &kind))
      return false;
    if (kind == AMD_COMGR_METADATA_KIND_MAP)
      return !each(node, visit_pair, this);
    size_t size = 0;
    if (kind == AMD_COMGR_METADATA_KIND_STRING) {
      char text[256];
      if (text_of(node, &size, nullptr))
        return false;
      size = size < sizeof(text) ? size : sizeof(text);
      return !text_of(node, &size, text);
    }
    if (kind != AMD_COMGR_METADATA_KIND_LIST || count_of(node, &size))
      return true;
    for (size_t i = 0; i < size; ++i) {
      amd_comgr_metadata_node_t child;
      if (item(node, i, &child))
        return false;
      bool fine = visit(child);
      destroy(child);
      if (!fine)
        return false;
    }
    return true;
  }

  static amd_comgr_status_t visit_pair(amd_comgr_metadata_node_t key,
                                       amd_comgr_metadata_node_t value, void *self)
  {
    Comgr *comgr = static_cast<Comgr *>(self);
    return comgr->visit(key) && comgr->visit(value) ? AMD_COMGR_STATUS_SUCCESS
                                                    : AMD_COMGR_STATUS_ERROR;
  }

  void *library;
  bool found;
  decltype(amd_comgr_create_data) *create;
  decltype(amd_comgr_set_data) *set;
  decltype(amd_comgr_release_data) *release;
  decltype(amd_comgr_get_data_metadata) *metadata;
  decltype(amd_comgr_destroy_metadata) *destroy;
  decltype(amd_comgr_get_metadata_kind) *kind_of;
  decltype(amd_comgr_get_metadata_string) *text_of;
  decltype(amd_comgr_iterate_map_metadata) *each;
  decltype(amd_comgr_get_metadata_list_size) *count_of;
  decltype(amd_comgr_index_list_metadata) *item;
#endif
};

#endif
