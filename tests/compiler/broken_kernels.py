"""Kernels that Triton refuses, each for one reason. Compiled by test_translate.py, never run."""

# ruff: noqa
import triton
import triton.language as tl


def plain(x):
    return x + 1


SCALE = 2.0


@triton.jit
def two(x):
    if tl.program_id(0) > 0:
        return x
    return x > 0


@triton.jit
def helper_bad(x, N):
    return x + tl.arange(0, N)


@triton.jit
def arange_runtime(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(x_ptr + o))


@triton.jit
def zeros_runtime(x_ptr, y_ptr, N, B: tl.constexpr):
    acc = tl.zeros((N,), tl.float32)
    tl.store(y_ptr + tl.arange(0, B), acc)


@triton.jit
def arange_pow2(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 37)
    tl.store(y_ptr + o, tl.load(x_ptr + o))


@triton.jit
def arange_empty(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(B, 0)
    tl.store(y_ptr + o, tl.load(x_ptr + o))


@triton.jit
def zeros_pow2(x_ptr, y_ptr, N, B: tl.constexpr):
    acc = tl.zeros((B - 1,), tl.float32)
    tl.store(y_ptr + tl.arange(0, B), acc)


@triton.jit
def dot_small(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    a = tl.load(x_ptr + o)
    tl.store(y_ptr + o, tl.dot(a, a))


@triton.jit
def dot_dtype(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(x_ptr + o)
    tl.store(y_ptr + o, tl.dot(a, a.to(tl.float16)))


@triton.jit
def dot_shape(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]
    a = tl.load(x_ptr + o)
    tl.store(y_ptr + o, tl.dot(a, a))


@triton.jit
def dot_vec(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)
    a = tl.load(x_ptr + o)
    tl.store(y_ptr + o, tl.dot(a, a))


@triton.jit
def loop_int(x_ptr, y_ptr, N, B: tl.constexpr):
    acc = 0
    for s in range(0, N, B):
        acc += tl.sum(tl.load(x_ptr + s + tl.arange(0, B)))
    tl.store(y_ptr, acc)


@triton.jit
def loop_shape(x_ptr, y_ptr, N, B: tl.constexpr):
    acc = 0.0
    for s in range(0, N, B):
        acc += tl.load(x_ptr + s + tl.arange(0, B))
    tl.store(y_ptr, tl.sum(acc))


@triton.jit
def loop_dtype(x_ptr, y_ptr, N, B: tl.constexpr):
    acc = tl.zeros((B,), tl.float32)
    for s in range(0, N, B):
        acc = (acc + tl.load(x_ptr + s + tl.arange(0, B))).to(tl.float16)
    tl.store(y_ptr, tl.sum(acc))


@triton.jit
def while_int(x_ptr, y_ptr, N, B: tl.constexpr):
    acc = 0
    s = 0
    while s < N:
        acc += tl.sum(tl.load(x_ptr + s + tl.arange(0, B)))
        s += B
    tl.store(y_ptr, acc)


@triton.jit
def broadcast(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr + tl.arange(0, B))
    b = tl.load(x_ptr + tl.arange(0, 2 * B))
    tl.store(y_ptr + tl.arange(0, B), a + b)


@triton.jit
def broadcast2(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]
    a = tl.load(x_ptr + o)
    m = tl.max(a, axis=1)
    tl.store(y_ptr + o, a - m)


@triton.jit
def mask_shape(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(x_ptr + o, mask=tl.arange(0, 2 * B) < N)
    tl.store(y_ptr + o, a)


@triton.jit
def store_shape(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(x_ptr + o)
    tl.store(y_ptr, a)


@triton.jit
def undefined(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr + offs_n)
    tl.store(y_ptr, a)


@triton.jit
def undefined_tl(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.laod(x_ptr)
    tl.store(y_ptr, a)


@triton.jit
def undefined_method(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr + tl.arange(0, B))
    tl.store(y_ptr, a.mean())


@triton.jit
def only_in_loop(x_ptr, y_ptr, N, B: tl.constexpr):
    for s in range(0, N, B):
        a = tl.load(x_ptr + s)
    tl.store(y_ptr, a)


@triton.jit
def only_in_if(x_ptr, y_ptr, N, B: tl.constexpr):
    if N > 4:
        a = tl.load(x_ptr)
    tl.store(y_ptr, a)


@triton.jit
def global_plain(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr, tl.load(x_ptr) * SCALE)


@triton.jit
def nonjit(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr, plain(tl.load(x_ptr)))


@triton.jit
def brk(x_ptr, y_ptr, N, B: tl.constexpr):
    for s in range(0, N, B):
        if s > 4:
            break
    tl.store(y_ptr, 0.0)


@triton.jit
def cont(x_ptr, y_ptr, N, B: tl.constexpr):
    for s in range(0, N, B):
        if s > 4:
            continue
        tl.store(y_ptr, 0.0)


@triton.jit
def listcomp(x_ptr, y_ptr, N, B: tl.constexpr):
    a = [i for i in range(4)]
    tl.store(y_ptr, 0.0)


@triton.jit
def slicing(x_ptr, y_ptr, N, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    tl.store(y_ptr + tl.arange(0, 8), x[0:8])


@triton.jit
def indexing(x_ptr, y_ptr, N, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    tl.store(y_ptr, x[3])


@triton.jit
def setitem(x_ptr, y_ptr, N, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    x[0] = 1.0
    tl.store(y_ptr + tl.arange(0, B), x)


@triton.jit
def ptr_index(x_ptr, y_ptr, N, B: tl.constexpr):
    x = x_ptr[tl.arange(0, B)]
    tl.store(y_ptr + tl.arange(0, B), x)


@triton.jit
def and_tensors(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    m = (o < N) and (o > 2)
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=m), mask=m)


@triton.jit
def chained(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    m = 0 < o < N
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=m), mask=m)


@triton.jit
def if_tensor(x_ptr, y_ptr, N, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    if x > 0:
        x = x * 2
    tl.store(y_ptr + tl.arange(0, B), x)


@triton.jit
def ifexp_tensor(x_ptr, y_ptr, N, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    x = x * 2 if x > 0 else x
    tl.store(y_ptr + tl.arange(0, B), x)


@triton.jit
def while_tensor(x_ptr, y_ptr, N, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    while x > 0:
        x = x - 1
    tl.store(y_ptr + tl.arange(0, B), x)


@triton.jit
def exp_fp16(x_ptr, y_ptr, N, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B)).to(tl.float16)
    tl.store(y_ptr + tl.arange(0, B), tl.exp(x))


@triton.jit
def exp_int(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, B), tl.exp(tl.arange(0, B)))


@triton.jit
def store_nonptr(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(o, tl.load(x_ptr + o))


@triton.jit
def load_nonptr(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(o))


@triton.jit
def ptr_mul(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr * 2 + o))


@triton.jit
def ptr_as_value(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, tl.exp(x_ptr + o))


@triton.jit
def ptr_sub(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    p = x_ptr + o
    tl.store(y_ptr + o, p - tl.max(tl.load(p)))


@triton.jit
def ptr_float(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B) / 2
    tl.store(y_ptr + o, 1.0)


@triton.jit
def missing_arg(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o)


@triton.jit
def missing_arg_helper(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, helper_bad(o))


@triton.jit
def wrong_kw(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o, default=0.0))


@triton.jit
def sum_kw(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + o), dim=0))


@triton.jit
def axis_range(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + o), axis=1))


@triton.jit
def ret_mismatch(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr, two(tl.load(x_ptr)))


@triton.jit
def in_helper(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, helper_bad(o, N))


@triton.jit
def static_ass(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.static_assert(B == 3, "B must be three")
    tl.store(y_ptr, 0.0)


@triton.jit
def static_ass_rt(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.static_assert(N > 3)
    tl.store(y_ptr, 0.0)


@triton.jit
def constexpr_rt(x_ptr, y_ptr, N, B: tl.constexpr):
    M: tl.constexpr = N + 1
    tl.store(y_ptr + tl.arange(0, M), 0.0)


@triton.jit
def reassign_constexpr(x_ptr, y_ptr, N, B: tl.constexpr):
    for s in range(0, N):
        B = B + 1
    tl.store(y_ptr + tl.arange(0, B), 0.0)


@triton.jit
def shared_big(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 256)[:, None] * 256 + tl.arange(0, 256)[None, :]
    acc = tl.zeros((256, 256), tl.float32)
    for s in range(0, N):
        a = tl.load(x_ptr + o + s)
        b = tl.load(y_ptr + o + s)
        acc += tl.dot(a, b)
    tl.store(y_ptr + o, acc)


@triton.jit
def numel_big(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 4194304)
    tl.store(y_ptr + o, tl.load(x_ptr + o))


@triton.jit
def bf16_dot(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(x_ptr + o).to(tl.bfloat16)
    tl.store(y_ptr + o, tl.dot(a, a))


@triton.jit
def bf16_math(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(x_ptr + o).to(tl.bfloat16)
    tl.store(y_ptr + o, a * a + a)


@triton.jit
def fp8(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(x_ptr + o).to(tl.float8e4nv)
    tl.store(y_ptr + o, a.to(tl.float32))


@triton.jit
def atomic_bf16(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.atomic_add(y_ptr + o, tl.load(x_ptr + o).to(tl.bfloat16))


@triton.jit
def other_nomask(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o, other=0.0))


@triton.jit
def float_range(x_ptr, y_ptr, N, B: tl.constexpr):
    for s in range(0, N / B):
        tl.store(y_ptr + s, 0.0)


@triton.jit
def iter_tensor(x_ptr, y_ptr, N, B: tl.constexpr):
    for s in tl.arange(0, B):
        tl.store(y_ptr + s, 0.0)


@triton.jit
def static_range_rt(x_ptr, y_ptr, N, B: tl.constexpr):
    for s in tl.static_range(0, N):
        tl.store(y_ptr + s, 0.0)


@triton.jit
def pow_(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr, tl.load(x_ptr) ** 2)


@triton.jit
def matmul_op(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(x_ptr + o)
    tl.store(y_ptr + o, a @ a)


@triton.jit
def unpack(x_ptr, y_ptr, N, B: tl.constexpr):
    a, b = tl.load(x_ptr + tl.arange(0, B))
    tl.store(y_ptr, a)


@triton.jit
def bitand_float(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr)
    tl.store(y_ptr, a & 1)


@triton.jit
def if_type(x_ptr, y_ptr, N, B: tl.constexpr):
    a = 0
    if N > 3:
        a = 1.5
    tl.store(y_ptr, a)


@triton.jit
def if_else_type(x_ptr, y_ptr, N, B: tl.constexpr):
    if N > 3:
        a = 1.5
    else:
        a = tl.zeros((B,), tl.float32)
    tl.store(y_ptr, tl.sum(a))


@triton.jit
def return_in_loop(x_ptr, y_ptr, N, B: tl.constexpr):
    for s in range(0, N):
        if s > 3:
            return
        tl.store(y_ptr, s)


@triton.jit
def trans3(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr + tl.arange(0, B))
    tl.store(y_ptr + tl.arange(0, B), a.T)


@triton.jit
def reshape_bad(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr + tl.arange(0, B))
    tl.store(y_ptr + tl.arange(0, B), tl.reshape(a, (3, 2)))


@triton.jit
def maximum_py(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr + tl.arange(0, B))
    tl.store(y_ptr, max(a))


@triton.jit
def num_shadow(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr + tl.arange(0, B)).to(float)
    tl.store(y_ptr, tl.sum(a))


@triton.jit
def num_shadow2(x_ptr, y_ptr, N, B: tl.constexpr):
    a = tl.load(x_ptr + tl.arange(0, B)).to("float32")
    tl.store(y_ptr, tl.sum(a))


@triton.jit
def program_id_rt(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr, tl.program_id(N))


@triton.jit
def unused_result(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.zeros((B,), tl.float32)
    a = tl.load(x_ptr)
    a.to(tl.float16)
    tl.store(y_ptr, a)


@triton.jit
def nested(x_ptr, y_ptr, N, B: tl.constexpr):
    def f(x):
        return x

    tl.store(y_ptr, f(1.0))


@triton.jit
def mask_float(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=o * 1.0))


@triton.jit
def num_none(x_ptr, y_ptr, N, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    tl.store(y_ptr + tl.arange(0, B)[:, None], x[:, None, None])


@triton.jit
def helper_name_only(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr, two)


@triton.jit
def bf_scalar_return(x_ptr, y_ptr, N, B: tl.constexpr):
    return tl.load(x_ptr)


@triton.jit
def where_ptr(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr, tl.where(N, 1.0, x_ptr))


@triton.jit
def recurse(x):
    return recurse(x) + 1


@triton.jit
def rec(x_ptr, y_ptr, N, B: tl.constexpr):
    tl.store(y_ptr, recurse(1.0))


@triton.jit
def dot_int(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(y_ptr + o, tl.dot(o, o))


@triton.jit
def dot_acc(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(x_ptr + o).to(tl.float16)
    tl.store(y_ptr + o, tl.dot(a, a, tl.zeros((16, 16), tl.float32)))


@triton.jit
def precision_bad(x_ptr, y_ptr, N, B: tl.constexpr):
    o = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(x_ptr + o)
    tl.store(y_ptr + o, tl.dot(a, a, input_precision="high"))
