# SPDX-License-Identifier: MIT
"""Writes the files beside it with NumPy; they are committed, so tests need no NumPy to read them.

    python3 tests/data/npy/make.py

Values are i % 2 for bool, and i - 3 otherwise (i for unsigned), i counting from 0 in row-major order,
except where a file says otherwise.
"""
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint32",
          "uint64", "bool"]


def counting(dtype, shape):
    numbers = np.arange(int(np.prod(shape)))
    if dtype == "bool":
        numbers = numbers % 2
    elif not dtype.startswith("uint"):
        numbers = numbers - 3
    return numbers.astype(dtype).reshape(shape)


def save(name, array, version=None):
    with open(HERE / (name + ".npy"), "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def bits(values, dtype, unsigned):
    return np.array(values, dtype=unsigned).view(dtype)


for name in DTYPES:
    save(f"c_{name}", counting(name, (3, 5)))
    save(f"fortran_{name}", np.asfortranarray(counting(name, (3, 5))))
save("fortran_3d", np.asfortranarray(counting("int32", (4, 3, 2))))
save("scalar", np.array(-7, dtype="int16"))
save("one_dimension", counting("float32", (4,)))
save("empty", np.zeros((3, 0, 2), dtype="float64"))
save("eight_dimensions", counting("uint8", (1, 2, 1, 3, 1, 2, 1, 2)))
save("nine_dimensions", counting("uint8", (1,) * 9))
save("version_2", counting("int32", (2, 3)), version=(2, 0))
save("version_3", counting("int32", (2, 3)), version=(3, 0))
save("bfloat16", (np.array([1, -2.5, 3], dtype="float32").view("uint32") >> 16).astype("uint16").view("V2"))
save("big_endian", counting("float32", (3,)).astype(">f4"))
save("complex", np.array([1 + 2j]))
save("unicode", np.array(["a", "bc"]))
save("structured", np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))
with open(HERE / "object.npy", "wb") as file:
    np.lib.format.write_array(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)

# Conversions as NumPy makes them: every kind of float32, and its nearest float16.
rng = np.random.default_rng(20)
floats = np.concatenate([
    bits(rng.integers(0, 2**32, 3000), "float32", "uint32"),
    rng.normal(size=2000).astype("float32"),
    (rng.normal(size=2000) * 2.0**-20).astype("float32"),
    np.array([0.0, -0.0, np.inf, -np.inf, 65504, 65519.996, 65520, 2.0**-24, 2.0**-25, 2.0**-14], dtype="float32"),
])
floats = floats[~np.isnan(floats)]
with np.errstate(over="ignore"):
    save("convert_float32", floats)
    save("convert_float16", floats.astype("float16"))

# Sums and products of whole numbers, exact in any order.
left = rng.integers(-4, 5, size=(3, 17, 23)).astype("float32")
right = rng.integers(-4, 5, size=(23, 11)).astype("float32")
save("matmul_left", left)
save("matmul_right", right)
save("matmul_product", left @ right)
save("sum_dim1", left.sum(axis=1))
