"""Jobs like those of Philly (Microsoft, 2017), fitted to a list of three quarters of its jobs."""

from __future__ import annotations

from typing import Final

from shunter.model.cluster import Node
from shunter.workloads.generators.arrivals import Batches, Rhythm
from shunter.workloads.generators.fitted import GPUS_PER_NODE, Fit, fitted_generator

NODE: Final = Node("eight", cores=float(GPUS_PER_NODE), gpus=GPUS_PER_NODE, gpu_type="24GB")
"""Each node, apart from its number: like the larger ones of Philly, with as many cores as GPUs."""

FIT: Final = Fit(
    sizes={1: 93.17, 2: 2.21, 4: 2.27, 8: 2.00, 16: 0.25, 32: 0.10},
    runs={
        1: (1, 52, 62, 122, 1120, 2720, 8510, 19_100, 68_300, 135_000, 267_000, 1_260_000),
        2: (2, 9, 11, 16, 21, 76, 72_700, 197_000, 344_000, 523_000, 808_000, 2_590_000),
        4: (3, 75, 138, 773, 17_400, 89_400, 184_000, 274_000, 533_000, 907_000, 1_210_000, 3_870_000),
        8: (1, 125, 216, 1880, 23_700, 173_000, 352_000, 526_000, 795_000, 1_060_000, 2_000_000, 3_360_000),
        16: (2, 40, 61, 393, 37_200, 162_000, 338_000, 505_000, 654_000, 1_140_000, 1_360_000, 3_070_000),
        32: (1, 4, 330, 874, 3720, 50_800, 59_600, 77_400, 124_000, 144_000, 179_000, 213_000),
    },
    batches={
        "bursty": Batches(share=0.7, size=150.0, gap_s=5.0),
        "diurnal": Batches(share=0.7, size=150.0, gap_s=8.0),
    },
    rhythm=Rhythm(
        hours=(
            1.27, 0.98, 1.12, 1.10, 0.70, 1.15, 1.67, 2.09, 1.11, 1.01, 1.02, 0.87,
            0.75, 0.70, 0.64, 0.65, 0.88, 0.67, 0.80, 0.73, 1.02, 0.92, 1.13, 1.01,
        ),
        days=(0.86, 1.07, 1.14, 1.29, 1.44, 0.61, 0.59),
    ),
    partitions=(50.12, 19.56, 12.10, 9.03, 2.35, 1.84, 1.74, 1.38, 0.88, 0.51, 0.45),
)  # fmt: skip
"""The longest run time of each class but the last is such that the class has the log's mean."""

GENERATOR: Final = fitted_generator(FIT, NODE, nodes=60, mean_gap_s=114.4, arrival="bursty")
