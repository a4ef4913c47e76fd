"""Jobs like those of Helios Venus (SenseTime, 2020), fitted to its list of GPU jobs."""

from __future__ import annotations

from typing import Final

from shunter.model.cluster import Node
from shunter.workloads.generators.arrivals import Batches, Rhythm
from shunter.workloads.generators.fitted import GPUS_PER_NODE, Fit, fitted_generator

NODE: Final = Node("venus", cores=48.0, gpus=GPUS_PER_NODE, gpu_type="Volta")
"""Each node, apart from its number; 133 of them are the preset ``helios-venus``."""

FIT: Final = Fit(
    sizes={
        1: 51.85, 2: 5.54, 3: 0.16, 4: 7.25, 5: 0.08, 6: 0.16, 7: 0.20, 8: 24.73, 16: 4.15, 24: 0.90, 32: 2.72,
        40: 0.29, 48: 0.25, 56: 0.18, 64: 0.23, 72: 0.08, 80: 0.15, 88: 0.03, 96: 0.06, 104: 0.05, 112: 0.04,
        120: 0.15, 128: 0.38, 136: 0.04, 144: 0.03, 152: 0.09, 160: 0.18,
    },
    runs={
        1: (1, 6, 17, 67, 190, 1180, 8440, 33_400, 95_100, 223_000, 389_000, 680_000),
        2: (1, 6, 17, 75, 211, 1530, 77_900, 189_000, 407_000, 526_000, 598_000, 680_000),
        7: (1, 5, 15, 60, 180, 2100, 33_500, 86_200, 217_000, 384_000, 511_000, 680_000),
        8: (1, 8, 26, 98, 216, 1140, 25_700, 65_000, 164_000, 327_000, 471_000, 680_000),
        16: (1, 6, 20, 105, 417, 12_200, 62_100, 113_000, 274_000, 431_000, 542_000, 680_000),
        24: (1, 10, 11, 61, 231, 687, 8670, 34_000, 91_000, 170_000, 337_000, 680_000),
        32: (1, 6, 11, 67, 205, 2860, 77_100, 166_000, 381_000, 509_000, 588_000, 680_000),
        64: (1, 5, 10, 55, 237, 1060, 12_700, 67_400, 221_000, 388_000, 514_000, 680_000),
        160: (1, 4, 5, 5, 70, 308, 1470, 7780, 59_600, 157_000, 248_000, 680_000),
    },
    batches={
        "bursty": Batches(share=0.26, size=70.0, gap_s=2.0),
        "diurnal": Batches(share=0.20, size=70.0, gap_s=2.0),
    },
    rhythm=Rhythm(
        hours=(
            0.90, 0.66, 0.60, 0.38, 0.27, 0.21, 0.19, 0.22, 0.37, 0.80, 1.29, 1.47,
            1.16, 1.30, 1.56, 1.66, 1.73, 1.73, 1.28, 1.31, 1.35, 1.37, 1.15, 1.04,
        ),
        days=(1.03, 1.07, 1.28, 1.21, 0.95, 0.68, 0.77),
    ),
)  # fmt: skip
"""The list cuts run times at 172,800 s; what is longer is spread so that both published means are met: of the run time
(13,041 s) and of the GPU time (98,526 s)."""

GENERATOR: Final = fitted_generator(FIT, NODE, nodes=133, mean_gap_s=124.5, arrival="diurnal")
