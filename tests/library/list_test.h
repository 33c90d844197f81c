// A library's kernels, page by page.
#ifndef RAWHAL_TESTS_LIBRARY_LIST_TEST_H
#define RAWHAL_TESTS_LIBRARY_LIST_TEST_H

#include "library_test.h"

class LibraryListTest : public LibraryTest {
protected:
  struct Listed {
    std::string name;
    rawhal_library_match_t match;
  };

  // Memory of pages that holds the cursor from one to the next.
  class Pages {
  public:
    explicit Pages(size_t capacity, size_t text_size = 1 << 16) : matches(capacity), text(text_size)
    {
      page.size = sizeof(page);
      page.matches = matches.data();
      page.capacity = capacity;
      page.match_size = sizeof(matches[0]);
      page.text = text.data();
      page.text_size = text_size;
    }
    rawhal_status_t next(rawhal_library_t *library, const rawhal_library_filter_t &filter,
                         rawhal_error_t *error)
    {
      return rawhal_library_list(library, &filter, &page, error);
    }
    void add_to(std::vector<Listed> *all) const
    {
      for (size_t i = 0; i < page.count; ++i)
        all->push_back({{matches[i].name.data, matches[i].name.size}, matches[i]});
    }

    rawhal_library_page_t page = {};

  private:
    std::vector<rawhal_library_match_t> matches;
    std::vector<char> text;
  };

  std::vector<Listed> list(rawhal_library_t *library, const rawhal_library_filter_t &filter = {},
                           size_t capacity = 64)
  {
    std::vector<Listed> all;
    Pages pages(capacity);
    do {
      EXPECT_OK(pages.next(library, filter, &error));
      pages.add_to(&all);
    } while (pages.page.cursor);
    return all;
  }

  static std::vector<std::string> names(const std::vector<Listed> &all)
  {
    std::vector<std::string> only;
    for (const Listed &one : all)
      only.push_back(one.name);
    return only;
  }

  static rawhal_library_filter_t like(const char *pattern)
  {
    rawhal_library_filter_t filter = {};
    filter.pattern = rawhal_string(pattern);
    return filter;
  }
};

#endif
