// Kernels listed page by page: as by opening everything, each once, whatever others do meanwhile.
#include "list_test.h"

#include <fnmatch.h>

#include <atomic>
#include <map>
#include <thread>
#include <tuple>

#include "tests/extended.h"
#include "tests/hsaco/builder.h"

namespace {

class LibraryList : public LibraryListTest {
protected:
  static std::string text(rawhal_string_t string) { return {string.data, string.size}; }

  // All that a filter may ask of a kernel, and that a match says of it.
  struct Kernel {
    std::string name, symbol, file;
    std::multiset<std::string> arguments;
    uint64_t signature, offset, bytes;
    uint32_t ordinal;
    bool usable;
  };
  using Row = std::tuple<std::string, std::string, uint32_t, uint64_t, uint64_t, uint64_t, bool>;
  static Row row(const Kernel &one)
  {
    return {one.name, one.file, one.ordinal, one.offset, one.bytes, one.signature, one.usable};
  }
  static Row row(const Listed &one)
  {
    return {one.name,        text(one.match.file), one.match.ordinal, one.match.offset,
            one.match.bytes, one.match.signature,  one.match.usable};
  }

  static Kernel describe(const rawhal_kernel_t *kernel, bool loadable)
  {
    Kernel one = {};
    one.name = text(kernel->name);
    one.symbol = text(kernel->symbol);
    if (one.name.empty())
      one.name = one.symbol.substr(0, one.symbol.size() - 3);
    for (uint32_t i = 0; i < kernel->argument_count; ++i)
      if (!rawhal_argument_is_hidden(&kernel->arguments[i]))
        one.arguments.insert(text(kernel->arguments[i].name));
    rawhal_kernarg_layout_t *layout = nullptr;
    if (rawhal_kernarg_layout_create(kernel, 0, &layout, nullptr) == RAWHAL_OK)
      one.signature = rawhal_kernarg_layout_info(layout)->signature;
    rawhal_kernarg_layout_destroy(layout);
    one.usable = loadable && kernel->usable;
    return one;
  }

  void look_through(rawhal_container_t *container, const std::string &file,
                    std::vector<Kernel> *all)
  {
    const rawhal_container_object_t *object;
    for (uint32_t i = 0; (object = rawhal_container_object(container, i)); ++i) {
      rawhal_hsaco_t *hsaco = nullptr;
      const rawhal_kernel_t *kernel;
      if (!object->readable ||
          rawhal_target_match(&object->target, &rawhal_device_info(device)->target) ||
          rawhal_hsaco_open(object->bytes.data, object->bytes.size, nullptr, &hsaco, nullptr) !=
              RAWHAL_OK)
        continue;
      for (size_t k = 0; (kernel = rawhal_hsaco_kernel(hsaco, k)); ++k) {
        all->push_back(describe(kernel, rawhal_hsaco_info(hsaco)->loadable));
        all->back().file = file;
        all->back().offset = object->offset;
        all->back().bytes = object->bytes.size;
        all->back().ordinal = i;
      }
      rawhal_hsaco_close(hsaco);
    }
  }

  std::vector<Kernel> everything(const fs::path &path)
  {
    std::vector<Kernel> all;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(fs::canonical(path))) {
      rawhal_container_t *container = nullptr;
      if (!entry.is_regular_file() || rawhal_container_open_file(entry.path().c_str(), nullptr,
                                                                 &container, nullptr) != RAWHAL_OK)
        continue;
      look_through(container, entry.path(), &all);
      rawhal_container_close(container);
    }
    return all;
  }

  static bool has_parts(const std::string &path, const std::string &parts)
  {
    return parts.empty() || path == parts ||
           (path.size() > parts.size() &&
            path.compare(path.size() - parts.size() - 1, std::string::npos, "/" + parts) == 0);
  }

  static bool fits(const Kernel &one, const rawhal_library_filter_t &filter)
  {
    const std::string pattern = text(filter.pattern), symbol = one.symbol;
    const auto is_like = [&](const std::string &name) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    };
    return (pattern.empty() || is_like(one.name) || is_like(symbol) ||
            (symbol.size() > 3 && is_like(symbol.substr(0, symbol.size() - 3)))) &&
           has_parts(one.file, text(filter.file)) &&
           (!filter.argument.size || one.arguments.count(text(filter.argument))) &&
           (!filter.signature || filter.signature == one.signature);
  }

  void expect_as_linear(const fs::path &path)
  {
    const std::vector<Kernel> all = everything(path);
    ASSERT_FALSE(all.empty());
    RecordProperty("kernels", static_cast<int>(all.size()));
    rawhal_library_t *library = create_with(path);
    const Kernel &some = all[all.size() / 2];
    std::map<std::string, size_t> arguments;
    for (const Kernel &one : all)
      for (const std::string &name : one.arguments)
        ++arguments[name];
    arguments.erase("");
    std::vector<rawhal_library_filter_t> filters(12);
    const std::string part = "*" + some.name.substr(0, some.name.size() / 2) + "*",
                      file = fs::path(some.file).filename(),
                      first = arguments.empty() ? "x" : arguments.begin()->first;
    filters[1].pattern = RAWHAL_STRING("*a*d*");
    filters[2].pattern = RAWHAL_STRING("[!_]*[0-9]");
    filters[3].pattern = RAWHAL_STRING("*.kd");
    filters[4].pattern = rawhal_string(part.c_str());
    filters[5].file = rawhal_string(file.c_str());
    filters[6].argument = rawhal_string(first.c_str());
    filters[7].argument = RAWHAL_STRING("no such argument");
    filters[8].signature = some.signature;
    filters[9] = filters[6];
    filters[9].pattern = RAWHAL_STRING("?*a*");
    filters[10].pattern = rawhal_string(some.name.c_str());
    filters[11] = filters[8];
    filters[11].file = filters[5].file;
    size_t found = 0;
    for (const rawhal_library_filter_t &filter : filters) {
      std::multiset<Row> wanted, listed;
      for (const Kernel &one : all)
        if (fits(one, filter))
          wanted.insert(row(one));
      const std::vector<Listed> pages = list(library, filter, 50);
      for (const Listed &one : pages)
        listed.insert(row(one));
      ASSERT_TRUE(wanted == listed)
          << text(filter.pattern) << " " << wanted.size() << " " << listed.size();
      found += listed.size();
      if (all.size() < 1000) {
        EXPECT_EQ(names(list(library, filter, 1)), names(pages)); // in the same order
      }
    }
    EXPECT_GT(found, 2 * all.size());
    EXPECT_EQ(stats(library).loads, 0u);
  }
};

TEST_F(LibraryList, FixturesAsByALinearSearch)
{
  expect_as_linear(RAWHAL_SOURCE_DIR "/tests/fixtures");
}

TEST_F(LibraryList, RocsparseAsByALinearSearch)
{
  if (!is_extended() || !fs::exists(RAWHAL_BUILD_DIR "/rocsparse"))
    GTEST_SKIP() << "with RAWHAL_TEST_EXTENDED, where librocsparse0 is";
  expect_as_linear(RAWHAL_BUILD_DIR "/rocsparse");
}

TEST_F(LibraryList, InTheOrderOfFilesAndWithinThem)
{
  build::Object object;
  for (const char *name : {"c", "a", "b", "a"})
    object.kernels.push_back(build::plain_kernel(name));
  object.kernels[3].symbol = "other.kd";
  const std::string &bytes = object.build();
  write_file(folder / "2.co", {bytes.begin(), bytes.end()});
  write_file(folder / "1.co", renamed(vector_add, "vector_add", "first_name"));
  rawhal_library_t *library = create_with(folder);
  const std::vector<std::string> wanted = {"first_name", "c", "a", "b", "a"};
  EXPECT_EQ(names(list(library)), wanted);
  EXPECT_EQ(names(list(library, like("other"))), std::vector<std::string>{"a"});
  EXPECT_EQ(names(list(library, like("ot*.kd"))), std::vector<std::string>{"a"});
  EXPECT_EQ(list(library, like("a")).size(), 2u);
  EXPECT_TRUE(list(library, like("a.")).empty());
  EXPECT_TRUE(list(create()).empty());
}

TEST_F(LibraryList, WhatIsAddedComesAtTheEndOfAListing)
{
  fill(5);
  rawhal_library_t *library = create_with(folder);
  Pages pages(2);
  std::vector<Listed> all;
  const std::vector<char> bytes = renamed(vector_add, "vector_add", "of_bytes__");
  for (int i = 0; i < 100 && (i == 0 || pages.page.cursor); ++i) {
    ASSERT_OK(pages.next(library, {}, &error));
    pages.add_to(&all);
    if (i == 0)
      ASSERT_OK(rawhal_library_add_bytes(library, bytes.data(), bytes.size(),
                                         RAWHAL_STRING("bytes"), &error));
    ASSERT_OK(rawhal_library_refresh(library, &error)); // nothing has changed
  }
  const std::vector<std::string> wanted = {numbered(0), numbered(1), numbered(2),
                                           numbered(3), numbered(4), "of_bytes__"};
  EXPECT_EQ(names(all), wanted);
}

TEST_F(LibraryList, ACursorEndsWithWhatItCounts)
{
  fill(6);
  rawhal_library_t *library = create_with(folder);
  const auto begin = [&](Pages *pages) {
    pages->page.cursor = 0;
    ASSERT_OK(pages->next(library, {}, &error));
    ASSERT_EQ(pages->page.count, 2u);
  };
  const auto expect_ended = [&](Pages *pages, const char *why) {
    const uint64_t cursor = pages->page.cursor;
    EXPECT_EQ(pages->next(library, {}, &error), RAWHAL_NOT_FOUND) << why << error.message;
    EXPECT_NE(strstr(error.message, "begin again"), nullptr) << error.message;
    EXPECT_EQ(pages->page.count, 0u);
    EXPECT_EQ(pages->page.cursor, cursor);
  };
  Pages pages(2), others(2);
  begin(&pages);
  fs::remove(folder / "kern_00000.co"); // told already: its numbers are what counts
  ASSERT_OK(rawhal_library_refresh(library, &error));
  expect_ended(&pages, "refreshed");
  begin(&pages);
  begin(&others);
  write_file(folder / "kern_00003.co", renamed(vector_add, "vector_add", "other_name"));
  expect_ended(&pages, "met while listing");
  expect_ended(&others, "met by another");
  EXPECT_EQ(names(list(library)), (std::vector<std::string>{numbered(1), numbered(2), "other_name",
                                                            numbered(4), numbered(5)}));
}

// From the first page on, it is found out and made good.
TEST_F(LibraryList, TheFirstPageLooksAgainByItself)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(list(library).size(), 3u);
  fs::remove(folder / "kern_00001.co");
  EXPECT_EQ(names(list(library)), (std::vector<std::string>{numbered(0), numbered(2)}));
}

TEST_F(LibraryList, CursorsOfNobody)
{
  fill(3);
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(list(library).size(), 3u);
  Pages pages(2);
  pages.page.cursor = 3;
  EXPECT_OK(pages.next(library, {}, &error)); // the end of what was there, and what is added now
  EXPECT_EQ(pages.page.count, 0u);
  EXPECT_EQ(pages.page.cursor, 0u);
  for (uint64_t beyond : {uint64_t{4}, (uint64_t{1} << 36) - 1}) {
    pages.page.cursor = beyond;
    EXPECT_EQ(pages.next(library, {}, &error), RAWHAL_INVALID_ARGUMENT) << beyond;
  }
  for (uint64_t other : {uint64_t{1} << 36, UINT64_MAX}) {
    pages.page.cursor = other;
    EXPECT_EQ(pages.next(library, {}, &error), RAWHAL_NOT_FOUND) << other;
  }
}

TEST_F(LibraryList, NamesNeedRoom)
{
  build::Object object;
  const std::string longest(5000, 'x');
  for (const std::string &name : {std::string("short"), longest, std::string("other")})
    object.kernels.push_back(build::plain_kernel(name));
  const std::string bytes = object.build();
  rawhal_library_t *library = create();
  ASSERT_OK(rawhal_library_add_bytes(library, bytes.data(), bytes.size(), RAWHAL_STRING("bytes"),
                                     &error));
  Pages little(8, 4);
  EXPECT_EQ(little.next(library, {}, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(little.page.text_used, 5u);
  EXPECT_EQ(little.page.count, 0u);
  EXPECT_EQ(little.page.cursor, 0u);

  Pages five(8, 5);
  ASSERT_OK(five.next(library, {}, &error));
  EXPECT_EQ(five.page.count, 1u);
  EXPECT_EQ(five.page.text_used, 5u);
  EXPECT_EQ(five.next(library, {}, &error), RAWHAL_OUT_OF_RANGE);
  EXPECT_NE(strstr(error.message, "5000"), nullptr) << error.message;
  EXPECT_EQ(five.page.text_used, 5000u);

  // A page ends where the text is full, and a long name is held against a pattern in it.
  Pages enough(8, 5005);
  std::vector<Listed> all;
  size_t count = 0;
  do {
    ASSERT_OK(enough.next(library, like("*[xst]*"), &error));
    enough.add_to(&all);
    ++count;
  } while (enough.page.cursor);
  EXPECT_EQ(names(all), (std::vector<std::string>{"short", longest, "other"}));
  EXPECT_EQ(count, 2u); // behind the first there is room for its symbol no more
  EXPECT_TRUE(list(library, like("*y*x")).empty());
  EXPECT_EQ(names(list(library, like("x*.kd"))), std::vector<std::string>{longest});
}

TEST_F(LibraryList, WrongCallsAreRefused)
{
  fill(1);
  rawhal_library_t *library = create_with(folder);
  const rawhal_library_filter_t any = {};
  EXPECT_EQ(rawhal_library_list(library, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  const auto refused = [&](auto change, rawhal_status_t status = RAWHAL_INVALID_ARGUMENT) {
    Pages pages(2);
    rawhal_library_filter_t filter = {};
    pages.page.count = 99;
    change(&pages.page, &filter);
    EXPECT_EQ(pages.next(library, filter, &error), status) << error.message;
    if (pages.page.size == sizeof(pages.page)) {
      EXPECT_EQ(pages.page.count, 0u);
    }
  };
  using Page = rawhal_library_page_t;
  using Filter = rawhal_library_filter_t;
  refused([](Page *page, Filter *) { page->matches = nullptr; });
  refused([](Page *page, Filter *) { page->capacity = 0; });
  refused([](Page *page, Filter *) { page->match_size = 0; });
  refused([](Page *page, Filter *) { page->text = nullptr; });
  refused([](Page *page, Filter *) { page->size = 24; });
  refused([](Page *, Filter *filter) { filter->size = 8; });
  refused([](Page *, Filter *filter) { filter->pattern.size = 1; });
  refused([](Page *, Filter *filter) { filter->file.size = 1; });
  refused([](Page *, Filter *filter) { filter->argument.size = 1; });
  Pages pages(2);
  EXPECT_EQ(rawhal_library_list(nullptr, &any, &pages.page, &error), RAWHAL_INVALID_ARGUMENT);
  pages.page.size = 0; // the first version
  EXPECT_OK(rawhal_library_list(library, nullptr, &pages.page, &error));
  EXPECT_EQ(pages.page.count, 1u);
}

// Matches of callers that know less of them.
TEST_F(LibraryList, MatchesOfEveryVersion)
{
  fill(2);
  rawhal_library_t *library = create_with(folder);
  const size_t known = offsetof(rawhal_library_match_t, name);
  std::vector<char> matches(2 * known + 1, 'x');
  Pages pages(2);
  pages.page.matches = reinterpret_cast<rawhal_library_match_t *>(matches.data());
  pages.page.match_size = known;
  ASSERT_OK(pages.next(library, {}, &error));
  ASSERT_EQ(pages.page.count, 2u);
  rawhal_library_match_t second = {};
  memcpy(static_cast<void *>(&second), &matches[known], known);
  EXPECT_EQ(fs::path(text(second.file)).filename(), "kern_00001.co");
  EXPECT_EQ(matches.back(), 'x');
}

TEST_F(LibraryList, ACallLooksAtSoManyAtMost)
{
  build::Object object;
  const size_t count = 2 * RAWHAL_LIBRARY_PAGE_LOOKS + 10;
  for (size_t i = 0; i < count; ++i)
    object.kernels.push_back(build::plain_kernel("k" + std::to_string(i)));
  const std::string bytes = object.build();
  rawhal_library_t *library = create();
  ASSERT_OK(rawhal_library_add_bytes(library, bytes.data(), bytes.size(), RAWHAL_STRING("bytes"),
                                     &error));
  const std::string last = "k" + std::to_string(count - 1);
  Pages pages(4);
  for (size_t found : {0, 0, 1}) {
    ASSERT_OK(pages.next(library, like(last.c_str()), &error));
    EXPECT_EQ(pages.page.count, found);
    EXPECT_EQ(pages.page.cursor == 0, found == 1);
  }
  // A file that is not wanted is passed over as a whole.
  ASSERT_OK(rawhal_library_add_bytes(library, vector_add.data(), vector_add.size(),
                                     RAWHAL_STRING("add"), &error));
  rawhal_library_filter_t filter = {};
  filter.file = RAWHAL_STRING("add");
  ASSERT_OK(pages.next(library, filter, &error));
  EXPECT_EQ(pages.page.count, 1u);
  EXPECT_EQ(pages.page.cursor, 0u);
}

TEST_F(LibraryList, NoStarsAreTooMany)
{
  const std::string name(300, 'a');
  build::Object object;
  object.kernels.push_back(build::plain_kernel(name));
  const std::string bytes = object.build();
  rawhal_library_t *library = create();
  ASSERT_OK(rawhal_library_add_bytes(library, bytes.data(), bytes.size(), RAWHAL_STRING("bytes"),
                                     &error));
  std::string stars;
  for (int i = 0; i < 150; ++i)
    stars += "*a";
  EXPECT_EQ(list(library, like(stars.c_str())).size(), 1u);
  EXPECT_TRUE(list(library, like((stars + "*b").c_str())).empty());
}

// Some list, some add, one replaces a file now and then.
TEST_F(LibraryList, ThreadsThatDisturbEachOther)
{
  const size_t count = 40, rounds = is_sanitized ? 20 : 60;
  fill(count);
  rawhal_library_t *library = create_with(folder);
  std::atomic<size_t> whole{0}, ended{0};
  std::atomic<bool> wrong{false};
  const auto one_listing = [&](size_t capacity) {
    Pages pages(capacity);
    std::vector<Listed> all;
    rawhal_error_t mine = {};
    do {
      const rawhal_status_t status = pages.next(library, {}, &mine);
      if (status != RAWHAL_OK) {
        wrong = wrong || status != RAWHAL_NOT_FOUND;
        ++ended;
        return;
      }
      pages.add_to(&all);
    } while (pages.page.cursor);
    const std::vector<std::string> got = names(all);
    wrong = wrong || got.size() < count;
    for (size_t i = 0; i < count && !wrong; ++i)
      wrong = got[i] != numbered(i) && !(i == 7 && got[i] == "other_name");
    wrong = wrong || std::set<std::string>(got.begin(), got.end()).size() != got.size();
    ++whole;
  };
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < rounds; ++i)
        one_listing(3 + 4 * t);
    });
  std::vector<std::vector<char>> more;
  for (size_t i = 0; i < rounds; ++i)
    more.push_back(renamed(vector_add, "vector_add", numbered(1000 + i)));
  threads.emplace_back([&] {
    for (size_t i = 0; i < rounds; ++i) {
      rawhal_error_t mine = {};
      wrong = wrong || rawhal_library_add_bytes(library, more[i].data(), more[i].size(),
                                                RAWHAL_STRING("more"), &mine) != RAWHAL_OK;
    }
  });
  threads.emplace_back([&] {
    for (size_t i = 0; i < 4; ++i) {
      const fs::path made = root / "made";
      write_file(made, renamed(vector_add, "vector_add", i % 2 ? numbered(7) : "other_name"));
      fs::rename(made, folder / "kern_00007.co");
      rawhal_error_t mine = {};
      wrong = wrong || rawhal_library_refresh(library, &mine) != RAWHAL_OK;
    }
  });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(whole + ended, 4 * rounds);
  EXPECT_GT(whole, 0u);
  EXPECT_EQ(list(library).size(), count + rounds);
}

// ---- Names that are near ----

TEST_F(LibraryList, NoKernelButTheNearestNames)
{
  fill(3);
  write_file(folder / "add.co", vector_add);
  rawhal_library_t *library = create_with(folder);
  const rawhal_device_kernel_t *kernel = nullptr;
  for (const char *name : {"vector_ad", "vectro_add.kd", "Vector_"}) {
    EXPECT_EQ(get(library, name, &kernel), RAWHAL_NOT_FOUND);
    EXPECT_NE(strstr(error.message, "; nearest: 'vector_add'"), nullptr) << error.message;
  }
  EXPECT_EQ(get(library, "something else", &kernel), RAWHAL_NOT_FOUND);
  EXPECT_EQ(strstr(error.message, "nearest"), nullptr) << error.message;
  const rawhal_library_query_t query = named("vector_ad");
  EXPECT_EQ(rawhal_library_kernel(library, &query, &kernel, nullptr), RAWHAL_NOT_FOUND);

  EXPECT_OK(get(library, "vector_add", &kernel));
  rawhal_executable_t *executable = rawhal_library_executable(library, kernel);
  const rawhal_device_kernel_t *other = nullptr;
  EXPECT_EQ(rawhal_executable_kernel(executable, RAWHAL_STRING("vector_sub.kd"), 0, &other, &error),
            RAWHAL_NOT_FOUND);
  EXPECT_STREQ(error.message,
               "the code object has no kernel 'vector_sub.kd'; nearest: 'vector_add'");
}

// Of many those are compared whose lengths are nearest, on either side.
TEST_F(LibraryList, NearNamesAmongMany)
{
  build::Object object;
  for (size_t i = 0; i < 6000; ++i)
    object.kernels.push_back(
        build::plain_kernel("of_" + std::to_string(i) + std::string(i % 30, '_')));
  object.kernels[3456].name = "Cijk_Ailk_Bljk_SB";
  const std::string bytes = object.build();
  rawhal_library_t *library = create();
  ASSERT_OK(rawhal_library_add_bytes(library, bytes.data(), bytes.size(), RAWHAL_STRING("bytes"),
                                     &error));
  const rawhal_device_kernel_t *kernel = nullptr;
  for (const char *name : {"Cijk_Ailk_Bljk_B", "Cijk_Aiik_Bljk_SB", "Cijk_Ailk_Bljkk_SB"}) {
    EXPECT_EQ(get(library, name, &kernel), RAWHAL_NOT_FOUND);
    EXPECT_NE(strstr(error.message, "nearest: 'Cijk_Ailk_Bljk_SB'"), nullptr) << error.message;
  }
  EXPECT_EQ(get(library, std::string(300, 'x'), &kernel), RAWHAL_NOT_FOUND);
  EXPECT_EQ(get(library, "x", &kernel), RAWHAL_NOT_FOUND);
}

} // namespace
