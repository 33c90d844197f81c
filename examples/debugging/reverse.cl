/* out[n - 1 - i] = in[i], or so it should be: docs/debugging.md finds out why it is not. */
kernel void reverse(global uint *out, global const uint *in, uint n)
{
  uint group = __builtin_amdgcn_workgroup_id_x();
  uint i = group * 64 + __builtin_amdgcn_workitem_id_x();
  uint value = in[i];
  uint place = n - i;
  out[place] = value;
}
