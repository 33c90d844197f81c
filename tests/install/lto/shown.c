int helper(int x);
__attribute__((visibility("default"))) int shown(int x);

int shown(int x)
{
  return helper(x) + 1;
}
