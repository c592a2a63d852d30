"""The environments that come with capscope: simulators and their abstractions."""
