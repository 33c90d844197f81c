int helper(int x);

int helper(int x)
{
  return x * 2;
}
