"""Random bits and rounding by them in NumPy, written from the definitions of `foreach.random` and `foreach.round`."""

import numpy as np


def philox(counter, key):
    """Philox4x32-7 of arrays of 4 and 2 words; the words of the result, along the last axis."""
    c = [np.uint64(word) for word in np.moveaxis(np.asarray(counter, np.uint32), -1, 0)]
    k = [int(word) for word in key]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(7):
        left, right = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(right >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), right & low,
             (left >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), left & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, -1).astype(np.uint32)


def bits16(seed, stream, block, count):
    """The first `count` numbers of 16 bits of the sequence that begins with a block."""
    blocks = np.arange(-(-count // 8), dtype=np.uint64) + np.uint64(block)
    counter = np.empty((len(blocks), 4), np.uint32)
    counter[:, 0], counter[:, 1] = blocks & np.uint64(0xFFFFFFFF), blocks >> np.uint64(32)
    counter[:, 2:] = stream & 0xFFFFFFFF, stream >> 32
    words = philox(counter, (seed & 0xFFFFFFFF, seed >> 32))
    return words.reshape(-1).view(np.uint16)[:count]


def rounded(x, bits, digits, smallest, bound):
    """float32 numbers rounded to a type with `digits` digits, a smallest unit and a bound, by unsigned bits."""
    wide = np.abs(x.astype(np.float64))
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.where((wide > 0) & np.isfinite(wide), wide, 1)))
        unit = np.maximum(np.exp2(exponent + 1 - digits), smallest)
        parts = np.floor(wide / unit * 65536)
        result = np.floor((parts + bits) / 65536) * unit
        result = np.where(result >= bound, np.inf, result)
        return np.where(np.isfinite(x), np.copysign(result, x), x).astype(np.float32)


def rounded_to(dtype, x, bits):
    return rounded(x, bits, 8, 2.0**-133, 2.0**128) if dtype == "bf16" else rounded(x, bits, 11, 2.0**-24, 2.0**16)
