"""Random streams: native code, plain words and the reference's generator give the same bits."""

from __future__ import annotations

import ctypes

import numpy as np
import pyserq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from serq_lab.kernel.draws import streams

N = 1_000_000
SEEDS = [0, 1, 7, 2**63, 2**64 - 1]

refill_natively = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(streams.refill_address())


def stream_of(seed: int, counter: int = 0) -> NDArray[np.int64]:
    """The stream that a run of this seed draws its arrivals from."""
    stream = streams.new_streams(seed)[streams.ARRIVALS].copy()
    stream[streams.COUNTER_AT] = counter
    return stream


def native_uniforms(stream: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    drawn = []
    for _ in range(-(-n // streams.N_UNIFORMS)):
        refill_natively(stream.ctypes.data)
        assert stream[0] == 0
        drawn.append(stream.view(np.float64)[1 : streams.LOGARITHMS_AT].copy())
    return np.concatenate(drawn)[:n]


def as_uniforms(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Section 9: two words, low first, shifted right by 11, times 2^-53."""
    pairs = words[1::2].astype(np.uint64) << np.uint64(32) | words[::2].astype(np.uint64)
    return (pairs >> np.uint64(11)).astype(np.float64) * 2.0**-53


@pytest.mark.parametrize("seed", SEEDS)
def test_a_million_uniforms_are_the_reference_s(seed: int) -> None:
    drawn = native_uniforms(stream_of(seed), N)
    reference = pyserq.Rng(seed)
    assert np.array_equal(drawn, np.array([reference.random_f64() for _ in range(N)]))
    assert np.array_equal(drawn, as_uniforms(streams.words(streams.key_of(seed), 0, N // 8)))


@pytest.mark.parametrize("seed", SEEDS)
def test_words_are_the_reference_s_integers(seed: int) -> None:
    words = streams.words(streams.key_of(seed), 0, 4096)
    reference = pyserq.Rng(seed)
    assert words.tolist() == [reference.next_u32() for _ in range(len(words))]
    pairs = words[1::2].astype(np.uint64) << np.uint64(32) | words[::2].astype(np.uint64)
    reference = pyserq.Rng(seed)
    assert pairs.tolist() == [reference.next_u64() for _ in range(len(pairs))]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**64 - 1), st.sampled_from([0, 8, 2**32 - 8, 2**32 - 4, 2**32, 2**62]))
def test_native_refill_is_the_plain_one(seed: int, counter: int) -> None:
    """Logarithms too; also where the counter of blocks goes over 32 bits."""
    native, plain = stream_of(seed, counter), stream_of(seed, counter)
    for _ in range(3):
        refill_natively(native.ctypes.data)
        streams.refill(plain)
        assert np.array_equal(native, plain)


def test_the_streams_of_a_run_are_apart() -> None:
    """By the seed xor: arrivals 0, workload, session, eviction (section 9)."""
    salts = (0, 0x9E3779B97F4A7C15, 0x5851F42D4C957F2D, 0x2545F4914F6CDD1D)
    for seed in SEEDS:
        for stream, salt in zip(streams.new_streams(seed), salts, strict=True):
            reference = pyserq.Rng(seed ^ salt)
            assert native_uniforms(stream.copy(), 100).tolist() == [reference.random_f64() for _ in range(100)]


def test_a_new_stream_has_nothing_drawn() -> None:
    """So the first draw refills it, with the first blocks."""
    for stream in streams.new_streams(3):
        assert stream[0] >= streams.N_UNIFORMS
        assert stream[streams.COUNTER_AT] == 0
