"""Methods of tensors, by name. Made by csrc/tools/stubs.py: make gen."""

MEMBERS = """
    abs advance argmax argmin associative_scan atomic_add atomic_and atomic_cas
    atomic_load atomic_max atomic_min atomic_or atomic_poll atomic_store atomic_xchg
    atomic_xor broadcast_to cast cdiv ceil cos cumprod cumsum erf exp exp2 expand_dims
    flip floor gather histogram item log log2 logical_and logical_or max min permute
    ravel reduce reduce_or reshape resize rint rsqrt sigmoid sin softmax sort split sqrt
    sqrt_rn squeeze store sum to trans unsqueeze view xor_sum
""".split()
