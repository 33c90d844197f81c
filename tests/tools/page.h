// What a page of --html is made of, read apart: what is always the same, and the JSON inside.
#ifndef TESTS_TOOLS_PAGE_H
#define TESTS_TOOLS_PAGE_H

#include "tests/tools/command.h"

static const std::string data_tag = "<script type=\"application/json\" id=\"data\">";

struct Page {
  std::string head, data, tail;
  Json json;
};

// The JSON ends at the first tag behind its own: as a browser sees it.
inline Page page_of(const std::string &html)
{
  Page page;
  size_t from = html.find(data_tag), to = html.find('<', from + data_tag.size());
  EXPECT_NE(std::string::npos, from);
  EXPECT_NE(std::string::npos, to);
  if (from == std::string::npos || to == std::string::npos)
    return page;
  from += data_tag.size();
  page.head = html.substr(0, from);
  page.data = html.substr(from, to - from);
  page.tail = html.substr(to);
  page.json = Json(json_loadb(page.data.data(), page.data.size(), JSON_ALLOW_NUL, nullptr));
  EXPECT_TRUE(page.json) << page.data.substr(0, 2000);
  return page;
}

// Kernel names that would like to be more than names.
static const std::vector<std::string> page_attacks = {
    "<script>document.title='pwned'</script>",
    "</script><script>document.title='pwned'</script>",
    "\"><img src=x onerror=\"document.title='pwned'\">",
    "'><svg/onload=document.title='pwned'>",
    "<!--<script>",
    "--></script>]]>",
    "</title></style><body onload=document.title='pwned'>",
    "&lt;img src=x onerror=document.title='pwned'&gt;",
    "javascript:document.title='pwned'",
    "${document.title='pwned'}",
    "\\u003cscript>document.title='pwned'\\u003c/script>",
    "__proto__",
    "constructor",
    "k\xe2\x80\xae"
    "drow\xe2\x81\xa6\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf",
    "k\xff\xfe\xc0\xaf\xed\xa0\x80\x9b[2J",
    std::string("k\0<b>\x1b[31m\r\n\t", 13),
    "@DATA@ @SCRIPT@ @STYLE@",
};

#endif
