// SPDX-License-Identifier: Apache-2.0
// Calls patch_callee() through its address table; and its address from the other
// kind of entry.

int patch_callee(int number);
int patch_call(int number);
int (*patch_address(void))(int);

__attribute__((visibility("default"))) int patch_call(int number)
{
    return patch_callee(number) * 10;
}

__attribute__((visibility("default"))) int (*patch_address(void))(int)
{
    return patch_callee;
}
