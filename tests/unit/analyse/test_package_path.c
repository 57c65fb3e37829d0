// SPDX-License-Identifier: Apache-2.0
#include "analyse/stacks/package_path.h"
#include "support/tap.h"

TEST("package path: what is installed is named behind the folder of packages")
{
    is_str(package_path("/opt/e/lib/python3.11/site-packages/torch/nn/functional.py"),
           "torch/nn/functional.py");
    is_str(package_path("/usr/lib/python3/dist-packages/yaml/loader.py"), "yaml/loader.py");
    is_str(package_path("/a/site-packages/b/site-packages/c.py"), "c.py");
    is_str(package_path("/a/site-packages/b/dist-packages/c.py"), "c.py");
}

TEST("package path: Python's own modules are named without its version")
{
    is_str(package_path("/usr/lib/python3.11/selectors.py"), "selectors.py");
    is_str(package_path("/usr/lib64/python3.13t/json/decoder.py"), "json/decoder.py");
}

TEST("package path: all else is whole")
{
    static const char *const paths[] = {"",
                                        "built-in",
                                        "train.py",
                                        "/home/me/train.py",
                                        "/home/me/python3.11/train.py",
                                        "/lib/python3.11/",
                                        "/lib/python3.x/a.py",
                                        "/lib/python3.",
                                        "/a/site-packages/",
                                        "/usr/lib/libpython3.11.so.1.0"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        is_str(package_path(paths[i]), paths[i]);
}

TEST("package path: the user's own is in a file, and in no library")
{
    ok(package_path_is_users("train.py"));
    ok(package_path_is_users("/home/me/python3.11/train.py"));
    ok(package_path_is_users("/tmp/ipykernel_7/12.py"));
    static const char *const others[] = {"",
                                         "built-in",
                                         "<frozen os>",
                                         "<string>",
                                         "/usr/lib/python3.11/selectors.py",
                                         "/a/site-packages/b/c.py",
                                         "/usr/lib/x86_64-linux-gnu/libc.so.6"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ok(!package_path_is_users(others[i]));
}
