/* Has a function of the name of one that the archive hides. */
int shown(int x);
int helper(int x);

int helper(int x)
{
  return x * 100;
}

int main(void)
{
  return shown(3) == 7 && helper(3) == 300 ? 0 : 1;
}
