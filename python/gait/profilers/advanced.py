# SPDX-License-Identifier: Apache-2.0
"""Which Python functions took the time."""


class Advanced:
    pass
