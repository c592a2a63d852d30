"""Benchmarks of speed and of error rates.

`python -m capscope_experiments.benchmarks` prints the speed benchmarks, or those that are named.
Those that measure error rates, or what is learned from how many executions, take long and are
modules to run by themselves: `diff_error_rates`, `diff_power`, `generalization`,
`planted_deviations`, `mail_assistant`, `what_is_said`, `rate_bias`, `findings_speed`,
`large_world`, `permuted_intents` and `generated_domains`.
"""
