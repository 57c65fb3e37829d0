# SPDX-License-Identifier: Apache-2.0
"""gait: see where a training run's time goes."""
