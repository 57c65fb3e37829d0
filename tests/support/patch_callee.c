// SPDX-License-Identifier: Apache-2.0
// The function whose calls test_call_patch.c turns.

int patch_callee(int number);

__attribute__((visibility("default"), noinline)) int patch_callee(int number)
{
    return number + 1;
}
