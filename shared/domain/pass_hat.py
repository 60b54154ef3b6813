"""pass^k: how reliable somebody is who has to get it right every time."""

from math import comb


def pass_hat(passed: int, runs: int) -> dict[int, float]:
    """For each k up to ``runs``: the chance that k runs, drawn from these without putting back, all passed.

    The unbiased estimate C(passed, k) / C(runs, k) of S. Yao, N. Shinn, P. Razavi and K. Narasimhan, "tau-bench: A
    Benchmark for Tool-Agent-User Interaction in Real-World Domains", 2024, section 3 (arXiv 2406.12045). Unlike
    pass@k, which asks whether one of k runs passes, it falls as k grows. No runs: nothing can be said.
    """
    return {k: comb(passed, k) / comb(runs, k) for k in range(1, runs + 1)}
