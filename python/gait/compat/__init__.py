# SPDX-License-Identifier: Apache-2.0
"""Names under which other profilers are imported, with gait behind them."""
