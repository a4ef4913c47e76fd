"""The catalog of GPU types, by whatever name a site uses."""

from __future__ import annotations

import pytest

from shunter.model.gpu_types import TFLOPS, catalog_tflops


@pytest.mark.parametrize("name", TFLOPS)
def test_every_name_means_itself_whatever_its_case(name: str) -> None:
    assert catalog_tflops(name) == catalog_tflops(name.lower()) == catalog_tflops(f" {name.upper()} ") == TFLOPS[name]


@pytest.mark.parametrize(
    ("name", "tflops"),
    [
        ("Tesla V100-SXM2-16GB", 125.0),
        ("Tesla V100-PCIE-32GB", 112.0),
        ("NVIDIA A100-SXM4-80GB", 312.0),
        ("a100_80gb", 312.0),
        ("NVIDIA A100 80GB PCIe", 312.0),
        ("NVIDIA H100 80GB HBM3", 989.0),
        ("NVIDIA H100 PCIe", 756.0),
        ("Tesla P100-PCIE-16GB", 18.7),
        ("NVIDIA GeForce RTX 3090", 71.0),
        ("rtx3090", 71.0),
        ("3090", 71.0),
        ("GeForce RTX 2080 Ti", 53.8),
        ("2080ti", 53.8),
        ("rtx_a6000", 154.8),
        ("AMD Instinct MI210", 181.0),
    ],
)
def test_names_as_drivers_and_schedulers_write_them(name: str, tflops: float) -> None:
    assert catalog_tflops(name) == tflops


@pytest.mark.parametrize(
    "name",
    [
        "",
        "GPU",
        "Volta",
        "12GB",
        "MISC",
        "G2",
        "A100X",
        "RTX 3090 Ti",
        "H100 NVL",
        "RTX 6000",
        "V100 A100",
        "A",
        "SXM2",
    ],
)
def test_what_is_not_known_or_could_be_another(name: str) -> None:
    assert catalog_tflops(name) is None
