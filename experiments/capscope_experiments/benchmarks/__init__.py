"""Benchmarks of speed and of error rates.

`python -m capscope_experiments.benchmarks` prints the speed benchmarks, or those that are named.
`diff_error_rates` and `probability_accuracy` take long and are modules to run by themselves.
"""
