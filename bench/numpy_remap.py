"""The remap composed of numpy operations, as one would write it without a kernel, and its comparison with ours."""

import ctypes
import time

import numpy as np

from plugin_abi import Arguments, Matrix, Vector, load

TOPK, BLOCK, COLUMNS = 2048, 64, 2048
POISON = 123456789


class Problem:
    """The shapes of cpu_bench.cpp: 3 % of the positions are -1, the others lie anywhere in the context."""

    def __init__(self, mode, tokens, seed=1):
        random = np.random.default_rng(seed)
        requests = min(tokens, 128)
        self.mode, self.tokens = mode, tokens
        self.size, self.rank, self.interleave = (4, 1, 1) if mode == "dcp" else (1, 0, 1)
        self.counts, self.compacted = mode != "plain", mode == "dcp"
        self.req_id = random.integers(0, requests, tokens, dtype=np.int32)
        self.block_table = random.integers(0, requests * COLUMNS, (requests, COLUMNS), dtype=np.int32)
        self.token_indices = random.integers(0, COLUMNS * BLOCK * self.size, (tokens, TOPK), dtype=np.int32)
        self.token_indices[random.random((tokens, TOPK)) < 0.03] = -1


def remap(p):
    """Slots [T, K] and, where asked for, counts [T]: rules R1 to R12 on inputs in range. Slots are below 2^31 here, so int32 holds all."""
    local = position = p.token_indices
    valid = position >= 0
    if p.size > 1:
        valid &= position // p.interleave % p.size == p.rank
        local = position // (p.size * p.interleave) * p.interleave + position % p.interleave
    column = local // BLOCK
    valid &= column < p.block_table.shape[1]
    base = p.block_table[p.req_id[:, None], np.where(valid, column, 0)]
    slots = np.where(valid & (base >= 0), base * np.int32(BLOCK) + local % BLOCK, np.int32(-1))
    kept = slots >= 0
    if p.compacted:
        slots = np.take_along_axis(slots, np.argsort(~kept, axis=1, kind="stable"), axis=1)
    return slots, kept.sum(axis=1, dtype=np.int32) if p.counts else None


def vector_of(array):
    return Vector(array.ctypes.data, array.size)


def matrix_of(array):
    return Matrix(array.ctypes.data, array.shape[0], array.shape[1], array.strides[0] // 4)


def ours(plugin, p):
    """The same by the kernels' body on the host."""
    slots, counts = np.full((p.tokens, TOPK), POISON, np.int32), np.full(p.tokens, POISON, np.int32)
    arguments = Arguments(struct_size=ctypes.sizeof(Arguments), compacted=p.compacted, has_valid_counts=p.counts, block_size=BLOCK,
                          block_stride_rows=BLOCK, dcp_size=p.size, dcp_rank=p.rank, dcp_interleave=p.interleave, req_id=vector_of(p.req_id),
                          block_table=matrix_of(p.block_table), token_indices=matrix_of(p.token_indices), slots=matrix_of(slots),
                          valid_counts=vector_of(counts))
    message = ctypes.create_string_buffer(256)
    code = plugin.remap(ctypes.byref(arguments), None, None, message, 256)
    if code != 0:
        raise RuntimeError(f"{code}: {message.value.decode()}")
    return slots, counts if p.counts else None


def indices_per_second(path, mode, tokens, seconds=0.5, least=3):
    """Rates of single runs in CPU time, after one whose outputs were compared with those of the plug-in at `path`."""
    p = Problem(mode, tokens)
    for got, due in zip(remap(p), ours(load(path), p)):
        if not np.array_equal(got, due):
            raise RuntimeError(f"numpy and the kernel differ: {mode}, T = {tokens}")
    rates, end = [], time.process_time() + seconds
    while len(rates) < least or time.process_time() < end:
        begin = time.process_time()
        remap(p)
        rates.append(tokens * TOPK / (time.process_time() - begin))
    return rates
