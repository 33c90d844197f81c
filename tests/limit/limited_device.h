// A device of a fixture of tests/hal with limits that each test chooses, in a region of the test's own.
#ifndef TESTS_LIMIT_LIMITED_DEVICE_H
#define TESTS_LIMIT_LIMITED_DEVICE_H

#include "tests/hal/device_test.h"
#include "tests/limit/region_file.h"

template <class Fixture> class LimitedDevice : public Fixture {
protected:
  void SetUp() override {}
  void Start(const RegionFile::Limits &limits)
  {
    rawhal_error_t &error = this->error;
    rawhal_limit_config_t config = file_.Config(limits);
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = this->softgpu_options();
    options.limits = &config;
    ASSERT_OK(rawhal_instance_create(&options, &this->instance, &error));
    this->device = rawhal_instance_device(this->instance, 0);
    ASSERT_NE(this->device, nullptr);
  }
  rawhal_limit_row_t Row(size_t index)
  {
    rawhal_error_t &error = this->error;
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[8] = {};
    EXPECT_OK(rawhal_limit_view_open(file_.path().c_str(), &view, &error));
    EXPECT_LT(index, rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 8));
    rawhal_limit_view_close(view);
    return rows[index];
  }

  RegionFile file_;
};

#endif
