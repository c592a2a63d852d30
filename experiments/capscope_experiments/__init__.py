"""The experiments of capscope: suites, baselines and benchmarks. Not part of the wheel."""
