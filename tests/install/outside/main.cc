// An outside user of the installed library, in C++20.
#include <rawhal/rawhal.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <span>
#include <string_view>

struct Close {
  void operator()(rawhal_hsaco_t *hsaco) const { rawhal_hsaco_close(hsaco); }
};

int main(int, char **argv)
{
  rawhal_hsaco_t *opened = nullptr;
  rawhal_error_t error{};
  if (rawhal_hsaco_open_file(argv[1], nullptr, &opened, &error) != RAWHAL_OK) {
    std::cerr << error.message << '\n';
    return 1;
  }
  std::unique_ptr<rawhal_hsaco_t, Close> hsaco(opened);
  const auto *kernel = rawhal_hsaco_kernel(hsaco.get(), 0);
  std::span arguments(kernel->arguments, kernel->argument_count);
  std::cout << std::string_view(kernel->name.data, kernel->name.size) << ", explicit: "
            << std::ranges::count_if(
                   arguments,
                   [](const auto &argument) { return !rawhal_argument_is_hidden(&argument); })
            << '\n';
}
