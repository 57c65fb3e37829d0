// SPDX-License-Identifier: Apache-2.0
// Placeholder until the command table lands.

int main(void)
{
    return 0;
}
