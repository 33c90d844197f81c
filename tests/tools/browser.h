// A browser for pages, where there is one: Debian's chromium.
#ifndef TESTS_TOOLS_BROWSER_H
#define TESTS_TOOLS_BROWSER_H

#include "tests/tools/process.h"

// Empty: it is not installed.
inline std::string chromium()
{
  Outcome got =
      run({"/bin/sh", "-c",
           "command -v chromium || command -v chromium-browser || command -v google-chrome"});
  return got.out.substr(0, got.out.find('\n'));
}

// What the browser has made of a page, on standard output, and what it has to say of that.
inline Outcome browse(const std::string &program, const std::string &profile,
                      const std::string &page)
{
  return run({"/usr/bin/timeout", "120", program, "--headless", "--no-sandbox", "--disable-gpu",
              "--disable-dev-shm-usage", "--enable-logging=stderr", "--user-data-dir=" + profile,
              "--dump-dom", "file://" + page});
}

#endif
