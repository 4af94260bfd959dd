"""Random streams: ChaCha with 12 rounds, 16 blocks side by side in vector registers (`LANGUAGE.md` section 9).

A stream is int64[266] in memory: the next index, 128 uniforms U (as doubles), ln(1 - U) of each, 8 key words, the block
counter. Expressions read the uniforms or their logarithms themselves and call `refill` when they are used up.

Source of the cipher: D. J. Bernstein, "ChaCha, a variant of Salsa20" (2008); the constants and the quarter round are as
in RFC 8439 section 2, with a 64-bit counter and nonce as in the paper.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numpy.typing import NDArray

from serq_lab.kernel.draws.logarithm import ArrayOperations, VectorOperations, logarithm
from serq_lab.kernel.storage.object_code import load_kept, target_features, target_machine

I32, I64, F64 = ir.IntType(32), ir.IntType(64), ir.DoubleType()
LANES, A_BLOCK = 16, 8  # blocks side by side; uniforms that a block gives
N_UNIFORMS = A_BLOCK * LANES
LOGARITHMS_AT = 1 + N_UNIFORMS
KEY_AT, COUNTER_AT, STREAM_WORDS = 1 + 2 * N_UNIFORMS, 9 + 2 * N_UNIFORMS, 10 + 2 * N_UNIFORMS
ROUNDS = 12
SIGMA = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)  # "expand 32-byte k"
COLUMNS = tuple((i, 4 + i, 8 + i, 12 + i) for i in range(4))
DIAGONALS = tuple((i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4))

ARRIVALS, WORKLOAD, SESSION, EVICTION = range(4)
STREAM_SALTS = (0, 0x9E3779B97F4A7C15, 0x5851F42D4C957F2D, 0x2545F4914F6CDD1D)

RARELY_CALLED = "preserve_mostcc"  # LLVM's word for functions that save the registers, so that their callers need not

_lock = threading.Lock()


def compile_module(module: ir.Module | str) -> Any:
    """Native code of an LLVM module for this processor; keep what is returned while its addresses are in use."""
    with _lock:
        engine = llvm.create_mcjit_compiler(_parsed(module), target_machine())
        engine.finalize_object()
        return engine


def _parsed(module: ir.Module | str) -> Any:
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return parsed


@lru_cache(maxsize=256)  # a sweep asks for the same few, over and over
def key_of(seed: int) -> tuple[int, ...]:
    """The eight key words of a 64-bit seed (section 9)."""
    state, key = seed, []
    for _ in range(8):
        state = (state * 6364136223846793005 + 11634580027462260723) % 2**64
        x, turn = (((state >> 18) ^ state) >> 27) & 0xFFFFFFFF, state >> 59
        key.append(((x >> turn) | (x << (-turn & 31))) & 0xFFFFFFFF)
    return tuple(key)


def new_streams(seed: int) -> NDArray[np.int64]:
    """The four streams of a run, nothing drawn yet.

    Parameters
    ----------
    seed : int
        Below 2^64.

    Returns
    -------
    ndarray of int64, shape (4, 266)
        In the order ``ARRIVALS, WORKLOAD, SESSION, EVICTION``.
    """
    streams = blank_streams()
    streams[:, KEY_AT:COUNTER_AT] = keys_of(seed)
    return streams


def blank_streams() -> NDArray[np.int64]:
    """As `new_streams`, without the keys."""
    streams = np.zeros((len(STREAM_SALTS), STREAM_WORDS), dtype=np.int64)
    streams[:, 0] = N_UNIFORMS
    return streams


def keys_of(seed: int) -> list[tuple[int, ...]]:
    """The keys of the four streams of a run."""
    return [key_of(seed ^ salt) for salt in STREAM_SALTS]


def words(key: Sequence[int], first_block: int, n_blocks: int) -> NDArray[np.uint32]:
    """The 32-bit words of consecutive blocks of a stream, computed plainly: what native code is held to.

    Returns
    -------
    ndarray of uint32, shape (16 * n_blocks,)
    """
    counter = np.arange(first_block, first_block + n_blocks, dtype=np.uint64)
    state = np.empty((16, n_blocks), dtype=np.uint32)
    state[:4] = np.array(SIGMA, dtype=np.uint32)[:, None]
    state[4:12] = np.array(key, dtype=np.uint32)[:, None]
    state[12], state[13] = counter & np.uint64(0xFFFFFFFF), counter >> np.uint64(32)
    state[14:] = 0
    mixed = state.copy()
    for _ in range(ROUNDS // 2):
        for a, b, c, d in COLUMNS + DIAGONALS:
            for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                mixed[x] += mixed[y]
                turned = mixed[z] ^ mixed[x]
                mixed[z] = (turned << np.uint32(turn)) | (turned >> np.uint32(32 - turn))
    return (mixed + state).T.reshape(-1)


def refill(stream: NDArray[np.int64]) -> None:
    """Write the next 128 uniforms of a stream, and their logarithms; what native code does in vectors."""
    drawn = words(stream[KEY_AT:COUNTER_AT].tolist(), int(stream[COUNTER_AT]), LANES).astype(np.uint64)
    bits = (drawn[1::2] << np.uint64(32) | drawn[::2]) >> np.uint64(11)
    uniforms = bits * 2.0**-53
    stream.view(np.float64)[1:LOGARITHMS_AT] = uniforms
    stream.view(np.float64)[LOGARITHMS_AT:KEY_AT] = logarithm(ArrayOperations(), 1.0 - uniforms)
    stream[COUNTER_AT] += LANES
    stream[0] = 0


def refill_address() -> int:
    """The address of ``void refill(int64 *stream)``, native: as `refill`."""
    with _lock:  # around the cache: of two threads that both load the code, one would lose what it has the address of
        return _refill_code()[1]


@cache
def _refill_code() -> tuple[Any, int]:
    """The code, which lives as long as this is kept, and the address."""
    code = load_kept("streams", _compile_refill)
    return code, int(code.get_function_address("refill"))


def _compile_refill() -> bytes:
    return bytes(target_machine().emit_object(_parsed(_refill_module())))


def _refill_module() -> ir.Module:
    module = ir.Module("stream")
    vector, wide = ir.VectorType(I32, LANES), ir.VectorType(I64, LANES)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64.as_pointer()]), "refill")
    function.calling_convention = RARELY_CALLED
    b = ir.IRBuilder(function.append_basic_block())
    base = function.args[0]

    start: list[ir.Value] = [_splat(vector, x) for x in SIGMA]
    for i in range(8):
        start.append(spread(b, b.trunc(b.load(b.gep(base, [I64(KEY_AT + i)])), I32), LANES))
    counter_place = b.gep(base, [I64(COUNTER_AT)])
    counter = b.load(counter_place)
    blocks = b.add(spread(b, counter, LANES), ir.Constant(wide, list(range(LANES))))
    start += [b.trunc(blocks, vector), b.trunc(b.lshr(blocks, _splat(wide, 32)), vector)]
    start += [_splat(vector, 0), _splat(vector, 0)]
    rotate = ir.Function(module, ir.FunctionType(vector, [vector] * 3), f"llvm.fshl.v{LANES}i32")
    mixed = _mix(b, rotate, start, vector)
    out = [b.add(x, y) for x, y in zip(mixed, start, strict=True)]
    uniforms = b.bitcast(b.gep(base, [I64(1)]), F64.as_pointer())
    _write_draws(b, out, uniforms)
    b.store(b.add(counter, I64(LANES)), counter_place)
    b.store(I64(0), base)
    b.ret_void()
    return module


def _write_draws(b: ir.IRBuilder, words: list[ir.Value], uniforms: ir.Value) -> None:
    """Store the uniforms that the words of all blocks are, and behind them their logarithms."""
    wide = ir.VectorType(I64, LANES)
    word, real = ir.VectorType(I64, A_BLOCK), ir.VectorType(F64, A_BLOCK)
    operations = VectorOperations(b, A_BLOCK, has_fma="+fma" in target_features().split(","))
    pairs = []
    for i in range(A_BLOCK):
        low, high = b.zext(words[2 * i], wide), b.zext(words[2 * i + 1], wide)
        pairs.append(b.or_(b.shl(high, _splat(wide, 32)), low))
    for k, bits in enumerate(_by_block(b, pairs)):
        uniform = b.fmul(b.uitofp(b.lshr(bits, _splat(word, 11)), real), _splat(real, 2.0**-53))
        drawn = logarithm(operations, b.fsub(_splat(real, 1.0), uniform))
        for at, values in ((A_BLOCK * k, uniform), (N_UNIFORMS + A_BLOCK * k, drawn)):
            b.store(values, b.bitcast(b.gep(uniforms, [I64(at)]), real.as_pointer()), align=8)


def spread(b: ir.IRBuilder, x: ir.Value, n: int) -> ir.Value:
    """A vector of n times the same value."""
    first = b.insert_element(ir.Constant(ir.VectorType(x.type, n), ir.Undefined), x, I32(0))
    return b.shuffle_vector(first, first, _splat(ir.VectorType(I32, n), 0))


def _splat(kind: ir.VectorType, x: float) -> ir.Constant:
    return ir.Constant(kind, [x] * kind.count)


def _by_block(b: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """From one vector a word of all blocks to one vector a block of all its words."""

    def shuffled(x: ir.Value, y: ir.Value, lanes: list[int]) -> ir.Value:
        return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, A_BLOCK), lanes))

    blocks = []
    for first in range(0, LANES, A_BLOCK):
        square = [shuffled(row, row, [first + lane for lane in range(A_BLOCK)]) for row in rows]
        for apart in (1, 2, 4):  # rows so far apart exchange their halves
            low = [lane - apart + A_BLOCK if lane & apart else lane for lane in range(A_BLOCK)]
            high = [lane + A_BLOCK if lane & apart else lane + apart for lane in range(A_BLOCK)]
            square = [
                shuffled(square[i & ~apart], square[i | apart], high if i & apart else low) for i in range(A_BLOCK)
            ]
        blocks += square
    return blocks


def _mix(b: ir.IRBuilder, rotate: ir.Function, start: list[ir.Value], vector: ir.VectorType) -> list[ir.Value]:
    """The rounds on vectors of LANES blocks, as a loop: written out, they take six times as long to compile."""
    before, loop, after = b.block, b.append_basic_block(), b.append_basic_block()
    b.branch(loop)
    b.position_at_end(loop)
    entered = [b.phi(vector) for _ in start]
    round_number = b.phi(I64)
    w: list[ir.Value] = list(entered)
    for p, q, r, s in COLUMNS + DIAGONALS:
        for x, y, z, turn in ((p, q, s, 16), (r, s, q, 12), (p, q, s, 8), (r, s, q, 7)):
            w[x] = b.add(w[x], w[y])
            turned = b.xor(w[z], w[x])
            w[z] = b.call(rotate, [turned, turned, ir.Constant(vector, [turn] * LANES)])
    following = b.add(round_number, I64(1))
    for phi, first, mixed in zip([*entered, round_number], [*start, I64(0)], [*w, following], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(mixed, loop)
    b.cbranch(b.icmp_signed("<", following, I64(ROUNDS // 2)), loop, after)
    b.position_at_end(after)
    return w
