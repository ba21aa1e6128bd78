#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes samples.npy and samples_sum.npy, which the demo reads.

Each row is one sweep of 1024 readings: three tones, a drift and noise. Readings are multiples of
1/16 below 256, so every partial sum of all rows is exact in float32, in whatever order it is made:
the demo compares for equality.
"""
import pathlib

import numpy as np

here = pathlib.Path(__file__).resolve().parent
rng = np.random.default_rng(20)
sweeps, readings = 126, 1024
time = np.arange(readings) / readings
rows = sum(a * np.sin(2 * np.pi * (f * time + rng.random((sweeps, 1)))) for a, f in ((40, 3), (25, 11), (9, 50)))
rows = rows + 30 * time + rng.normal(0, 4, (sweeps, readings))
samples = (np.round(rows * 16) / 16).astype(np.float32)
assert np.abs(samples).max() < 256
np.save(here / "samples.npy", samples)
np.save(here / "samples_sum.npy", samples.sum(axis=0, dtype=np.float32))
